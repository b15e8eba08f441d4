// Concurrency limiter: bounds active calls per tenant, in total, and by memory. A call is active
// until its response has been written to the client.

import { isApiPath } from 'oriel/providers'
import { type Refusal, RefusedError } from '../http/errors.ts'
import type { RelayedBody } from '../http/relay.ts'
import { type HttpReply, isRelayed } from '../http/response.ts'
import type { Limits } from '../options.ts'
import { AdmissionQueue } from './admission.ts'
import { MemoryBudget, type Reservation } from './memory-budget.ts'
import type { OverloadDetector } from './overload.ts'

type ConcurrencyLimits = Pick<Limits, 'concurrentCalls' | 'totalCalls' | 'totalBytes' | 'lateMs'>

type Handle = (reservation: Reservation) => Promise<HttpReply> | HttpReply

export class ConcurrencyLimiter {
  readonly #limits: ConcurrencyLimits
  readonly #tenants = new Map<string, number>()
  readonly #overload: OverloadDetector
  readonly #queue: AdmissionQueue
  readonly #memory: MemoryBudget
  #total = 0

  constructor(limits: ConcurrencyLimits, overload: OverloadDetector) {
    this.#limits = limits
    this.#overload = overload
    this.#queue = new AdmissionQueue({ mostMs: limits.lateMs })
    this.#memory = new MemoryBudget(limits.totalBytes)
  }

  /** Memory reserved for active calls. */
  get reservedBytes(): number {
    return this.#memory.bytes
  }

  /** True if the gateway is overloaded, whoever the caller is. */
  get isFull(): boolean {
    return this.#total >= this.#limits.totalCalls || this.#queue.isFull || this.#overload.isHigh
  }

  /** Throws for a call that cannot be taken now. */
  check(path: string): void {
    if (isCall(path) && this.isFull) throw new RefusedError(overloaded)
  }

  async pass(tenant: string, path: string, handle: Handle): Promise<HttpReply> {
    const reservation = this.#memory.open()
    if (!isCall(path)) return within(reservation, handle)
    this.check(path)
    const own = this.#tenants.get(tenant) ?? 0
    if (own >= this.#limits.concurrentCalls) {
      const message = 'Too many concurrent calls by this caller. Retry later.'
      throw new RefusedError({
        status: 429,
        code: 'busy',
        message,
        headers: { 'retry-after': '1' },
      })
    }
    this.#total += 1
    this.#tenants.set(tenant, own + 1)
    let isOver = false
    const over = (): void => {
      if (isOver) return
      isOver = true
      reservation.leave()
      this.#total -= 1
      const left = (this.#tenants.get(tenant) ?? 1) - 1
      if (left === 0) this.#tenants.delete(tenant)
      else this.#tenants.set(tenant, left)
    }
    try {
      const admitted = this.#queue.enter()
      if (admitted !== undefined && !(await admitted)) throw new RefusedError(overloaded)
      const response = await handle(reservation)
      return whenRead(response, over)
    } catch (error) {
      over()
      throw error
    }
  }
}

/** Releases the reservation when the reply is ready. */
async function within(reservation: Reservation, handle: Handle): Promise<HttpReply> {
  try {
    return await handle(reservation)
  } finally {
    reservation.leave()
  }
}

function isCall(path: string): boolean {
  return isApiPath(path) || path === '/mcp'
}

export const overloaded: Refusal = {
  status: 503,
  code: 'overloaded',
  message: 'Too many concurrent calls. Retry later.',
}

/** Calls `over` when the body of the reply has ended, however it ends. */
function whenRead(reply: HttpReply, over: () => void): HttpReply {
  if (isRelayed(reply)) {
    const { relayed } = reply
    if (relayed !== undefined) return { ...reply, relayed: new CountedBody(relayed, over) }
  }
  // Replies of the gateway itself are complete.
  over()
  return reply
}

class CountedBody implements RelayedBody {
  readonly #body: RelayedBody
  readonly #over: () => void

  constructor(body: RelayedBody, over: () => void) {
    this.#body = body
    this.#over = over
  }

  get isOver(): boolean {
    return this.#body.isOver ?? false
  }

  async next(): Promise<Uint8Array | undefined> {
    try {
      return await this.#body.next()
    } catch (error) {
      this.#over()
      throw error
    }
  }

  cancel(): void {
    this.#over()
    this.#body.cancel()
  }

  written(): void {
    this.#over()
    this.#body.written?.()
  }
}
