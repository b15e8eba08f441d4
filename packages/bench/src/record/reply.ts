// What the scripted server says, before it is put into one of the wire formats.

import { createHash } from 'node:crypto'

export interface ScriptedCall {
  readonly name: string
  /** JSON text, sent as it stands: its spacing, key order and escapes are part of the experiment. */
  readonly arguments: string
  /** A call whose input is free text, which only /v1/responses has. */
  readonly isCustom?: boolean
}

/** One answer of the server: an assistant message, or a failure. */
export interface Reply {
  readonly reasoning?: string
  readonly text?: string
  readonly calls?: readonly ScriptedCall[]
  /** Answer with this HTTP status and an error body instead. */
  readonly failWith?: number
  /** Machine-readable details of that error. */
  readonly errorDetails?: Readonly<Record<string, unknown>>
  /** Input tokens to report: a large number makes agents compact. @default 100 */
  readonly inputTokens?: number
  /** Begin to stream and then drop the connection. */
  readonly isCut?: boolean
}

export type { WireFormat } from 'oriel'

/** One server-sent event; `event` is absent in the chat format. */
export interface WireEvent {
  readonly event?: string
  readonly data: unknown
}

export interface WireAnswer {
  /** The whole answer, as it is sent without streaming. */
  readonly body: Readonly<Record<string, unknown>>
  /** The same answer as a stream. */
  readonly events: readonly WireEvent[]
}

export type MakeId = (prefix: string) => string

/** Ids that look like a provider's, unique for a seed and the same in every run. */
export function createIds(seed: string): MakeId {
  let count = 0
  return (prefix) => {
    count += 1
    const digest = createHash('sha256').update(`${seed}:${count}`).digest('hex')
    return `${prefix}_${digest.slice(0, 24)}`
  }
}

/** A text in a few pieces, cut inside words as providers do. */
export function pieces(text: string): readonly string[] {
  const size = Math.max(1, Math.ceil(text.length / 3))
  const result: string[] = []
  for (let start = 0; start < text.length; start += size) {
    result.push(text.slice(start, start + size))
  }
  return result
}

/** Stands for signed or encrypted reasoning: opaque, and different for every text. */
export function sealed(text: string): string {
  return createHash('sha512').update(text).digest('base64')
}

/** A fixed time, so that recordings do not differ from run to run. */
export const fixedSeconds = 1_790_000_000
