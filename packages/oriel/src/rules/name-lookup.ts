// Settings by name or by a pattern with `*`: patterns are compiled once, match in linear time, and results are cached by name.

/** Names in each cache. A full cache is cleared: a log has few names. */
const remembered = 1000
/** Tools have names of 64 to 128 characters. Longer ones are compared as a whole, and match only the pattern that matches all. */
const longestMatched = 256

export class NameLookup<T> {
  readonly #exact = new Map<string, T>()
  /** The longest first. */
  readonly #patterns: { readonly pattern: Pattern; readonly setting: T }[] = []
  readonly #found = new Map<string, { readonly setting: T | undefined }>()

  constructor(settings: Readonly<Record<string, T>>) {
    for (const [key, setting] of Object.entries(settings)) {
      const name = plain(key)
      if (!this.#exact.has(name)) this.#exact.set(name, setting)
      if (name.includes('*')) this.#patterns.push({ pattern: new Pattern(name), setting })
    }
    this.#patterns.sort((a, b) => b.pattern.length - a.pattern.length)
  }

  /** The exact name, else the longest pattern that matches. Names compare trimmed and without case. */
  find(name: string): T | undefined {
    const known = this.#found.get(name)
    if (known !== undefined) return known.setting
    const wanted = plain(name)
    const setting = this.#exact.has(wanted)
      ? this.#exact.get(wanted)
      : this.#patterns.find(({ pattern }) => pattern.matches(wanted))?.setting
    if (this.#found.size >= remembered) this.#found.clear()
    this.#found.set(name, { setting })
    return setting
  }
}

/** The lookup of settings that never change, as those of a checked policy: made once for each. */
export function lookupOf<T>(settings: Readonly<Record<string, T>>): NameLookup<T> {
  const known = lookups.get(settings)
  // A lookup has the type of the settings that it was made for.
  if (known !== undefined) return known as NameLookup<T>
  const made = new NameLookup(settings)
  lookups.set(settings, made)
  return made
}

const lookups = new WeakMap<object, NameLookup<unknown>>()

function plain(name: string): string {
  return name.trim().toLowerCase()
}

/** `*` stands for any text, everything else for itself. */
class Pattern {
  readonly length: number
  readonly #first: string
  readonly #middle: readonly Part[]
  readonly #last: string
  readonly #isAll: boolean

  constructor(pattern: string) {
    const [first = '', ...rest] = pattern.split('*')
    this.length = pattern.length
    this.#first = first
    this.#last = rest.pop() ?? ''
    this.#middle = rest.filter((part) => part !== '').map((part) => new Part(part))
    this.#isAll = /^\*+$/.test(pattern)
  }

  /** Each part is looked for once, in order: the leftmost place leaves most room for the others. */
  matches(name: string): boolean {
    if (this.#isAll) return true
    if (name.length > longestMatched) return false
    let from = this.#first.length
    const end = name.length - this.#last.length
    if (from > end || !name.startsWith(this.#first) || !name.endsWith(this.#last)) return false
    for (const part of this.#middle) {
      const found = part.endIn(name, { from, end })
      if (found === undefined) return false
      from = found
    }
    return true
  }
}

/** A text to look for. By Knuth, Morris and Pratt: `indexOf` takes the product of both lengths at worst. */
class Part {
  readonly #text: string
  /** For each prefix, the length of the longest one that is also its end. */
  readonly #borders: readonly number[]

  constructor(text: string) {
    const borders = [0]
    for (let index = 1, border = 0; index < text.length; index++) {
      while (border > 0 && text[index] !== text[border]) border = borders[border - 1] as number
      if (text[index] === text[border]) border += 1
      borders.push(border)
    }
    this.#text = text
    this.#borders = borders
  }

  /** Where the first occurrence between two positions ends. */
  endIn(name: string, { from, end }: { readonly from: number; readonly end: number }) {
    const text = this.#text
    for (let index = from, matched = 0; index < end; index++) {
      while (matched > 0 && name[index] !== text[matched]) {
        matched = this.#borders[matched - 1] as number
      }
      if (name[index] === text[matched]) matched += 1
      if (matched === text.length) return index + 1
    }
    return undefined
  }
}
