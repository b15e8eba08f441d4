// Whether a thread can still be used: its log folds, and every format gets a view that its provider accepts.

import {
  type Entry,
  type FormatName,
  formatNames,
  OrielError,
  openThread,
  type Store,
  type Thread,
  type ThreadKey,
  type TokensOption,
} from 'oriel'
import { bodyOf, formatNamed } from 'oriel/providers'

/** Why a thread cannot be used. */
export interface Failure {
  /** Absent when the thread cannot even be opened. */
  readonly format?: FormatName
  /** An error code, or the provider's rule and the place. */
  readonly reason: string
}

/** Errors that say nothing about the thread. */
const storeCodes: ReadonlySet<string> = new Set(['storage-failed', 'storage-full', 'closed'])

/** The first failure; undefined when every format has a valid view. Reads the whole log, writes nothing. */
export async function failureOf(store: Store, key: ThreadKey): Promise<Failure | undefined> {
  let thread: Thread
  try {
    thread = await openFromLog(store, key)
  } catch (error) {
    return { reason: reasonOf(error) }
  }
  for (const format of formatNames) {
    const reason = await viewFailure(thread, format)
    if (reason !== undefined) return { format, reason }
  }
  return undefined
}

/** The thread folded from its first entry, whatever snapshots there are. */
export async function openFromLog(store: Store, { tenant, thread }: ThreadKey): Promise<Thread> {
  const tokens = await counterOf(store, { tenant, thread })
  return openThread({ id: thread, tenant, store, snapshotEvery: 0, ...(tokens && { tokens }) })
}

async function viewFailure(thread: Thread, format: FormatName): Promise<string | undefined> {
  try {
    const view = await thread.view({ format, dryRun: true })
    // Before the first message there is nothing to send.
    if (view.messages.length === 0) return undefined
    const target = formatNamed(format)
    const [violation] = target.validate(bodyOf(target, view))
    return violation === undefined ? undefined : `rule ${violation.rule} at ${violation.path}`
  } catch (error) {
    return reasonOf(error)
  }
}

/**
 * A thread may count by a counter that only its program has. Views without a budget do not depend on it, so one of the same name
 * stands in.
 */
async function counterOf(store: Store, key: ThreadKey): Promise<TokensOption | undefined> {
  for await (const first of store.read(key, { to: 1 })) {
    const name = tokensOf(first)
    if (name === undefined || name === 'estimate' || name === 'o200k') return undefined
    return { name, count: (text) => text.length }
  }
  return undefined
}

function tokensOf(entry: Entry): string | undefined {
  if (entry.type !== 'setting') return undefined
  const { value } = entry
  if (typeof value !== 'object' || value === null || !('tokens' in value)) return undefined
  return typeof value.tokens === 'string' && value.tokens !== '' ? value.tokens : undefined
}

/** The code of our own errors. The text of any other could quote content. */
function reasonOf(error: unknown): string {
  if (!OrielError.is(error)) return error instanceof Error ? error.name : 'unknown error'
  if (storeCodes.has(error.code)) throw error
  return error.code
}
