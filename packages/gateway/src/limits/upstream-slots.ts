// Upstream slots: a semaphore per upstream with a bounded queue, served round robin between
// tenants, so that one busy tenant cannot starve the others.

import { type RefusedError, refuse } from '../http/errors.ts'
import type { Limits } from '../options.ts'

/** Releases a slot. Idempotent. */
export type Release = () => void

export interface SlotRequest {
  readonly tenant: string
  readonly signal: AbortSignal
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Guarantees:
 * - At most `upstreamCalls` slots are taken, and at most `upstreamQueue` requests wait.
 * - A request waits at most `upstreamQueueMs`, and never longer than `firstByteMs`.
 * - Waiting tenants get slots round robin; requests of one tenant in order of arrival.
 * - If the queue is full, a tenant with fewer waiting requests replaces the newest request of the
 *   tenant with the most.
 */
export class UpstreamSlots {
  readonly #most: number
  readonly #maxWaiting: number
  readonly #maxWaitMs: number
  readonly #refused: () => RefusedError
  /** Waiting requests by tenant. The first tenant is served next. */
  readonly #queues = new Map<string, Waiter[]>()
  #active = 0
  #waiting = 0

  constructor(
    name: string,
    limits: Pick<Limits, 'upstreamCalls' | 'upstreamQueue' | 'upstreamQueueMs' | 'firstByteMs'>,
  ) {
    this.#most = limits.upstreamCalls
    this.#maxWaiting = limits.upstreamQueue
    this.#maxWaitMs = Math.min(limits.upstreamQueueMs, limits.firstByteMs)
    const message = `Too many requests to the upstream '${name}' are under way. Try again.`
    this.#refused = () => refuse(503, 'upstream-busy', message)
  }

  /** Slots in use. */
  get active(): number {
    return this.#active
  }

  get waiting(): number {
    return this.#waiting
  }

  /**
   * Acquires a slot, at once or after queueing. Rejects with 'upstream-busy' if the queue is full
   * or the wait too long, and when the signal aborts.
   */
  acquire(request: SlotRequest): Release | Promise<Release> {
    if (this.#waiting === 0 && this.#active < this.#most) return this.#take()
    return this.#wait(request)
  }

  #take(): Release {
    this.#active += 1
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#active -= 1
      this.#serve()
    }
  }

  #wait({ tenant, signal }: SlotRequest): Promise<Release> {
    if (this.#waiting >= this.#maxWaiting) this.#makeRoomFor(tenant)
    return new Promise((resolve, reject) => {
      const leave = (error: unknown): void => {
        this.#remove(tenant, waiter)
        waiter.reject(error)
      }
      const abort = (): void => leave(signal.reason)
      const timer = setTimeout(() => leave(this.#refused()), this.#maxWaitMs)
      const settled = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', abort)
      }
      const waiter: Waiter = {
        resolve: () => {
          settled()
          resolve(this.#take())
        },
        reject: (error) => {
          settled()
          reject(error)
        },
      }
      const queue = this.#queues.get(tenant)
      if (queue === undefined) this.#queues.set(tenant, [waiter])
      else queue.push(waiter)
      this.#waiting += 1
      signal.addEventListener('abort', abort, { once: true })
      if (signal.aborted) abort()
    })
  }

  /**
   * Drops the newest request of the tenant with the most. Throws if that is the newcomer itself.
   */
  #makeRoomFor(tenant: string): void {
    let longest: readonly Waiter[] = this.#queues.get(tenant) ?? []
    let owner = tenant
    const own = longest.length + 1
    for (const [name, queue] of this.#queues) {
      if (queue.length > longest.length) {
        longest = queue
        owner = name
      }
    }
    const shed = longest.at(-1)
    if (shed === undefined || longest.length <= own) throw this.#refused()
    this.#remove(owner, shed)
    shed.reject(this.#refused())
  }

  #serve(): void {
    while (this.#active < this.#most) {
      const [next] = this.#queues
      if (next === undefined) return
      const [tenant, [waiter]] = next
      if (waiter === undefined) return
      this.#remove(tenant, waiter)
      // Move the tenant to the end of the round.
      const rest = this.#queues.get(tenant)
      if (rest !== undefined) {
        this.#queues.delete(tenant)
        this.#queues.set(tenant, rest)
      }
      waiter.resolve()
    }
  }

  #remove(tenant: string, waiter: Waiter): void {
    const queue = this.#queues.get(tenant)
    const index = queue?.indexOf(waiter) ?? -1
    if (queue === undefined || index < 0) return
    queue.splice(index, 1)
    if (queue.length === 0) this.#queues.delete(tenant)
    this.#waiting -= 1
  }
}
