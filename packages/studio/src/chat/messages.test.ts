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

  it('keep calls of custom tools as they are', () => {
    const call = { id: 'c1', type: 'custom', custom: { name: 'patch', input: '*** Begin' } }
    const patched = [
      { role: 'user', content: 'Patch it.' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: 'Done.' },
    ]
    expect(toWire(messagesOf(logOf(patched)))).toEqual(patched)
  })

  it('leave out the frame, and answer calls that were stopped before their tools ran', () => {
    const log = logOf([{ role: 'system', content: 'Be kind.' }, ...wire.slice(0, 3)])
    const stopped = {
      role: 'tool',
      tool_call_id: 'c2',
      content: expect.stringContaining('Stopped'),
    }
    const [first, second, third] = wire
    const sent = toWire(messagesOf(log))
    expect(sent).toHaveLength(4)
    expect(sent).toEqual(expect.arrayContaining([first, second, third, stopped]))
  })

  it.each([
    ['as a text', { role: 'assistant', content: 'Half an' }],
    ['as blocks', { role: 'assistant', content: [{ type: 'text', text: 'Half an' }] }],
    ['as an item', { type: 'message', content: [{ type: 'output_text', text: 'Half an' }] }],
    ['as a refusal', { role: 'assistant', content: null, refusal: 'Half an' }],
  ])('show an answer that broke off %s, and do not send it', (_, half) => {
    const [question] = wire as [object]
    const kept = { reason: 'the client left', messages: [half] }
    const note = { ...(logOf([{ role: 'system', content: JSON.stringify(kept) }])[0] as object) }
    const log = [...logOf([question]), { ...note, kind: 'interrupted', seq: 2 }] as Entry[]
    const messages = messagesOf(log)
    expect(messages.at(-1)).toMatchObject({ text: 'Half an', isInterrupted: true })
    expect(toWire(messages)).toEqual([question])
  })
})
