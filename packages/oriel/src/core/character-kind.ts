// What a character is to a tokenizer: letter of which script, digit, space or symbol.

/** Kinds of characters, as far as o200k's splitting and prices tell them apart. */
export const Kind = {
  symbol: 0,
  lower: 1,
  upper: 2,
  digit: 3,
  blank: 4,
  newline: 5,
  latin: 6,
  ideograph: 7,
  kana: 8,
  hangul: 9,
  cyrillic: 10,
  greek: 11,
  arabic: 12,
  hebrew: 13,
  thai: 14,
  indic: 15,
  otherScript: 16,
  rareScript: 17,
  /** Past the end of the text. */
  end: 18,
} as const

/**
 * The kind of a UTF-16 code unit. `lower` and `upper` are ASCII only; `latin` are letters with accents, and marks that
 * join a letter. Halves of surrogate pairs are symbols: most are emoji.
 */
export function kindOf(code: number): number {
  return code < 128 ? (asciiKinds[code] as number) : wideKind(code)
}

/** The kind of the character at an index, which may lie past the end. */
export function kindAt(text: string, index: number): number {
  return index < text.length ? kindOf(text.charCodeAt(index)) : Kind.end
}

const asciiKinds = makeAsciiKinds()

function makeAsciiKinds(): Uint8Array {
  const kinds = new Uint8Array(128).fill(Kind.symbol)
  kinds.fill(Kind.lower, 0x61, 0x7b)
  kinds.fill(Kind.upper, 0x41, 0x5b)
  kinds.fill(Kind.digit, 0x30, 0x3a)
  for (const code of [0x09, 0x0b, 0x0c, 0x20]) kinds[code] = Kind.blank
  for (const code of [0x0a, 0x0d]) kinds[code] = Kind.newline
  return kinds
}

// Ordered by how often a range is met, not by code.
function wideKind(code: number): number {
  if (code < 0x250) return latinKind(code)
  if (code >= 0x4e00 && code <= 0x9fff) return Kind.ideograph
  if (code >= 0xac00 && code <= 0xd7a3) return Kind.hangul
  if (code >= 0x3041 && code <= 0x30ff) return Kind.kana
  if (code < 0x2000) return alphabetKind(code)
  if (code <= 0x200a || code === 0x3000 || code === 0xfeff) return Kind.blank
  if (code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x205f) return Kind.blank
  if (code >= 0xf900 && code < 0xfb00) return Kind.ideograph
  if (code >= 0xfb50 && code < 0xfe00) return Kind.arabic
  if (code >= 0x3100 && code < 0x4dc0) return Kind.rareScript
  if (code >= 0xa000 && code < 0xac00) return Kind.rareScript
  return Kind.symbol
}

function latinKind(code: number): number {
  if (code >= 0xc0) return code === 0xd7 || code === 0xf7 ? Kind.symbol : Kind.latin
  return code === 0xa0 || code === 0x85 ? Kind.blank : Kind.symbol
}

function alphabetKind(code: number): number {
  if (code >= 0x1e00) return code < 0x1f00 ? Kind.latin : Kind.greek
  if (code >= 0x1200 && code < 0x1700) return Kind.rareScript
  if (code >= 0xe80) return Kind.otherScript
  if (code >= 0xe00) return Kind.thai
  if (code >= 0x900) return Kind.indic
  if (code >= 0x780) return Kind.otherScript
  if (code >= 0x600) return Kind.arabic
  if (code >= 0x590) return Kind.hebrew
  if (code >= 0x530) return Kind.otherScript
  if (code >= 0x400) return Kind.cyrillic
  if (code >= 0x370) return Kind.greek
  return Kind.latin
}
