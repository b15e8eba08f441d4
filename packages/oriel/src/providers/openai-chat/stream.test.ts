import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { endOfStream } from '../stream.ts'
import { answers as openaiChat } from './stream.ts'

type Reason = string | null

const chunk = (delta: Json, reason: Reason = null, index = 0): JsonObject => ({
  id: 'chatcmpl-1',
  model: 'gpt-5',
  choices: [{ index, delta, finish_reason: reason }],
})
const calls = (...pieces: readonly JsonObject[]): readonly JsonObject[] => [
  chunk({ role: 'assistant', content: null }),
  ...pieces.map((piece) => chunk({ tool_calls: [piece] })),
  chunk({}, 'tool_calls'),
]

function assembled(events: readonly unknown[]) {
  const stream = openaiChat.stream()
  for (const event of events) stream.take(event)
  return stream
}

const messageOf = (events: readonly unknown[]): Json | undefined =>
  assembled([...events, endOfStream]).answer()?.messages[0]

const look = (id: string, given: string): JsonObject => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: given },
})
const patch = (id: string, input: string): JsonObject => ({
  id,
  type: 'custom',
  custom: { name: 'apply_patch', input },
})

describe('the calls of a chat completion', () => {
  it.each<[string, readonly JsonObject[], readonly JsonObject[]]>([
    [
      'a function call in pieces',
      [
        { index: 0, ...look('a', '') },
        { index: 0, function: { arguments: '{"x"' } },
        { index: 0, function: { name: null, arguments: ':1}' } },
      ],
      [look('a', '{"x":1}')],
    ],
    [
      'a custom call in pieces',
      [
        { index: 0, ...patch('a', '') },
        { index: 0, custom: { input: '*** Begin' } },
        { index: 0, custom: { input: ' Patch' } },
      ],
      [patch('a', '*** Begin Patch')],
    ],
    [
      'interleaved calls, the last one first',
      [
        { index: 1, ...patch('b', 'x') },
        { index: 0, ...look('a', '{') },
        { index: 1, custom: { input: 'y' } },
        { index: 0, function: { arguments: '}' } },
      ],
      [look('a', '{}'), patch('b', 'xy')],
    ],
    [
      'gaps between indexes, and very large ones',
      [
        { index: 7, ...look('b', '{}') },
        { index: 2 ** 40, ...look('c', '{}') },
        { index: 3, ...look('a', '{}') },
      ],
      [look('a', '{}'), look('b', '{}'), look('c', '{}')],
    ],
    [
      'an id that comes late',
      [
        { index: 0, type: 'function', function: { name: 'look', arguments: '{' } },
        { index: 0, id: '' },
        { index: 0, id: 'a', function: { arguments: '}' } },
      ],
      [look('a', '{}')],
    ],
    [
      'a name that comes late',
      [
        { index: 0, id: 'a', type: 'custom' },
        { index: 0, custom: { name: 'apply_patch', input: 'x' } },
      ],
      [patch('a', 'x')],
    ],
    [
      'id, type and name repeated with every piece',
      [
        { index: 0, ...look('a', '{"x"') },
        { index: 0, ...look('a', ':1}') },
      ],
      [look('a', '{"x":1}')],
    ],
    [
      'a new id with every piece',
      [
        { index: 0, ...look('a', '{"x"') },
        { index: 0, ...look('b', ':1}') },
      ],
      [look('b', '{"x":1}')],
    ],
    [
      'whole calls without an index',
      [look('a', '{}'), look('b', '{}'), patch('c', 'x')],
      [look('a', '{}'), look('b', '{}'), patch('c', 'x')],
    ],
    [
      'pieces without an index, the id in the first',
      [
        look('a', '{"x"'),
        { function: { arguments: ':1}' } },
        patch('b', ''),
        { custom: { input: 'x' } },
      ],
      [look('a', '{"x":1}'), patch('b', 'x')],
    ],
    [
      'pieces without an index, the id in each',
      [look('a', '{'), look('b', '{'), { id: 'a', function: { arguments: '}' } }, look('b', '}')],
      [look('a', '{}'), look('b', '{}')],
    ],
    [
      'neither index nor id: a name begins a call',
      [
        { function: { name: 'look', arguments: '{' } },
        { function: { arguments: '}' } },
        { function: { name: 'look', arguments: '{}' } },
      ],
      [
        { type: 'function', function: { name: 'look', arguments: '{}' } },
        { type: 'function', function: { name: 'look', arguments: '{}' } },
      ],
    ],
    [
      'no index, and ids that come late',
      [
        { type: 'function', function: { name: 'look', arguments: '' } },
        { id: 'a', function: { arguments: '{}' } },
        { type: 'function', function: { name: 'look', arguments: '' } },
        { id: 'b', function: { arguments: '{}' } },
      ],
      [look('a', '{}'), look('b', '{}')],
    ],
    [
      'the same index for every call',
      [
        { index: 0, ...look('a', '{}') },
        { index: 0, ...look('b', '{"x"') },
        { index: 0, function: { arguments: ':1}' } },
        { index: 0, ...patch('c', 'x') },
      ],
      [look('a', '{}'), look('b', '{"x":1}'), patch('c', 'x')],
    ],
    [
      'indexes that are none',
      [
        { index: -1, ...look('a', '{') },
        { index: null, function: { arguments: '}' } },
        { index: '1', ...look('b', '{}') },
      ],
      [look('a', '{}'), look('b', '{}')],
    ],
    [
      'arguments as an object, and none at all',
      [
        { index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: { x: 1 } } },
        { index: 1, id: 'b', type: 'function', function: { name: 'look' } },
      ],
      [
        { id: 'a', type: 'function', function: { name: 'look', arguments: { x: 1 } } },
        look('b', ''),
      ],
    ],
    [
      'fields that only some servers send',
      [
        { index: 0, ...look('a', '{}'), extra_content: { google: { thought_signature: 's' } } },
        { index: 0, function: null, extra_content: null },
      ],
      [{ ...look('a', '{}'), extra_content: { google: { thought_signature: 's' } } }],
    ],
  ])('[SA3] %s', (_, pieces, expected) => {
    expect(messageOf(calls(...pieces))).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: expected,
    })
    // However many come in one event.
    const together = [chunk({ tool_calls: pieces }), chunk({}, 'tool_calls')]
    expect(messageOf(together)).toMatchObject({ tool_calls: expected })
  })
})

describe('a streamed chat completion', () => {
  it.each<[string, readonly JsonObject[], JsonObject]>([
    [
      'a refusal',
      [
        chunk({ role: 'assistant', content: null, refusal: '' }),
        chunk({ refusal: 'I can' }),
        chunk({ refusal: 'not.' }, 'stop'),
      ],
      { content: null, refusal: 'I cannot.' },
    ],
    [
      'audio with its transcript',
      [
        chunk({ audio: { id: 'audio_1', transcript: 'Hel' } }),
        chunk({ audio: { data: 'UklG' } }),
        chunk({ audio: { data: 'RgAA', transcript: 'lo' } }),
        chunk({ audio: { expires_at: 17 } }),
        chunk({}, 'stop'),
      ],
      {
        content: null,
        audio: { id: 'audio_1', transcript: 'Hello', data: 'UklGRgAA', expires_at: 17 },
      },
    ],
    [
      'reasoning in the fields of three kinds of servers',
      [
        chunk({ reasoning_content: 'Two ', reasoning: 'Two ' }),
        chunk({
          reasoning_content: 'files.',
          reasoning: 'files.',
          reasoning_details: [{ type: 'reasoning.text', text: 'Two ', index: 0, format: 'a' }],
        }),
        chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'files.', index: 0 }] }),
        chunk({ reasoning_details: [{ type: 'reasoning.text', signature: 'sig', index: 0 }] }),
        chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x', index: 1 }] }),
        chunk({ content: 'Hi.' }, 'stop'),
      ],
      {
        content: 'Hi.',
        reasoning_content: 'Two files.',
        reasoning: 'Two files.',
        reasoning_details: [
          {
            ...{ type: 'reasoning.text', text: 'Two files.', index: 0, format: 'a' },
            signature: 'sig',
          },
          { type: 'reasoning.encrypted', data: 'x', index: 1 },
        ],
      },
    ],
    [
      'pictures and annotations',
      [
        chunk({ content: 'See ' }),
        chunk({ content: 'this.', annotations: [{ type: 'url_citation', url: 'a' }] }),
        chunk({ annotations: [{ type: 'url_citation', url: 'b' }] }),
        chunk({ images: [{ type: 'image_url', image_url: { url: 'data:a' } }] }, 'stop'),
      ],
      {
        content: 'See this.',
        annotations: [
          { type: 'url_citation', url: 'a' },
          { type: 'url_citation', url: 'b' },
        ],
        images: [{ type: 'image_url', image_url: { url: 'data:a' } }],
      },
    ],
    [
      'content as parts and as text by turns',
      [
        chunk({ content: '' }),
        chunk({ content: [{ type: 'thinking', thinking: 'hm' }] }),
        chunk({ content: 'Hel' }),
        chunk({ content: 'lo' }, 'stop'),
      ],
      {
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'text', text: 'Hello' },
        ],
      },
    ],
    [
      'the deprecated function_call',
      [
        chunk({ function_call: { name: 'look', arguments: '' } }),
        chunk({ function_call: { arguments: '{"x"' } }),
        chunk({ function_call: { arguments: ':1}' } }, 'function_call'),
      ],
      { content: null, function_call: { name: 'look', arguments: '{"x":1}' } },
    ],
    ['nothing', [chunk({ role: 'assistant' }), chunk({}, 'stop')], { content: null }],
    [
      'deltas that are null, empty or absent',
      [
        chunk(null),
        { choices: [{ index: 0 }] },
        { choices: [null, 1] },
        { choices: null },
        chunk({ content: 'Hi', tool_calls: null, refusal: null }, 'stop'),
      ] as readonly JsonObject[],
      { content: 'Hi', refusal: null },
    ],
    ['choices without an index', [{ choices: [{ delta: { content: 'Hi' } }] }], { content: 'Hi' }],
  ])('[SA3] says %s', (_, events, expected) => {
    expect(messageOf(events)).toEqual({ role: 'assistant', ...expected })
  })

  it('[SA3] keeps a field called __proto__ as a field', () => {
    const events = [
      JSON.parse('{"choices":[{"index":0,"delta":{"__proto__":{"x":1},"content":"Hi"}}]}'),
      JSON.parse(
        '{"choices":[{"delta":{"tool_calls":[{"index":0,"__proto__":"p","function":{"name":"look","__proto__":"q"}}]}}]}',
      ),
    ]
    expect(JSON.stringify(messageOf(events))).toBe(
      '{"role":"assistant","content":"Hi","__proto__":{"x":1},"tool_calls":[{"type":"function","__proto__":"p","function":{"arguments":"","name":"look","__proto__":"q"}}]}',
    )
  })

  it('[SA4] ends with its mark, and its usage comes before', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 1 }
    const stream = assembled([chunk({ content: 'Hi' }), chunk({}, 'stop')])
    expect([stream.isComplete, stream.isOver]).toEqual([true, false])
    stream.take({ id: 'chatcmpl-1', choices: [], usage })
    stream.take(endOfStream)
    stream.take(chunk({ content: ' too late' }))
    expect([stream.isComplete, stream.isOver]).toEqual([true, true])
    expect(stream.answer()).toEqual({
      messages: [{ role: 'assistant', content: 'Hi' }],
      usage,
      response: { id: 'chatcmpl-1', model: 'gpt-5', finish: 'stop' },
    })
  })

  it('[SA4] is not whole without a reason to stop, also where that is empty', () => {
    const stream = assembled([chunk({ content: 'Hi' }, ''), endOfStream])
    expect([stream.isComplete, stream.isOver]).toEqual([false, false])
    expect(stream.answer()?.messages).toEqual([{ role: 'assistant', content: 'Hi' }])
  })

  it('[SA4] spoken answers may end without a reason', () => {
    const audio = { id: 'audio_1', data: 'UklG', transcript: 'Hi' }
    expect(assembled([chunk({ audio })]).isComplete).toBe(false)
    expect(assembled([chunk({ audio }), chunk({ audio: { expires_at: 1 } })]).isComplete).toBe(true)
  })

  it('[SA4] that breaks off is what came', () => {
    const stream = assembled(calls({ index: 0, ...patch('a', '*** Be') }).slice(0, -1))
    expect(stream.isComplete).toBe(false)
    expect(stream.answer()?.messages).toMatchObject([{ tool_calls: [patch('a', '*** Be')] }])
    expect(assembled([]).answer()).toBeUndefined()
    expect(assembled([chunk({ role: 'assistant', content: '' })]).answer()).toBeUndefined()
  })

  it('[SA5] with an error is never whole', () => {
    const error = { message: 'gone', type: 'server_error' }
    const stream = assembled([chunk({ content: 'Hi' }), chunk({}, 'stop'), { error }, endOfStream])
    expect([stream.isComplete, stream.isOver, stream.error]).toEqual([false, false, error])
    expect(assembled([{ error: 'gone' }]).error).toEqual({ message: 'gone' })
  })

  it('[SA5] of several choices is no answer, whole or streamed', () => {
    const usage = { completion_tokens: 2 }
    const stream = assembled([
      chunk({ content: 'One' }),
      chunk({ content: 'Two' }, null, 1),
      chunk({}, 'stop'),
    ])
    expect(stream.isComplete).toBe(false)
    stream.take(chunk({}, 'stop', 1))
    expect(stream.isComplete).toBe(true)
    expect(stream.answer()).toBeUndefined()
    stream.take({ choices: [], usage })
    expect(stream.answer()).toMatchObject({ messages: [], usage })
    const choice = { index: 0, message: { role: 'assistant', content: 'One' } }
    expect(openaiChat.answer({ choices: [choice, choice], usage })).toMatchObject({ messages: [] })
    expect(openaiChat.answer({ choices: [choice, choice] })).toBeUndefined()
  })

  it('[SA4] does not change an answer that it gave', () => {
    const stream = assembled(calls({ index: 0, ...look('a', '{') }))
    const before = JSON.stringify(stream.answer())
    const kept = stream.answer()
    stream.take(chunk({ content: 'x', tool_calls: [{ index: 0, function: { arguments: '}' } }] }))
    expect(JSON.stringify(kept)).toBe(before)
  })
})

describe('any chat completion', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 12 })
  const call = fc.record({ isCustom: fc.boolean(), name: fc.constantFrom('look', 'read'), text })
  const message = fc.record({
    content: fc.option(text),
    refusal: fc.option(text),
    reasoning: text,
    calls: fc.array(call, { maxLength: 4 }),
  })
  /** How a server numbers calls: from 0, with gaps, or not at all. */
  const numbering = fc.constantFrom<(index: number) => JsonObject>(
    (index) => ({ index }),
    (index) => ({ index: index * 3 + 1 }),
    () => ({}),
  )

  it('[SA1] cut into pieces and assembled is whole again', () => {
    fc.assert(
      fc.property(message, numbering, fc.infiniteStream(fc.nat(5)), (said, number, random) => {
        const cut = (whole: string): readonly string[] => pieces(whole, () => next(random))
        const whole = {
          role: 'assistant',
          content: said.content,
          refusal: said.refusal,
          reasoning: said.reasoning,
          ...(said.calls.length === 0
            ? {}
            : {
                tool_calls: said.calls.map(({ isCustom, name, text: given }, index) =>
                  isCustom
                    ? { id: `c${index}`, type: 'custom', custom: { name, input: given } }
                    : { id: `c${index}`, type: 'function', function: { name, arguments: given } },
                ),
              }),
        }
        const fields = ['content', 'refusal', 'reasoning'] as const
        const events = [
          chunk({ role: 'assistant', content: null, refusal: null }),
          ...fields.flatMap((key) => cut(whole[key] ?? '').map((one) => chunk({ [key]: one }))),
          ...said.calls.flatMap(({ isCustom, name, text: given }, index) => {
            const [kind, field] = isCustom ? ['custom', 'input'] : ['function', 'arguments']
            const named = { id: `c${index}`, type: kind, [kind]: { name, [field]: '' } }
            const rest = cut(given).map((one) => ({ [kind]: { [field]: one } }))
            return [named, ...rest].map((one) =>
              chunk({ tool_calls: [{ ...number(index), ...one }] }),
            )
          }),
          chunk({}, 'stop'),
        ]
        const { content, refusal } = whole
        const expected = { ...whole, content: content || null, refusal: refusal || null }
        const { reasoning, ...rest } = expected
        expect(messageOf(events)).toEqual(reasoning === '' ? rest : expected)
        const body = { choices: [{ index: 0, message: expected, finish_reason: 'stop' }] }
        expect(openaiChat.answer(body)?.messages).toEqual([expected])
      }),
    )
  })

  it('[SA4] never throws, whatever comes', () => {
    const anything = fc.jsonValue({ maxDepth: 4 })
    const event = fc.record(
      {
        choices: fc.array(
          fc.record(
            {
              index: anything,
              finish_reason: anything,
              delta: fc.oneof(
                anything,
                fc.dictionary(fc.constantFrom('__proto__', 'constructor', 'content'), anything),
                fc.record(
                  {
                    content: anything,
                    audio: anything,
                    reasoning_details: anything,
                    function_call: anything,
                    tool_calls: fc.array(
                      fc.record(
                        { index: anything, id: anything, function: anything, custom: anything },
                        { requiredKeys: [] },
                      ),
                    ),
                  },
                  { requiredKeys: [] },
                ),
              ),
            },
            { requiredKeys: [] },
          ),
        ),
        usage: anything,
        error: anything,
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(event, anything)), (events) => {
        const stream = assembled(events)
        expect(() =>
          JSON.stringify([stream.answer(), stream.isComplete, stream.error]),
        ).not.toThrow()
      }),
    )
  })
})

function next(random: Iterator<number>): number {
  return random.next().value as number
}

/** A text in pieces, some of them empty; none for an empty text. */
function pieces(whole: string, size: () => number): readonly string[] {
  const list: string[] = []
  for (let at = 0; at < whole.length; ) {
    const end = at + size()
    list.push(whole.slice(at, end))
    at = end
  }
  return list
}
