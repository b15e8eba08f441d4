// Messages between the gateway and the worker thread that handles requests with large bodies. Bodies are moved, not copied.

import type { ThreadEvent } from 'oriel'
import type { MetricName } from '../telemetry/definitions.ts'

export type ToWorker =
  | {
      readonly type: 'call'
      readonly id: number
      readonly method: string
      readonly url: string
      /** Alternating names and values. */
      readonly headers: readonly string[]
      readonly body: Uint8Array<ArrayBuffer>
    }
  /** The next chunk of an answer is wanted: no more than one is on its way (backpressure). */
  | { readonly type: 'next'; readonly id: number }
  /** The client has the whole answer, or left. */
  | { readonly type: 'written' | 'abort'; readonly id: number }
  /** A thread was erased. */
  | { readonly type: 'forget'; readonly tenant: string; readonly thread: string }
  | { readonly type: 'close' }

export type FromWorker =
  | {
      readonly type: 'reply'
      readonly id: number
      readonly status: number
      readonly headers: readonly (readonly [string, string])[]
      readonly hasBody: boolean
      readonly isWhole: boolean
    }
  /** Without a chunk at the end. */
  | {
      readonly type: 'chunk'
      readonly id: number
      readonly chunk?: Uint8Array<ArrayBuffer>
      readonly isOver: boolean
    }
  /** The answer broke off. */
  | { readonly type: 'broken'; readonly id: number }
  | {
      readonly type: 'metric'
      readonly name: MetricName
      readonly value: number
      readonly values: readonly string[]
    }
  | { readonly type: 'log'; readonly line: string }
  | { readonly type: 'event'; readonly tenant: string; readonly event: ThreadEvent }
  | { readonly type: 'closed' }

/** Bytes that can be moved to another thread: the whole of their memory. */
export function movable(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength
  // `isWhole` says that the memory is an `ArrayBuffer`; a copy always has one of its own.
  return isWhole ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)
}
