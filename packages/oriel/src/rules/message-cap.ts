// The cap on messages (document 004), on exchange edges: part of the rule `history`.

import type { Unit } from '../core/state/units.ts'

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

function cut(units: readonly Unit[], settings: CapSettings): readonly Unit[] {
  const fixed = fixedUnits(units, settings.isFixed)
  const start = startOf(units, fixed, settings)
  const first = units[start]
  const opener = first === undefined ? undefined : openersOf(units).get(first.turn)
  return units.slice(0, start).filter((unit) => unit !== opener && !fixed.has(unit))
}

/** Where the kept part begins: as early as the cap allows, at the latest where the newest messages begin. */
function startOf(
  units: readonly Unit[],
  fixed: ReadonlySet<Unit>,
  { maxMessages, keepRecentMessages }: CapSettings,
): number {
  const openers = openersOf(units)
  let start = units.length
  let kept = 0
  let before = sizeOf([...fixed])
  let isRecent = keepRecentMessages > 0
  while (start > 0) {
    const unit = units[start - 1] as Unit
    const opener = openers.get(unit.turn)
    const around = before - (fixed.has(unit) ? unit.items.length : 0)
    const needsOpener = opener !== undefined && opener !== unit && !fixed.has(opener)
    const total = kept + unit.items.length + around + (needsOpener ? 1 : 0)
    if (!isRecent && total > maxMessages) break
    start -= 1
    kept += unit.items.length
    before = around
    isRecent = kept < keepRecentMessages
  }
  if (start === 0 || start === units.length || kept <= keepRecentMessages) return start
  const first = units[start] as Unit
  if (openers.has(first.turn)) return start
  // Nothing opens this part of the conversation: begin at the next user message, if there is one.
  const next = units.findIndex((unit, index) => index > start && unit.isUser)
  return next === -1 ? start : next
}

function sizeOf(units: readonly Unit[]): number {
  return units.reduce((size, unit) => size + unit.items.length, 0)
}

/** What must stay: fixed units, the newest user message, and an exchange that the model has not seen, with what opens their turns. */
function fixedUnits(units: readonly Unit[], isFixed: (unit: Unit) => boolean): ReadonlySet<Unit> {
  const fixed = new Set(units.filter(isFixed))
  const newestUser = units.findLast((unit) => unit.isUser)
  const newestAssistant = units.findLast((unit) => unit.isAssistant)
  if (newestUser !== undefined) fixed.add(newestUser)
  if (newestAssistant?.isExchange === true) fixed.add(newestAssistant)
  return withOpeners(units, fixed)
}

/** Units with the user messages that open their turns: some providers show nothing that stands before the first user message. */
export function withOpeners(units: readonly Unit[], some: ReadonlySet<Unit>): ReadonlySet<Unit> {
  const turns = new Set([...some].map(({ turn }) => turn))
  return new Set([...some, ...units.filter(({ isUser, turn }) => isUser && turns.has(turn))])
}

/** The user messages that open turns, by turn: each stands before every other unit of its turn. */
function openersOf(units: readonly Unit[]): ReadonlyMap<number, Unit> {
  return new Map(units.flatMap((unit) => (unit.isUser ? [[unit.turn, unit] as const] : [])))
}
