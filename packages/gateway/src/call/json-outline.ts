// Where the parts of a JSON text are, so that one of them can be replaced and the rest stays byte for byte as it came.

export interface Range {
  readonly start: number
  /** Index after the last character. */
  readonly end: number
}

export interface Outline {
  /** The value of each top-level field; of a field that comes twice the last one, as `JSON.parse` has it. */
  readonly fields: ReadonlyMap<string, Range>
  /** Every field with its name, from the quote of the name to the end of the value; all of those that come twice. */
  readonly members: ReadonlyMap<string, readonly Range[]>
  /** The deepest nesting found. */
  readonly depth: number
  /** Values and keys, roughly: what parsing and copying it costs. */
  readonly nodes: number
}

const quote = 0x22
const backslash = 0x5c

/** How far a text is read. */
export interface OutlineLimits {
  readonly depth: number
  readonly nodes: number
}

const noLimits: OutlineLimits = { depth: Infinity, nodes: Infinity }

/**
 * Reads the outline of a JSON object. One pass, no recursion; beyond the limits it stops, with a depth or a number of values that tells so.
 * Takes any text: of one that is no JSON, depth and values are what parsing it would cost until its mistake is found, or more.
 */
export function outlineOf(text: string, limits: OutlineLimits = noLimits): Outline {
  const fields = new Map<string, Range>()
  const members = new Map<string, Range[]>()
  let depth = 0
  let deepest = 0
  let nodes = 0
  let key: string | undefined
  let named = 0
  let start = -1
  const close = (end: number): void => {
    if (key !== undefined && start >= 0) {
      const range = trim(text, start, end)
      fields.set(key, range)
      const member = { start: named, end: range.end }
      const same = members.get(key)
      if (same === undefined) members.set(key, [member])
      else same.push(member)
    }
    key = undefined
    start = -1
  }
  for (let index = 0; index < text.length; index++) {
    if (deepest > limits.depth || nodes > limits.nodes) break
    switch (text.charCodeAt(index)) {
      case quote: {
        const end = stringEnd(text, index)
        if (depth === 1 && key === undefined) {
          key = readKey(text, index, end)
          named = index
        }
        index = end - 1
        break
      }
      case 0x3a: // :
        if (depth === 1 && start < 0) start = index + 1
        nodes += 1
        break
      case 0x2c: // ,
        if (depth === 1) close(index)
        nodes += 1
        break
      case 0x7b: // {
      case 0x5b: // [
        depth += 1
        nodes += 1
        if (depth > deepest) deepest = depth
        break
      case 0x7d: // }
      case 0x5d: // ]
        if (depth === 1) close(index)
        depth -= 1
        break
    }
  }
  return { fields, members, depth: deepest, nodes }
}

/** Where the fields of an outline are in another text. */
export function moved(
  { fields, members }: Outline,
  move: (range: Range) => Range,
): Pick<Outline, 'fields' | 'members'> {
  return {
    fields: new Map([...fields].map(([key, range]) => [key, move(range)])),
    members: new Map([...members].map(([key, ranges]) => [key, ranges.map(move)])),
  }
}

/** The elements of the array that stands in a range. */
export function elementsOf(text: string, range: Range): readonly Range[] {
  const elements: Range[] = []
  let depth = 0
  let start = range.start + 1
  for (let index = range.start; index < range.end; index++) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = stringEnd(text, index) - 1
        break
      case 0x2c:
        if (depth === 1) {
          elements.push(trim(text, start, index))
          start = index + 1
        }
        break
      case 0x7b:
      case 0x5b:
        depth += 1
        break
      case 0x7d:
      case 0x5d:
        depth -= 1
        if (depth === 0) {
          const last = trim(text, start, index)
          if (last.end > last.start) elements.push(last)
        }
        break
    }
  }
  return elements
}

/** The text without some members of its top-level object, given in their order. */
export function withoutMembers(text: string, members: readonly Range[]): string {
  const kept: string[] = []
  let at = 0
  let isLast = false
  for (const { start, end } of members) {
    kept.push(text.slice(at, start))
    comma.lastIndex = end
    isLast = !comma.test(text)
    at = isLast ? end : comma.lastIndex
  }
  const before = kept.join('')
  return (isLast ? before.replace(/,\s*$/, '') : before) + text.slice(at)
}

const comma = /\s*,/y

/** Index after the closing quote of the string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  for (let end = start + 1; ; end++) {
    end = text.indexOf('"', end)
    if (end === -1) return text.length
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1
    if (slashes % 2 === 0) return end + 1
  }
}

/** A key as `JSON.parse` reads it; one that it refuses stands for itself. */
function readKey(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1)
  if (!raw.includes('\\')) return raw
  try {
    return String(JSON.parse(text.slice(start, end)))
  } catch {
    return raw
  }
}

function trim(text: string, from: number, to: number): Range {
  let [start, end] = [from, to]
  while (start < end && isBlank(text.charCodeAt(start))) start += 1
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1
  return { start, end }
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
