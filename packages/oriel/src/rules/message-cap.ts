// The cap on messages (document 004), on exchange edges: part of the rule `history`.

import type { Unit } from '../core/units.ts'

export interface CapSettings {
  /** At most this many messages. */
  readonly maxMessages: number
  /** The newest messages that are never dropped. */
  readonly keepRecentMessages: number
  /** Units that must stay whatever the cap. */
  readonly isFixed: (unit: Unit) => boolean
}

/**
 * The oldest units beyond the cap, and the log's length when the cut got to where it is. The cut falls between units; where it falls
 * inside a turn, the user message that opens the turn stays, so that the view still begins with a user's words.
 */
export function overCap(
  units: readonly Unit[],
  settings: CapSettings,
): { readonly units: readonly Unit[]; readonly since: number } {
  const dropped = cut(units, settings)
  if (dropped.length === 0) return { units: [], since: 0 }
  const last = units[firstLength(units, settings, dropped.length) - 1] as Unit
  return { units: dropped, since: last.items[0]?.entry.seq ?? 0 }
}

/** How many units there were when the cut got this far. The cut only ever moves on, so halving finds it. */
function firstLength(units: readonly Unit[], settings: CapSettings, size: number): number {
  let low = 1
  let high = units.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (cut(units.slice(0, middle), settings).length >= size) high = middle
    else low = middle + 1
  }
  return low
}

function cut(
  units: readonly Unit[],
  { maxMessages, keepRecentMessages, isFixed }: CapSettings,
): readonly Unit[] {
  const kept = new Set<Unit>()
  let total = 0
  const keep = (unit: Unit): void => {
    if (!kept.has(unit)) total += unit.items.length
    kept.add(unit)
  }
  const fixed = fixedUnits(units, isFixed)
  for (const unit of fixed) keep(unit)
  let recent = 0
  let start = units.length
  for (; start > 0; start--) {
    const unit = units[start - 1] as Unit
    const isRecent = recent < keepRecentMessages
    if (!isRecent && !kept.has(unit) && total + unit.items.length > maxMessages) break
    recent += unit.items.length
    keep(unit)
  }
  if (start === 0) return []
  for (; start < units.length; start++) {
    const unit = units[start] as Unit
    const opener = openerOf(units, start)
    if (opener !== undefined && (kept.has(opener) || total < maxMessages)) {
      keep(opener)
      break
    }
    // Nothing opens this part of the conversation: begin at the next user message, if there is one.
    if (unit.isUser || (opener === undefined && !units.slice(start).some((one) => one.isUser)))
      break
    if (fixed.has(unit)) continue
    kept.delete(unit)
    total -= unit.items.length
  }
  return units.filter((unit) => !kept.has(unit))
}

/** What must stay: fixed units, the newest user message, and an exchange that the model has not seen. */
function fixedUnits(units: readonly Unit[], isFixed: (unit: Unit) => boolean): ReadonlySet<Unit> {
  const fixed = new Set(units.filter(isFixed))
  const newestUser = units.findLast((unit) => unit.isUser)
  const newestAssistant = units.findLast((unit) => unit.isAssistant)
  if (newestUser !== undefined) fixed.add(newestUser)
  if (newestAssistant?.isExchange === true) fixed.add(newestAssistant)
  return fixed
}

/** The user message of the turn in which the unit at `start` stands, when it lies before it. */
function openerOf(units: readonly Unit[], start: number): Unit | undefined {
  const first = units[start] as Unit
  if (first.isUser) return undefined
  return units.findLast((unit, index) => index < start && unit.isUser && unit.turn === first.turn)
}
