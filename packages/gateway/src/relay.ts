// Passes an answer on chunk by chunk, and lets the gateway read along. A cut answer stays cut; a reader who leaves ends it.

import type { Limits } from './options.ts'
import type { UpstreamAnswer } from './upstream.ts'

/** How an answer ended. */
export type Ending = 'complete' | 'client-left' | 'upstream-broke'

export interface RelayOptions {
  readonly limits: Pick<Limits, 'slowClientMs' | 'streamMs'>
  readonly signal: AbortSignal
  /** Sees each chunk before the client does. Must not throw. */
  onChunk(chunk: Uint8Array): void
  /** Called once. */
  onEnd(ending: Ending): void
}

/** The body for the client. The upstream is read only as fast as the client reads. */
export function relayBody(
  answer: UpstreamAnswer,
  options: RelayOptions,
): ReadableStream<Uint8Array> {
  const { limits, signal, onChunk, onEnd } = options
  const chunks = answer.body[Symbol.asyncIterator]()
  let isEnded = false
  let slow: NodeJS.Timeout | undefined
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const end = (ending: Ending): boolean => {
    if (isEnded) return false
    isEnded = true
    clearTimeout(slow)
    clearTimeout(whole)
    signal.removeEventListener('abort', leave)
    onEnd(ending)
    return true
  }
  const cut = (ending: Ending, reason: string): void => {
    if (!end(ending)) return
    answer.cancel()
    controller?.error(new Error(reason))
  }
  const leave = (): void => cut('client-left', 'The client left.')
  const whole = setTimeout(
    () => cut('upstream-broke', 'The answer took too long.'),
    limits.streamMs,
  )
  if (signal.aborted) queueMicrotask(leave)
  signal.addEventListener('abort', leave, { once: true })
  return new ReadableStream<Uint8Array>(
    {
      start(own) {
        controller = own
      },
      async pull(own) {
        clearTimeout(slow)
        try {
          const { done, value } = await chunks.next()
          if (isEnded) return
          if (done) {
            end('complete')
            own.close()
            return
          }
          onChunk(value)
          own.enqueue(value)
          slow = setTimeout(
            () => cut('client-left', 'The client reads too slowly.'),
            limits.slowClientMs,
          )
        } catch {
          cut('upstream-broke', 'The upstream broke off.')
        }
      },
      cancel() {
        if (end('client-left')) answer.cancel()
      },
    },
    { highWaterMark: 0 },
  )
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
  return Buffer.concat(chunks)
}
