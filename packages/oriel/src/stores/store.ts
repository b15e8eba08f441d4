// Where logs are kept: one interface, one conformance suite (`oriel/testing`). `createStore` makes a store of a small `LogBackend`.

import type { Entry } from '../core/log/entry.ts'
import type { JsonObject } from '../core/log/json.ts'
import type { Scope } from '../core/log/scope.ts'
import type { ScoredPassage } from '../core/search/rank.ts'
import type { AgentSettings } from './agent-settings.ts'
import type { KeyValue } from './key-value.ts'

/** Names one thread. Every call names its tenant; another tenant's thread looks exactly like an absent one. */
export interface ThreadKey {
  readonly tenant: string
  readonly thread: string
}

export interface AppendResult {
  /** The log's length after the append: the seq of its newest entry. */
  readonly version: number
  /** Hash of the newest entry's header, which covers every entry before it. */
  readonly head: string
}

export interface WriteOptions {
  /**
   * When the entries are durable. 'soon': a process that dies loses nothing, but a power loss may, until the next append to the store
   * resolves or a second has passed. A store may take it for 'now'. @default 'now'
   */
  readonly durable?: 'now' | 'soon'
}

export interface ReadOptions {
  /** First seq to read. @default 1 */
  readonly from?: number
  /** Last seq to read, inclusive. @default the newest */
  readonly to?: number
}

export interface Snapshot {
  /** The log's length that the snapshot stands for. */
  readonly version: number
  /** Version of the snapshot's own format; a reader that does not know it ignores the snapshot. */
  readonly format: number
  readonly value: JsonObject
}

export interface ThreadInfo {
  readonly thread: string
  readonly version: number
  readonly head: string
  readonly createdAt: number
  readonly updatedAt: number
  /** Bytes of content kept for the thread. */
  readonly bytes: number
}

/** A place in the list of threads by age. Every `ThreadInfo` is one. */
export interface ThreadPosition {
  readonly updatedAt: number
  readonly thread: string
}

export interface NewestOptions {
  /** Where the last page ended. @default before the newest */
  readonly after?: ThreadPosition
  /** @default 100, at most 1000 */
  readonly limit?: number
}

/** A thread grew, or was erased. Ids and numbers only, never content. */
export type StoreChange =
  | {
      readonly type: 'changed'
      readonly tenant: string
      readonly thread: string
      /** The log's length; 0 when the thread was erased. */
      readonly version: number
    }
  /** The connection to the other processes was lost for a while: look again at whatever is shown. */
  | { readonly type: 'missed' }

export type WatchListener = (change: StoreChange) => void

export interface Watch {
  close(): Promise<void>
}

export interface LeaseOptions {
  /** What is not to be done twice at once. */
  readonly name: string
  /** After this time it ends by itself, so that a holder that dies blocks nobody for longer. */
  readonly ttlMs: number
}

export interface Lease {
  /** Holds it for its time again, from now. False where it is another's by now, or over. */
  renew(): Promise<boolean>
  release(): Promise<void>
}

export interface StoreQuery {
  readonly tenant: string
  /** Only this thread. @default all of the tenant's */
  readonly thread?: string
  /** Only threads that began in this scope. @default all of the tenant's */
  readonly scope?: Scope
  readonly query: string
  /** Messages, at most. @default 100 */
  readonly limit?: number
  readonly signal?: AbortSignal
}

/** One passage for each message that matches, the best first. */
export interface StoreMatches {
  readonly passages: readonly ScoredPassage[]
  /** False where there was not enough time to look at everything. */
  readonly isComplete: boolean
}

export interface Problem {
  readonly tenant: string
  readonly thread: string
  readonly seq?: number
  readonly code: 'corrupt-entry' | 'log-truncated' | 'gap' | 'missing-blob'
  readonly message: string
}

/**
 * Contracts, each a case of the conformance suite:
 * - `append` is atomic: all entries or none. `expected` is the log's length the writer saw (0 for a new thread); if it differs the
 *   call rejects with OrielError 'version-conflict' and nothing is written.
 * - `append` is idempotent: when the entries at expected+1 ... are already there, byte for byte, the call succeeds again and
 *   returns the same result. Entries' `seq` must be expected+1, expected+2 ...; anything else is 'invalid-input'.
 * - When `append` resolves, the entries are durable by the store's promise (memory: while the process lives; sqlite: after a
 *   power loss), unless the caller asked for `durable: 'soon'`.
 * - `read` yields entries in seq order without gaps, exactly as appended (JSON-equal, lone surrogates, NUL and `__proto__`
 *   included), and verifies each entry's hash: a mismatch rejects with 'corrupt-entry'.
 * - Reading an absent thread yields nothing; its `info` is undefined.
 * - Large content lives once per tenant, by hash; this is invisible here.
 * - `erase` deletes content and salt of a thread, and ends its chain with an entry `erased`, which `verify` checks: `read` yields
 *   nothing, `info` is undefined, and a later append rejects with 'not-found'. Blobs no other thread uses are deleted.
 * - `newest`, `tenants`, `watch` and `lease` may be missing in a store that one process uses for itself.
 * - `watch` tells of appends and erasures soon after they are durable, those of other processes included where the store is shared.
 *   Several changes of one thread may be told as one. It is no log: who needs every entry reads from the version it has.
 * - `lease` is held by one at a time, across all processes that share the store. It saves doing work twice; it never makes it right:
 *   that is what `expected` is for.
 * - After `close`, every call rejects with 'closed'.
 */
export interface Store {
  readonly name: string
  /** Settings of agents, kept beside the logs: `settings = agentSettings(this)`. */
  readonly settings: AgentSettings
  /** Small values beside the logs. Stores of `createStore` have it. */
  readonly values?: KeyValue
  append(
    key: ThreadKey,
    entries: readonly Entry[],
    expected: number,
    options?: WriteOptions,
  ): Promise<AppendResult>
  read(key: ThreadKey, options?: ReadOptions): AsyncIterable<Entry>
  /** The entry that carries this caller's id, if any. */
  findExternalId(key: ThreadKey, externalId: string): Promise<number | undefined>
  info(key: ThreadKey): Promise<ThreadInfo | undefined>
  list(
    tenant: string,
    options?: { readonly after?: string; readonly limit?: number },
  ): Promise<readonly ThreadInfo[]>
  /**
   * Threads by the time of their last append, the newest first, threads of the same time by name in bytes. A position stays valid
   * when its thread grows or is erased: who pages on from it meets every thread that did not change meanwhile exactly once.
   */
  newest?(tenant: string, options?: NewestOptions): Promise<readonly ThreadInfo[]>
  /** The tenants that ever had a thread, sorted by name in bytes: for whoever runs the store. */
  tenants?(options?: {
    readonly after?: string
    readonly limit?: number
  }): Promise<readonly string[]>
  saveSnapshot(key: ThreadKey, snapshot: Snapshot): Promise<void>
  /** The newest snapshot whose version is at most the log's length. */
  loadSnapshot(key: ThreadKey): Promise<Snapshot | undefined>
  putBlob(tenant: string, content: Uint8Array): Promise<string>
  readBlob(tenant: string, hash: string): Promise<Uint8Array | undefined>
  erase(key: ThreadKey): Promise<void>
  eraseTenant(tenant: string): Promise<void>
  /** Tells of changes until it is closed. */
  watch?(listener: WatchListener): Promise<Watch>
  /** A lease, or undefined while another has it. */
  lease?(key: ThreadKey, options: LeaseOptions): Promise<Lease | undefined>
  /**
   * The best passages for a query, over what was appended before the call. Stores of `createStore` have it; `thread.search` and `searchThreads`
   * add what a model may see.
   */
  search?(query: StoreQuery): Promise<StoreMatches>
  /** Walks the hash chains; yields every problem found. */
  verify(key?: ThreadKey): AsyncIterable<Problem>
  close(): Promise<void>
}
