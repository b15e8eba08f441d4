// The window over user turns (document 002) and the cap on messages (document 004), both on exchange edges.

import type { Edit } from '../core/log/entry.ts'
import { shownAgainIn } from '../core/state/expansion.ts'
import { waitsFrom } from '../core/state/reasoning.ts'
import { type Item, type State, startsTurn } from '../core/state/state.ts'
import { isProtected, rangesOf, tokensOf, type Unit, unitsOf } from '../core/state/units.ts'
import { remaining } from '../core/state/weight.ts'
import { overCap, withOpeners } from './message-cap.ts'
import type { Rule } from './rule.ts'

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

/** What document 002 recommends; its function said 50, its text 20. */
export const defaultLength = 20

export const history: Rule<HistorySettings> = {
  name: 'history',
  propose(state, settings, { planned }) {
    const { policy = 'lastN', length = defaultLength, preserveSystemMessages = true } = settings
    const { maxMessages = 0, keepRecentMessages = 0 } = settings
    const edits: Edit[] = []
    const waits = waitsFrom(state)
    // What another rule drops now has left already: each message is covered once.
    const isNow = ({ since = Infinity }: Edit): boolean => waits === Infinity || since < waits
    const visible = remaining(state, planned.filter(isNow))
    if (!preserveSystemMessages && policy !== 'all') {
      const system = visible.filter(
        ({ entry }) =>
          entry.role === 'system' &&
          !state.isPinned(entry.seq) &&
          !state.isVetoed(entry.seq, '*', 'dropped'),
      )
      // Each left as soon as it came: reasoning that was made later has never seen it.
      for (const step of new Set(system.map(({ entry }) => entry.step))) {
        const items = system.filter(({ entry }) => entry.step === step)
        const since = items.at(-1)?.entry.seq
        push(edits, state, items, 'system messages are not preserved', since)
      }
    }
    const units = unitsOf(state, visible)
    const firstTurn = firstTurnKept(state.turn, { policy, length })
    const isShownAgain = shownAgainIn(state)
    const isFixed = (unit: Unit): boolean =>
      isProtected(state, unit) || unit.items.some(({ entry }) => isShownAgain(entry))
    const fixed = withOpeners(units, new Set(units.filter(isFixed)))
    const outside = units.filter((unit) => unit.turn < firstTurn && !fixed.has(unit))
    const { units: leaving, since: left } = leavingNow(state, outside, { waits, policy, length })
    push(edits, state, itemsOf(leaving), windowReason(policy, length), left)
    if (maxMessages > 0) {
      const isReady = ({ items }: Unit): boolean => (items[0]?.entry.seq ?? 0) < waits
      const gone = new Set(leaving)
      const inside = units.filter((unit) => !gone.has(unit) && isReady(unit))
      const { units: over, since } = overCap(inside, { maxMessages, keepRecentMessages, isFixed })
      push(edits, state, itemsOf(over), `more than ${maxMessages} messages`, since)
    }
    return edits
  },
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
 * Units outside the window that may leave now, and the log's length when they had to, where that is not the newest user message. In an
 * open tool loop with signed reasoning these are the ones that were outside before it began; the others wait for its end.
 */
function leavingNow(
  { visible }: State,
  outside: readonly Unit[],
  { waits, policy, length }: WindowSettings & { readonly waits: number },
): { readonly units: readonly Unit[]; readonly since?: number } {
  if (waits === Infinity) return { units: outside }
  const opener = visible.findLast(({ entry }) => entry.seq < waits && startsTurn(entry))?.entry
  if (opener === undefined) return { units: [] }
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
  reason: string,
  since: number = state.newestUser ?? state.version,
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
  })
}
