import { decode, type Entry } from 'oriel'
import { describe, expect, it } from 'vitest'
import { messagesOf, toWire } from './messages.ts'

const wire = [
  { role: 'user', content: 'What failed?' },
  {
    role: 'assistant',
    content: 'Looking.',
    tool_calls: [
      { id: 'c1', type: 'function', function: { name: 'read_log', arguments: '{"a": 1}' } },
      { id: 'c2', type: 'function', function: { name: 'run_check', arguments: '{' } },
    ],
  },
  { role: 'tool', tool_call_id: 'c1', content: '<b>lines</b>' },
  { role: 'tool', tool_call_id: 'c2', content: '' },
  { role: 'assistant', content: 'Two things.' },
]

function logOf(messages: readonly object[]): readonly Entry[] {
  const decoded = decode('openai-chat', messages as never)
  return decoded.map(({ draft }, index) => ({
    ...draft,
    type: 'message',
    seq: index + 1,
    blocks:
      typeof draft.content === 'string' ? [{ type: 'text', text: draft.content }] : draft.content,
  })) as unknown as readonly Entry[]
}

describe('messages', () => {
  it('come back from the log as they were sent', () => {
    expect(toWire(messagesOf(logOf(wire)))).toEqual(wire)
  })

  it('leave out the frame, calls that nobody answered, and answers that say nothing', () => {
    const log = logOf([{ role: 'system', content: 'Be kind.' }, ...wire.slice(0, 3)])
    const [first, second, third] = wire as [object, { tool_calls: object[] }, object]
    const calls = second.tool_calls.slice(0, 1)
    expect(toWire(messagesOf(log))).toEqual([first, { ...second, tool_calls: calls }, third])
    const silent = { role: 'assistant', content: null, tool_calls: second.tool_calls }
    expect(toWire(messagesOf(logOf([first, silent])))).toEqual([first])
  })
})
