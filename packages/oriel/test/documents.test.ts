// Tests, checklists and worked examples of the source documents, under the names that they have there. Document 001's are in
// document-001.test.ts.

import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { applyHistoryPolicy, enrich, memoryStore, openThread, type Plugin, project } from 'oriel'
import { importHistoryRetention, importRetainedMessages } from 'oriel/compat'
import { describe, expect, it } from 'vitest'

const text = (value: string) => ({ type: 'text', text: value }) as const
const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string) => ({ role: 'assistant', content })

/** Rounds of one call and its result in OpenAI's chat format. */
const rounds = (count: number) =>
  Array.from({ length: count }, (_, n) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `c${n}`, type: 'function', function: { name: 't', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: `c${n}`, content: `Result ${n + 1}` },
  ]).flat()

interface Sent {
  readonly role: string
  readonly content: string | null
  readonly tool_call_id?: string
  readonly tool_calls?: readonly { readonly id: string }[]
}
const results = (messages: readonly Sent[]) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => content)

describe('document 000, Retention Semantics', () => {
  it.each([
    [0, true],
    [1, true],
    [2, false],
    [3, false],
  ])('[N1] Example with policy value 2: at idx %i it is kept: %s', async (idx, isKept) => {
    const thread = await openThread({ store: memoryStore() })
    const saved = { ...text('saved'), lifetime: { newer: 2 } }
    await thread.append([{ role: 'user', content: [text('q'), saved] }, assistant('a')])
    for (let n = 0; n < idx; n++) await thread.append([user(`newer ${n}`), assistant('a')])
    // The message that comes in has no idx yet.
    await thread.append(user('now'))
    expect(JSON.stringify((await thread.view()).messages).includes('saved')).toBe(isKept)
  })
})

describe('document 000, Validation Checklist for Changes', () => {
  const mixed: Plugin = {
    name: 'browser',
    message: () => [
      { saveToChatHistory: true, displayOnCurrentMessage: true, content: 'for ever' },
      { saveToChatHistory: 1, displayOnCurrentMessage: false, content: 'for one' },
      { saveToChatHistory: false, displayOnCurrentMessage: true, content: 'display only' },
    ],
  }
  const saved = new HumanMessage({
    content: 'q',
    additional_kwargs: {
      original_content: [text('q'), text('a'), text('b'), text('')],
      persistentMessageRetentionPolicy: [null, 1, 2, 2],
    },
  })

  it('[CM1] 1. retention-managed writes store a list of blocks, none merged or left out', () => {
    const [draft] = importRetainedMessages([saved])
    expect(draft?.content).toMatchObject([text('q'), text('a'), text('b'), text('')])
  })

  it('[CM1] 2. AI replay uses original_ai_content', () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'c2ln' }
    const ai = new AIMessage({
      content: 'shown',
      additional_kwargs: { original_ai_content: [thinking, text('shown')] },
    })
    const [draft] = importRetainedMessages([ai])
    expect(draft?.content).toMatchObject([{ type: 'reasoning' }, text('shown')])
    expect(JSON.stringify(draft)).not.toContain('lifetime')
  })

  it('[CM1] 3. pruning maps 1:1 over content and policy', async () => {
    const thread = await openThread({ store: memoryStore() })
    await thread.append(importRetainedMessages([saved, new AIMessage('x')]))
    const shown: string[] = []
    for (let n = 0; n < 4; n++) {
      await thread.append(user(`newer ${n}`))
      const { messages } = await thread.view<{ content: string | { text: string }[] }>()
      const { content = '' } = messages[0] ?? {}
      shown.push(typeof content === 'string' ? content : content.map((one) => one.text).join(' '))
      await thread.append(assistant('.'))
    }
    expect(shown).toEqual(['q a b ', 'q b ', 'q', 'q'])
  })

  it('[L1] 4. a scenario with mixed plugin policies: true, number and display only', async () => {
    const { display, persistent } = await enrich({ role: 'user', content: 'q' }, [mixed])
    const words = (blocks: typeof display.content) =>
      blocks.flatMap((block) => (block.type === 'text' ? [block.text.trim()] : [])).filter(Boolean)
    const header = '### PLUGIN browser CONTEXT ###'
    expect(words(display.content)).toEqual(['q', header, 'for ever', 'display only'])
    expect(words(persistent.content)).toEqual(['q', header, 'for ever', 'for one'])
    const kept = persistent.content.map(({ lifetime }) => lifetime ?? null)
    expect(kept).toEqual([null, null, null, null, { newer: 1 }, { newer: 1 }])
  })

  it('[N5] 5. a message with non-text AI content blocks comes back as it was', () => {
    const native = [
      user('q'),
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
          { type: 'text', text: 'answer', citations: null },
          { type: 'tool_use', id: 't', name: 'look', input: { at: 1 } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'r' }] },
    ]
    const policy = { retention: {} }
    expect(project(native, policy, { format: 'anthropic' }).messages).toEqual(native)
  })
})

describe('document 002', () => {
  const turns = [1, 2, 3, 4].flatMap((n) => [user(`U${n}`), assistant(`A${n}`)])
  const messages = [{ role: 'system', content: 'S' }, ...turns]
  const kept = (historyPolicy: 'none' | 'lastN' | 'all', historyLength?: number): string =>
    applyHistoryPolicy(messages, {
      historyPolicy,
      ...(historyLength === undefined ? {} : { historyLength }),
    })
      .map(({ content }) => content)
      .join(' ')

  it('[H3] Message Trimming Visualization: historyLength=3 keeps the last three user messages', () => {
    expect(kept('lastN', 3)).toBe('S U2 A2 U3 A3 U4 A4')
  })

  it('[H3] Special Case: historyLength=0 is treated as 1', () => {
    expect(kept('lastN', 0)).toBe('S U4 A4')
    expect(kept('lastN', 0)).toBe(kept('lastN', 1))
  })

  it.each([
    ['Keep all messages', 'all', undefined, 'S U1 A1 U2 A2 U3 A3 U4 A4'],
    ['Keep last 2 user messages', 'lastN', 2, 'S U3 A3 U4 A4'],
    ['Remove all history (keep 1 message)', 'lastN', 0, 'S U4 A4'],
    ['Remove all history', 'none', undefined, 'S U4 A4'],
  ] as const)('[H3] Examples: %s', (_, policy, length, expected) => {
    expect(kept(policy, length)).toBe(expected)
  })
})

describe('document 004, Key tests', () => {
  const conversation = [user('Look three times.'), ...rounds(3), assistant('Done.')] as Sent[]
  const withStrategy = (ToolResults: object) =>
    project(conversation, importHistoryRetention({ ToolResults }))

  it('[G1] FilterToolResults_KeepOne_KeepsOnlyLastToolResult', () => {
    const { messages } = withStrategy({ Strategy: 'KeepOne' })
    expect(results(messages)).toEqual(['[Omitted]', '[Omitted]', 'Result 3'])
  })

  it('[G1] FilterToolResults_DropAll_ReplacesAllToolResultsWithPlaceholders', () => {
    const { messages } = withStrategy({ Strategy: 'DropAll' })
    expect(results(messages)).toEqual(['[Omitted]', '[Omitted]', '[Omitted]'])
  })

  it('[G1] FilterMessages_PreservesAllMessagesWithPlaceholders', () => {
    const { messages } = withStrategy({ Strategy: 'KeepRecent', MaxToolResults: 1 })
    expect(messages).toHaveLength(conversation.length)
    const called = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id))
    const answered = messages.flatMap(({ tool_call_id: id }) => id ?? [])
    expect(answered).toEqual(called)
  })

  it('[G1] FilterMessages_MaintainsStructureWithPlaceholders', () => {
    const { messages, trace } = withStrategy({ Strategy: 'KeepOne' })
    expect(messages.map(({ role }) => role)).toEqual(conversation.map(({ role }) => role))
    // Placeholders are all that changed: nothing was repaired.
    expect(trace.map(({ rule }) => rule)).toEqual(['toolResults', 'toolResults'])
  })

  it('[G1] FilterToolResults_WithMultipleRounds_MaintainsConversationStructure', () => {
    const turns = [user('first'), ...rounds(10), assistant('a'), user('second')] as Sent[]
    const { messages } = project(turns, 'placeholders')
    expect(messages.map(({ role }) => role)).toEqual(turns.map(({ role }) => role))
    expect(results(messages)).toEqual([
      ...new Array(6).fill('[Omitted]'),
      ...[7, 8, 9, 10].map((n) => `Result ${n}`),
    ])
  })

  it('[CM6] Migration: the configuration of the example acts as it is', () => {
    const { messages } = withStrategy({ Strategy: 'KeepOne', MaxToolResults: 4 })
    expect(results(messages)).toEqual(['[Omitted]', '[Omitted]', 'Result 3'])
  })
})
