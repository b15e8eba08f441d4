import { describe, expect, it } from 'vitest'
import type { Json } from '../../core/log/json.ts'
import { contextEdits } from './context-edits.ts'

const around = { inputTokens: 1000, count: (text: string) => text.length }
const thinking = (text: string) => ({ type: 'thinking', thinking: text, signature: 's' })
const said = (text: string, ...before: readonly object[]) =>
  ({ role: 'assistant', content: [...before, { type: 'text', text }] }) as unknown as Json
const asked = (text: string): Json => ({ role: 'user', content: text })

const talk: readonly Json[] = [
  asked('One'),
  said('1', thinking('aaa')),
  asked('Two'),
  said('2', thinking('bbbb')),
  asked('Three'),
  said('3', thinking('c')),
  asked('Four'),
]

function edit(messages: readonly Json[], ...edits: readonly Json[]) {
  return contextEdits.apply(messages, { edits }, around)
}

describe('context edits', () => {
  it('[CE4] clear_thinking keeps the newest turns that have some', () => {
    const { messages, applied } = edit(talk, { type: 'clear_thinking_20251015' })
    expect(messages.map((one) => JSON.stringify(one).includes('thinking'))).toEqual([
      ...[false, false, false, false, false, true, false],
    ])
    expect(applied).toEqual([
      {
        type: 'clear_thinking_20251015',
        ...{ cleared_thinking_turns: 2, cleared_input_tokens: 7 },
      },
    ])
    // What stays is the same object.
    expect(messages[5]).toBe(talk[5])
  })

  it.each([['all'], [{ type: 'all' }], [{ type: 'thinking_turns', value: 3 }]])(
    '[CE4] clear_thinking with keep %j clears nothing',
    (keep) => {
      expect(edit(talk, { type: 'clear_thinking_20251015', keep })).toEqual({
        ...{ messages: talk, applied: [] },
      })
    },
  )

  it('[CE4] a tool loop with signed thinking is left as it is', () => {
    const call = { type: 'tool_use', id: 't1', name: 'read', input: {} }
    const loop = [
      asked('Read'),
      { role: 'assistant', content: [thinking('hm'), call] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't1', content: 'x'.repeat(500) }],
      },
    ] as readonly Json[]
    const clear = {
      type: 'clear_tool_uses_20250919',
      trigger: { type: 'input_tokens', value: 1 },
      keep: { type: 'tool_uses', value: 0 },
    }
    expect(edit(loop, clear)).toEqual({ messages: loop, applied: [] })
    const over = [...loop, said('Done.'), asked('Next')]
    const { messages, applied } = edit(over, clear)
    expect(applied).toHaveLength(1)
    expect(JSON.stringify(messages)).not.toContain('thinking')
  })

  it('[CE4] what was cleared is not cleared again, and broken messages pass', () => {
    const odd: readonly Json[] = [null, 7, { role: 'user' }, { role: 'assistant', content: ['x'] }]
    const clear = { type: 'clear_tool_uses_20250919', trigger: { type: 'tool_uses', value: 0 } }
    expect(edit(odd, clear, { type: 'clear_thinking_20251015' })).toEqual({
      ...{ messages: odd, applied: [] },
    })
  })

  it.each([
    [{ edits: [{ type: 'clear_tool_uses_20250919' }, { type: 'clear_thinking_20251015' }] }, true],
    [{}, true],
    [{ edits: [{ type: 'compact_20260112' }] }, true],
    [{ edits: ['clear'] }, false],
    [{ edits: {} }, false],
    ['all', false],
  ])('[CE4] supports %j: %s', (value, isSupported) => {
    expect(contextEdits.supports(value as Json)).toBe(isSupported)
  })
})
