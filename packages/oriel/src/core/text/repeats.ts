// Repeats: the lines of a text that earlier texts, or the text itself, brought already.

/** A text in lines, prepared for comparing. */
export interface Lines {
  readonly lines: readonly string[]
  /** What lines are compared by: without line numbers and trailing blanks. */
  readonly keys: readonly string[]
}

/** Lines in a row that are the same as earlier ones. */
export interface Repeat {
  /** Index of the first line, and how many there are. */
  readonly from: number
  readonly count: number
  /** Number of the text that has them too; `own`: this text itself, further up; `before`: each is the line before it. */
  readonly source: number | 'own' | 'before'
}

/** Line numbers as `cat -n`, `nl` and the read tools of agents print them. */
const lineNumber = /^ *\d+(?:\t|→|\|)/
/** Signs in front of every line of a difference. */
const diffSign = /^(?:diff --git |@@ -\d)/m
/** Shorter lines are everywhere: no repeat begins with one. */
const seedLength = 8
/** A run has at least so many different lines: a line that fills a page says little about where it is from. */
const fewestLines = 3
/** Earlier places of one line that are compared. */
const mostPlaces = 64

export function linesOf(text: string): Lines {
  const lines = text.split('\n')
  const isDiff = diffSign.test(text)
  const keys = lines.map((line) =>
    (isDiff ? line.slice(1) : line.replace(lineNumber, '')).trimEnd(),
  )
  return { lines, keys }
}

/** An index of the lines of all texts so far. */
export class LineIndex {
  readonly #texts: Lines[] = []
  /** Numbers of text and line, in turns, by key. */
  readonly #places = new Map<string, number[]>()

  /** Adds a text. Its number is how many were added before it. */
  add(text: Lines): void {
    const number = this.#texts.length
    this.#texts.push(text)
    text.keys.forEach((key, line) => {
      if (key.length < seedLength) return
      const places = this.#places.get(key)
      if (places === undefined) this.#places.set(key, [number, line])
      else if (places.length < 2 * mostPlaces) places.push(number, line)
    })
  }

  /**
   * The repeats in a text of at least `minChars` characters each, in order. At each line the longest one is taken, of equals the one in
   * the earliest text, so that a repeat does not depend on texts that it does not refer to. `countsLines` also finds lines that only
   * say the line before them again.
   */
  find(
    text: Lines,
    minChars: number,
    { countsLines = false }: { readonly countsLines?: boolean | undefined } = {},
  ): readonly Repeat[] {
    const { lines, keys } = text
    const own = new Map<string, number[]>()
    const repeats: Repeat[] = []
    let at = 0
    while (at < lines.length) {
      const same = countsLines ? sameLine(text, at) : undefined
      const best = longer(same, this.#longest(text, at, own))
      if (best !== undefined && best.chars >= minChars && isDistinct(text, at, best)) {
        const { count, source, isRenumbered } = best
        // Where the line numbers are others, the first one says which.
        const kept = isRenumbered && count > 1 ? 1 : 0
        repeats.push({ from: at + kept, count: count - kept, source })
        at += count
        continue
      }
      const key = keys[at] as string
      const places = own.get(key)
      if (places === undefined) own.set(key, [at])
      else if (places.length < mostPlaces) places.push(at)
      at += 1
    }
    return repeats
  }

  /** The longest repeat that begins at a line. `own` has the lines of the text further up. */
  #longest(text: Lines, at: number, own: ReadonlyMap<string, readonly number[]>): Run | undefined {
    const key = text.keys[at] as string
    if (key.length < seedLength) return undefined
    let best: Run | undefined
    const places = this.#places.get(key) ?? []
    for (let index = 0; index < places.length; index += 2) {
      const source = places[index] as number
      const other = this.#texts[source] as Lines
      const place = { source, from: places[index + 1] as number, end: other.lines.length }
      best = longer(best, runOf(text, at, other, place))
    }
    for (const from of own.get(key) ?? []) {
      best = longer(best, runOf(text, at, text, { source: 'own', from, end: at }))
    }
    return best
  }
}

interface Run {
  readonly source: Repeat['source']
  readonly count: number
  readonly chars: number
  /** True if the same lines have other line numbers there. */
  readonly isRenumbered: boolean
}

/** The lines from `at` on that are the same as those of another text from a place on. */
function runOf(
  { lines, keys }: Lines,
  at: number,
  other: Lines,
  { source, from, end }: Pick<Run, 'source'> & { readonly from: number; readonly end: number },
): Run {
  let count = 0
  let chars = 0
  while (
    at + count < keys.length &&
    from + count < end &&
    other.keys[from + count] === keys[at + count]
  ) {
    chars += (lines[at + count] as string).length + 1
    count += 1
  }
  return { source, count, chars, isRenumbered: lines[at] !== other.lines[from] }
}

/** The lines from `at` on that only say the line before them again. */
function sameLine({ lines }: Lines, at: number): Run | undefined {
  const line = lines[at - 1]
  if (line === undefined || line === '') return undefined
  let count = 0
  while (lines[at + count] === line) count += 1
  return { source: 'before', count, chars: count * (line.length + 1), isRenumbered: false }
}

/** True if the lines of a run differ enough to be recognised; those of a count need not. */
function isDistinct({ keys }: Lines, at: number, { source, count }: Run): boolean {
  return source === 'before' || new Set(keys.slice(at, at + count)).size >= fewestLines
}

function longer<R extends Run | undefined>(best: Run | undefined, run: R): Run | R {
  return best !== undefined && best.chars >= (run?.chars ?? 0) ? best : run
}
