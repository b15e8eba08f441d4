// The messages that a caller gets: its own objects where nothing changed, copies of ours elsewhere.

import { Imprint } from './core/log/imprint.ts'
import { copyPlain, equalJson, type Json } from './core/log/json.ts'
import type { EncodedSegment } from './providers/encode-segments.ts'
import type { Origin } from './providers/format.ts'

interface HandedOut {
  /** The list of the caller's objects that they were made with. */
  readonly inputs: object
  readonly messages: readonly unknown[]
  /** What we wrote, to see whether the caller changed it. */
  readonly own: readonly unknown[]
  readonly imprint: Imprint
}

const handedOut = new WeakMap<EncodedSegment, HandedOut>()

/**
 * The messages of a piece. The same objects as in the last call, as long as the caller left them as they were; else new copies.
 * `inputOf` finds the caller's message that an encoded one shows whole.
 */
export function handOut(
  piece: EncodedSegment,
  inputs: object,
  inputOf: (origin: Origin) => unknown,
): readonly unknown[] {
  const known = handedOut.get(piece)
  const isKept = known?.inputs === inputs && known.imprint.isBeginningOf(known.own)
  if (known !== undefined && isKept) return known.messages
  const own: unknown[] = []
  const imprint = new Imprint()
  const { messages, origins } = piece.encoded
  const handed = messages.map((message, index) => {
    const origin = origins[index]
    const input = origin?.isWhole === true ? inputOf(origin) : undefined
    // Fields that only Oriel reads are not sent.
    if (input !== undefined && equalJson(input as Json, message)) return input
    const copy = copyPlain(message)
    imprint.add(copy)
    own.push(copy)
    return copy
  })
  handedOut.set(piece, { inputs, messages: handed, own, imprint })
  return handed
}
