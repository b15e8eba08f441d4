// A wider window shows again what a narrower one dropped: the rule takes its own edits back.

import type { Entry } from '../../core/log/entry.ts'
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
