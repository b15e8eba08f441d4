// The policy that a log holds.

import type { SettingEntry } from '../core/entry.ts'
import { isChecked, type Policy, parsePolicy } from '../policy.ts'
import type { Journal } from './journal.ts'

/** Entries never change, so each is read once. */
const parsed = new WeakMap<SettingEntry, Policy>()

/** The newest policy in the log; without one, the empty policy. */
export function loggedPolicy(journal: Pick<Journal, 'setting'>): Policy {
  const entry = journal.setting('policy')
  if (entry === undefined) return parsePolicy(undefined)
  // What this process wrote itself needs no note: one for each thread would make the collector's work longer.
  if (isChecked(entry.value)) return entry.value
  const known = parsed.get(entry)
  if (known !== undefined) return known
  const policy = parsePolicy(entry.value)
  parsed.set(entry, policy)
  return policy
}
