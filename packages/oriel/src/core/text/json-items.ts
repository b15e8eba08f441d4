// JSON in a text, and the list of items in it: a bare array, the one list of an object, or the list at a path.

/** Longer texts are not parsed. */
const parsedLength = 5_000_000
/** How far a text may talk before its JSON begins: `Action results:`. */
const introLength = 500

export interface JsonItems {
  readonly items: readonly unknown[]
  /** Where they are: `results`, `data.rows`; empty for a bare array. */
  readonly path: string
}

/** The JSON value of a text, also behind a line that introduces it; undefined if there is none. */
export function jsonIn(text: string): unknown {
  if (text.length > parsedLength) return undefined
  const start = /[[{]/.exec(text.slice(0, introLength))?.index
  if (start === undefined) return undefined
  const lineStart = /^[[{]/m.exec(text.slice(0, introLength))?.index
  for (const from of new Set([start, lineStart ?? start])) {
    try {
      return JSON.parse(text.slice(from)) as unknown
    } catch {
      // What stands there is no JSON.
    }
  }
  return undefined
}

/** The items of a text at a path; without one, those of its only list. A text says why there are none. */
export function itemsIn(text: string, path?: string): JsonItems | string {
  const value = jsonIn(text)
  if (value === undefined) return 'it is not JSON'
  if (path !== undefined) {
    const found = valueAt(value, path)
    return Array.isArray(found) ? { items: found, path } : `it has no list at ${path.slice(0, 100)}`
  }
  if (Array.isArray(value)) return { items: value, path: '' }
  const lists = listsIn(value)
  const [only] = lists
  if (only !== undefined && lists.length === 1) return only
  return lists.length === 0
    ? 'it has no list of items'
    : `it has several lists, so name one as path: ${lists.map((list) => list.path).join(', ')}`
}

/** Lists in the fields of an object, and of the objects in it. */
function listsIn(value: unknown, prefix = '', depth = 0): readonly JsonItems[] {
  if (!isRecord(value)) return []
  const lists = Object.entries(value).flatMap(([key, inner]) =>
    Array.isArray(inner) ? [{ items: inner, path: `${prefix}${key}` }] : [],
  )
  if (lists.length > 0 || depth === 3) return lists
  return Object.entries(value).flatMap(([key, inner]) =>
    listsIn(inner, `${prefix}${key}.`, depth + 1),
  )
}

/** `$.data.rows[0].cells` and `data.rows.0.cells` mean the same. */
function valueAt(value: unknown, path: string): unknown {
  const steps = path
    .replace(/^\$\.?/, '')
    .replaceAll(
      /\[(\d+|"[^"]*"|'[^']*')\]/g,
      (_, step: string) => `.${step.replaceAll(/["']/g, '')}`,
    )
    .split('.')
    .filter((step) => step !== '')
  let found = value
  for (const step of steps) {
    const isInside = typeof found === 'object' && found !== null && Object.hasOwn(found, step)
    found = isInside ? (found as Record<string, unknown>)[step] : undefined
  }
  return found
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
