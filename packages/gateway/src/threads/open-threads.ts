// Open threads of the gateway. A family is a thread with its forks; what is done to one happens in the order it was asked for.

import { setTimeout as wait } from 'node:timers/promises'
import {
  openThread,
  type PolicyInput,
  type Store,
  type Summarize,
  type Thread,
  type ThreadEvent,
  type ThreadOptions,
  type TokensOption,
} from 'oriel'
import { RefusedError } from '../http/errors.ts'
import type { Limits } from '../options.ts'

export interface FamiliesOptions {
  readonly store: Store
  /** The policy of threads that have none yet. @default none */
  readonly policy: PolicyInput | undefined
  readonly tokens?: TokensOption | undefined
  readonly summarize?: Summarize | undefined
  readonly summarizeTimeoutMs?: number | undefined
  readonly now: () => number
  readonly log: (line: string) => void
  readonly on: (tenant: string, event: ThreadEvent) => void
  /** `openBytes`: memory for those that nobody uses, as far as their weight is known. */
  readonly limits: Pick<Limits, 'openBytes'>
}

/** Families that stay open while nobody uses them. */
const maxIdle = 256
/** What an open thread takes in memory, for each byte of its content. */
const bytesPerByte = 3
/** A reader does not wait longer for what is being written: a summary may take half a minute. */
const maxQuietMs = 2000
/** Operations that may wait for one family. */
const maxWaiting = 256

export class ThreadHandle {
  readonly tenant: string
  readonly root: string
  readonly #open: () => Promise<Thread>
  #thread: Promise<Thread> | undefined
  /** The thread, once it is open: then the first in line need not wait for anything. */
  #opened: Thread | undefined
  #queue: Promise<unknown> = Promise.resolve()
  #waiting = 0
  /** Branches that were worked on: what they say is in memory. */
  readonly #branches = new Set<string>()
  /** What it takes in memory, roughly; 0 while nobody knows. */
  bytes = 0

  constructor(
    key: { readonly tenant: string; readonly root: string },
    open: () => Promise<Thread>,
  ) {
    this.tenant = key.tenant
    this.root = key.root
    this.#open = open
  }

  get isIdle(): boolean {
    return this.#waiting === 0
  }

  /** Whether a thread is in memory with it. */
  holds(thread: string): boolean {
    return this.root === thread || this.#branches.has(thread)
  }

  /** Resolves when everything that was asked for by now is done. */
  async quiet(): Promise<void> {
    await this.#queue
  }

  /** As `quiet`, with what the thread does by itself. */
  async settled(): Promise<void> {
    await this.quiet()
    const thread = await this.#thread?.catch(() => undefined)
    await thread?.settled()
  }

  /**
   * Runs a task when all before it are done. The thread may be on any branch: a task that needs one says so by `sync`. Too many that
   * wait are refused, except urgent ones.
   */
  async exclusive<T>(
    task: (thread: Thread) => Promise<T>,
    { isUrgent = false }: { readonly isUrgent?: boolean } = {},
  ): Promise<T> {
    if (this.#waiting >= maxWaiting && !isUrgent) throw new FamilyBusyError()
    this.#waiting += 1
    const isNext = this.#waiting === 1 && this.#opened !== undefined
    const result = isNext
      ? task(this.#opened as Thread)
      : this.#queue.then(async () => task(await this.#get()))
    this.#queue = result.then(ignore, ignore)
    try {
      return await result
    } finally {
      this.#waiting -= 1
      if (this.#opened !== undefined) this.#branches.add(this.#opened.id)
    }
  }

  async #get(): Promise<Thread> {
    this.#thread ??= this.#open()
    try {
      this.#opened = await this.#thread
      return this.#opened
    } catch (error) {
      this.#thread = undefined
      throw error
    }
  }
}

function ignore(): void {}

/** Too many operations wait for one thread. */
class FamilyBusyError extends RefusedError {
  constructor() {
    super({ status: 429, code: 'busy', message: 'Too many calls wait for this thread.' })
  }
}

export class OpenThreads {
  readonly #options: FamiliesOptions
  /** In the order of their last use. */
  readonly #families = new Map<string, ThreadHandle>()
  #bytes = 0

  constructor(options: FamiliesOptions) {
    this.#options = options
  }

  /** The family of a thread; it is opened when first used, and begins with its first message. One that is new is not looked for. */
  get(tenant: string, root: string, { isNew = false } = {}): ThreadHandle {
    const key = keyOf({ tenant, root })
    const known = this.#families.get(key)
    const open = (): Promise<Thread> => this.#openThread({ tenant, id: root, isNew })
    const family = known ?? new ThreadHandle({ tenant, root }, open)
    this.#families.delete(key)
    this.#families.set(key, family)
    if (known === undefined) this.#evict()
    return family
  }

  /** Tells how large the content of a family's thread is; the least recently used go where all of them take too much. */
  weigh(family: ThreadHandle, contentBytes: number): void {
    const bytes = bytesPerByte * contentBytes
    if (this.#families.get(keyOf(family)) === family) this.#bytes += bytes - family.bytes
    family.bytes = bytes
    this.#evict()
  }

  /** How many are open. */
  get size(): number {
    return this.#families.size
  }

  /** Forgets an open thread, after it was erased, and the family that it is a branch of. */
  forget(tenant: string, thread: string): void {
    for (const [key, family] of this.#families) {
      if (family.tenant === tenant && family.holds(thread)) this.#drop(key)
    }
  }

  /** Resolves when what a tenant's calls, or everybody's, have to write is written, or after a while. */
  async quiet(tenant?: string): Promise<void> {
    const busy = [...this.#families.values()].filter(
      (family) => !family.isIdle && (tenant === undefined || family.tenant === tenant),
    )
    if (busy.length === 0) return
    await Promise.race([
      Promise.all(busy.map((family) => family.quiet())),
      wait(maxQuietMs, undefined, { ref: false }),
    ])
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await Promise.all([...this.#families.values()].map((family) => family.settled()))
  }

  #openThread(key: Pick<ThreadOptions, 'id' | 'isNew'> & { tenant: string }): Promise<Thread> {
    const { store, policy, tokens, summarize, summarizeTimeoutMs, now, log, on } = this.#options
    return openThread({
      ...key,
      store,
      now,
      ...(policy === undefined ? {} : { policy }),
      log,
      on: (event) => on(key.tenant, event),
      ...(tokens === undefined ? {} : { tokens }),
      ...(summarize === undefined ? {} : { summarize }),
      ...(summarizeTimeoutMs === undefined ? {} : { summarizeTimeoutMs }),
    })
  }

  #evict(): void {
    for (const [key, family] of this.#families) {
      if (this.#families.size <= maxIdle && this.#bytes <= this.#options.limits.openBytes) return
      if (family.isIdle) this.#drop(key)
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#families.get(key)?.bytes ?? 0
    this.#families.delete(key)
  }
}

function keyOf({ tenant, root }: Pick<ThreadHandle, 'tenant' | 'root'>): string {
  return `${tenant}\0${root}`
}
