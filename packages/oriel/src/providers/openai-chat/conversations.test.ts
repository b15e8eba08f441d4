import fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeRecorded } from '../../../../../scripts/recorded.ts'
import type { Draft } from '../../core/log/entry.ts'
import type { Json } from '../../core/log/json.ts'
import { prepare } from '../../core/log/prepare.ts'
import { State } from '../../core/state/state.ts'
import { messagesIn, segmentsOf } from '../../core/view/segments.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import type { Format } from '../format.ts'
import { openaiResponses } from '../openai-responses/index.ts'
import { openaiChat } from './index.ts'

function draftsOf(messages: readonly unknown[]): readonly Draft[] {
  return openaiChat.decode(messages, 'messages').map(({ draft }) => draft)
}

function stateOf(drafts: readonly Draft[]): State {
  const counter = { name: 'length', count: (text: string) => text.length }
  const state = new State({ counter, salt: 'test' })
  for (const entry of prepare(state, drafts, 0)) state.apply(entry)
  return state
}

/** Every message shown as it came, without repairs. */
function viewOf(drafts: readonly Draft[]): readonly ViewMessage[] {
  return stateOf(drafts).visible.map(({ entry }) => {
    const { role, origin, blocks } = entry
    return { role, origin, blocks, entry }
  })
}

function repaired(drafts: readonly Draft[], { profile }: Format): readonly ViewMessage[] {
  const state = stateOf(drafts)
  return messagesIn(segmentsOf(state, [], { profile, checkpoint: undefined }))
}

function encode(view: readonly ViewMessage[]): readonly Json[] {
  return openaiChat.encode(view).messages
}

const ids = fc.constantFrom('a', 'b', '', 'i'.repeat(41), '\ud800')
const texts = fc.oneof(fc.constantFrom('', ' ', 'text', 'a\ud800'), fc.string({ maxLength: 5 }))
const contents = fc.oneof(
  texts,
  fc.constantFrom(null, undefined, []),
  fc.array(
    fc.oneof(
      fc.record({ type: fc.constantFrom('text', 'refusal', 'x'), text: texts, refusal: texts }),
      fc.constantFrom<Json>(
        { type: 'text' },
        { no: 'type' },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        { type: 'image_url', image_url: 'https://example.com/a.png' },
        { type: 'file', file: {} },
      ),
    ),
    { maxLength: 3 },
  ),
)
const callTypes = fc.constantFrom('function', 'custom', 'future', undefined)
const calls = fc.array(
  fc.record({
    id: fc.option(ids, { nil: undefined }),
    type: callTypes,
    function: fc.constantFrom<Json>(
      { name: 'search', arguments: '{}' },
      { name: 'a b', arguments: {} },
      {},
    ),
    custom: fc.constantFrom<Json>({ name: 'patch', input: 'x' }, {}),
  }),
  { maxLength: 3 },
)
const anyMessage = fc.oneof(
  fc.record({ role: fc.constantFrom('user', 'system', 'developer'), content: contents }),
  fc.record({
    role: fc.constant('assistant'),
    content: contents,
    tool_calls: fc.option(calls, { nil: undefined }),
    reasoning_content: fc.option(texts, { nil: undefined }),
    refusal: fc.constantFrom(null, undefined, 'No.'),
    function_call: fc.constantFrom<Json | undefined>(undefined, null, {
      name: 'search',
      arguments: '{}',
    }),
  }),
  fc.record({ role: fc.constant('tool'), tool_call_id: ids, content: contents }),
  fc.record({
    role: fc.constant('function'),
    name: fc.constantFrom('search', 'other'),
    content: contents,
  }),
)

test('any list of messages, once repaired, is sent without a violation', () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 12 }), (messages) => {
      expect(openaiChat.validate(encode(repaired(draftsOf(messages), openaiChat)))).toEqual([])
    }),
    { numRuns: 2_000 },
  )
})

test('any list of messages that breaks no rule comes back exactly, repaired or not', () => {
  let accepted = 0
  fc.assert(
    fc.property(fc.array(anyMessage, { minLength: 1, maxLength: 3 }), (messages) => {
      if (openaiChat.validate(messages).length > 0) return
      accepted += 1
      expect(encode(viewOf(draftsOf(messages)))).toEqual(messages)
      expect(encode(repaired(draftsOf(messages), openaiChat))).toEqual(messages)
    }),
    { numRuns: 3_000, seed: 1 },
  )
  expect(accepted).toBeGreaterThan(100)
})

describeRecorded('recorded conversations', ({ files }) => {
  test.each(files)('$name come back exactly, and valid', (file) => {
    for (const { messages } of file.conversations()) {
      const drafts = draftsOf(messages as unknown as Json[])
      expect(drafts.filter(({ native }) => native !== undefined)).toEqual([])
      expect(encode(viewOf(drafts))).toEqual(messages)
      expect(openaiChat.validate(encode(repaired(drafts, openaiChat)))).toEqual([])
      const items = openaiResponses.encode(repaired(drafts, openaiResponses)).messages
      expect(openaiResponses.validate(items)).toEqual([])
    }
  })
})
