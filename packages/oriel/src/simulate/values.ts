// Values in a text that an agent may need again: ids, paths, names, numbers, phrases. Plain words
// are excluded.

/**
 * One pattern, so that overlapping kinds count once: addresses, paths, dotted names, ids, numbers,
 * snake_case and camelCase names. `isValue` checks each match.
 */
const token =
  /[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:~|\.{1,2})?\/?[\w.@+-]+(?:\/[\w.@+-]+)+\/?|\/[\w.@+-]+|#?[\w-]+(?:\.[\w-]+)*/g
const quoted = /"([^"\n]{6,60})"|'([^'\n]{6,60})'|`([^`\n]{6,60})`/g
const shortestLeaf = 3
const longestLeaf = 80
/** Longer texts are truncated: nobody types megabytes as an argument. */
const readLength = 20_000

/** The values in a text written by an agent. Paths are whole; `suffixesOf` shortens them. */
export function valuesIn(text: string): ReadonlySet<string> {
  const values = new Set<string>()
  const read = text.length > readLength ? text.slice(0, readLength) : text
  for (const [match] of read.matchAll(token)) {
    const value = match.replace(/^[.+-]+(?=\w)|[.+-]+$/g, '')
    if (isValue(value)) values.add(value)
  }
  for (const [, double, single, back] of read.matchAll(quoted)) {
    const phrase = (double ?? single ?? back ?? '').trim()
    if (phrase.length >= 6 && /\w/.test(phrase) && !isPlainWord(phrase)) values.add(phrase)
  }
  return values
}

/** A whole argument, if it is one short line and not a plain word. */
export function wholeValue(leaf: string): string | undefined {
  const value = leaf.trim()
  if (value.length < shortestLeaf || value.length > longestLeaf) return undefined
  if (/[\r\n]/.test(value) || !/\w/.test(value) || isPlainWord(value)) return undefined
  return value
}

export function isPath(value: string): boolean {
  return /^[^\s"']*\/[^\s"']+$/.test(value)
}

/**
 * A path and its suffixes, longest first; the last one is the file name, if it has an extension.
 */
export function suffixesOf(path: string): readonly string[] {
  const parts = path.replace(/\/$/, '').split('/')
  const suffixes = [path]
  for (let from = 1; from < parts.length; from++) {
    const suffix = parts.slice(from).join('/')
    const isWorth = suffix.includes('/') || isValue(suffix)
    if (suffix !== '' && isWorth) suffixes.push(suffix)
  }
  return suffixes
}

/** Normalizes a text for the search: unescapes JSON line breaks and quotes. */
export function plain(text: string): string {
  if (!text.includes('\\')) return text
  return text.replaceAll(/\\([nrt"])/g, (_, letter: string) => (letter === '"' ? '"' : ' '))
}

/** Index of a value as a whole word in a normalized text; -1 if absent. */
export function indexOfValue(text: string, value: string, from = 0): number {
  const first = isWordUnit(value.charCodeAt(0))
  const last = isWordUnit(value.charCodeAt(value.length - 1))
  let index = text.indexOf(value, from)
  while (index !== -1) {
    const isStart = !first || index === 0 || !isWordUnit(text.charCodeAt(index - 1))
    const end = index + value.length
    if (isStart && (!last || end >= text.length || !isWordUnit(text.charCodeAt(end)))) return index
    index = text.indexOf(value, index + 1)
  }
  return -1
}

function isValue(value: string): boolean {
  if (value.length < 3 || value.length > longestLeaf) return false
  if (value.includes('@')) return /\w@\w/.test(value)
  if (value.includes('/')) return /[A-Za-z]/.test(value) && value.length > 3
  if (/^[\d.,-]+$/.test(value)) return (value.match(/\d/g)?.length ?? 0) >= 4
  if (/\d/.test(value) && /[A-Za-z]/.test(value)) return value.length >= 4
  if (/^#?\w+(?:_\w+)+$/.test(value) || /^_+\w+$/.test(value)) return true
  if (/^\w+(?:\.\w+)+$/.test(value)) return true
  return /[a-z][A-Z]/.test(value)
}

function isPlainWord(value: string): boolean {
  return /^[A-Za-z]?[a-z]+$/.test(value)
}

function isWordUnit(unit: number): boolean {
  return (
    (unit >= 48 && unit <= 57) ||
    (unit >= 65 && unit <= 90) ||
    (unit >= 97 && unit <= 122) ||
    unit === 95
  )
}
