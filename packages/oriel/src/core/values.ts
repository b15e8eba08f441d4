// Values in a text that an agent may need again: ids, paths, names, numbers, addresses. Plain words are none.

/** Lines are looked at in pieces of this many characters, so that no text can make a pattern slow. */
const pieceLength = 200
/** How much of one text is looked at: a memory must cost the same for 200 KB and for 20 MB. */
const readLength = 200_000

const shortest = 4
const longest = 80

/** Addresses, paths, names (also dotted ones), ids and numbers. */
const pattern =
  /[\w.+-]+@[\w-]+\.[\w.]+|[\w.@~+-]*(?:\/[\w.@~+-]+)+|[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+|#?[A-Za-z0-9-]*\d[\w-]*|[A-Za-z_$][\w$]*/g
/** Where something is defined: agents look for these lines as a whole. */
const definition =
  /\b(?:class|const|def|enum|fn|func|function|interface|struct|trait|type)\s+[A-Za-z_$][\w$]*/g
/** What programs say, and what is said about them. */
const quoted = /"([^"]{6,60})"|'([^']{6,60})'|`([^`]{6,60})`/g

/** The different values of one piece, in order. */
export function valuesOf(piece: string): readonly string[] {
  const found = new Set<string>()
  for (const [value] of piece.matchAll(pattern)) {
    if (value.length >= shortest && value.length <= longest && isTelling(value)) found.add(value)
  }
  for (const [value] of piece.matchAll(definition)) found.add(value)
  for (const [, double, single, back] of piece.matchAll(quoted)) {
    const phrase = (double ?? single ?? back ?? '').trim()
    if (phrase.includes(' ')) found.add(phrase)
  }
  return [...found]
}

/** Plain words tell nothing. */
function isTelling(value: string): boolean {
  return /[\d_$@/.]|[a-z][A-Z]/.test(value)
}

/** Whether a value is a bare number: agents need those again far less often than names. */
export function isNumber(value: string): boolean {
  return /^[\d.,-]+$/.test(value)
}

/** A text as short pieces with blanks collapsed: its lines, long ones cut where they may be cut. */
export function* piecesOf(text: string): Generator<string> {
  const read = text.length > readLength ? text.slice(0, readLength) : text
  for (const line of read.split('\n')) {
    let rest = line.length > pieceLength ? line : line.trim()
    while (rest.length > pieceLength) {
      const at = cutOf(rest)
      const piece = collapse(rest.slice(0, at))
      if (piece !== '') yield piece
      rest = rest.slice(at)
    }
    const piece = collapse(rest)
    if (piece !== '') yield piece
  }
}

/** Where a long line is cut: behind a separator, else behind a blank, else anywhere but inside a character. */
function cutOf(line: string): number {
  const window = line.slice(0, pieceLength)
  for (const separator of [', ', '; ', '. ', ',', ' ']) {
    const at = window.lastIndexOf(separator)
    if (at > pieceLength / 2) return at + separator.length
  }
  const unit = line.charCodeAt(pieceLength - 1)
  return unit >= 0xd800 && unit <= 0xdbff ? pieceLength - 1 : pieceLength
}

function collapse(piece: string): string {
  return piece.replaceAll(/\s+/g, ' ').trim()
}
