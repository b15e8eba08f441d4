// The policy that a log holds.

import type { SettingEntry } from '../core/entry.ts'
import { type Policy, parsePolicy } from '../policy.ts'
import type { Journal } from './journal.ts'

/** Entries never change, so each is read once. */
const parsed = new WeakMap<SettingEntry, Policy>()

/** The newest policy in the log; without one, the empty policy. */
export function loggedPolicy(journal: Pick<Journal, 'setting'>): Policy {
  const entry = journal.setting('policy')
  if (entry === undefined) return parsePolicy(undefined)
  const known = parsed.get(entry)
  if (known !== undefined) return known
  const policy = parsePolicy(entry.value)
  parsed.set(entry, policy)
  return policy
}
