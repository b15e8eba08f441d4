// Tells whoever listens what happens in threads: ids and reasons, never content.

import type { ThreadEvent } from 'oriel'
import type { Background } from '../background.ts'

export interface Notice {
  readonly tenant: string
  readonly type: string
  readonly data: ThreadEvent | { readonly thread: string; readonly version?: number }
}

/** Listeners at the same time, of all tenants and of one. */
const maxListeners = 256
const maxOfTenant = 32
const heartbeatMs = 15_000
/** A listener that has not read this many notices is let go. */
const maxQueued = 1000

interface Listening {
  readonly tenant: string
  readonly stop: () => void
}

export class EventBus {
  readonly #listeners = new Map<(notice: Notice) => void, Listening>()
  readonly #background: Background
  #isClosed = false

  constructor(background: Background) {
    this.#background = background
  }

  /** Tells every listener; one that fails keeps nobody else from hearing it. */
  publish(notice: Notice): void {
    for (const listener of this.#listeners.keys()) {
      this.#background.callback('live-updates', () => listener(notice))()
    }
  }

  /** Whether there is no room for another listener of a tenant. */
  isFull(tenant: string): boolean {
    const own = [...this.#listeners.values()].filter((one) => one.tenant === tenant).length
    return this.#listeners.size >= maxListeners || own >= maxOfTenant
  }

  /** Whether no stream may begin any more. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Ends every stream, and lets none begin: the gateway closes, and pages would come again at once. */
  close(): void {
    this.#isClosed = true
    for (const { stop } of [...this.#listeners.values()]) stop()
  }

  /** A stream of server-sent events for notices that `wants` accepts. Ends when the reader leaves. */
  stream(tenant: string, wants: (notice: Notice) => boolean, signal: AbortSignal): Response {
    const encoder = new TextEncoder()
    let stop = (): void => {}
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          const write = (text: string): void => {
            try {
              controller.enqueue(encoder.encode(text))
              if ((controller.desiredSize ?? 0) < -maxQueued) stop()
            } catch {
              stop()
            }
          }
          const listener = (notice: Notice): void => {
            if (wants(notice))
              write(`event: ${notice.type}\ndata: ${JSON.stringify(notice.data)}\n\n`)
          }
          const alive = this.#background.callback('live-updates', () => write(': still here\n\n'))
          const beat = setInterval(alive, heartbeatMs)
          beat.unref()
          stop = () => {
            clearInterval(beat)
            this.#listeners.delete(listener)
            signal.removeEventListener('abort', stop)
            try {
              controller.close()
            } catch {
              // Closed already.
            }
          }
          this.#listeners.set(listener, { tenant, stop })
          signal.addEventListener('abort', stop, { once: true })
          write(': listening\n\n')
        },
        cancel: () => stop(),
      },
      { highWaterMark: 16 },
    )
    return new Response(body, {
      headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
    })
  }
}
