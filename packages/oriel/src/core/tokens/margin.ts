// By how much a count may be too low: what a budget keeps free so that it holds when the provider counts.

import { type Block, textOf } from '../log/block.ts'
import type { Counter } from './counter.ts'

/**
 * The largest shortfall of the estimate by kind of text, as a share of the estimate. Measured: over all views of recorded
 * conversations 5.1 % (plain), in docs/numbers-estimate.md 18 % for Polish (accented) and 10 % for messages in other scripts.
 */
const shortfalls = { plain: 0.06, accented: 0.2, other: 0.12 } as const

/** Characters that are looked at, at each of three places. */
const sampled = 64
/** Names and quotations in another script do not make a text one of that script. */
const leastAccented = 0.01
const leastOther = 0.03

/** The margin of the estimate for a text of this kind. Looks at a sample: the cost does not grow with the text. */
export function estimateMargin(text: string): number {
  const { length } = text
  let accented = 0
  let other = 0
  let seen = 0
  for (const start of length <= 3 * sampled
    ? [0]
    : [0, (length - sampled) >> 1, length - sampled]) {
    const end = length <= 3 * sampled ? length : start + sampled
    for (let at = start; at < end; at++) {
      const code = text.charCodeAt(at)
      seen += 1
      if (code < 0xc0) continue
      if (code < 0x250 || (code >= 0x1e00 && code < 0x1f00)) accented += 1
      else other += 1
    }
  }
  if (accented > seen * leastAccented) return shortfalls.accented
  return other > seen * leastOther ? shortfalls.other : shortfalls.plain
}

/** The most tokens that a block with this count may have. */
export function mostTokens(counter: Counter, block: Block, tokens: number): number {
  return counter.margin === undefined ? tokens : withMargin(tokens, counter.margin(textIn(block)))
}

/** The most tokens that a plain text with this count may have. */
export function mostPlainTokens(counter: Counter, tokens: number): number {
  return counter.margin === undefined ? tokens : withMargin(tokens, counter.margin(''))
}

function withMargin(tokens: number, margin: number): number {
  return Math.ceil(tokens * (1 + margin))
}

function textIn(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'tool-call':
      return block.arguments
    case 'tool-result':
      return textOf(block.content)
    default:
      return ''
  }
}
