// Passes an answer on chunk by chunk, and lets the gateway read along. A cut answer stays cut; a reader who leaves ends it.

import { setTimeout as wait } from 'node:timers/promises'
import type { Background } from '../background.ts'
import type { Limits } from '../options.ts'
import type { UpstreamAnswer } from './client.ts'
import { joined } from './request.ts'

/** How an answer ended. */
export type Ending = 'complete' | 'client-left' | 'upstream-broke'

/** A body that comes as one piece is waited for this long, so that it also leaves as one; a long one leaves in several. */
const wholeMs = 50
const maxPieceBytes = 1024 * 1024

export interface RelayOptions {
  /** Whether the client can use the body only when it is whole. @default false */
  readonly isWhole?: boolean
  readonly limits: Pick<Limits, 'slowClientMs' | 'streamMs'>
  readonly signal: AbortSignal
  /** Runs `onEnd` where nobody waits for it: the client left, or the answer broke off. */
  readonly background: Background
  /** Sees each chunk before the client does. The client gets it when this is done; the answer is cut when it fails. */
  onChunk(chunk: Uint8Array): Promise<void> | void
  /** Called once. A whole answer ends for the client when this is done; it is cut when it fails. */
  onEnd(ending: Ending): Promise<void> | void
}

/** A body on its way to the client. */
export interface RelayedBody {
  /** The next chunk; undefined at the end. Rejects where the answer was cut. One call at a time. */
  next(): Promise<Uint8Array | undefined>
  /** Whether nothing comes after the last chunk that was given. */
  readonly isOver?: boolean
  /** The reader leaves. */
  cancel(): void
  /** The client has everything: nothing of the body is in memory any more. */
  written?(): void
}

/** The body for the client. The upstream is read only as fast as the client reads. */
export function relayBody(answer: UpstreamAnswer, options: RelayOptions): RelayedBody {
  return new Relay(answer, options)
}

class Relay implements RelayedBody {
  readonly #answer: UpstreamAnswer
  readonly #options: RelayOptions
  readonly #chunks: AsyncIterator<Uint8Array>
  /** Runs out when the answer takes too long; absent where all of it has come. */
  readonly #whole: NodeJS.Timeout | undefined
  readonly #leave = (): void => this.#cut('client-left', 'The client left.')
  /** A chunk that was asked for and has not been given yet. */
  #early: Promise<IteratorResult<Uint8Array>> | undefined
  /** Runs out when the reader has been away for too long. */
  #slow: NodeJS.Timeout | undefined
  /** Whether the reader has the last chunk, and did not ask for another one yet. */
  #isAway = false
  #isEnded = false
  /** Why the answer was cut. */
  #failure: Error | undefined
  /** Tells a reader who waits that the answer was cut. */
  #interrupt: ((error: Error) => void) | undefined

  constructor(answer: UpstreamAnswer, options: RelayOptions) {
    this.#answer = answer
    this.#options = options
    this.#chunks = answer.body[Symbol.asyncIterator]()
    const { limits, signal } = options
    const tooLong = (): void => this.#cut('upstream-broke', 'The answer took too long.')
    if (answer.isThere?.() !== true) this.#whole = setTimeout(tooLong, limits.streamMs)
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

  /** The reader has a chunk. One timer serves for all of them: making one for each would cost more than passing it on. */
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

  /** One chunk, as it comes. */
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

  /** All that comes within a moment. */
  async #gather(): Promise<Uint8Array | undefined> {
    const first = await this.#take(this.#early)
    this.#early = undefined
    if (first === undefined) return undefined
    const chunks = [first]
    let size = first.byteLength
    while (this.#answer.isThere?.() === true && size < maxPieceBytes) {
      const chunk = await this.#take()
      if (chunk === undefined) return joined(chunks)
      chunks.push(chunk)
      size += chunk.byteLength
    }
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

/** A body read whole, up to a limit. */
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
