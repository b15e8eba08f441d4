// Turns: from one message that a user wrote to the next.

import type { Origin, Role } from './block.ts'
import type { Item } from './item.ts'

/** A user's own message begins a turn; synthetic messages and tool results never do. */
export function startsTurn(message: { readonly role: Role; readonly origin: Origin }): boolean {
  return message.role === 'user' && message.origin === 'user'
}

/** The seq of the message that opens the turn of another, if there is one: what a view that begins in that turn must begin with. */
export function openerOf(messages: ReadonlyMap<number, Item>, seq: number): readonly number[] {
  const turn = messages.get(seq)?.entry.turn
  for (const [at, { entry }] of messages) {
    if (at !== seq && entry.turn === turn && startsTurn(entry)) return [at]
  }
  return []
}

/** Whether a message opens the turn of one of the others. */
export function opensTurnOf(
  messages: ReadonlyMap<number, Item>,
  seq: number,
  others: Iterable<number>,
): boolean {
  const entry = messages.get(seq)?.entry
  if (entry === undefined || !startsTurn(entry)) return false
  return [...others].some((other) => messages.get(other)?.entry.turn === entry.turn)
}
