// What the long answers of an assistant said: an outline of each that left the view, with the id that shows it whole.

import { textOf } from '../log/block.ts'
import type { MessageEntry } from '../log/entry.ts'
import { isObject, type Json, type JsonObject } from '../log/json.ts'
import { isCall } from '../state/exchange.ts'
import type { Counter } from '../tokens/counter.ts'
import { head, oneLine } from './clip.ts'
import { type IsWithdrawn, rowsOf, seqIn } from './digest.ts'

interface Answer {
  readonly id: string
  readonly seq: number
  /** How it begins, and its headings: titles, and the names of what it lists. */
  readonly outline: string
}

/** Shorter answers say little that the next question does not repeat. */
const leastAnswer = 600
/** Only this much of one answer is read. */
const readLength = 20_000
/** Characters of an outline: the longest that makes all fit. With less than the last one, the oldest answers are left out. */
const lengths = [160, 130, 100, 80, 65] as const
const longest = lengths[0]
const openingLength = 80
const headingLength = 40

const notice = 'Longer answers that are left out, by id, with what each said in outline:'

/** Collects the outlines of answers as their messages leave the view. */
export class Answers {
  #answers: readonly Answer[] = []

  /** Restores `data`, without content from withdrawn messages. */
  constructor(data?: Json, isWithdrawn: IsWithdrawn = () => false) {
    if (!isObject(data)) return
    this.#answers = rowsOf(data.answers).flatMap(([id, at, outline]): Answer[] => {
      const seq = seqIn(at)
      if (typeof id !== 'string' || typeof outline !== 'string' || isWithdrawn(seq)) return []
      return [{ id, seq, outline }]
    })
  }

  /** Adds messages, as a model may read them. What stands around calls is the agent's own work, and no answer. */
  add(entries: readonly MessageEntry[]): void {
    const added = entries.flatMap(({ id, seq, role, blocks }): Answer[] => {
      if (role !== 'assistant' || blocks.some(isCall)) return []
      const text = textOf(blocks)
      return text.length < leastAnswer ? [] : [{ id, seq, outline: outlineOf(text) }]
    })
    this.#answers = [...this.#answers, ...added]
  }

  /** The outlines within a budget, oldest first, and the input of the next ones: those that are listed. */
  compose({ counter, tokens }: Room): {
    readonly text: string
    readonly data: JsonObject | undefined
  } {
    const { count, length } = within(this.#answers, { counter, tokens })
    if (count === 0) return { text: '', data: undefined }
    const listed = this.#answers.slice(this.#answers.length - count)
    // Nothing is stored that is not shown: the next checkpoint has less room for each.
    const answers = listed.map(({ id, seq, outline }): Json[] => [id, seq, cut(outline, length)])
    return { text: textOfOutlines(listed, length), data: { length, answers } }
  }

  /** The text of stored data without content from withdrawn messages. */
  static textWithout(data: Json | undefined, isWithdrawn: IsWithdrawn): string {
    if (!isObject(data)) return ''
    return textOfOutlines(new Answers(data, isWithdrawn).#answers, seqIn(data.length))
  }
}

interface Room {
  readonly counter: Counter
  readonly tokens: number
}

/** How many of the newest fit, and with how many characters each. */
function within(
  answers: readonly Answer[],
  { counter, tokens }: Room,
): { readonly count: number; readonly length: number } {
  let fitting = { count: 0, length: 0 }
  if (answers.length === 0) return fitting
  for (const length of lengths) {
    let left = tokens - counter.count(notice) - 1
    const lines = linesOf(answers, length)
    const tooMany = lines.findLastIndex((line) => {
      left -= counter.count(line) + 1
      return left < 0
    })
    fitting = { count: answers.length - 1 - tooMany, length }
    if (fitting.count === answers.length) break
  }
  return fitting
}

function textOfOutlines(answers: readonly Answer[], length: number): string {
  return answers.length === 0 ? '' : [notice, ...linesOf(answers, length)].join('\n')
}

function linesOf(answers: readonly Answer[], length: number): readonly string[] {
  return answers.map(({ id, outline }) => `- ${id}: ${cut(outline, length)}`)
}

function outlineOf(text: string): string {
  const prose = text.slice(0, readLength).replaceAll(/```[\s\S]*?(?:```|$)/g, '\n')
  const lines = prose.split('\n').filter((line) => line.trim() !== '')
  const opening = cut(bare(lines[0] ?? ''), openingLength)
  const headings = new Set<string>()
  let left = longest - opening.length
  for (const line of lines) {
    const heading = left > 0 ? headingIn(line) : undefined
    if (heading === undefined || opening.includes(heading)) continue
    if (!headings.has(heading)) left -= heading.length + 2
    headings.add(heading)
  }
  return cut([opening, [...headings].join('; ')].join(' ').trim(), longest)
}

/** "## Title", "**Title**", "1. **Title**: ..." */
function headingIn(line: string): string | undefined {
  const found = /^\s*(?:#{1,6}\s+(.+)|(?:[-*+]\s+|\d+[.)]\s+)?\*\*(.+?)\*\*)/.exec(line)
  const heading = bare(found?.[1] ?? found?.[2] ?? '').replace(/[:：]$/, '')
  return heading.length < 3 ? undefined : cut(heading, headingLength)
}

function bare(line: string): string {
  return oneLine(line.replace(/^[\s#>*+-]*/, '').replaceAll(/\*\*|`/g, ''))
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${head(text, length - 1).trimEnd()}…`
}
