// Response relay: passes chunks to the client with backpressure while the gateway reads along. An
// aborted response stays truncated; a client that disconnects aborts it.

import { setTimeout as wait } from 'node:timers/promises'
import type { Background } from '../background.ts'
import type { Limits } from '../options.ts'
import type { UpstreamAnswer } from './client.ts'
import { joined } from './request.ts'

/** How a response ended. */
export type Ending = 'complete' | 'client-left' | 'upstream-broke'

/**
 * A non-streamed body is collected for this long, so that it leaves in one write; a larger one
 * leaves in several.
 */
const wholeMs = 50
const maxPieceBytes = 1024 * 1024

export interface RelayOptions {
  /** The client needs the whole body at once. @default false */
  readonly isWhole?: boolean
  readonly limits: Pick<Limits, 'slowClientMs' | 'streamMs'>
  readonly signal: AbortSignal
  /** Runs `onEnd` when no request awaits it: the client disconnected, or the response broke off. */
  readonly background: Background
  /**
   * Receives each chunk before the client does. The client gets the chunk when this resolves; a
   * failure aborts the response.
   */
  onChunk(chunk: Uint8Array): Promise<void> | void
  /**
   * Called once. A complete response ends for the client when this resolves; a failure aborts the
   * response.
   */
  onEnd(ending: Ending): Promise<void> | void
}

/** A response body on its way to the client. */
export interface RelayedBody {
  /**
   * The next chunk; undefined at the end. Rejects if the response was aborted. Must not be called
   * concurrently.
   */
  next(): Promise<Uint8Array | undefined>
  /** The last chunk returned was the final one. */
  readonly isOver?: boolean
  /** The client disconnected. */
  cancel(): void
  /** The client has received everything; the body is no longer in memory. */
  written?(): void
}

/** Relays a body with backpressure: reads the upstream only as fast as the client reads. */
export function relayBody(answer: UpstreamAnswer, options: RelayOptions): RelayedBody {
  return new Relay(answer, options)
}

class Relay implements RelayedBody {
  readonly #answer: UpstreamAnswer
  readonly #options: RelayOptions
  readonly #chunks: AsyncIterator<Uint8Array>
  /** Timeout of the whole response. */
  readonly #whole: NodeJS.Timeout
  readonly #leave = (): void => this.#cut('client-left', 'The client left.')
  /** A chunk that was read ahead. */
  #early: Promise<IteratorResult<Uint8Array>> | undefined
  /** Timeout of a client that stopped reading. */
  #slow: NodeJS.Timeout | undefined
  /** The client has the last chunk and has not asked for the next one. */
  #isAway = false
  #isEnded = false
  /** Why the response was aborted. */
  #failure: Error | undefined
  /** Rejects the pending read when the response is aborted. */
  #interrupt: ((error: Error) => void) | undefined

  constructor(answer: UpstreamAnswer, options: RelayOptions) {
    this.#answer = answer
    this.#options = options
    this.#chunks = answer.body[Symbol.asyncIterator]()
    const { limits, signal } = options
    const tooLong = (): void => this.#cut('upstream-broke', 'The answer took too long.')
    this.#whole = setTimeout(tooLong, limits.streamMs)
    if (signal.aborted) queueMicrotask(this.#leave)
    signal.addEventListener('abort', this.#leave, { once: true })
  }

  next(): Promise<Uint8Array | undefined> {
    this.#isAway = false
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    return new Promise((resolve, reject) => {
      this.#interrupt = reject
      this.#read().then(resolve, reject)
    })
  }

  get isOver(): boolean {
    return this.#isEnded && this.#failure === undefined
  }

  cancel(): void {
    if (!this.#isEnded) this.#answer.cancel()
    this.#endUnseen('client-left')
  }

  async #read(): Promise<Uint8Array | undefined> {
    if (this.isOver) return undefined
    try {
      const chunk = await (this.#options.isWhole === true ? this.#gather() : this.#take())
      if (!this.#isEnded) this.#leaveReader()
      return chunk
    } catch (error) {
      this.#cut('upstream-broke', 'The upstream broke off.')
      throw error
    }
  }

  /**
   * Starts the slow-client timeout. One timer is reused: a new one per chunk would cost more than
   * the relay.
   */
  #leaveReader(): void {
    this.#isAway = true
    if (this.#slow !== undefined) {
      this.#slow.refresh()
      return
    }
    this.#slow = setTimeout(() => {
      if (this.#isAway) this.#cut('client-left', 'The client reads too slowly.')
    }, this.#options.limits.slowClientMs)
  }

  /** Reads one chunk. */
  async #take(next = this.#chunks.next()): Promise<Uint8Array | undefined> {
    const { done, value } = await next
    if (this.#isEnded) throw this.#failure ?? new Error('The answer has ended.')
    if (done === true) {
      await this.#end('complete')
      return undefined
    }
    const kept = this.#options.onChunk(value)
    if (kept !== undefined) await kept
    return value
  }

  /** Collects the chunks that arrive within `wholeMs`. */
  async #gather(): Promise<Uint8Array | undefined> {
    const first = await this.#take(this.#early)
    this.#early = undefined
    if (first === undefined) return undefined
    const chunks = [first]
    let size = first.byteLength
    const late = wait(wholeMs, 'late' as const, { ref: false })
    while (size < maxPieceBytes) {
      const next = this.#chunks.next()
      const isLate = (await Promise.race([next, late])) === 'late'
      if (isLate) {
        this.#early = next
        break
      }
      const chunk = await this.#take(next)
      if (chunk === undefined) break
      chunks.push(chunk)
      size += chunk.byteLength
    }
    return joined(chunks)
  }

  #end(ending: Ending): Promise<void> | void {
    if (this.#isEnded) return
    this.#isEnded = true
    clearTimeout(this.#slow)
    clearTimeout(this.#whole)
    const { signal, onEnd } = this.#options
    signal.removeEventListener('abort', this.#leave)
    return onEnd(ending)
  }

  #endUnseen(ending: Ending): void {
    this.#options.background.run('answer-end', () => this.#end(ending))
  }

  #cut(ending: Ending, reason: string): void {
    if (this.#isEnded) return
    this.#failure = new Error(reason)
    this.#endUnseen(ending)
    this.#answer.cancel()
    this.#interrupt?.(this.#failure)
  }
}

/** Reads a whole body, up to a limit. */
export async function readWhole(
  answer: UpstreamAnswer,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer.body) {
    size += chunk.byteLength
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return joined(chunks)
}
