// Readable truncation to the first characters: JSON stays valid, tables keep whole rows, no
// character is split.

import { head } from './clip.ts'

export interface Beginning {
  /** The text to show. */
  readonly text: string
  /** Characters of the original that it covers. */
  readonly count: number
  /** Complete items of a JSON array, and its length. */
  readonly items?: readonly [shown: number, all: number]
}

/** Longer texts are not parsed as JSON. */
const parsedLength = 2_000_000
/** Rows that must have the same columns for a text to count as a table. */
const tableRows = 4

/** At most `length` characters. Prefers a readable cut if at least half of them remain. */
export function beginningOf(text: string, length: number): Beginning {
  return jsonBeginning(text, length) ?? tableBeginning(text, length) ?? plain(text, length)
}

function plain(text: string, length: number): Beginning {
  const shown = head(text, length)
  return { text: shown, count: shown.length }
}

function jsonBeginning(text: string, length: number): Beginning | undefined {
  const first = text.trimStart()[0]
  if ((first !== '{' && first !== '[') || text.length > parsedLength) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  const cut = jsonCut(text, length)
  if (cut === undefined) return undefined
  const shown = text.slice(0, cut.end) + cut.closers
  if (!Array.isArray(value)) return { text: shown, count: cut.end }
  return { text: shown, count: cut.end, items: [cut.items, value.length] }
}

interface Cut {
  readonly end: number
  /** Characters that close all open brackets. */
  readonly closers: string
  /** Complete items of the outermost array before the cut. */
  readonly items: number
}

/**
 * The last position at which truncated JSON can be closed: after a whole value, or inside a long
 * string.
 */
function jsonCut(text: string, length: number): Cut | undefined {
  const scan = new JsonScan()
  let best: Cut | undefined
  let inString: Cut | undefined
  for (let index = 0; index < length; index++) {
    scan.read(text[index] as string)
    const { closers, items } = scan
    if (scan.isBehindValue && index + 1 + closers.length <= length) {
      const whole = closers.length > 1 ? items - 1 : items
      best = { end: scan.endsBefore ? index : index + 1, closers, items: whole }
    }
    const quoted = `…"${closers}`
    if (scan.canCutString && index + 1 + quoted.length <= length) {
      inString = { end: head(text, index + 1).length, closers: quoted, items: items - 1 }
    }
  }
  if (best !== undefined && best.end >= length / 2) return best
  return (inString?.end ?? 0) > (best?.end ?? 0) ? inString : best
}

/** Incremental scanner of valid JSON. */
class JsonScan {
  /** Characters that close all open brackets. */
  closers = ''
  /** Items of the outermost array started so far. */
  items = 0
  /** A whole value ends here. */
  isBehindValue = false
  /** The value ends before this character, a comma, which is not shown. */
  endsBefore = false
  /** Inside a string value, outside an escape sequence. */
  canCutString = false
  #inString = false
  #isKey = false
  #isInItem = false
  #escape = 0

  read(character: string): void {
    this.isBehindValue = false
    this.canCutString = false
    if (this.#inString) this.#readString(character)
    else this.#readStructure(character)
  }

  #readString(character: string): void {
    if (this.#escape > 0) {
      this.#escape =
        this.#escape === 6 && character === 'u' ? 4 : this.#escape === 6 ? 0 : this.#escape - 1
    } else if (character === '\\') {
      this.#escape = 6
      return
    } else if (character === '"') {
      this.#inString = false
      return
    }
    this.canCutString = this.#escape === 0 && !this.#isKey
  }

  #readStructure(character: string): void {
    if (character === '"') {
      this.#inString = true
      this.#begins()
    } else if (character === '{' || character === '[') {
      this.#begins()
      this.closers = (character === '{' ? '}' : ']') + this.closers
      this.#isKey = character === '{'
    } else if (character === '}' || character === ']') {
      this.closers = this.closers.slice(1)
      this.#ends(false)
    } else if (character === ',') {
      this.#ends(true)
      if (this.closers.length === 1) this.#isInItem = false
      this.#isKey = this.closers[0] === '}'
    } else if (character === ':') this.#isKey = false
    else if (character.trim() !== '') this.#begins()
  }

  /**
   * Starts a value, or continues a number or literal. Counts an item of the outermost array once.
   */
  #begins(): void {
    if (this.closers.length !== 1 || this.#isInItem) return
    this.#isInItem = true
    this.items += 1
  }

  #ends(isBefore: boolean): void {
    this.isBehindValue = true
    this.endsBefore = isBefore
  }
}

/** Whole rows of a table: CSV, TSV, or columns between bars. */
function tableBeginning(text: string, length: number): Beginning | undefined {
  if (!isTable(text.slice(0, Math.max(length, 2000)))) return undefined
  const end = text.lastIndexOf('\n', length)
  if (end < length / 2) return undefined
  return { text: text.slice(0, end), count: end }
}

function isTable(text: string): boolean {
  const rows = text.split('\n', tableRows + 1).slice(0, tableRows)
  if (rows.length < tableRows) return false
  return (['\t', '|', ',', ';'] as const).some((delimiter) => {
    const counts = rows.map((row) => row.split(delimiter).length - 1)
    const least = delimiter === ',' || delimiter === ';' ? 2 : 1
    return (counts[0] ?? 0) >= least && counts.every((count) => count === counts[0])
  })
}
