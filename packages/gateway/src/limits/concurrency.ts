// How many calls may be under way: of one tenant, of all, and by the size of their bodies and answers. A call is under way until its answer
// has been written to its client. They begin in turn.

import { isApiPath } from 'oriel/providers'
import { RefusedError, refuse } from '../http/errors.ts'
import type { RelayedBody } from '../http/relay.ts'
import { type HttpReply, isRelayed } from '../http/response.ts'
import type { Limits } from '../options.ts'
import { AdmissionQueue } from './admission.ts'
import { MemoryBudget, type Reservation } from './memory-budget.ts'
import type { OverloadDetector } from './overload.ts'

type TurnstileLimits = Pick<Limits, 'concurrentCalls' | 'totalCalls' | 'totalBytes' | 'lateMs'>

type Handle = (room: Reservation) => Promise<HttpReply> | HttpReply

export class ConcurrencyLimiter {
  readonly #limits: TurnstileLimits
  readonly #tenants = new Map<string, number>()
  readonly #pressure: OverloadDetector
  readonly #turns: AdmissionQueue
  readonly #rooms: MemoryBudget
  #total = 0

  constructor(limits: TurnstileLimits, pressure: OverloadDetector) {
    this.#limits = limits
    this.#pressure = pressure
    this.#turns = new AdmissionQueue({ mostMs: limits.lateMs })
    this.#rooms = new MemoryBudget(limits.totalBytes)
  }

  /** Memory that is reserved for calls under way, in bytes. */
  get reservedBytes(): number {
    return this.#rooms.bytes
  }

  /** Refuses a call while there is too much to do, whoever asks. */
  check(path: string): void {
    if (!isCall(path)) return
    const isFull = this.#total >= this.#limits.totalCalls || this.#turns.isFull
    if (isFull || this.#pressure.isHigh) throw overloaded()
  }

  async pass(tenant: string, path: string, handle: Handle): Promise<HttpReply> {
    const room = this.#rooms.open()
    if (!isCall(path)) return within(room, handle)
    this.check(path)
    const own = this.#tenants.get(tenant) ?? 0
    if (own >= this.#limits.concurrentCalls) {
      const message = 'Too many calls of this caller are under way. Try again.'
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
      room.leave()
      this.#total -= 1
      const left = (this.#tenants.get(tenant) ?? 1) - 1
      if (left === 0) this.#tenants.delete(tenant)
      else this.#tenants.set(tenant, left)
    }
    try {
      const turn = this.#turns.enter()
      if (turn !== undefined && !(await turn)) throw overloaded()
      const response = await handle(room)
      return whenRead(response, over)
    } catch (error) {
      over()
      throw error
    }
  }
}

/** The room is free again when the answer is there. */
async function within(room: Reservation, handle: Handle): Promise<HttpReply> {
  try {
    return await handle(room)
  } finally {
    room.leave()
  }
}

function isCall(path: string): boolean {
  return isApiPath(path) || path === '/mcp'
}

function overloaded(): RefusedError {
  return refuse(503, 'overloaded', 'Too many calls are under way. Try again.')
}

/** The same reply; tells when its body has ended, however it ends. */
function whenRead(reply: HttpReply, over: () => void): HttpReply {
  if (isRelayed(reply)) {
    const { relayed } = reply
    if (relayed !== undefined) return { ...reply, relayed: new CountedBody(relayed, over) }
  }
  // Our own answers are there at once.
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
