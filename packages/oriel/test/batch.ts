// Batches as `createStore` gives them to a backend, for tests of backends' parts.

import type { Entry } from '../src/core/log/entry.ts'
import type { AppendBatch, Erasure } from '../src/stores/backend.ts'
import type { ThreadKey } from '../src/stores/store.ts'
import {
  chainEntries,
  erasedEntry,
  genesis,
  storedForm,
  writeEntries,
} from '../src/stores/stored/entry-form.ts'
import { writeRows } from '../src/stores/stored/rows.ts'

/** One for all threads, so that a log has the same hashes in every batch. */
const salt = '0'.repeat(32)

/** The append of everything in a log after its first `expected` entries. */
export function batchOf(
  key: ThreadKey,
  log: readonly Entry[],
  expected: number,
  { now = 1, durable = 'now' }: Partial<Pick<AppendBatch, 'now' | 'durable'>> = {},
): AppendBatch {
  const chained = chainEntries({ key, salt, previous: genesis }, writeEntries(log, 0))
  const headAt = (version: number): string => chained[version - 1]?.header ?? genesis
  return {
    key,
    ...(expected === 0 ? {} : { before: { version: expected, head: headAt(expected) } }),
    after: { version: log.length, head: headAt(log.length) },
    salt,
    ...writeRows(chained.slice(expected), { salt }),
    now,
    durable,
  }
}

/** The erasure of a thread that holds this log. */
export function erasureOf(key: ThreadKey, log: readonly Entry[], now = 7): Erasure {
  const { after: before } = batchOf(key, log, 0)
  const last = erasedEntry(key, { seq: log.length + 1, previous: before.head, at: now })
  const { seq, type, content, header, text: body } = last
  return { key, before, row: { seq, form: storedForm, type, content, header, body }, now }
}
