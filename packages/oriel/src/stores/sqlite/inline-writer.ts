// Small writes on the calling thread: going to the worker and back costs more than writing a few rows to a fast disk. Whatever is
// unusual (a slow disk, another process, any error) is the worker's.

import type { ThreadKey } from '../store.ts'
import type { Attempt, Operation, SessionSettings } from './writer-connection.ts'
import { appendedTo, WriterConnection } from './writer-connection.ts'

/** More than this at once goes to the worker: then there is much to do, and the calling thread had better do the rest of it. */
const maxCount = 2
const maxBytes = 64 * 1024

/** A write that takes longer than this is slow. So many more slow ones than others, and the worker writes for a while. */
const slowMs = 5
const maxSlow = 8
const restMs = 10_000

/** The share of its time that the calling thread gives to writes, and how much of it may be taken at once. */
const share = 0.25
const maxCreditMs = 100

/** Commits between two copies of the write-ahead log into the database, which the worker makes. */
const commitsPerCheckpoint = 100

/**
 * Contracts:
 * - The same transactions as the worker's, synced to the disk before they count, unless all that is in one is durable soon enough:
 *   then the next one that is synced, or the worker, makes it so.
 * - Never waits: a lock that another process holds ends the attempt, and nothing of it is written.
 * - After a failure in doubt this thread writes nothing more.
 */
export class InlineWriter {
  readonly #session: WriterConnection
  readonly #now: () => number
  #generation = -1
  #slow = 0
  #restsUntilMs = 0
  #creditMs = maxCreditMs
  #countedAtMs = 0
  #isOver = false
  #commits = 0
  /** Threads whose newest entries the disk may not have yet, and those that the worker is asked to sync. */
  #unsynced: ThreadKey[] = []
  #syncing: readonly ThreadKey[] = []

  /** `now` is the clock that tells how long writes take. */
  constructor(
    settings: SessionSettings,
    at?: (point: string) => void,
    now: () => number = () => performance.now(),
  ) {
    this.#now = now
    this.#session = new WriterConnection({ ...settings, busyTimeoutMs: 0, isLight: true }, at)
  }

  /** Whether these operations may be tried here now. */
  takes(operations: readonly Operation[], bytes: number): boolean {
    if (this.#isOver || operations.length > maxCount || bytes > maxBytes) return false
    if (!operations.every(isSmall)) return false
    const nowMs = this.#now()
    const earnedMs = (nowMs - this.#countedAtMs) * share
    this.#creditMs = Math.min(maxCreditMs, this.#creditMs + earnedMs)
    this.#countedAtMs = nowMs
    if (this.#creditMs <= 0 || nowMs < this.#restsUntilMs) return false
    if (this.#slow === maxSlow) this.#slow = 0
    return true
  }

  /** One transaction. The generation tells which opening of the file the worker has. */
  write(operations: readonly Operation[], generation: number): Attempt {
    if (this.#generation !== generation) this.close()
    this.#generation = generation
    const startMs = this.#now()
    const isSynced = !operations.every(isSoon)
    const attempt = this.#session.attempt(operations, { isSynced })
    const durationMs = this.#now() - startMs
    this.#creditMs -= durationMs
    this.#slow = durationMs > slowMs ? this.#slow + 1 : Math.max(0, this.#slow - 1)
    if (this.#slow === maxSlow) this.#restsUntilMs = startMs + durationMs + restMs
    if (attempt.outcomes === undefined) return attempt
    if (isSynced) this.#unsynced = []
    else for (const key of appendedTo(operations)) this.#unsynced.push(key)
    return attempt
  }

  /** Whether something waits for a sync. */
  get isUnsynced(): boolean {
    return this.#unsynced.length > 0
  }

  /** The worker is asked to sync what waits for it. */
  handOver(): void {
    this.#syncing = this.#unsynced
    this.#unsynced = []
  }

  /** Threads whose newest entries would be in doubt if the disk failed now. */
  get doubtful(): readonly ThreadKey[] {
    return [...this.#syncing, ...this.#unsynced]
  }

  /** Writes nothing more: the disk failed. */
  end(): void {
    this.#isOver = true
  }

  /** True once for every so many commits: then the worker should copy the write-ahead log into the database. */
  isCheckpointDue(): boolean {
    this.#commits = (this.#commits + 1) % commitsPerCheckpoint
    return this.#commits === 0
  }

  close(): void {
    this.#session.close()
  }
}

function isSoon(operation: Operation): boolean {
  return operation.type === 'append' && operation.batch.durable === 'soon'
}

function isSmall({ type }: Operation): boolean {
  return type === 'append' || type === 'snapshot' || type === 'value'
}
