import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { describe, expect, it } from 'vitest'
import type { Draft } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import { parsePolicy } from '../policy/schema.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'
import {
  importAgentActions,
  importAgentMessages,
  importAgentTemplate,
  importCompactConfig,
  importExpirationOverride,
  importHistoryRetention,
  importRetainedMessages,
  importVisibility,
} from './index.ts'

const threadWith = async (messages: readonly Draft[], policy = {}) => {
  const thread = await openThread({ store: memoryStore(), policy })
  await thread.append(messages)
  return thread
}

const errorOf = (act: () => unknown): { code: string; path: string | undefined } => {
  try {
    act()
  } catch (error) {
    if (OrielError.is(error)) return { code: error.code, path: error.path }
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('messages with retention metadata (document 000)', () => {
  const text = (value: string) => ({ type: 'text', text: value })
  const saved = (value: string, policy: readonly (number | null)[]) =>
    new HumanMessage({
      content: value,
      additional_kwargs: {
        original_content: [text(value), ...policy.slice(1).map((_, at) => text(`extra ${at + 1}`))],
        persistentMessageRetentionPolicy: policy,
      },
    })

  it('[CM1] gives each block the lifetime at its place', () => {
    const [draft] = importRetainedMessages([saved('hello', [null, 2, 0])])
    expect(draft?.content).toMatchObject([
      { type: 'text', text: 'hello' },
      { type: 'text', text: 'extra 1', lifetime: { newer: 2 } },
      { type: 'text', text: 'extra 2', lifetime: { newer: 0 } },
    ])
    expect(draft?.content[0]).not.toHaveProperty('lifetime')
    expect(JSON.stringify(draft)).not.toContain('persistentMessageRetentionPolicy')
  })

  it('[CM1] acts in a view as the original did', async () => {
    const messages = importRetainedMessages([
      saved('one', [null, 2]),
      new AIMessage('first'),
      saved('two', [null]),
      new AIMessage('second'),
      saved('three', [null]),
      new AIMessage('third'),
      saved('four', [null]),
    ])
    const thread = await threadWith(messages, { retention: {} })
    const seen = JSON.stringify((await thread.view({ format: 'langchain' })).messages)
    expect(seen).toContain('one')
    expect(seen).not.toContain('extra 1')
  })

  it('[CM1] replays an answer by its own content', () => {
    const kept = [{ type: 'text', text: 'said', annotations: [{ url: 'https://example.com' }] }]
    const answer = new AIMessage({
      content: 'said',
      additional_kwargs: { original_ai_content: kept },
    })
    const [draft] = importRetainedMessages([answer])
    expect(draft).toMatchObject({ role: 'assistant', content: [{ type: 'text', text: 'said' }] })
    expect(JSON.stringify(draft?.content)).toContain('annotations')
  })

  it('[CM1] keeps the call of a tool result', () => {
    const result = new ToolMessage({
      content: 'row',
      tool_call_id: 'call_1',
      additional_kwargs: {
        original_content: [text('row'), text('hint')],
        persistentMessageRetentionPolicy: [null, 1],
      },
    })
    const [draft] = importRetainedMessages([result])
    expect(draft).toMatchObject({
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          callId: 'call_1',
          content: [{ text: 'row' }, { text: 'hint', lifetime: { newer: 1 } }],
        },
      ],
    })
  })

  it.each([
    ['a shorter policy', { original_content: [text('a')], persistentMessageRetentionPolicy: [] }],
    ['no content', { persistentMessageRetentionPolicy: [1] }],
    ['a fraction', { original_content: [text('a')], persistentMessageRetentionPolicy: [1.5] }],
    ['no list', { original_content: [text('a')], persistentMessageRetentionPolicy: 2 }],
  ])('[CM1] refuses %s with its path', (_, additional_kwargs) => {
    const message = { type: 'human', data: { content: 'a', additional_kwargs } }
    const { code, path } = errorOf(() => importRetainedMessages([message]))
    expect(code).toBe('invalid-input')
    expect(path).toContain('messages[0].data.additional_kwargs')
  })
})

describe('messages with expiration metadata (document 001)', () => {
  const result = (content: string, metadata = {}) => ({
    role: 'user',
    content,
    metadata: { messageType: 'action-result' as const, turnAdded: 1, ...metadata },
  })

  it('[CM2] expire by their own metadata', async () => {
    const long = 'found '.repeat(500)
    const answers = ['one', 'two', 'three'].map((content) => ({ role: 'assistant', content }))
    const messages = importAgentMessages([
      { role: 'user', content: 'Search.' },
      result(long, {
        expirationTurns: 2,
        expirationMode: 'Compact',
        compactMode: 'First N Chars',
        compactLength: 500,
      }),
      ...answers,
      { role: 'user', content: 'And now?' },
    ])
    expect(messages[1]?.expiry).toEqual({
      after: 2,
      mode: 'compact',
      compact: 'first-chars',
      length: 500,
    })
    const thread = await threadWith(messages, { expiry: {} })
    const view = await thread.view<{ content: string }>()
    expect(view.messages[1]?.content.length).toBeLessThan(1000)
  })

  it('[CM2] get their original content back', () => {
    const [draft] = importAgentMessages([
      result('first...', { wasCompacted: true, canExpand: true, originalContent: 'first second' }),
    ])
    expect(draft).toMatchObject({ kind: 'tool-result', origin: 'tool' })
    expect(JSON.stringify(draft?.content)).toContain('first second')
  })

  it('[CM2] keep their metadata, dates as text', () => {
    const timestamp = new Date(0)
    const [draft] = importAgentMessages([result('r', { stepId: 's1', timestamp })])
    expect(draft?.meta).toEqual({
      messageType: 'action-result',
      turnAdded: 1,
      stepId: 's1',
      timestamp: timestamp.toISOString(),
    })
  })

  it('[CM2] refuse a field that the document does not have', () => {
    const given = [{ role: 'user', content: 'x' }, result('r', { expirationTurn: 2 })]
    expect(errorOf(() => importAgentMessages(given))).toEqual({
      code: 'invalid-option',
      path: 'messages[1].metadata.expirationTurn',
    })
  })

  it("[CM3] read an agent's rows, with the prompt of the action", () => {
    const policy = importAgentActions([
      { Action: 'Google Search', ResultExpirationTurns: 2, ResultExpirationMode: 'Compact' },
      {
        Action: 'Query Database',
        ResultExpirationTurns: 3,
        ResultExpirationMode: 'Compact',
        CompactMode: 'AI Summary',
        CompactPromptID: null,
        DefaultCompactPromptID: 'db',
      },
      { Action: 'Ping' },
    ])
    expect(parsePolicy(policy)).toEqual({
      expiry: {
        tools: {
          'Google Search': { after: 2, mode: 'compact' },
          'Query Database': { after: 3, mode: 'compact', compact: 'summary' },
          Ping: { after: null, mode: 'none' },
        },
        toolDefaults: { 'Query Database': { prompt: 'db' } },
      },
    })
  })

  it('[CM3] read the override of a run', () => {
    const policy = importExpirationOverride({
      expirationTurns: 1,
      expirationMode: 'Compact',
      compactMode: 'First N Chars',
      compactLength: 200,
      compactPromptId: null,
      preserveOriginalContent: true,
    })
    expect(parsePolicy(policy)).toEqual({
      expiry: {
        override: { after: 1, mode: 'compact', compact: 'first-chars', length: 200 },
        preserveOriginals: true,
      },
    })
    expect(importExpirationOverride({ disableExpiration: true })).toEqual({
      expiry: { disable: true },
    })
  })
})

describe('configurations (documents 002, 003, 004)', () => {
  it("[CM4] reads a template's chat settings", () => {
    const template = {
      agentId: 'demo',
      chatSettings: { historyPolicy: 'lastN', historyLength: 20, initialMessages: ['Hi'] },
    }
    expect(parsePolicy(importAgentTemplate(template))).toEqual({
      history: { policy: 'lastN', length: 20 },
    })
    expect(importAgentTemplate({})).toEqual({ history: {} })
    expect(errorOf(() => importAgentTemplate({ chatSettings: { historyLength: '5' } }))).toEqual({
      code: 'invalid-option',
      path: 'template.chatSettings.historyLength',
    })
  })

  it('[CM5] reads the field names of compact.Config and ToolOutputLimits', () => {
    const policy = importCompactConfig(
      {
        MaxMessages: 50,
        MaxTokens: 8000,
        KeepRecent: 5,
        KeepRecentTokens: 20_000,
        ReserveTokens: 16_384,
        ToolCallCutoff: 10,
        ToolSummaryStrategy: 'llm',
        AutoCompact: true,
      },
      { MaxLines: 2000, MaxBytes: 51_200, TruncateMode: 'head_tail' },
    )
    expect(parsePolicy(policy)).toEqual({
      toolOutput: { maxLines: 2000, maxBytes: 51_200, truncateMode: 'head_tail' },
      toolResults: { cutoff: 10, summary: 'llm' },
      compaction: {
        auto: true,
        maxMessages: 50,
        maxTokens: 8000,
        keepRecent: 5,
        keepRecentTokens: 20_000,
        reserveTokens: 16_384,
      },
    })
  })

  it('[CM5] reads who sees a message', () => {
    expect(importVisibility({})).toEqual({})
    expect(importVisibility({ AgentVisible: false, Kind: 'tool_result_archived' })).toEqual({
      audience: { now: false, later: false },
      kind: 'tool_result_archived',
    })
    expect(importVisibility({ UserVisible: false, Kind: 'tool_result' })).toEqual({
      audience: { person: false },
      kind: 'tool-result',
    })
  })

  it('[CM6] reads a HistoryRetentionConfig with its defaults', () => {
    expect(
      parsePolicy(
        importHistoryRetention({ ToolResults: { Strategy: 'KeepOne', MaxToolResults: 4 } }),
      ),
    ).toEqual({
      history: { policy: 'all', maxMessages: 50, keepRecentMessages: 5 },
      toolResults: { strategy: 'keepOne', max: 4, placeholder: 'plain', cutoff: 0 },
    })
    const without = importHistoryRetention({ AlwaysIncludeSystemMessage: false })
    expect(parsePolicy(without).history?.preserveSystemMessages).toBe(false)
  })

  it.each([
    ['compact.Config', () => importCompactConfig({ MaxMesages: 5 } as object), 'config.MaxMesages'],
    ['ToolOutputLimits', () => importCompactConfig({}, { MaxLines: -1 }), 'limits.MaxLines'],
    [
      'HistoryRetentionConfig',
      () => importHistoryRetention({ ToolResults: { Max: 1 } } as object),
      'config.ToolResults.Max',
    ],
    [
      'a checkpoint that is not used',
      () => importHistoryRetention({ UseCheckpointSummary: false } as object),
      'config.UseCheckpointSummary',
    ],
    ['visibility', () => importVisibility({ Visible: true } as object), 'metadata.Visible'],
    [
      'an override',
      () => importExpirationOverride({ turns: 1 } as object),
      'messageExpirationOverride.turns',
    ],
    ['a row', () => importAgentActions([{ Action: '' }]), 'rows[0].Action'],
    ['a list of rows', () => importAgentActions({} as never), 'rows'],
    ['a row that is none', () => importAgentActions([null] as never), 'rows[0]'],
    ['nothing', () => importCompactConfig(null as never), 'config'],
    ['a template that is none', () => importAgentTemplate(null as never), 'template'],
    [
      'a template with the settings at its top',
      () => importAgentTemplate({ historyPolicy: 'all' } as object),
      'template.historyPolicy',
    ],
    [
      'a misspelt setting of a chat',
      () => importAgentTemplate({ chatSettings: { historyLenght: 5 } }),
      'template.chatSettings.historyLenght',
    ],
    [
      'a misspelt policy of saved blocks',
      () =>
        importRetainedMessages([
          new HumanMessage({ content: 'x', additional_kwargs: { original_contents: [] } }),
        ]),
      'messages[0].additional_kwargs.original_contents',
    ],
  ])('[CM7] refuses what %s does not have', (_, act, path) => {
    expect(errorOf(act)).toEqual({ code: 'invalid-option', path })
  })

  it.each([
    ['a list that is none', () => importAgentMessages({} as never), 'messages'],
    ['a message that is none', () => importAgentMessages([null] as never), 'messages[0]'],
    [
      'a field that a message does not have',
      () => importAgentMessages([{ role: 'user', content: 'x', metaData: {} } as never]),
      'messages[0].metaData',
    ],
    [
      'the second of two messages',
      () =>
        importAgentMessages([
          { role: 'user', content: 'x' },
          { role: 'user', content: 5 },
        ]),
      'messages[1].content',
    ],
    ['saved messages that are no list', () => importRetainedMessages('x' as never), 'messages'],
    ['a saved message that is none', () => importRetainedMessages([null]), 'messages[0]'],
    [
      'a policy outside of additional_kwargs',
      () =>
        importRetainedMessages([
          { type: 'human', data: { content: 'x', persistentMessageRetentionPolicy: [1] } },
        ]),
      'messages[0].data.persistentMessageRetentionPolicy',
    ],
    [
      'lists of different lengths in an instance',
      () =>
        importRetainedMessages([
          new HumanMessage({
            content: 'x',
            additional_kwargs: { original_content: [], persistentMessageRetentionPolicy: [1] },
          }),
        ]),
      'messages[0].additional_kwargs.persistentMessageRetentionPolicy',
    ],
  ])('[CM7] refuses %s, by its path', (_, act, path) => {
    expect(errorOf(act)).toEqual({ code: 'invalid-input', path })
  })

  it('[CM2] takes what the source records, negative savings too', () => {
    const metadata = { messageType: 'action-result', tokensSaved: -12 } as const
    const [draft] = importAgentMessages([{ role: 'user', content: 'x', metadata }])
    expect(draft?.meta).toEqual(metadata)
  })
})
