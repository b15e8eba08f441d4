import { describe, expect, test } from 'vitest'
import type { Block } from '../../core/log/block.ts'
import type { Draft, MessageEntry } from '../../core/log/entry.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { prepare } from '../../core/log/prepare.ts'
import { State } from '../../core/state/state.ts'
import { messagesIn, segmentsOf } from '../../core/view/segments.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import type { Format } from '../format.ts'
import { openaiResponses } from './index.ts'

const counter = { name: 'length', count: (text: string) => text.length }

function draftsOf(items: readonly unknown[]): readonly Draft[] {
  return openaiResponses.decode(items, 'input').map(({ draft }) => draft)
}

function stateOf(drafts: readonly Draft[]): State {
  const state = new State({ counter, salt: 'test' })
  for (const entry of prepare(state, drafts, 0)) state.apply(entry)
  return state
}

/** Every message shown as it came, without repairs. */
function viewOf(drafts: readonly Draft[]): ViewMessage[] {
  return stateOf(drafts).visible.map(({ entry }) => shown(entry))
}

function shown(entry: MessageEntry, blocks: readonly Block[] = entry.blocks): ViewMessage {
  return { role: entry.role, origin: entry.origin, blocks, entry }
}

function encode(view: readonly ViewMessage[]): readonly Json[] {
  return openaiResponses.encode(view).messages
}

function roundTrip(items: readonly unknown[]): readonly Json[] {
  return encode(viewOf(draftsOf(items)))
}

function repaired(drafts: readonly Draft[], { profile }: Format): readonly ViewMessage[] {
  const state = stateOf(drafts)
  return messagesIn(segmentsOf(state, [], { profile, checkpoint: undefined }))
}

/** The view of items that make one message, with some of its blocks replaced or left out. */
function edited(items: readonly unknown[], edit: (block: Block) => Block | undefined): ViewMessage {
  const views = viewOf(draftsOf(items))
  expect(views).toHaveLength(1)
  const { entry } = views[0] as Required<ViewMessage>
  return shown(
    entry,
    entry.blocks.flatMap((block) => edit(block) ?? []),
  )
}

const user = { role: 'user', content: 'Hello' }

function call(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'function_call', call_id: id, name: 'search', arguments: '{}', ...fields }
}

function output(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'function_call_output', call_id: id, output: 'done', ...fields }
}

function said(text: string, fields: JsonObject = {}): JsonObject {
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  return { type: 'message', role: 'assistant', content: [part], ...fields }
}

function reasoning(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'reasoning', id, summary: [{ type: 'summary_text', text: 'Hmm.' }], ...fields }
}

describe('a step goes back whole or without what binds it', () => {
  const step = [
    reasoning('rs_1', { encrypted_content: 'c2ln' }),
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    said('Look.', { id: 'msg_1', status: 'completed' }),
    call('a', { id: 'fc_1', status: 'completed' }),
  ]
  const bare = [said('Look.', { status: 'completed' }), call('a', { status: 'completed' })]

  test('[R3] without its reasoning, no item keeps its id', () => {
    const view = edited(step, (block) => (block.type === 'reasoning' ? undefined : block))
    expect(encode([view])).toEqual(bare)
  })

  test('[R2] with a changed call, its reasoning is left out', () => {
    const view = edited(step, (block) =>
      block.type === 'tool-call' ? { ...block, arguments: '[]' } : block,
    )
    expect(encode([view])).toEqual([bare[0], { ...bare[1], arguments: '[]' }])
  })

  test('[R2] with another call id, its reasoning is left out', () => {
    const [view] = viewOf(draftsOf(step)) as [ViewMessage]
    expect(encode([{ ...view, wireIds: new Map([[3, 'wire']]) }])).toEqual([
      bare[0],
      { ...bare[1], call_id: 'wire' },
    ])
  })

  test('[R2] reasoning with nothing behind it is left out', () => {
    expect(roundTrip([user, reasoning('rs_1')])).toEqual([user])
    expect(roundTrip([reasoning('rs_1'), user])).toEqual([user])
    expect(roundTrip([call('a'), reasoning('rs_1'), output('a')])).toEqual([call('a'), output('a')])
  })

  test('[R2] reasoning and what it led to may have been logged one by one', () => {
    const view = viewOf([
      ...draftsOf([reasoning('rs_1')]),
      ...draftsOf([call('a', { id: 'fc_1' })]),
    ])
    expect(encode(view)).toEqual([reasoning('rs_1'), call('a', { id: 'fc_1' })])
  })

  test('[R3] a call before the reasoning of its run goes without its id', () => {
    expect(
      roundTrip([call('a', { id: 'fc_1' }), reasoning('rs_1'), said('b', { id: 'msg_1' })]),
    ).toEqual([call('a'), reasoning('rs_1'), said('b', { id: 'msg_1' })])
  })

  test('[R5] an item that is there twice has its id once, and its reasoning once', () => {
    const items = [reasoning('rs_1'), said('a', { id: 'msg_1' })]
    expect(roundTrip([...items, user, ...items])).toEqual([...items, user, said('a')])
  })

  test('a compaction stays, whatever happens to the rest', () => {
    const compaction = { type: 'compaction', id: 'cmp_1', encrypted_content: 'c2ln' }
    const view = edited([compaction, ...step], (block) =>
      block.type === 'reasoning' ? undefined : block,
    )
    expect(encode([view])).toEqual([compaction, ...bare])
  })

  test('an answer of which nothing is left is an empty text', () => {
    const view = edited([reasoning('rs_1'), said('a')], (block) =>
      block.type === 'reasoning' ? block : undefined,
    )
    expect(encode([view])).toEqual([{ role: 'assistant', content: '' }])
  })
})

describe('losses', () => {
  const losses = (view: readonly ViewMessage[]) => openaiResponses.encode(view).losses

  test('nothing is told of a step that goes back whole', () => {
    expect(
      losses(viewOf(draftsOf([user, reasoning('rs_1'), said('a'), call('b')]))),
    ).toBeUndefined()
  })

  test('reasoning and hosted calls of a step that is no longer whole are told', () => {
    const items = [reasoning('rs_1'), { type: 'web_search_call', id: 'ws_1' }, said('a')]
    const view = edited(items, (block) => (block.type === 'text' ? { ...block, text: '-' } : block))
    const reason = 'R2: bound to a step that is no longer whole'
    expect(losses([view])).toEqual([
      { message: 0, block: 0, form: 'dropped', reason },
      { message: 0, block: 1, form: 'dropped', reason },
    ])
  })

  test('reasoning that leads to nothing, and an item that is there twice, are told', () => {
    const search = { type: 'web_search_call', id: 'ws_1' }
    const view = viewOf(
      draftsOf([search, said('a'), user, search, said('b'), reasoning('rs_1'), user]),
    )
    const reason = 'R2: leads to nothing in view, or is there twice'
    expect(losses(view)).toEqual([
      { message: 2, block: 0, form: 'dropped', reason },
      { message: 2, block: 2, form: 'dropped', reason },
    ])
  })

  test('an item that is sent in another shape, or without its id, is told', () => {
    const view = viewOf(
      draftsOf([
        { role: 'user', content: [] },
        said('a', { id: 'msg_1' }),
        user,
        said('b', { id: 'msg_1' }),
      ]),
    )
    expect(losses(view)).toEqual([
      { message: 0, block: 0, form: 'full', reason: 'R6: sent in an accepted shape' },
      { message: 3, block: 0, form: 'full', reason: 'R5: its item id would be refused, taken off' },
    ])
  })

  test('what another format made is told block by block', () => {
    const view = viewOf([
      {
        role: 'assistant',
        source: { format: 'openai-chat' },
        content: [
          { type: 'reasoning', text: 'Hmm.' },
          { type: 'image', mediaType: 'image/png', data: 'AAAA' },
          { type: 'tool-call', callId: 'a', name: 'fs.read', arguments: '{}' },
          { type: 'opaque', format: 'openai-chat', value: { type: 'hologram' } },
        ],
      },
    ])
    expect(losses(view)?.map(({ block, form }) => [block, form])).toEqual([
      [0, 'dropped'],
      [1, 'dropped'],
      [2, 'full'],
      [3, 'dropped'],
    ])
  })
})

describe('encode', () => {
  test('an edited text keeps the fields around it', () => {
    const view = edited(
      [{ ...user, type: 'message', id: 'msg_1' }],
      (block) => ({ ...block, text: 'H' }) as Block,
    )
    expect(encode([view])).toEqual([{ role: 'user', content: 'H', type: 'message', id: 'msg_1' }])
    const answer = edited(
      [said('long', { id: 'msg_1' })],
      (block) => ({ ...block, text: 's' }) as Block,
    )
    expect(encode([answer])).toEqual([said('s')])
  })

  test('an edited output is a text', () => {
    const parts = [{ type: 'input_text', text: 'a' }]
    const view = edited(
      [output('a', { output: parts, id: 'fco_1' })],
      (block) => ({ ...block, content: '-' }) as Block,
    )
    expect(encode([view])).toEqual([output('a', { output: '-', id: 'fco_1' })])
  })

  test('a result that Oriel wrote has the type that its call asks for', () => {
    const custom = { type: 'custom_tool_call', call_id: 'a', name: 'patch', input: 'x' }
    const sent = encode(repaired(draftsOf([custom, user]), openaiResponses))
    expect(sent).toMatchObject([custom, { type: 'custom_tool_call_output', call_id: 'a' }, user])
    expect(openaiResponses.validate(sent)).toEqual([])
  })
})
