// Originals by id: whole, by lines, by characters, by items of a JSON array, or the lines that match a query.

import { type Block, textOf } from '../../core/log/block.ts'
import type { MessageEntry } from '../../core/log/entry.ts'
import { head } from '../../core/text/clip.ts'

export interface ExpandOptions {
  /** Lines from and to, 0-based, inclusive. */
  readonly lines?: readonly [from: number, to: number]
  /** Characters from and to, 0-based, inclusive. */
  readonly chars?: readonly [from: number, to: number]
  /** Items of a JSON array from and to, 0-based, inclusive. */
  readonly items?: readonly [from: number, to: number]
  /** Only lines that contain this text, whatever its case, with their numbers. */
  readonly query?: string
  /** Shows it where it was, instead of only answering with it. @default false */
  readonly inPlace?: boolean
  /** With `inPlace`: how many requests show it, the next one included. Then the form that it had returns. @default 3 */
  readonly steps?: number
  /** Why it is needed; told with the event. */
  readonly reason?: string
}

export type Expansion =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string }

/** The most characters one expansion returns; reading on is by ranges, so that it cannot overflow the context again. */
const maxExpansion = 200_000

/** The part of an original that was asked for. Never throws: a model reads the reason and goes on. */
export function expandText(text: string, options: ExpandOptions): Expansion {
  const { lines, chars, items, query } = options
  for (const [name, range] of Object.entries({ lines, chars, items })) {
    if (range !== undefined && !isRange(range)) {
      return refuse(`${name} must be two whole numbers [from, to], 0-based, from at most to`)
    }
  }
  if (items !== undefined) return expandItems(text, items)
  if (query !== undefined) return expandQuery(text, query)
  if (lines !== undefined) {
    const all = text.split('\n')
    if (lines[0] >= all.length) return refuse(`it has ${all.length} lines`)
    return bounded(all.slice(lines[0], lines[1] + 1).join('\n'))
  }
  if (chars !== undefined) {
    if (chars[0] >= text.length) return refuse(`it has ${text.length} characters`)
    return bounded(text.slice(chars[0], chars[1] + 1))
  }
  return bounded(text)
}

/** The text of a message: that of its blocks, one below the other. */
export function originalText({ blocks }: MessageEntry): string {
  return blocks.map(blockText).join('\n')
}

function blockText(block: Block): string {
  if (block.type === 'text') return block.text
  if (block.type === 'tool-result') return textOf(block.content)
  if (block.type === 'tool-call') return block.arguments
  if (block.type === 'reasoning') return block.text ?? ''
  if (block.type === 'opaque') return JSON.stringify(block.value)
  return `[${block.type} ${block.mediaType ?? ''}]`
}

function expandItems(text: string, [from, to]: readonly [number, number]): Expansion {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return refuse('it is not JSON; ask for lines or chars')
  }
  if (!Array.isArray(value)) return refuse('it is not a JSON array; ask for lines or chars')
  if (from >= value.length) return refuse(`it has ${value.length} items`)
  return bounded(JSON.stringify(value.slice(from, to + 1)))
}

function expandQuery(text: string, query: string): Expansion {
  const wanted = query.toLowerCase()
  if (wanted === '') return refuse('the query is empty')
  const found = text
    .split('\n')
    .flatMap((line, index) => (line.toLowerCase().includes(wanted) ? [`${index}: ${line}`] : []))
  if (found.length === 0) return refuse('no line contains the query')
  return bounded(found.join('\n'))
}

function bounded(text: string): Expansion {
  if (text.length <= maxExpansion) return { ok: true, text }
  const shown = head(text, maxExpansion)
  return {
    ok: true,
    text: `${shown}\n[... ${text.length - shown.length} more characters; ask for a range ...]`,
  }
}

function isRange(range: readonly number[]): boolean {
  const [from, to] = range
  return (
    range.length === 2 &&
    Number.isInteger(from) &&
    Number.isInteger(to) &&
    (from as number) >= 0 &&
    (to as number) >= (from as number)
  )
}

/** The answer that says why not. */
export function refuse(reason: string): Expansion & { readonly ok: false } {
  return { ok: false, reason: `Not expanded: ${reason}.` }
}
