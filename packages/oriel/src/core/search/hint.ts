// What ranking needs of a passage before it is read, in four bits of its id: whether the user says it, and about how long it is. More bits
// would choose no better and make the lists of a text index longer, which store the differences of ids.

import type { Speaker } from './passages.ts'

/** Hints are whole numbers below this. A passage's id is a multiple of it, and the hint. */
export const hints = 16

/** The lengths of a hint are powers of two: from 8 tokens and fewer to 1,024 and more. */
const lengths = 8
const shortest = 3

export function hintOf(speaker: Speaker, tokens: number): number {
  const power = Math.round(Math.log2(Math.max(1, tokens))) - shortest
  const length = Math.min(lengths - 1, Math.max(0, power))
  return (speaker === 'user' || speaker === 'directive' ? lengths : 0) + length
}

/** About how many tokens a passage has. */
export function lengthOf(hint: number): number {
  return 2 ** ((hint % lengths) + shortest)
}

export function speakerOf(hint: number): Speaker {
  return hint >= lengths ? 'user' : 'other'
}
