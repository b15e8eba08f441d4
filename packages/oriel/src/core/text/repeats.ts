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

/** A text whose lines are numbers: the same number for the same key, whatever the text. */
interface Numbered {
  readonly text: Lines
  readonly ids: readonly number[]
}

/** An index of the lines of all texts so far. */
export class LineIndex {
  readonly #texts: Numbered[] = []
  /** Numbers of keys: they are compared often, and may be long. */
  readonly #ids = new Map<string, number>()
  /** Numbers of text and line, in turns, by the number of the key. */
  readonly #places: number[][] = []
  #compared = 0

  /** Lines compared so far: a measure of work, for tests. */
  get compared(): number {
    return this.#compared
  }

  /** Adds a text. Its number is how many were added before it. */
  add(text: Lines): void {
    const number = this.#texts.length
    const numbered = this.#number(text)
    this.#texts.push(numbered)
    numbered.ids.forEach((id, line) => {
      if ((text.keys[line] as string).length < seedLength) return
      const places = this.#places[id] as number[]
      if (places.length < 2 * mostPlaces) places.push(number, line)
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
    const { lines } = text
    const numbered = this.#number(text)
    const least = leastCounts(numbered, minChars)
    const own = new Map<number, number[]>()
    const repeats: Repeat[] = []
    let at = 0
    while (at < lines.length) {
      const same = countsLines ? sameLine(text, at) : undefined
      // A shorter run is of no use, unless it hides that of one line.
      const fewest = same === undefined ? (least[at] as number) : 1
      const best = longer(same, this.#longest(numbered, { at, fewest, own }))
      const isEnough =
        best !== undefined &&
        best.chars >= minChars &&
        (best.source === 'before' || best.count >= (least[at] as number))
      if (isEnough) {
        const { count, source, isRenumbered } = best
        // Where the line numbers are others, the first one says which.
        const kept = isRenumbered && count > 1 ? 1 : 0
        repeats.push({ from: at + kept, count: count - kept, source })
        at += count
        continue
      }
      const id = numbered.ids[at] as number
      const places = own.get(id)
      if (places === undefined) own.set(id, [at])
      else if (places.length < mostPlaces) places.push(at)
      at += 1
    }
    return repeats
  }

  #number(text: Lines): Numbered {
    const ids = text.keys.map((key) => {
      const known = this.#ids.get(key)
      if (known !== undefined) return known
      this.#ids.set(key, this.#places.length)
      return this.#places.push([]) - 1
    })
    return { text, ids }
  }

  /** The longest repeat of at least `fewest` lines that begins at a line. `own` has the lines of the text further up. */
  #longest(
    text: Numbered,
    {
      at,
      fewest,
      own,
    }: {
      readonly at: number
      readonly fewest: number
      readonly own: ReadonlyMap<number, readonly number[]>
    },
  ): Run | undefined {
    const id = text.ids[at] as number
    if ((text.text.keys[at] as string).length < seedLength) return undefined
    let best: Run | undefined
    // Most runs are too short: that shows at the last line that they must have.
    const last = fewest - 1
    const lastId = text.ids[at + last]
    if (lastId === undefined) return undefined
    const places = this.#places[id] as number[]
    this.#compared += places.length / 2
    for (let index = 0; index < places.length; index += 2) {
      const source = places[index] as number
      const from = places[index + 1] as number
      const other = this.#texts[source] as Numbered
      if (other.ids[from + last] !== lastId) continue
      best = longer(best, this.#run(text, other, { at, source, from, end: other.ids.length }))
    }
    for (const from of own.get(id) ?? []) {
      this.#compared += 1
      if (from + last >= at || text.ids[from + last] !== lastId) continue
      best = longer(best, this.#run(text, text, { at, source: 'own', from, end: at }))
    }
    return best
  }

  /** The lines from `at` on that are the same as those of another text from a place on. */
  #run(
    { text, ids }: Numbered,
    other: Numbered,
    {
      at,
      source,
      from,
      end,
    }: Pick<Run, 'source'> & { readonly at: number; readonly from: number; readonly end: number },
  ): Run {
    const most = Math.min(ids.length - at, end - from)
    let count = 0
    let chars = 0
    while (count < most && other.ids[from + count] === ids[at + count]) {
      chars += (text.lines[at + count] as string).length + 1
      count += 1
    }
    this.#compared += count
    return { source, count, chars, isRenumbered: text.lines[at] !== other.text.lines[from] }
  }
}

/**
 * For each line, how many lines a run that begins there must have: enough characters, and enough different lines to be recognised. Infinity
 * where none is enough.
 */
function leastCounts({ text, ids }: Numbered, minChars: number): readonly number[] {
  const counts: number[] = new Array(ids.length).fill(Infinity)
  const inside = new Map<number, number>()
  let chars = 0
  let end = 0
  for (let at = 0; at < ids.length; at++) {
    while (end < ids.length && (chars < minChars || inside.size < fewestLines)) {
      const id = ids[end] as number
      inside.set(id, (inside.get(id) ?? 0) + 1)
      chars += (text.lines[end] as string).length + 1
      end += 1
    }
    if (chars < minChars || inside.size < fewestLines) break
    counts[at] = end - at
    const id = ids[at] as number
    const left = (inside.get(id) as number) - 1
    if (left === 0) inside.delete(id)
    else inside.set(id, left)
    chars -= (text.lines[at] as string).length + 1
  }
  return counts
}

interface Run {
  readonly source: Repeat['source']
  readonly count: number
  readonly chars: number
  /** True if the same lines have other line numbers there. */
  readonly isRenumbered: boolean
}

/** The lines from `at` on that only say the line before them again. */
function sameLine({ lines }: Lines, at: number): Run | undefined {
  const line = lines[at - 1]
  if (line === undefined || line === '') return undefined
  let count = 0
  while (lines[at + count] === line) count += 1
  return { source: 'before', count, chars: count * (line.length + 1), isRenumbered: false }
}

function longer<R extends Run | undefined>(best: Run | undefined, run: R): Run | R {
  return best !== undefined && best.chars >= (run?.chars ?? 0) ? best : run
}
