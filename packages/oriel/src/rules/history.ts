// The window over user turns (document 002) and the cap on messages (document 004), both on exchange edges.

import type { DropWindow, Edit, EditEntry } from '../core/log/entry.ts'
import { boolean, choice, count, object, optional } from '../core/schema/schema.ts'
import { shownAgainIn } from '../core/state/expansion.ts'
import { waitsFrom } from '../core/state/reasoning.ts'
import { type Item, type State, startsTurn } from '../core/state/state.ts'
import { isProtected, rangesOf, tokensOf, type Unit, unitsOf } from '../core/state/units.ts'
import { remaining } from '../core/state/weight.ts'
import type { Defaults, Rule } from './rule.ts'

export interface HistorySettings {
  /** `lastN`: the last turns; `all`: no window; `none`: the current turn only. @default 'lastN' */
  readonly policy?: 'lastN' | 'all' | 'none' | undefined
  /** User turns that `lastN` keeps; 0 means 1. @default 20 */
  readonly length?: number | undefined
  /** Keep system messages. The policy `all` keeps them in any case. @default true */
  readonly preserveSystemMessages?: boolean | undefined
  /** At most this many messages, system ones aside; 0 = unlimited. @default 0 */
  readonly maxMessages?: number | undefined
  /** The newest messages that the cap never drops. @default 0 */
  readonly keepRecentMessages?: number | undefined
}

const defaults = {
  policy: 'lastN',
  /** What document 002 recommends; its function said 50, its text 20. */
  length: 20,
  preserveSystemMessages: true,
  maxMessages: 0,
  keepRecentMessages: 0,
} as const satisfies Defaults

export const history = {
  name: 'history',
  schema: object({
    policy: optional(choice('lastN', 'all', 'none')),
    length: optional(count),
    preserveSystemMessages: optional(boolean),
    maxMessages: optional(count),
    keepRecentMessages: optional(count),
  }),
  defaults,
  propose(state, settings, { planned }) {
    const { policy = defaults.policy, length = defaults.length } = settings
    const { preserveSystemMessages = defaults.preserveSystemMessages } = settings
    const { maxMessages = defaults.maxMessages } = settings
    const { keepRecentMessages = defaults.keepRecentMessages } = settings
    const edits: Edit[] = []
    const firstTurn = firstTurnKept(state.turn, { policy, length })
    const keepsSystem = preserveSystemMessages || policy === 'all'
    if (keepsSystem && maxMessages === 0 && isInside(state, firstTurn)) return edits
    const waits = waitsFrom(state)
    // What another rule drops now has left already: each message is covered once.
    const isNow = ({ since = Infinity }: Edit): boolean => waits === Infinity || since < waits
    const visible = remaining(state, planned.filter(isNow))
    if (!keepsSystem) {
      const system = visible.filter(
        ({ entry }) =>
          entry.role === 'system' &&
          !state.isPinned(entry.seq) &&
          !state.isVetoed(entry.seq, '*', 'dropped'),
      )
      // Each left as soon as it came: reasoning that was made later has never seen it.
      for (const step of new Set(system.map(({ entry }) => entry.step))) {
        const items = system.filter(({ entry }) => entry.step === step)
        const since = items.at(-1)?.entry.seq ?? state.version
        const reason = 'system messages are not preserved'
        push(edits, state, items, { reason, since, window: { system: false } })
      }
    }
    const units = unitsOf(state, visible)
    const isShownAgain = shownAgainIn(state)
    const isFixed = (unit: Unit): boolean =>
      isProtected(state, unit) || unit.items.some(({ entry }) => isShownAgain(entry))
    const fixed = withOpeners(units, new Set(units.filter(isFixed)))
    const outside = units.filter((unit) => unit.turn < firstTurn && !fixed.has(unit))
    const { units: leaving, since: left } = leavingNow(state, outside, { waits, policy, length })
    const isReady = ({ items }: Unit): boolean => (items[0]?.entry.seq ?? 0) < waits
    const over =
      maxMessages > 0
        ? overCap(units.filter(isReady), { maxMessages, keepRecentMessages, isFixed })
        : { units: [], since: 0 }
    // What the cap had dropped before the window got there left at that time.
    const capped = new Set(over.units)
    const isCapped = leaving.every((unit) => capped.has(unit))
    const since = isCapped ? Math.min(left, over.since) : left
    const turn = leaving.reduce((newest, unit) => Math.max(newest, unit.turn), 0)
    const reason = windowReason(policy, length)
    push(edits, state, itemsOf(leaving), { reason, since, window: { turn } })
    const gone = new Set(leaving)
    const others = over.units.filter((unit) => !gone.has(unit))
    push(edits, state, itemsOf(others), {
      reason: `more than ${maxMessages} messages`,
      since: over.since,
      window: { messages: maxMessages, recent: keepRecentMessages },
    })
    return edits
  },
} satisfies Rule<HistorySettings>

/** Whether the window covers everything that is visible, system messages aside. Looks at new messages only, while no other changes. */
function isInside(state: State, firstTurn: number): boolean {
  if (firstTurn === 0) return true
  const known = state.derive('history:oldest-turn', () => ({ touches: 0, seq: 0, turn: Infinity }))
  if (state.touchedSince(known.touches) < Infinity) Object.assign(known, { seq: 0, turn: Infinity })
  known.touches = state.touchCount
  for (const { entry } of state.visibleFrom(state.positionOf(known.seq + 1))) {
    if (entry.role !== 'system') known.turn = Math.min(known.turn, entry.turn)
    known.seq = entry.seq
  }
  return known.turn >= firstTurn
}

interface WindowSettings {
  readonly policy: 'lastN' | 'all' | 'none'
  readonly length: number
}

/** The first turn of the window; 0 when nothing is cut. */
function firstTurnKept(turn: number, { policy, length }: WindowSettings): number {
  if (policy === 'all') return 0
  if (policy === 'none') return turn
  const turns = Math.max(1, length)
  return turn > turns ? turn - turns + 1 : 0
}

/**
 * Units outside the window that may leave now, and the log's length when they had to: at the newest user message. In an
 * open tool loop with signed reasoning these are the ones that were outside before it began; the others wait for its end.
 */
function leavingNow(
  { visible, newestUser, version }: State,
  outside: readonly Unit[],
  { waits, policy, length }: WindowSettings & { readonly waits: number },
): { readonly units: readonly Unit[]; readonly since: number } {
  if (waits === Infinity) return { units: outside, since: newestUser ?? version }
  const opener = visible.findLast(({ entry }) => entry.seq < waits && startsTurn(entry))?.entry
  if (opener === undefined) return { units: [], since: waits }
  const firstTurn = firstTurnKept(opener.turn, { policy, length })
  return { units: outside.filter(({ turn }) => turn < firstTurn), since: opener.seq }
}

function windowReason(policy: 'lastN' | 'all' | 'none', length: number): string {
  if (policy === 'none') return 'no history: only the current turn stays'
  const turns = Math.max(1, length)
  return `before the last ${turns} user turn${turns === 1 ? '' : 's'}`
}

function itemsOf(units: readonly Unit[]): readonly Item[] {
  return units.flatMap((unit) => unit.items)
}

function push(
  edits: Edit[],
  state: State,
  items: readonly Item[],
  { reason, since, window }: Required<Pick<Edit, 'reason' | 'since' | 'window'>>,
): void {
  if (items.length === 0) return
  edits.push({
    rule: 'history',
    form: 'dropped',
    target: { ranges: rangesOf(state.visible, new Set(items.map((item) => item.entry.seq))) },
    reason,
    get tokensBefore() {
      return tokensOf(items)
    },
    tokensAfter: 0,
    since,
    window,
  })
}

/**
 * The live drops of this rule that go further than the settings do: what they dropped comes back. Without settings nothing is dropped.
 * What a checkpoint stands for stays with it, and nothing changes before an open tool loop with signed reasoning.
 */
export function widenedBy(
  state: State,
  settings: HistorySettings = { policy: 'all' },
): readonly EditEntry[] {
  const { checkpoint, dropEdits, windowReach } = state
  const isWider = widerThan(state.turn, settings)
  const { turn, messages, recent, hasSystem } = windowReach
  const furthest: readonly DropWindow[] = [
    { turn },
    ...(hasSystem ? [{ system: false } as const] : []),
    ...(messages < Infinity ? [{ messages, recent }] : []),
  ]
  // Most views find nothing to take back, and must not walk all drops to see it.
  if (!furthest.some(isWider)) return []
  const edits = dropEdits.filter(
    ({ rule, window, seq }) =>
      rule === 'history' && window !== undefined && seq > (checkpoint?.seq ?? 0) && isWider(window),
  )
  return edits.length > 0 && waitsFrom(state) === Infinity ? edits : []
}

function widerThan(turn: number, settings: HistorySettings): (window: DropWindow) => boolean {
  const { policy = defaults.policy, length = defaults.length } = settings
  const { preserveSystemMessages = defaults.preserveSystemMessages } = settings
  const { maxMessages = 0, keepRecentMessages = 0 } = settings
  const firstTurn = firstTurnKept(turn, { policy, length })
  const isSystemKept = preserveSystemMessages || policy === 'all'
  return (window) => {
    if ('turn' in window) return window.turn >= firstTurn
    if ('system' in window) return isSystemKept
    return maxMessages === 0 || maxMessages > window.messages || keepRecentMessages > window.recent
  }
}

interface CapSettings {
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
function overCap(
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
  const start = Math.min(startOf(units, fixed, settings), unseenFrom(units))
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

/** Where an exchange stands that the model has not seen: nothing behind it leaves before it does, or the cut would move back once it is seen. */
function unseenFrom(units: readonly Unit[]): number {
  const newest = units.findLastIndex((unit) => unit.isAssistant)
  return units[newest]?.isExchange === true ? newest : units.length
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

/** Units with the user messages that open their turns: some providers accept nothing before the first user message. */
function withOpeners(units: readonly Unit[], some: ReadonlySet<Unit>): ReadonlySet<Unit> {
  const turns = new Set([...some].map(({ turn }) => turn))
  return new Set([...some, ...units.filter(({ isUser, turn }) => isUser && turns.has(turn))])
}

/** The user messages that open turns, by turn: each is the first unit of its turn. */
function openersOf(units: readonly Unit[]): ReadonlyMap<number, Unit> {
  return new Map(units.flatMap((unit) => (unit.isUser ? [[unit.turn, unit] as const] : [])))
}
