// Call ids on the wire: accepted by the provider, unique in the view, stable across steps.

import { type BlockPosition, type Call, isCall, isResult } from '../state/exchange.ts'
import type { State } from '../state/state.ts'
import type { Profile, Repair } from './profile.ts'
import type { ViewMessage } from './view.ts'

/**
 * Gives every call and its result an id that the provider accepts and that is unique in the view.
 */
export function withWireIds(
  state: State,
  messages: readonly ViewMessage[],
  profile: Profile,
  repairs: Repair[],
): readonly ViewMessage[] {
  if (state.exchanges.isEmpty) return messages
  const used = new Set<string>()
  const wire = new Map<Call, string>()
  return messages.map((message, at) => {
    const ids = new Map<number, string>()
    message.blocks.forEach((block, index) => {
      const call = callOf(state, message, index)
      if (call === undefined || (!isCall(block) && !isResult(block))) return
      if (isCall(block) && profile.ignoresIds?.(messages, at) === true) wire.set(call, call.callId)
      else if (isCall(block)) wire.set(call, chooseId(state, call, profile, used))
      const id = wire.get(call) ?? block.callId
      if (id === block.callId) return
      ids.set(index, id)
      if (isCall(block)) {
        const { id: rule, reused = rule } = profile.rules
        const reason = call.isReused
          ? `${reused}: its call id is used twice, renamed on the wire`
          : `${rule}: its call id is not accepted, renamed on the wire`
        repairs.push({ ...call.place, form: 'full', reason })
      } else if (block.callId !== call.callId && profile.ignoresIds === undefined) {
        // Paired by name: the result had another id than its call.
        const reason = `${profile.rules.id}: its id is not that of its call, renamed on the wire`
        const place = placeOf(message, index)
        if (place !== undefined) repairs.push({ ...place, form: 'full', reason })
      }
    })
    return ids.size === 0 ? message : { ...message, wireIds: ids }
  })
}

function chooseId(state: State, call: Call, profile: Profile, used: Set<string>): string {
  const { callId, place } = call
  const isFine =
    !call.isReused &&
    callId.length <= profile.maxIdLength &&
    profile.idPattern.test(callId) &&
    !used.has(callId)
  let id = isFine ? callId : `call_${state.blockIdAt(place).replaceAll(/[^a-z0-9_]/g, '')}`
  while (used.has(id)) id = `${id}_`
  used.add(id)
  return id
}

function callOf(state: State, message: ViewMessage, index: number): Call | undefined {
  if (message.answers !== undefined) return message.answers[index]
  const place = placeOf(message, index)
  if (place === undefined) return undefined
  const exchange = state.exchanges.exchangeAt(place.seq)
  const own = exchange?.calls.find((call) => call.place.block === place.block)
  return own ?? state.exchanges.answeredBy(place)?.call
}

/** The position of a block in the log. */
function placeOf({ entry, positions }: ViewMessage, index: number): BlockPosition | undefined {
  return entry && { seq: entry.seq, block: positions?.[index] ?? index }
}
