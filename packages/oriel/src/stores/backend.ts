// What a store needs of a database: conditional writes and bounded reads of rows whose content it need not understand. `createStore`
// makes a store of it.

import type { Passage } from '../core/search/passages.ts'
import type { IndexedPassage } from '../core/search/rank.ts'
import type {
  Lease,
  LeaseOptions,
  ThreadKey,
  ThreadPosition,
  Watch,
  WatchListener,
} from './store.ts'

/** How far a log goes: its length, and the hash of its newest header in hex. It covers the names of the thread and everything in it. */
export interface ThreadHead {
  readonly version: number
  readonly head: string
}

/** The row of a thread. */
export interface ThreadRow extends ThreadHead {
  readonly tenant: string
  readonly thread: string
  /** The thread's secret; absent once the thread is erased. */
  readonly salt?: string
  /** Bytes of content. */
  readonly bytes: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** A row of a log. Only `seq` and `external` mean something to a backend. */
export interface LogRow {
  readonly seq: number
  /** Version of the stored form. */
  readonly form: number
  readonly type: string
  /** Two SHA-256 hashes in hex. */
  readonly content: string
  readonly header: string
  /** Eight bytes by which the row is found. Two rows of a thread may have the same. */
  readonly external?: Uint8Array
  /** Well-formed text without NUL; absent once the thread is erased. */
  readonly body?: string
  /** The blobs that belong into the body. A hash for which there is no blob says that it is lost. */
  readonly cuts?: readonly Cut[]
}

/** Where in a body the blob with this hash belongs. */
export type Cut = readonly [offset: number, hash: string]

/** Content that is kept once per tenant, under its SHA-256 in hex. */
export interface BlobRow {
  readonly hash: string
  readonly content: Uint8Array
}

/** One append, all of it or nothing. */
export interface AppendBatch {
  readonly key: ThreadKey
  /** The thread as the writer knows it; absent where there must be none, not even an erased one. */
  readonly before?: ThreadHead
  readonly after: ThreadHead
  /** The secret of a new thread. */
  readonly salt: string
  /** At least one, in order. */
  readonly rows: readonly LogRow[]
  /** What to add to the thread's bytes. */
  readonly bytes: number
  /** Blobs to keep, each once, unless the tenant has them; from now on this thread uses them. */
  readonly blobs: readonly BlobRow[]
  /** Hashes that stand in the rows. Of these, blobs that the tenant has are used by this thread, and wait no longer (see `putBlob`). */
  readonly names: readonly string[]
  /** `createdAt` of a new thread, and `updatedAt` unless that is later already. */
  readonly now: number
  /** Whether the append may resolve before it survives a power loss. A backend may ignore it. */
  readonly durable: 'now' | 'soon'
}

/** The erasure of one thread, all of it or nothing. */
export interface Erasure {
  readonly key: ThreadKey
  readonly before: ThreadHead
  /** The row that ends the log. */
  readonly row: LogRow
  readonly now: number
}

/** A part of a log, read at one moment. */
export interface LogPage {
  readonly thread: ThreadRow
  /** The header of the row before the first one asked for; absent where there is none. */
  readonly previous?: string
  readonly rows: readonly LogRow[]
  /** The content of every blob that the rows' cuts name and the tenant has, by hash. */
  readonly blobs: ReadonlyMap<string, Uint8Array>
}

export interface SnapshotRow {
  readonly version: number
  readonly format: number
  /** The header of the log at that version, and the SHA-256 of the text; both in hex. */
  readonly head: string
  readonly hash: string
  readonly text: string
}

/** A snapshot with the thread at the same moment. */
export interface FoundSnapshot {
  readonly thread: ThreadRow
  readonly snapshot: SnapshotRow
  /** The header of the row at the snapshot's version; absent where there is none. */
  readonly header?: string
}

export type ThreadQuery =
  /** Threads of a tenant that are not erased, by name. */
  | {
      readonly by: 'name'
      readonly tenant: string
      readonly after: string
      readonly limit: number
    }
  /** The same by `updatedAt`, the newest first, those of the same time by name. */
  | {
      readonly by: 'age'
      readonly tenant: string
      readonly after: ThreadPosition
      readonly limit: number
    }
  /** All threads of all tenants, erased ones too, in any order that stays. `after` is the last row of the page before. */
  | { readonly by: 'any'; readonly after?: ThreadRow; readonly limit: number }

/** Names one value. */
export interface ValueKey {
  readonly tenant: string
  /** Keeps the names of one purpose apart from all others. */
  readonly space: string
  readonly name: string
}

export interface ValueRow {
  readonly name: string
  readonly text: string
}

/** Changes as the users of one database tell each other of them. */
export interface ChangeFeed {
  watch(listener: WatchListener): Promise<Watch>
  /** Tells every process of a change that is durable. Never throws. */
  publish(key: ThreadKey, version: number): void
}

/** Where to search: a tenant's threads, or one of them. */
export interface SearchScope {
  readonly tenant: string
  readonly thread?: string
  /** Tokens that every passage must have, for the groups of threads that are searched. They act on `find` alone. @default none */
  readonly groups?: readonly string[]
}

/** How far a thread is indexed. */
export interface IndexProgress {
  readonly thread: string
  /** The log's length, and how much of it is indexed. */
  readonly version: number
  readonly indexed: number
  /** Messages in that part. */
  readonly messages: number
}

/** The passages of the entries behind `from`, up to `to`. */
export interface IndexBatch {
  readonly key: ThreadKey
  readonly from: number
  readonly to: number
  /** Messages in the log up to there. */
  readonly messages: number
  readonly passages: readonly Passage[]
}

/**
 * The database's own text index, over tokens that were made before. Contracts:
 * - A token is indexed as it is; nothing is folded, split or left out.
 * - The id of a passage is `n * 16 + hint`, with an `n` that grows in the order of indexing.
 * - `index` is atomic, and false unless the thread lives and is indexed up to `from`: two processes cannot index an entry twice.
 * - A thread that was indexed by another analysis (`analysisVersion`) counts as not indexed. Each batch then replaces the passages of its own
 *   entries, so that those behind it are still found by the former ones.
 * - Erasing a thread deletes its passages in the same write, tokens included.
 * - Reads answer for one tenant, and each row is of it.
 */
export interface SearchIndex {
  index(batch: IndexBatch): Promise<boolean>
  /** Threads that are longer than what is indexed of them by this analysis, at most so many. */
  unindexed(scope: SearchScope, limit: number): Promise<readonly IndexProgress[]>
  /** How many passages there are. */
  count(scope: SearchScope): Promise<number>
  /** For each term the ids of the passages that have one of its tokens, the newest first, at most so many. */
  find(
    scope: SearchScope,
    terms: readonly (readonly string[])[],
    limit: number,
  ): Promise<readonly (readonly number[])[]>
  passages(tenant: string, ids: readonly number[]): Promise<readonly IndexedPassage[]>
}

/**
 * Contracts:
 * - Names are compared and sorted by their UTF-8 bytes.
 * - Every write is atomic, and durable when its promise resolves. A write whose promise rejects may have taken place or not.
 * - A write with a condition says whether it took place; where the condition does not hold, it changes nothing and gives false.
 * - Reads see every write that resolved before they began.
 * - A page ends early after some number of rows or bytes, but never empty where there is a row: it bounds memory and time.
 * - Errors are OrielErrors with 'storage-failed', 'storage-full', 'too-large' or 'log-truncated'; any other becomes 'storage-failed'.
 * - `createStore` checks all input, gives each thread's appends one after the other, and calls nothing after `close`.
 */
export interface LogBackend {
  readonly name: string
  /** Whether bodies stay whole, however large: for a backend that gains nothing by keeping large strings once. @default false */
  readonly keepsWhole?: boolean

  /** Adds rows to a thread; false unless it still is as `before` says. */
  append(batch: AppendBatch): Promise<boolean>
  /**
   * Takes the bodies, cuts, externals, salt and bytes of a thread, its snapshot and leases, adds the last row, and deletes blobs that nothing
   * uses any more; false unless the thread still is as `before` says.
   */
  erase(erasure: Erasure): Promise<boolean>
  /**
   * Resolves when what reads show of a thread is durable; rejects where that is in doubt. For a database whose reads may show what a
   * failed or a later write has not made durable. An append that finds its entries already there is acknowledged only after it.
   */
  confirm?(key: ThreadKey): Promise<void>
  /** Deletes a tenant's values, and its blobs that no thread uses. Called when all its threads are erased. */
  eraseTenant(tenant: string): Promise<void>

  thread(key: ThreadKey): Promise<ThreadRow | undefined>
  /** Rows from one seq to another, as many as fit in a page; undefined when the tenant never had the thread. */
  page(key: ThreadKey, from: number, to: number): Promise<LogPage | undefined>
  /** The seqs of the rows with this `external`, in order. */
  findExternal(key: ThreadKey, external: Uint8Array): Promise<readonly number[]>
  threads(query: ThreadQuery): Promise<readonly ThreadRow[]>
  /** The tenants that ever had a thread, by name. */
  tenants(page: { readonly after: string; readonly limit: number }): Promise<readonly string[]>

  /** Keeps a thread's newest snapshot; false where the thread is absent or erased, is shorter, or has a newer one. */
  saveSnapshot(key: ThreadKey, snapshot: SnapshotRow): Promise<boolean>
  loadSnapshot(key: ThreadKey): Promise<FoundSnapshot | undefined>

  /** Keeps a blob that waits for an entry to name it: until then no erasure of a thread deletes it. */
  putBlob(tenant: string, blob: BlobRow): Promise<void>
  readBlob(tenant: string, hash: string): Promise<Uint8Array | undefined>

  /**
   * Sets a value; without a text it deletes it. With `before`, false unless the value is that text, or absent where `before.text` is
   * undefined.
   */
  putValue(
    key: ValueKey,
    text: string | undefined,
    before?: { readonly text: string | undefined },
  ): Promise<boolean>
  readValue(key: ValueKey): Promise<string | undefined>
  listValues(
    place: Omit<ValueKey, 'name'>,
    page: { readonly after: string; readonly limit: number },
  ): Promise<readonly ValueRow[]>

  /** The database's own text index. Without it, a search reads the logs, as many as there is time for. */
  readonly search?: SearchIndex
  /** For a database that several processes share. Without it, changes are told within this process. */
  readonly changes?: ChangeFeed
  /** For a database that several processes share. Without it, leases hold within this process. */
  lease?(key: ThreadKey, options: LeaseOptions): Promise<Lease | undefined>
  /** Finishes what a failed erasure left in files. Called by an erasure that finds nothing to delete. */
  scrub?(): Promise<void>
  /** The database's own complaints about its files, for `verify`. */
  check?(): Promise<readonly string[]>

  /** Called once, when everything that was begun is over. */
  close(): Promise<void>
}
