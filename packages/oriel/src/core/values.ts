// Values in a text that an agent may need again: ids, paths, names, numbers, addresses. Plain words are none.

/** Lines are looked at in pieces of this many characters, so that no text can make a pattern slow. */
const pieceLength = 200
/** How much of one text is looked at: a memory must cost the same for 200 KB and for 20 MB. */
const readLength = 200_000

const shortest = 4
const longest = 80

/** Addresses, paths, dotted names, names in snake or camel case, ids and numbers. */
const pattern =
  /[\w.+-]+@[\w-]+\.[\w.]+|[\w.@~+-]*(?:\/[\w.@~+-]+)+|\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\b|\b[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+\b|\b[a-zA-Z]+[a-z0-9][A-Z][A-Za-z0-9]*\b|#?[A-Za-z0-9-]*\d[A-Za-z0-9-]*/g

/** The different values of one piece, in order. */
export function valuesOf(piece: string): readonly string[] {
  const found = new Set<string>()
  for (const [value] of piece.matchAll(pattern)) {
    if (value.length >= shortest && value.length <= longest) found.add(value)
  }
  return [...found]
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
