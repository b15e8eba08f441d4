import { describe, expect, it } from 'vitest'
import type { Policy } from '../policy/schema.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { ThreadEvent } from '../thread/events.ts'
import { openThread } from '../thread/thread.ts'
import { type ExpirySettings, settingFor } from './expiry.ts'

const words = 'found another line '.repeat(40)
const answer = { role: 'assistant', content: 'ok' }
const note = (kind: string, fields = {}) => ({
  role: 'user',
  origin: 'host',
  kind,
  content: `${kind} ${words}`,
  ...fields,
})
const view = async (expiry: Policy['expiry'], messages: readonly object[]) => {
  const events: ThreadEvent[] = []
  const thread = await openThread({
    id: 't',
    store: memoryStore(),
    policy: { expiry },
    now: () => 1,
    on: (event) => events.push(event),
  })
  await thread.append(messages)
  return { thread, events, view: await thread.view<{ content: string }>() }
}
const begin = { role: 'user', content: 'go' }

describe('messages that are no results', () => {
  it('[D9] leave whole by their kind, with both events', async () => {
    const kinds = { 'sub-agent-*': { after: 1, mode: 'remove' } } as const
    const messages = [begin, note('sub-agent-result'), answer, answer, note('sub-agent-result')]
    const { view: seen, events } = await view({ kinds }, messages)
    expect(seen.messages.map(({ content }) => content.slice(0, 9))).toEqual([
      'go',
      'ok',
      'ok',
      'sub-agent',
    ])
    const told = events.filter(({ type }) => /expired|removed/.test(type))
    expect(told.map(({ type, index }) => [type, index])).toEqual([
      ['message-expired', 1],
      ['message-removed', 1],
    ])
  })

  it('[D9] the own setting goes before the kind; undo brings a message back for good', async () => {
    const kinds = { note: { after: 0, mode: 'remove' } } as const
    const own = { expiry: { after: 0, mode: 'compact', length: 40 } }
    const { view: seen, thread } = await view({ kinds }, [
      begin,
      note('note', own),
      note('note'),
      answer,
    ])
    expect(seen.messages.map(({ content }) => content.slice(0, 9))).toEqual([
      'go',
      'note foun',
      'ok',
    ])
    await thread.undo(seen.epoch.id)
    const after = await thread.view<{ content: string }>()
    expect(after.messages.map(({ content }) => content)).toEqual([
      'go',
      `note ${words}`,
      `note ${words}`,
      'ok',
    ])
  })

  it('[D9] a result in the user role expires by the tool that it names, before its kind', async () => {
    const kinds = { 'tool-result': { after: 9, mode: 'remove' } } as const
    const tools = { 'look*': { after: 0, mode: 'compact', length: 40 } } as const
    const { view: seen } = await view({ kinds, tools }, [
      begin,
      note('tool-result', { tool: 'Lookup' }),
      note('tool-result', { tool: 'other' }),
      answer,
    ])
    expect(seen.trace).toMatchObject([{ index: 1, form: 'clipped', rule: 'expiry' }])
    expect(seen.messages[1]?.content).toContain('[Compacted: showing first 40 of ')
  })

  it('[D9] a tool result without a kind is a tool-result; the newest user message never expires', async () => {
    const kinds = { '*': { after: 0, mode: 'remove' } } as const
    const { view: seen } = await view({ kinds }, [
      { ...begin, kind: 'chat', content: words },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId: 'c', name: 'look', arguments: '{}' }],
      },
      { role: 'tool', content: [{ type: 'tool-result', callId: 'c', content: words }] },
      answer,
    ])
    expect(seen.messages[0]?.content).toBe(words)
    expect(seen.messages[2]?.content).toMatch(/^\[Omitted: look result/)
  })
})

describe('which setting holds', () => {
  const tools = {
    search: { after: 5, mode: 'compact', compact: 'first-chars', length: 300 },
  } as const
  const found = (settings: ExpirySettings, tool = 'search') => settingFor({ tool }, settings)

  it.each([
    ['no setting', {}, undefined],
    ['an unknown tool', { tools }, undefined],
    ['mode none', { tools: { other: { after: 5, mode: 'none' } } }, { after: 5, mode: 'none' }],
    [
      'never',
      { tools: { other: { after: null, mode: 'remove' } } },
      { after: null, mode: 'remove' },
    ],
  ] as const)('[D4] %s', (title, settings, expected) => {
    const tool = title === 'an unknown tool' || title === 'no setting' ? 'unknown' : 'other'
    expect(found(settings, tool)).toEqual(expected)
  })

  it('[D4] the name without case and spaces; 0 is a limit', () => {
    expect(found({ tools }, ' Search ')).toEqual(tools.search)
    expect(found({ tools: { search: { after: 0, mode: 'remove' } } })).toMatchObject({ after: 0 })
  })

  it.each([
    [
      { after: 10, mode: 'compact', compact: 'summary', length: 1000, prompt: 'p' },
      { after: 10, mode: 'compact', compact: 'summary', length: 1000, prompt: 'p' },
    ],
    [{ after: 7 }, { ...tools.search, after: 7 }],
    [{ after: null, length: null }, tools.search],
    [{ mode: 'none', after: 10 }, undefined],
  ] as const)('[D4] the override %j', (override, expected) => {
    expect(found({ tools, override })).toEqual(expected)
  })

  it('[D4] an override alone needs an age and a mode: what nobody configured never expires', () => {
    expect(found({ override: { after: 7 } })).toEqual({ after: 7, mode: 'none' })
    expect(found({ override: { mode: 'compact' } })).toEqual({ after: null, mode: 'compact' })
    const both = { after: 7, mode: 'remove' } as const
    expect(found({ override: both })).toEqual(both)
  })
})
