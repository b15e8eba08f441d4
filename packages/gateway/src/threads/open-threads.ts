// The pool of open threads, for calls, the API and MCP alike: a cache of the least recently used kind. An entry is a conversation: a
// thread with its branches, which take turns in the thread's own queue.

import { setTimeout as wait } from 'node:timers/promises'
import {
  openThread,
  type Scope,
  type Store,
  type Summarize,
  type Thread,
  type ThreadEvent,
  type ThreadOptions,
  type TokensOption,
} from 'oriel'
import { RefusedError } from '../http/errors.ts'
import type { Limits } from '../options.ts'

export interface OpenThreadsOptions {
  readonly store: Store
  readonly tokens?: TokensOption | undefined
  readonly summarize?: Summarize | undefined
  readonly summarizeTimeoutMs?: number | undefined
  /** What is recalled behind the newest user message. */
  readonly recall?: ThreadOptions['recall']
  readonly prompts?: ThreadOptions['prompts'] | undefined
  readonly now: () => number
  readonly log: (line: string) => void
  readonly on: (tenant: string, event: ThreadEvent) => void
  /** `openBytes`: memory for those that nobody uses, as far as their weight is known. */
  readonly limits: Pick<Limits, 'openBytes'>
}

/** Conversations that stay open while nobody uses them. */
const maxIdle = 256
/** What an open thread takes in memory, for each byte of its content. */
const bytesPerByte = 3
/** A reader waits no longer for what is being written: a summary may take half a minute. */
const maxQuietMs = 2000
/** Tasks of calls that may wait for one conversation, and tasks of readers. */
const maxWaiting = 256
/** Of those whose turn is late, more than these get no object of their own: writers that are so many would only be in each other's way. */
const maxBeside = 16

export interface UseOptions {
  /** Whether it asks a model or reads a whole log: calls continue meanwhile. @default false */
  readonly isLong?: boolean
}

/** One conversation of the pool. It is opened when first used. */
export class ThreadHandle {
  readonly tenant: string
  readonly root: string
  readonly #open: () => Promise<Thread>
  #thread: Promise<Thread> | undefined
  #opened: Thread | undefined
  /** When all exclusive tasks so far are over. */
  #tasks: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #users = 0
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

  /** Whether no exclusive task runs or waits. */
  get isQuiet(): boolean {
    return this.#waiting === 0
  }

  /** Whether nobody uses it. */
  get isIdle(): boolean {
    return this.#waiting + this.#users === 0
  }

  /** Whether a thread is in memory with it. */
  holds(thread: string): boolean {
    return this.root === thread || this.#opened?.hasOpen(thread) === true
  }

  /** Resolves when the exclusive tasks that were asked for by now are over. */
  async quiet(): Promise<void> {
    await this.#tasks
  }

  /** As `quiet`, with what the thread does by itself. */
  async settled(): Promise<void> {
    await this.quiet()
    const thread = await this.#thread?.catch(() => undefined)
    await thread?.settled()
  }

  /**
   * Runs a task that nothing else on the conversation comes between: on the branch `on`, else on the one that was asked for last, from
   * which `request` finds its own. Too many that wait are refused, except urgent ones.
   */
  async exclusive<T>(
    task: (thread: Thread) => Promise<T>,
    {
      on,
      isUrgent = false,
    }: { readonly on?: Thread | undefined; readonly isUrgent?: boolean } = {},
  ): Promise<T> {
    if (this.#waiting >= maxWaiting && !isUrgent) throw new ThreadBusyError()
    this.#waiting += 1
    const run = async (): Promise<T> => (on ?? (await this.#get())).exclusive(task)
    const result = run()
    this.#tasks = Promise.all([this.#tasks, result.then(ignore, ignore)])
    try {
      return await result
    } finally {
      this.#waiting -= 1
    }
  }

  /**
   * Runs a task on one of its branches, in its turn, which the task keeps unless it is long. Undefined where the turn does not come in
   * time, or where it has no such branch. Too many at once are refused.
   */
  async use<T>(
    id: string,
    task: (thread: Thread) => Promise<T>,
    { isLong = false }: UseOptions = {},
  ): Promise<{ readonly result: T } | undefined> {
    if (this.#users >= maxWaiting) throw new ThreadBusyError()
    this.#users += 1
    try {
      const thread = await this.#get()
      const busy = (): void => {
        if (this.#users > maxBeside) throw new ThreadBusyError()
      }
      if (!isLong) {
        return await inTurn(thread, id, async (own) => ({ result: await task(own) }), busy)
      }
      const branch = await inTurn(thread, id, async (own) => own, busy)
      return branch && { result: await task(branch) }
    } finally {
      this.#users -= 1
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

/**
 * Runs a task on a branch as an exclusive one. Undefined, and nothing done, where it would begin too late (`isLate` is told, and may refuse), or where
 * there is no such branch.
 */
async function inTurn<T>(
  thread: Thread,
  id: string,
  task: (branch: Thread) => Promise<T>,
  isLate: () => void,
): Promise<T | undefined> {
  const ended = new AbortController()
  let state: 'waiting' | 'begun' | 'late' = 'waiting'
  const result = thread.exclusive(async (own) => {
    if (state === 'late') return undefined
    state = 'begun'
    const branch = await own.branch(id)
    return branch && task(branch)
  })
  const late = wait(maxQuietMs, undefined, { ref: false, signal: ended.signal }).catch(ignore)
  try {
    await Promise.race([result, late])
    // Set by the task, in its turn.
    if ((state as string) === 'begun') return await result
    state = 'late'
    isLate()
    return undefined
  } finally {
    ended.abort()
  }
}

function ignore(): void {}

/** Too many tasks wait for one thread. */
class ThreadBusyError extends RefusedError {
  constructor() {
    super({ status: 429, code: 'busy', message: 'Too many calls wait for this thread.' })
  }
}

interface GetOptions {
  /** Whether the thread was never there. @default false */
  readonly isNew?: boolean
  /** Whose threads it remembers, where it begins now. @default none */
  readonly memory?: Scope | undefined
}

export class OpenThreads {
  readonly #options: OpenThreadsOptions
  /** In the order of their last use. */
  readonly #handles = new Map<string, ThreadHandle>()
  #bytes = 0

  constructor(options: OpenThreadsOptions) {
    this.#options = options
  }

  /** The conversation that began with a thread; it is opened when first used. One that is new is not looked for in the store. */
  get(tenant: string, root: string, { isNew = false, memory }: GetOptions = {}): ThreadHandle {
    const key = keyOf({ tenant, root })
    const known = this.#handles.get(key)
    const open = (): Promise<Thread> =>
      this.#openThread({
        ...{ tenant, id: root, isNew },
        ...(memory === undefined ? {} : { scope: memory }),
      })
    const handle = known ?? new ThreadHandle({ tenant, root }, open)
    this.#handles.delete(key)
    this.#handles.set(key, handle)
    if (known === undefined) this.#evict()
    return handle
  }

  /**
   * Runs a task on a thread, root or branch. Where a call keeps its conversation for too long, the task gets an object of its own: writers
   * that share a thread compare before they append.
   */
  async use<T>(
    tenant: string,
    id: string,
    task: (thread: Thread) => Promise<T>,
    options: UseOptions = {},
  ): Promise<T> {
    const handle = this.get(tenant, this.#rootOf(tenant, id))
    // Who reads has waited for `quiet` before.
    const used = handle.isQuiet ? await handle.use(id, task, options) : undefined
    return used === undefined ? task(await this.#openThread({ tenant, id })) : used.result
  }

  /** Tells how large the content of a conversation is; the least recently used go where all of them take too much. */
  weigh(handle: ThreadHandle, contentBytes: number): void {
    const bytes = bytesPerByte * contentBytes
    if (this.#handles.get(keyOf(handle)) === handle) this.#bytes += bytes - handle.bytes
    handle.bytes = bytes
    this.#evict()
  }

  /** How many conversations are open. */
  get size(): number {
    return this.#handles.size
  }

  /** Forgets a thread, after it was erased, with the conversation that it is a branch of. */
  forget(tenant: string, thread: string): void {
    for (const [key, handle] of this.#handles) {
      if (handle.tenant === tenant && handle.holds(thread)) this.#drop(key)
    }
  }

  /** Resolves when what a tenant's calls, or everybody's, have to write is written, or after a while. */
  async quiet(tenant?: string): Promise<void> {
    const busy = [...this.#handles.values()].filter(
      (handle) => !handle.isQuiet && (tenant === undefined || handle.tenant === tenant),
    )
    if (busy.length === 0) return
    await Promise.race([
      Promise.all(busy.map((handle) => handle.quiet())),
      wait(maxQuietMs, undefined, { ref: false }),
    ])
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await Promise.all([...this.#handles.values()].map((handle) => handle.settled()))
  }

  /** The root under which a thread is open, whichever branch it is; else its own id. */
  #rootOf(tenant: string, id: string): string {
    if (this.#handles.has(keyOf({ tenant, root: id }))) return id
    for (const handle of this.#handles.values()) {
      if (handle.tenant === tenant && handle.holds(id)) return handle.root
    }
    return id
  }

  #openThread(
    key: Pick<ThreadOptions, 'id' | 'isNew' | 'scope'> & { tenant: string },
  ): Promise<Thread> {
    const { store, tokens, summarize, summarizeTimeoutMs, prompts, recall, now, log, on } =
      this.#options
    return openThread({
      ...key,
      store,
      now,
      log,
      on: (event) => on(key.tenant, event),
      ...(tokens === undefined ? {} : { tokens }),
      ...(summarize === undefined ? {} : { summarize }),
      ...(summarizeTimeoutMs === undefined ? {} : { summarizeTimeoutMs }),
      ...(prompts === undefined ? {} : { prompts }),
      ...(recall === undefined ? {} : { recall }),
    })
  }

  #evict(): void {
    for (const [key, handle] of this.#handles) {
      if (this.#handles.size <= maxIdle && this.#bytes <= this.#options.limits.openBytes) return
      if (handle.isIdle) this.#drop(key)
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#handles.get(key)?.bytes ?? 0
    this.#handles.delete(key)
  }
}

function keyOf({ tenant, root }: Pick<ThreadHandle, 'tenant' | 'root'>): string {
  return `${tenant}\0${root}`
}
