// Originals by id: whole, by lines, by characters, by items of a JSON array, or the lines that match a query.

import { type Block, type FileBlock, type ImageBlock, textOf } from '../../core/log/block.ts'
import type { MessageEntry } from '../../core/log/entry.ts'
import { head } from '../../core/text/clip.ts'
import { itemsIn } from '../../core/text/json-items.ts'

export interface ExpandOptions {
  /** Lines from and to, 0-based, inclusive. */
  readonly lines?: readonly [from: number, to: number]
  /** Characters from and to, 0-based, inclusive. */
  readonly chars?: readonly [from: number, to: number]
  /** Items of a JSON list from and to, 0-based, inclusive: of a bare array, of the one list in an object, or of the list at `path`. */
  readonly items?: readonly [from: number, to: number]
  /** Where the list of `items` is: `results`, `data.rows`, `$.data.rows[0].cells`. @default the only list there is */
  readonly path?: string
  /** Only lines that contain this text, whatever its case, with their numbers; of long lines, what stands around it, with its position. */
  readonly query?: string
  /** Shows it where it was, instead of only answering with it; 'media': only if it has pictures or files. @default false */
  readonly inPlace?: boolean | 'media'
  /** With `inPlace`: how many requests show it, the next one included. Then the form that it had returns. @default 3 */
  readonly steps?: number
  /** Most characters of the answer. What is left out is announced, with what to ask for next. @default all of it */
  readonly maxChars?: number
  /** Why it is needed; told with the event. */
  readonly reason?: string
}

export type Expansion =
  | {
      readonly ok: true
      readonly text: string
      /** Pictures and files of an original that was asked for whole. @default none */
      readonly media?: readonly (ImageBlock | FileBlock)[]
    }
  | { readonly ok: false; readonly reason: string }

const optionNames: ReadonlySet<string> = new Set([
  'lines',
  'chars',
  'items',
  'path',
  'query',
  'inPlace',
  'steps',
  'maxChars',
  'reason',
] satisfies (keyof ExpandOptions)[])

/** Whether all of an original was asked for. */
export function isWhole({ lines, chars, items, path, query }: ExpandOptions): boolean {
  return [lines, chars, items, path, query].every((part) => part === undefined)
}

/** Pictures and files in blocks, those inside results included. */
export function mediaIn(blocks: readonly Block[]): readonly (ImageBlock | FileBlock)[] {
  return blocks.flatMap((block) => {
    if (block.type === 'image' || block.type === 'file') return [block]
    const inner = block.type === 'tool-result' ? block.content : ''
    return typeof inner === 'string' ? [] : mediaIn(inner)
  })
}

/** The part of an original that was asked for. Never throws: a model reads the reason and continues. */
export function expandText(text: string, options: ExpandOptions): Expansion {
  const { lines, chars, items, path, query, maxChars } = options
  const unknown = Object.keys(options).find((name) => !optionNames.has(name))
  if (unknown !== undefined) {
    return refuse(
      `there is no option ${unknown.slice(0, 40)}; allowed: ${[...optionNames].join(', ')}`,
    )
  }
  if (path !== undefined && typeof path !== 'string') return refuse('path must be a text')
  for (const [name, range] of Object.entries({ lines, chars, items })) {
    if (range !== undefined && !isRange(range)) {
      return refuse(`${name} must be two whole numbers [from, to], 0-based, from at most to`)
    }
  }
  if (maxChars !== undefined && !(Number.isInteger(maxChars) && maxChars > 0)) {
    return refuse('maxChars must be a whole number above 0')
  }
  const page = (found: string, start?: number): Expansion => paged(found, maxChars, start)
  if (items !== undefined) return expandItems(text, { items, path }, page)
  if (path !== undefined) return expandItems(text, { items: [0, Infinity], path }, page)
  if (query !== undefined) return expandQuery(text, query, page)
  if (lines !== undefined) {
    const all = text.split('\n')
    if (lines[0] >= all.length) return refuse(`it has ${all.length} lines`)
    const before = all.slice(0, lines[0]).reduce((sum, line) => sum + line.length + 1, 0)
    return page(all.slice(lines[0], lines[1] + 1).join('\n'), before)
  }
  const [from, to] = chars ?? [0, Infinity]
  if (from > 0 && from >= text.length) return refuse(`it has ${text.length} characters`)
  return page(text.slice(from, to + 1), from)
}

/** Bounds an answer; `start` is where it begins in the original, if it is one piece of it. */
type Page = (found: string, start?: number) => Expansion

/** The text of a message: that of its blocks, one below the other. */
export function originalText({ blocks }: MessageEntry): string {
  return blocks.map(blockText).join('\n')
}

function blockText(block: Block): string {
  if (block.type === 'text') return block.text
  if (block.type === 'tool-result') {
    const text = textOf(block.content)
    return text === '' ? mediaIn([block]).map(blockText).join('\n') : text
  }
  if (block.type === 'tool-call') return block.arguments
  if (block.type === 'reasoning') return block.text ?? ''
  if (block.type === 'opaque') return JSON.stringify(block.value)
  return `[${block.type} ${block.mediaType ?? ''}]`
}

function expandItems(
  text: string,
  {
    items: [from, to],
    path,
  }: { readonly items: readonly [number, number]; readonly path: string | undefined },
  page: Page,
): Expansion {
  const found = itemsIn(text, path)
  if (typeof found === 'string') return refuse(`${found}; or ask for lines or chars`)
  const { items } = found
  if (from >= items.length) return refuse(`it has ${items.length} items`)
  return page(JSON.stringify(items.slice(from, to + 1)))
}

/** Longer lines are not quoted whole: only what stands around a match. */
const quotedLine = 2000
/** Characters before and after a match. */
const around = 300
/** Matches of one long line that are quoted. */
const maxMatches = 50

function expandQuery(text: string, query: string, page: Page): Expansion {
  const wanted = query.toLowerCase()
  if (wanted === '') return refuse('the query is empty')
  let start = 0
  const found = text.split('\n').flatMap((line, index) => {
    const from = start
    start += line.length + 1
    if (!line.toLowerCase().includes(wanted)) return []
    if (line.length <= quotedLine) return [`${index}: ${line}`]
    return excerpts(line, wanted).map(
      ([first, last]) =>
        `${index}: [chars ${from + first} to ${from + last}] ${line.slice(first, last + 1).toWellFormed()}`,
    )
  })
  if (found.length === 0) return refuse('no line contains the query')
  return page(found.join('\n'))
}

/** Where the matches of a long line are, each with what stands around it; neighbours are one. */
function excerpts(line: string, wanted: string): readonly (readonly [number, number])[] {
  const lower = line.toLowerCase()
  const ranges: [number, number][] = []
  let at = lower.indexOf(wanted)
  while (at !== -1 && ranges.length < maxMatches) {
    const last = ranges.at(-1)
    const from = Math.max(0, at - around)
    const to = Math.min(line.length, at + wanted.length + around) - 1
    if (last !== undefined && from <= last[1]) last[1] = to
    else ranges.push([from, to])
    at = lower.indexOf(wanted, at + wanted.length)
  }
  return ranges
}

function paged(text: string, maxChars = Infinity, start?: number): Expansion {
  if (text.length <= maxChars) return { ok: true, text }
  const shown = head(text, maxChars)
  const rest = text.length - shown.length
  const from = (start ?? 0) + shown.length
  const next =
    start === undefined
      ? 'ask for a smaller part'
      : `to read on, ask for chars [${from}, ${from + rest - 1}]`
  return { ok: true, text: `${shown}\n[... ${rest} more characters; ${next} ...]` }
}

function isRange(range: unknown): boolean {
  const [from, to] = Array.isArray(range) ? range : []
  return (
    Array.isArray(range) &&
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
