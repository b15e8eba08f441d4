// The messages that a caller gets: its own objects where nothing changed, copies of ours elsewhere.

import { Imprint } from './core/log/imprint.ts'
import { copyPlain, equalJson, type Json } from './core/log/json.ts'
import type { EncodedSegment } from './providers/encode-segments.ts'
import type { Origin } from './providers/format.ts'

/** What a caller got in its last call. */
interface HandedOut {
  readonly pieces: EncodedSegment[]
  /** All messages, and behind each piece how many there are, and how many of them are our copies. */
  readonly messages: unknown[]
  readonly ends: { readonly messages: number; readonly copies: number }[]
  /** Our copies as we wrote them, to see whether the caller changed one. */
  readonly copies: Imprint
}

/** By the list of the caller's objects that they were made with. */
const handedOut = new WeakMap<object, HandedOut>()

/**
 * The messages of all pieces. Up to the first piece that is new they are the same objects as in the last call, as long as the caller
 * left them as they were; else new copies. `inputOf` finds the caller's message that an encoded one shows whole.
 */
export function handOut(
  pieces: readonly EncodedSegment[],
  inputs: object,
  inputOf: (origin: Origin) => unknown,
): unknown[] {
  const last = handedOut.get(inputs)
  const isLeftAlone = last?.copies.isUnchanged() === true
  const handed = isLeftAlone ? cutBack(last, pieces) : newHandedOut()
  for (const piece of pieces.slice(handed.pieces.length)) add(handed, piece, inputOf)
  handedOut.set(inputs, handed)
  return handed.messages.slice()
}

function newHandedOut(): HandedOut {
  return { pieces: [], messages: [], ends: [], copies: new Imprint() }
}

/** Forgets the first piece that is another one now, and what is behind it. */
function cutBack(handed: HandedOut, pieces: readonly EncodedSegment[]): HandedOut {
  const changed = handed.pieces.findIndex((piece, index) => piece !== pieces[index])
  if (changed === -1) return handed
  const { messages, copies } = handed.ends[changed - 1] ?? { messages: 0, copies: 0 }
  handed.pieces.length = changed
  handed.ends.length = changed
  handed.messages.length = messages
  handed.copies.truncate(copies)
  return handed
}

function add(
  { pieces, messages, ends, copies }: HandedOut,
  piece: EncodedSegment,
  inputOf: (origin: Origin) => unknown,
): void {
  for (const [index, message] of piece.encoded.messages.entries()) {
    const origin = piece.encoded.origins[index]
    const input = origin?.isWhole === true ? inputOf(origin) : undefined
    // Fields that only Oriel reads are not sent.
    if (input !== undefined && equalJson(input as Json, message)) {
      messages.push(input)
      continue
    }
    const copy = copyPlain(message)
    copies.add(copy)
    messages.push(copy)
  }
  pieces.push(piece)
  ends.push({ messages: messages.length, copies: copies.length })
}
