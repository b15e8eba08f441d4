import { describe, expect, it } from 'vitest'
import { type Answer, readAnswer } from './answer-stream.ts'

function streamOf(...texts: readonly string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    },
  })
}

const chunk = (delta: object): string => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`

describe('readAnswer', () => {
  it('puts text and parallel calls together, however the bytes are cut', async () => {
    const whole = [
      ': note\n\n',
      chunk({ role: 'assistant', content: 'Grüße ' }),
      chunk({ content: '✓' }),
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'one', arguments: '' } }] }),
      chunk({ tool_calls: [{ index: 1, id: 'b', function: { name: 'two', arguments: '{"x"' } }] }),
      chunk({ tool_calls: [{ index: 1, function: { arguments: ':1}' } }] }),
      'data: {"choices":[],"usage":{}}\n\n',
      'data: [DONE]\n\n',
    ].join('')
    const expected: Answer = {
      text: 'Grüße ✓',
      calls: [
        { id: 'a', name: 'one', arguments: '' },
        { id: 'b', name: 'two', arguments: '{"x":1}' },
      ],
    }
    for (let cut = 0; cut < whole.length; cut += 7) {
      const states: Answer[] = []
      const stream = streamOf(whole.slice(0, cut), whole.slice(cut))
      expect(await readAnswer(stream, (state) => states.push(state))).toEqual(expected)
      expect(states.at(-1)).toEqual(expected)
    }
  })

  it.each<[string, readonly object[], Answer]>([
    [
      'a custom call in pieces',
      [
        {
          tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'patch', input: '' } }],
        },
        { tool_calls: [{ index: 0, custom: { input: '*** Begin' } }] },
        { tool_calls: [{ index: 0, custom: { input: ' Patch' } }] },
      ],
      {
        text: '',
        calls: [{ id: 'a', name: 'patch', arguments: '*** Begin Patch', isCustom: true }],
      },
    ],
    [
      'calls without an index',
      ['a', 'b'].map((id) => ({
        tool_calls: [{ id, function: { name: 'look', arguments: '{}' } }],
      })),
      { text: '', calls: ['a', 'b'].map((id) => ({ id, name: 'look', arguments: '{}' })) },
    ],
    [
      'a refusal',
      [{ content: null, refusal: 'I can' }, { refusal: 'not.' }],
      { text: 'I cannot.', calls: [] },
    ],
    ['text after a piece without a delta', [{ content: 'Hi' }], { text: 'Hi', calls: [] }],
  ])('shows %s', async (_, deltas, expected) => {
    const nothing = 'data: {"choices":[{"index":0,"delta":null}]}\n\n'
    const stream = streamOf(nothing, ...deltas.map(chunk), 'data: [DONE]\n\n')
    expect(await readAnswer(stream, () => {})).toEqual(expected)
  })

  it('throws what the upstream said went wrong', async () => {
    const stream = streamOf(chunk({ content: 'Half' }), 'data: {"error":{"message":"gone"}}\n\n')
    await expect(readAnswer(stream, () => {})).rejects.toThrow('gone')
  })
})
