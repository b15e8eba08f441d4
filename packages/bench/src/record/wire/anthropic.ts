// The scripted answer in the format of /v1/messages.

import type { MakeId, Reply, WireAnswer, WireEvent } from '../reply.ts'
import { pieces, sealed } from '../reply.ts'

type WireBlock = { readonly type: string } & Readonly<Record<string, unknown>>

export function anthropicAnswer(reply: Reply, model: string, makeId: MakeId): WireAnswer {
  const id = makeId('msg')
  const usage = {
    input_tokens: reply.inputTokens ?? 100,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 20,
  }
  const parts: { readonly block: WireBlock; readonly events: readonly WireEvent[] }[] = []
  const add = (whole: WireBlock, start: WireBlock, deltas: readonly unknown[]): void => {
    const index = parts.length
    const events: WireEvent[] = [
      event('content_block_start', { index, content_block: start }),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]
    parts.push({ block: whole, events })
  }
  if (reply.reasoning !== undefined) addThinking(reply.reasoning, add)
  if (reply.text !== undefined) {
    const deltas = pieces(reply.text).map((text) => ({ type: 'text_delta', text }))
    add({ type: 'text', text: reply.text }, { type: 'text', text: '' }, deltas)
  }
  for (const call of reply.calls ?? []) {
    const head = { type: 'tool_use', id: makeId('toolu'), name: call.name }
    const input: unknown = JSON.parse(call.arguments)
    const deltas = ['', ...pieces(call.arguments)].map((piece) => ({
      type: 'input_json_delta',
      partial_json: piece,
    }))
    add({ ...head, input }, { ...head, input: {} }, deltas)
  }
  const stopReason = (reply.calls ?? []).length > 0 ? 'tool_use' : 'end_turn'
  const head = { id, type: 'message', role: 'assistant', model }
  const body = {
    ...head,
    content: parts.map((part) => part.block),
    stop_reason: stopReason,
    stop_sequence: null,
    usage,
  }
  const message = { ...head, content: [], stop_reason: null, stop_sequence: null, usage }
  const events: WireEvent[] = [
    event('message_start', { message }),
    event('ping', {}),
    ...parts.flatMap((part) => part.events),
    event('message_delta', { delta: { stop_reason: stopReason, stop_sequence: null }, usage }),
    event('message_stop', {}),
  ]
  return { body, events }
}

function addThinking(
  thinking: string,
  add: (whole: WireBlock, start: WireBlock, deltas: readonly unknown[]) => void,
): void {
  const signature = sealed(thinking)
  add(
    { type: 'thinking', thinking, signature },
    { type: 'thinking', thinking: '', signature: '' },
    [
      ...pieces(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature },
    ],
  )
}

function event(type: string, fields: Readonly<Record<string, unknown>>): WireEvent {
  return { event: type, data: { type, ...fields } }
}
