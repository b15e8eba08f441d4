import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Block } from '../../core/log/block.ts'
import type { Draft, EntryId } from '../../core/log/entry.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { equalJson } from '../../core/log/json.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import type { Encoded } from '../format.ts'
import { anthropic } from './index.ts'

/** A view that shows a draft unchanged. */
function shown({ role, content, origin = role, ...others }: Omit<Draft, 'id'>): ViewMessage {
  const blocks: readonly Block[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const place = { id: 'e1' as EntryId, seq: 1, at: 0, turn: 1, step: 1 }
  return {
    role,
    origin,
    blocks,
    entry: { type: 'message', ...place, role, origin, blocks, ...others },
  }
}

const viewOf = (messages: readonly unknown[]): readonly ViewMessage[] =>
  anthropic.decode(messages, 'messages').map(({ draft }) => shown(draft))

/** What is sent; the suite of formats checks where it comes from. */
const roundTrip = (messages: readonly unknown[]): Omit<Encoded, 'origins'> => {
  const { origins: _origins, ...sent } = anthropic.encode(viewOf(messages))
  return sent
}

const text = (value: string, more: JsonObject = {}): JsonObject => ({
  type: 'text',
  text: value,
  ...more,
})
const call = (id: string, input: Json = {}): JsonObject => ({
  type: 'tool_use',
  id,
  name: 'f',
  input,
})
const result = (id: string, more: JsonObject = {}): JsonObject => ({
  type: 'tool_result',
  tool_use_id: id,
  ...more,
})
const user = (content: Json, more: JsonObject = {}): JsonObject => ({
  role: 'user',
  content,
  ...more,
})
const assistant = (content: Json, more: JsonObject = {}): JsonObject => ({
  role: 'assistant',
  content,
  ...more,
})
const thinking = { type: 'thinking', thinking: 'let me see', signature: 'sig==' }
const redacted = { type: 'redacted_thinking', data: 'sealed==' }
const cached = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const proto = JSON.parse('{"__proto__":{"__proto__":1},"constructor":2}') as JsonObject

describe('decode then encode gives back', () => {
  const answered = (content: Json): readonly Json[] => [
    user('go'),
    assistant(content),
    user('next'),
  ]
  const step = (results: Json, input: Json = {}): readonly Json[] => [
    user('go'),
    assistant([text('calling'), call('a', input)]),
    user(results),
  ]
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
  const pdf = { type: 'base64', media_type: 'application/pdf', data: 'BBBB' }

  it.each<[string, readonly Json[]]>([
    ['a string', [user('hi')]],
    ['a lone text block', [user([text('hi')])]],
    ['several text blocks', [user([text('a'), text('b')])]],
    ['a cache breakpoint', [user([text('hi', cached)])]],
    ['unknown fields', [user([text('hi', { ttl: 1 })], { name: 'ann', id: null })]],
    ['fields called __proto__', [user([{ ...text('hi'), ...proto }], proto)]],
    ['a NUL character', [user('a\0b')]],
    ['text with citations', answered([text('see', { citations: [{ type: 'page_location' }] })])],
    ['signed thinking', answered([thinking, text('so')])],
    ['thinking with unknown fields', answered([{ ...thinking, model: 'm' }, text('so')])],
    ['redacted thinking', answered([redacted, { ...redacted, extra: [1] }, text('so')])],
    ['thinking after text', answered([text('so'), thinking])],
    [
      'thinking between calls',
      [
        user('go'),
        assistant([thinking, call('a'), thinking, call('b')]),
        user([result('b'), result('a')]),
      ],
    ],
    [
      'server tools',
      answered([
        { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } },
        { type: 'web_search_tool_result', tool_use_id: 's', content: [{ encrypted_content: 'x' }] },
        text('found'),
      ]),
    ],
    [
      'blocks of unknown types',
      answered([{ type: 'compaction', content: 'so far' }, { type: 'new' }]),
    ],
    ['images', [user([image, { type: 'image', source: { type: 'url', url: 'https://x.test' } }])]],
    ['an image by file id', [user([{ type: 'image', source: { type: 'file', file_id: 'f' } }])]],
    [
      'documents with citations',
      [
        user([
          { type: 'document', source: pdf, title: 'a', citations: { enabled: true }, ...cached },
          { type: 'document', source: pdf, title: null, context: 'c' },
          {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: '\uFEFFh\u00e9' },
          },
          { type: 'document', source: { type: 'content', content: [text('x')] } },
        ]),
      ],
    ],
    ['a result with a string', step([result('a', { content: 'x' })])],
    ['a result with an empty string', step([result('a', { content: '' })])],
    ['a result with a blank string', step([result('a', { content: ' \n' })])],
    ['a result with blocks', step([result('a', { content: [text('x', cached), image] })])],
    ['a result with an empty list', step([result('a', { content: [] })])],
    ['a result without content', step([result('a')])],
    ['a failed result', step([result('a', { content: 'x', is_error: true, ...cached })])],
    ['a result that says it did not fail', step([result('a', { is_error: false })])],
    ['a result with a strange error flag', step([result('a', { is_error: null })])],
    [
      'a result with unknown blocks',
      step([result('a', { content: [{ type: 'tool_reference' }] })]),
    ],
    ['results, then text', step([result('a', { content: 'x' }), text('go on')])],
    [
      'results, then text, with fields',
      [...step([]).slice(0, 2), user([result('a'), text('x')], proto)],
    ],
    [
      'results, then an odd result in a split',
      step([result('a', { content: [] }), text('x'), image]),
    ],
    [
      'an input with every kind of value',
      step([result('a')], { a: [null, 1.5e300, '', { b: true }] }),
    ],
    ['an input with minus zero', step([result('a')], { x: -0 })],
    ['an input called __proto__', step([result('a')], proto)],
    [
      'a response pushed as it came',
      answered('x').with(1, assistant([text('y')], { id: 'm', usage: {} })),
    ],
    [
      'a call with unknown fields',
      [
        user('go'),
        assistant([{ ...call('a'), ...cached, caller: { type: 'direct' } }]),
        user([result('a')]),
      ],
    ],
  ])('%s', (_, messages) => {
    expect(anthropic.validate(messages)).toEqual([])
    const encoded = roundTrip(messages)
    expect(equalJson(encoded, { messages })).toBe(true)
    expect(anthropic.validate(encoded)).toEqual([])
  })

  it('every generated conversation', () => {
    fc.assert(
      fc.property(conversations(), (messages) => {
        expect(anthropic.validate(messages)).toEqual([])
        const before = structuredClone(messages)
        expect(equalJson(roundTrip(messages), { messages })).toBe(true)
        expect(equalJson(messages, before)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})

describe('whatever the view', () => {
  it('nothing is broken but what the repair before it sees to', () => {
    // Start, end, and the pairing of calls are the repair's; the last position's rules follow from the end.
    const repaired = ['A2', 'A5', 'A6', 'A7', 'A8', 'A9', 'A10', 'A15']
    fc.assert(
      fc.property(fc.array(viewMessages(), { maxLength: 8 }), (view) => {
        const rules = anthropic.validate(anthropic.encode(view)).map(({ rule }) => rule)
        expect(rules.filter((rule) => !repaired.includes(rule))).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  it('the view is not touched', () => {
    fc.assert(
      fc.property(fc.array(viewMessages(), { maxLength: 8 }), (view) => {
        const before = structuredClone(view)
        anthropic.encode(view)
        expect(equalJson(view, before)).toBe(true)
      }),
      { numRuns: 100 },
    )
  })
})

/** Valid conversations: turns of texts, tool steps with any number of calls, thinking, unknown blocks and fields. */
function conversations(): fc.Arbitrary<readonly JsonObject[]> {
  const words = fc.string({ unit: 'grapheme', minLength: 1 }).filter((value) => value.trim() !== '')
  const fields = fc.dictionary(fc.constantFrom('x', '__proto__', 'meta'), fc.jsonValue(), {
    maxKeys: 2,
    noNullPrototype: true,
  }) as fc.Arbitrary<JsonObject>
  const texts = fc.tuple(words, fields).map(([value, more]) => ({ ...more, ...text(value) }))
  const unknown = fields.map((more) => ({ ...more, type: 'from_the_future' }))
  const contents = fc.oneof(
    words,
    fc.array(fc.oneof(texts, unknown), { minLength: 1, maxLength: 3 }),
  )
  const inputs = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), {
    noNullPrototype: true,
  })
  const results = fc.oneof(
    fc.constant({}),
    fc.record({ content: fc.string({ unit: 'grapheme' }), is_error: fc.boolean() }),
    fc.record({ content: fc.array(texts, { maxLength: 2 }) }),
  ) as fc.Arbitrary<JsonObject>
  const steps = fc.record({
    before: fc.array(fc.oneof(texts, fc.constantFrom<JsonObject>(thinking, redacted)), {
      maxLength: 2,
    }),
    calls: fc.array(fc.tuple(inputs, results), { minLength: 1, maxLength: 3 }),
    after: fc.array(texts, { maxLength: 2 }),
    more: fields,
  })
  const turns = fc.record({
    asked: contents,
    steps: fc.array(steps, { maxLength: 3 }),
    said: contents,
  })
  return fc.tuple(fc.array(turns, { maxLength: 3 }), contents).map(([all, last]) => {
    let calls = 0
    const messages = all.flatMap((turn) => [
      user(turn.asked),
      ...turn.steps.flatMap((step) => {
        const ids = step.calls.map(() => `call_${calls++}`)
        const made = step.calls.map(([input], index) => call(ids[index] as string, input as Json))
        const answers = step.calls.map(([, more], index) => result(ids[index] as string, more))
        return [
          assistant([...step.before, ...made], step.more),
          user([...answers, ...step.after], step.more),
        ]
      }),
      assistant(turn.said),
    ])
    return [...messages, user(last)]
  })
}

/** Messages of any role, from any format, with blocks of any kind in any order. */
function viewMessages(): fc.Arbitrary<ViewMessage> {
  const words = fc.constantFrom('', ' ', 'hello', 'bye \n', 'a\uD83D', '\0')
  const extras = fc.constantFrom(undefined, {}, cached, proto)
  const foreign: fc.Arbitrary<Json> = fc.constantFrom<Json>(
    thinking,
    redacted,
    call('s'),
    result('s'),
    text(''),
    { type: 'server_tool_use', id: 's' },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [], ...cached },
    { type: 'new', ...cached },
    { type: 'image' },
    {},
    7,
  )
  const leaf: fc.Arbitrary<Block> = fc.oneof(
    words.map((value): Block => ({ type: 'text', text: value })),
    fc.constantFrom<Block>(
      { type: 'image' },
      { type: 'image', url: 'https://x.test' },
      { type: 'file', data: '' },
    ),
    fc
      .tuple(fc.constantFrom('anthropic', 'openai-chat'), foreign)
      .map(([format, value]): Block => ({ type: 'opaque', format, value })),
  )
  const block: fc.Arbitrary<Block> = fc.oneof(
    leaf,
    fc.constantFrom<Block>(
      { type: 'reasoning' },
      { type: 'reasoning', text: 'hm' },
      { type: 'reasoning', text: '', signature: 'sig' },
      { type: 'reasoning', signature: 'sealed' },
      { type: 'tool-call', callId: 'a', name: 'f', arguments: '{"x":"\\ud83d"}' },
      { type: 'tool-call', callId: 'b', name: 'f', arguments: '[' },
    ),
    fc
      .tuple(fc.constantFrom('a', 'b'), fc.oneof(words, fc.array(leaf, { maxLength: 3 })))
      .map(([callId, content]): Block => ({ type: 'tool-result', callId, content })),
  )
  const blocks = fc.array(
    fc.tuple(block, extras).map(([one, extra]) => (extra === undefined ? one : { ...one, extra })),
    { maxLength: 4 },
  )
  const roles = fc.constantFrom('system', 'user', 'assistant', 'tool')
  const formats = fc.constantFrom('anthropic', 'openai-chat')
  return fc
    .tuple(roles, blocks, formats)
    .map(([role, content, format]) => shown({ role, content, source: { format } }))
}
