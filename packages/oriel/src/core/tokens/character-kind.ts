// Character classes for token estimation: letters by script, digits, whitespace, symbols.

/** Character classes that o200k's splitting and costs distinguish. */
export const kinds = {
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
 * The class of a UTF-16 code unit. `lower` and `upper` are ASCII only; `latin` covers accented
 * letters and combining marks. Surrogates are symbols: most are emoji.
 */
export function kindOf(code: number): number {
  return code < 128 ? (asciiKinds[code] as number) : wideKind(code)
}

/** The class of the character at an index; `end` past the end of the text. */
export function kindAt(text: string, index: number): number {
  return index < text.length ? kindOf(text.charCodeAt(index)) : kinds.end
}

const asciiKinds = makeAsciiKinds()

function makeAsciiKinds(): Uint8Array {
  const table = new Uint8Array(128).fill(kinds.symbol)
  table.fill(kinds.lower, 0x61, 0x7b)
  table.fill(kinds.upper, 0x41, 0x5b)
  table.fill(kinds.digit, 0x30, 0x3a)
  for (const code of [0x09, 0x0b, 0x0c, 0x20]) table[code] = kinds.blank
  for (const code of [0x0a, 0x0d]) table[code] = kinds.newline
  return table
}

// Ordered by frequency, not by code.
function wideKind(code: number): number {
  if (code < 0x250) return latinKind(code)
  if (code >= 0x4e00 && code <= 0x9fff) return kinds.ideograph
  if (code >= 0xac00 && code <= 0xd7a3) return kinds.hangul
  if (code >= 0x3041 && code <= 0x30ff) return kinds.kana
  if (code < 0x2000) return alphabetKind(code)
  if (code <= 0x200a || code === 0x3000 || code === 0xfeff) return kinds.blank
  if (code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x205f) return kinds.blank
  if (code >= 0xf900 && code < 0xfb00) return kinds.ideograph
  if (code >= 0xfb50 && code < 0xfe00) return kinds.arabic
  if (code >= 0x3100 && code < 0x4dc0) return kinds.rareScript
  if (code >= 0xa000 && code < 0xac00) return kinds.rareScript
  return kinds.symbol
}

function latinKind(code: number): number {
  if (code >= 0xc0) return code === 0xd7 || code === 0xf7 ? kinds.symbol : kinds.latin
  return code === 0xa0 ? kinds.blank : kinds.symbol
}

function alphabetKind(code: number): number {
  if (code >= 0x1e00) return code < 0x1f00 ? kinds.latin : kinds.greek
  if (code === 0x1680) return kinds.blank
  if (code >= 0x1200 && code < 0x1700) return kinds.rareScript
  if (code >= 0xe80) return kinds.otherScript
  if (code >= 0xe00) return kinds.thai
  if (code >= 0x900) return kinds.indic
  if (code >= 0x780) return kinds.otherScript
  if (code >= 0x600) return kinds.arabic
  if (code >= 0x590) return kinds.hebrew
  if (code >= 0x530) return kinds.otherScript
  if (code >= 0x400) return kinds.cyrillic
  if (code >= 0x370) return kinds.greek
  return kinds.latin
}
