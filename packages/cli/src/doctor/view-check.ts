// Check that a thread is usable: its log folds, and every format has a view that its provider
// accepts.

import {
  type FormatName,
  formatNames,
  OrielError,
  openThread,
  type Store,
  type Thread,
  type ThreadKey,
  type TokensOption,
} from 'oriel'
import { settings } from 'oriel/inspect'
import { bodyOf, formatNamed } from 'oriel/providers'

/** Why a thread cannot be used. */
export interface Failure {
  /** Absent if the thread cannot be opened at all. */
  readonly format?: FormatName
  /** An error code, or the provider's rule and the path. */
  readonly reason: string
}

/** Errors that do not concern the thread. */
const storeCodes: ReadonlySet<string> = new Set(['storage-failed', 'storage-full', 'closed'])

/**
 * The first failure; undefined if every format has a valid view. Reads the whole log, writes
 * nothing.
 */
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

/** Opens the thread by folding its whole log, ignoring snapshots. */
export async function openFromLog(store: Store, { tenant, thread }: ThreadKey): Promise<Thread> {
  const tokens = await counterOf(store, { tenant, thread })
  return openThread({ id: thread, tenant, store, snapshotEvery: 0, ...(tokens && { tokens }) })
}

async function viewFailure(thread: Thread, format: FormatName): Promise<string | undefined> {
  try {
    const view = await thread.view({ format, dryRun: true })
    // An empty thread has nothing to send.
    if (view.messages.length === 0) return undefined
    const target = formatNamed(format)
    const [violation] = target.validate(bodyOf(target, view))
    return violation === undefined ? undefined : `rule ${violation.rule} at ${violation.path}`
  } catch (error) {
    return reasonOf(error)
  }
}

/**
 * A thread may use a custom counter that only its own program has. Views without a budget do not
 * depend on it, so a stub of the same name is used.
 */
async function counterOf(store: Store, key: ThreadKey): Promise<TokensOption | undefined> {
  for await (const first of store.read(key, { to: 1 })) {
    const name = settings.header.find(first)?.tokens
    if (name === undefined || name === '' || name === 'estimate' || name === 'o200k')
      return undefined
    return { name, count: (text) => text.length }
  }
  return undefined
}

/** The code of an OrielError. Other messages could quote content. */
function reasonOf(error: unknown): string {
  if (!OrielError.is(error)) return error instanceof Error ? error.name : 'unknown error'
  if (storeCodes.has(error.code)) throw error
  return error.code
}
