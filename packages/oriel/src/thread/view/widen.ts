// What a view takes back before it is made: what a narrower window dropped, and what the policy of earlier requests changed.

import type { EditEntry, Entry } from '../../core/log/entry.ts'
import { firstOf } from '../../core/state/edits.ts'
import type { State } from '../../core/state/state.ts'
import type { Policy } from '../../policy/schema.ts'
import { widenedBy } from '../../rules/history.ts'
import type { Build } from '../journal/batch.ts'

/** Whether this policy shows messages that the window of an earlier one dropped. */
export function isWidened(state: State, policy: Policy): boolean {
  return widenedBy(state, policy.history).length > 0
}

/** The first message that it shows again. */
export function shownAgainFrom(state: State, policy: Policy): number | undefined {
  const edits = widenedBy(state, policy.history)
  return edits.length === 0 ? undefined : Math.min(...edits.map(firstOf))
}

/** The entries that take back what goes further than the policy, as one epoch. */
export function wideningEntries(policy: Policy): Build<Entry> {
  return (state, stamp) => {
    const epoch = `w${(state.version + 1).toString(36)}`
    const reason = 'the window is wider than the one that dropped these messages'
    return widenedBy(state, policy.history).map((edit) =>
      stamp.entry({ type: 'undo', edit: edit.id, rule: 'history', reason, epoch }),
    )
  }
}

/** Live edits since a position, newest first: of checkpoints only the newest can be taken back. */
export function editsSince(state: State, since: number): readonly EditEntry[] {
  return [...state.liveEdits()].filter(({ seq }) => seq > since).sort((a, b) => b.seq - a.seq)
}

/** The entries that take back what the policy of earlier requests changed, and what goes further than the policy, as one epoch. */
export function returningEntries(policy: Policy, since: number): Build<Entry> {
  return (state, stamp) => {
    const epoch = `r${(state.version + 1).toString(36)}`
    const reason = 'made for requests that brought their own policy'
    const lent = editsSince(state, since)
    const known = new Set(lent)
    const entries = lent.map((edit) =>
      stamp.entry({ type: 'undo', edit: edit.id, rule: edit.rule, reason, epoch }),
    )
    const wider = widenedBy(state, policy.history).filter((edit) => !known.has(edit))
    const why = 'the window is wider than the one that dropped these messages'
    return [
      ...entries,
      ...wider.map((edit) =>
        stamp.entry({ type: 'undo', edit: edit.id, rule: 'history', reason: why, epoch }),
      ),
    ]
  }
}
