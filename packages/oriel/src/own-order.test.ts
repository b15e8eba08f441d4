import { describe, expect, it } from 'vitest'
import type { FormatName } from './formats/format.ts'
import { inOwnOrder } from './own-order.ts'
import { project } from './project.ts'

const text = (text: string) => ({ text, type: 'text' })

/** Conversations whose keys are in an order that no encoder writes, at every depth. */
const conversations: readonly [FormatName, readonly object[]][] = [
  [
    'openai-chat',
    [
      { content: 'S', role: 'system' },
      { name: 'me', content: [text('U1'), text('see')], role: 'user' },
      {
        tool_calls: [
          { function: { arguments: '{"b":1, "a":2}', name: 'look' }, type: 'function', id: 'a' },
        ],
        content: null,
        role: 'assistant',
      },
      { content: 'T(a)', tool_call_id: 'a', role: 'tool' },
      { refusal: null, annotations: [], content: 'A1', role: 'assistant' },
      { content: 'U2', role: 'user', name: undefined },
    ],
  ],
  [
    'anthropic',
    [
      { content: [text('U1')], role: 'user' },
      {
        content: [
          text('looking'),
          { input: { z: 1, a: { y: 1, b: 2 } }, name: 'look', id: 'a', type: 'tool_use' },
        ],
        role: 'assistant',
      },
      {
        content: [{ content: [text('T(a)')], tool_use_id: 'a', type: 'tool_result' }, text('U2')],
        role: 'user',
      },
      { content: 'A2', role: 'assistant' },
      { content: 'U3', role: 'user' },
    ],
  ],
  [
    'openai-responses',
    [
      { content: [{ text: 'U1', type: 'input_text' }], role: 'user', type: 'message' },
      { arguments: '{}', call_id: 'a', name: 'look', type: 'function_call' },
      { output: 'T(a)', call_id: 'a', type: 'function_call_output' },
      { content: [{ text: 'A1', type: 'output_text' }], role: 'assistant', type: 'message' },
      { content: 'U2', role: 'user' },
    ],
  ],
  [
    'ai-sdk',
    [
      { content: [text('U1')], role: 'user' },
      {
        content: [{ input: { z: 1, a: 2 }, toolName: 'look', toolCallId: 'a', type: 'tool-call' }],
        role: 'assistant',
      },
      {
        content: [
          {
            output: { value: 'T(a)', type: 'text' },
            toolName: 'look',
            toolCallId: 'a',
            type: 'tool-result',
          },
        ],
        role: 'tool',
      },
      { content: 'U2', role: 'user' },
    ],
  ],
]

describe('messages that are shown as they are', () => {
  it.each(conversations)('[I14] come back byte for byte in %s', (format, messages) => {
    const before = JSON.stringify(messages)
    const { messages: sent } = project(messages, undefined, { format })
    expect(JSON.stringify(sent)).toBe(before)
    expect(JSON.stringify(messages)).toBe(before)
  })

  it.each(conversations)('[I14] share nothing with the input in %s', (format, messages) => {
    const { messages: sent } = project<object>(messages, undefined, { format })
    const own = new Set(objectsIn(messages))
    expect(objectsIn(sent).filter((value) => own.has(value))).toEqual([])
  })

  it.each(conversations)('[I14] keep their bytes under a policy in %s', (format, messages) => {
    const plain = Array.from({ length: 20 }, (_, n) => ({
      content: `${n}`,
      role: n % 2 === 0 ? 'user' : 'assistant',
    }))
    const long = [...plain, ...messages]
    const { messages: sent } = project(long, { history: { length: 5 } }, { format })
    const own = new Set(long.map((message) => JSON.stringify(message)))
    expect(sent.length).toBeLessThan(long.length)
    expect(sent.map((message) => JSON.stringify(message)).filter((one) => !own.has(one))).toEqual(
      [],
    )
  })

  it('[I14] are found again where the format joined, added or left out others', () => {
    const messages = Array.from({ length: 9 }, (_, n) => ({ content: `${n}`, role: 'user' }))
    const encoded = (n: number) => ({ role: 'user', content: `${n}` })
    const other = { role: 'user', content: 'other' }
    const list = [encoded(0), other, encoded(1), encoded(4), other, other, encoded(5), encoded(8)]
    const shown = messages.map((_, index) => index)
    expect(JSON.stringify(inOwnOrder(list, { messages, shown }))).toBe(
      JSON.stringify(list.map((one) => messages[Number(one.content)] ?? other)),
    )
  })
})

function objectsIn(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return []
  return [value, ...Object.values(value).flatMap(objectsIn)]
}
