// An LRU of logs that pages look at: each is read once, then only what came since. Requests that come together share one read.

import { LRUCache } from 'lru-cache'
import type { Store, ThreadInfo, ThreadKey, TokensOption } from 'oriel'
import { type InspectedRequest, LogInspector, type OutlineRow } from 'oriel/inspect'
import { cooperativePause, readCooperatively } from './cooperative-read.ts'

export interface InspectionsOptions {
  readonly store: Store
  readonly tokens?: TokensOption | undefined
  /** Memory for all of them. */
  readonly maxBytes: number
}

/** What a log takes in memory, for each character that it keeps. */
const bytesPerCharacter = 3
/** Requests of one thread that are kept beside its log: people go back and forth. */
const maxRequests = 8

export class Inspections {
  readonly #options: InspectionsOptions
  readonly #kept: LRUCache<string, Inspection>
  readonly #reads = new Map<string, SharedRead>()

  constructor(options: InspectionsOptions) {
    this.#options = options
    this.#kept = new LRUCache({ maxSize: Math.max(1, options.maxBytes) })
  }

  /** Whether a log is in memory, as far as it is known. */
  has(key: ThreadKey): boolean {
    return this.#kept.has(idOf(key))
  }

  /** Whether a log is so long that it cannot stay in memory. */
  isTooLong({ bytes }: Pick<ThreadInfo, 'bytes'>): boolean {
    return bytes > this.#options.maxBytes
  }

  /** The log up to its newest entry. The read ends when everybody who waits for it has left. */
  async of(key: ThreadKey, info: ThreadInfo, signal: AbortSignal): Promise<Inspection> {
    const id = idOf(key)
    const known = this.#kept.get(id)
    if (known?.createdAt === info.createdAt && known.log.version >= info.version) return known
    const before = known?.createdAt === info.createdAt ? known : undefined
    let read = this.#reads.get(id)
    if (read === undefined || read.isOver || read.version < info.version) {
      // After the read that is under way: two would give the log its entries twice.
      const after = read?.promise.catch(() => undefined)
      read = new SharedRead(info.version, (own) =>
        this.#read(key, info, { before, after, signal: own }),
      )
      this.#reads.set(id, read)
      const own = read
      const ended = (): void => {
        if (this.#reads.get(id) === own) this.#reads.delete(id)
      }
      read.promise.then(ended, ended)
    }
    return read.join(signal)
  }

  /** Forgets a thread: it was erased. */
  forget(key: ThreadKey): void {
    this.#kept.delete(idOf(key))
  }

  async #read(
    key: ThreadKey,
    info: ThreadInfo,
    {
      before,
      after,
      signal,
    }: {
      readonly before: Inspection | undefined
      readonly after: Promise<Inspection | undefined> | undefined
      readonly signal: AbortSignal
    },
  ): Promise<Inspection> {
    const { store, tokens } = this.#options
    const inspection =
      (await after) ??
      before ??
      new Inspection(info.createdAt, new LogInspector({ store, key, tokens }))
    await inspection.log.refresh((entries) => readCooperatively(entries, signal))
    // One that is larger than all of it is not kept.
    const size = Math.max(1, bytesPerCharacter * inspection.log.size)
    this.#kept.set(idOf(key), inspection, { size })
    return inspection
  }
}

/** A request beside the log, under a name: what is sent is the difference to one that the page has. */
export interface NamedOutline {
  readonly name: string
  readonly rows: readonly OutlineRow[]
}

/** One log, and the requests of it that were looked at last. */
export class Inspection {
  readonly createdAt: number
  readonly log: LogInspector
  readonly #requests = new LRUCache<string, InspectedRequest>({ max: maxRequests })
  readonly #outlines = new LRUCache<string, NamedOutline>({ max: maxRequests })

  constructor(createdAt: number, log: LogInspector) {
    this.createdAt = createdAt
    this.log = log
  }

  /** The newest request of a step. What was sent does not change, so that it is rebuilt once; the newest step may be sent again. */
  async requestAt(step: number, signal: AbortSignal): Promise<InspectedRequest> {
    const { newestStep, version } = this.log
    const name = step === newestStep ? `${step} ${version}` : String(step)
    const known = this.#requests.get(name)
    if (known !== undefined) return known
    const made = await this.log.requestAt(step, cooperativePause(signal))
    this.#requests.set(name, made)
    return made
  }

  /** Keeps what a page was sent. */
  keep(outline: NamedOutline): void {
    this.#outlines.set(outline.name, outline)
  }

  /** What a page was sent under a name, if it is still known. */
  sent(name: string): NamedOutline | undefined {
    return this.#outlines.get(name)
  }
}

/** A read that several requests wait for. It is aborted when all of them have left. */
class SharedRead {
  readonly version: number
  readonly promise: Promise<Inspection>
  readonly #controller = new AbortController()
  #waiting = 0

  constructor(version: number, read: (signal: AbortSignal) => Promise<Inspection>) {
    this.version = version
    this.promise = read(this.#controller.signal)
    this.promise.catch(() => undefined)
  }

  /** Whether everybody has left. */
  get isOver(): boolean {
    return this.#controller.signal.aborted
  }

  async join(signal: AbortSignal): Promise<Inspection> {
    const leave = (): void => {
      this.#waiting -= 1
      if (this.#waiting === 0) this.#controller.abort()
    }
    this.#waiting += 1
    signal.addEventListener('abort', leave, { once: true })
    try {
      const inspection = await this.promise
      signal.throwIfAborted()
      return inspection
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }
}

function idOf({ tenant, thread }: ThreadKey): string {
  return `${tenant}\0${thread}`
}
