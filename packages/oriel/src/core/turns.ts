// Turns: from one message that a user wrote to the next.

import type { Origin, Role } from './block.ts'
import type { Item } from './item.ts'

/** A user's own message begins a turn; synthetic messages and tool results never do. */
export function startsTurn(message: { readonly role: Role; readonly origin: Origin }): boolean {
  return message.role === 'user' && message.origin === 'user'
}

/**
 * The seq of the message that opens the turn of another, if there is one: what a view that begins in that turn must begin with. A system
 * message needs none: it stands for itself.
 */
export function openerOf(messages: ReadonlyMap<number, Item>, seq: number): readonly number[] {
  const { turn, role } = messages.get(seq)?.entry ?? { role: 'system' }
  if (role === 'system') return []
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
  for (const other of others) {
    const found = messages.get(other)?.entry
    if (found !== undefined && found.turn === entry.turn && found.role !== 'system') return true
  }
  return false
}
