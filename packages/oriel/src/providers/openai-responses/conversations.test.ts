import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Draft } from '../../core/log/entry.ts'
import type { Json } from '../../core/log/json.ts'
import { prepare } from '../../core/log/prepare.ts'
import { State } from '../../core/state/state.ts'
import { messagesIn, segmentsOf } from '../../core/view/segments.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import type { Format } from '../format.ts'
import { openaiChat } from '../openai-chat/index.ts'
import { openaiResponses } from './index.ts'

function draftsOf(items: readonly unknown[]): readonly Draft[] {
  return openaiResponses.decode(items, 'input').map(({ draft }) => draft)
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
  return openaiResponses.encode(view).messages
}

const ids = fc.constantFrom('a', 'b', '', 'i'.repeat(65), '\ud800')
const itemIds = fc.constantFrom(undefined, 'x_1', 'x_2', 'x_3')
const texts = fc.constantFrom('', ' ', 'text', 'a\ud800')
const contents = fc.oneof(
  texts,
  fc.array(
    fc.oneof(
      fc.record({
        type: fc.constantFrom('input_text', 'output_text', 'text', 'refusal', 'x'),
        text: texts,
      }),
      fc.constantFrom<Json>(
        { type: 'refusal', refusal: 'No.' },
        { type: 'input_image' },
        { type: 'input_image', image_url: 'data:image/png;base64,AA' },
        { type: 'input_file', file_id: 'file-1' },
        { no: 'type' },
      ),
    ),
    { maxLength: 2 },
  ),
)
const anyItem = fc.oneof(
  fc.record({
    role: fc.constantFrom('user', 'system', 'developer', 'assistant'),
    content: contents,
    id: itemIds,
  }),
  fc.record({
    type: fc.constantFrom('function_call', 'custom_tool_call'),
    call_id: ids,
    name: fc.constantFrom('search', 'a b'),
    arguments: fc.constantFrom<Json>('{}', { q: 1 }),
    input: fc.constant('x'),
    id: itemIds,
  }),
  fc.record({
    type: fc.constantFrom('function_call_output', 'custom_tool_call_output'),
    call_id: ids,
    output: contents,
    id: itemIds,
  }),
  fc.record({
    type: fc.constant('reasoning'),
    id: itemIds,
    summary: fc.constantFrom([], undefined),
  }),
  fc.record({
    type: fc.constantFrom('web_search_call', 'computer_call_output', 'compaction'),
    id: itemIds,
  }),
)

test('any list of items, once repaired, is sent without a violation, to either format', () => {
  fc.assert(
    fc.property(fc.array(anyItem, { maxLength: 12 }), (items) => {
      const drafts = draftsOf(items)
      expect(openaiResponses.validate(encode(repaired(drafts, openaiResponses)))).toEqual([])
      const chat = openaiChat.encode(repaired(drafts, openaiChat)).messages
      expect(openaiChat.validate(chat)).toEqual([])
    }),
    { numRuns: 2_000 },
  )
})

test('every reasoning of any list of items is sent, or told to be left out', () => {
  fc.assert(
    fc.property(fc.array(anyItem, { maxLength: 12 }), (items) => {
      const view = repaired(draftsOf(items), openaiResponses)
      const { messages, losses = [] } = openaiResponses.encode(view)
      const left = losses.filter(
        ({ message, block, form }) =>
          form === 'dropped' && view[message]?.blocks[block]?.type === 'reasoning',
      )
      const shown = view.flatMap(({ blocks }) => blocks.filter(({ type }) => type === 'reasoning'))
      const sent = messages.filter((item) => (item as { type?: string }).type === 'reasoning')
      expect(sent.length + left.length).toBe(shown.length)
    }),
    { numRuns: 1_000 },
  )
})

test('any list of items that breaks no rule comes back exactly', () => {
  let accepted = 0
  fc.assert(
    fc.property(fc.array(anyItem, { minLength: 1, maxLength: 4 }), (items) => {
      if (openaiResponses.validate(items).length > 0) return
      accepted += 1
      expect(encode(viewOf(draftsOf(items)))).toEqual(items)
      expect(encode(repaired(draftsOf(items), openaiResponses))).toEqual(items)
    }),
    { numRuns: 3_000, seed: 1 },
  )
  expect(accepted).toBeGreaterThan(100)
})

test('chat messages, once repaired, are sent as items without a violation', () => {
  const message = fc.oneof(
    fc.record({ role: fc.constantFrom('user', 'system'), content: texts }),
    fc.record({
      role: fc.constant('assistant'),
      content: texts,
      tool_calls: fc.array(
        fc.record({
          id: ids,
          type: fc.constant('function'),
          function: fc.constant({ name: 'search', arguments: '{}' }),
        }),
        { maxLength: 2 },
      ),
    }),
    fc.record({ role: fc.constant('tool'), tool_call_id: ids, content: texts }),
  )
  fc.assert(
    fc.property(fc.array(message, { maxLength: 10 }), (messages) => {
      const drafts = openaiChat.decode(messages, 'messages').map(({ draft }) => draft)
      expect(openaiResponses.validate(encode(repaired(drafts, openaiResponses)))).toEqual([])
    }),
    { numRuns: 1_000 },
  )
})
