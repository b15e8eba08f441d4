// Text that is safe to print and whose width is known. What transcripts hold is untrusted: it must not steer the terminal.

import { stripVTControlCharacters } from 'node:util'

/** Left out of what is searched for a first line: enough for any line that fits the screen. */
const lookedAt = 4000

/**
 * The same text without escape sequences; other control characters, and those that hide or turn the text around them, are
 * written out, as in `\x07`.
 */
export function clean(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/gu, writtenOut)
    .toWellFormed()
}

/** The first line that is not blank, cleaned, with each run of spaces as one. */
export function firstLine(text: string): string {
  const lines = text.slice(0, lookedAt).split(/\r?\n/)
  const line = lines.find((one) => one.trim() !== '') ?? ''
  return clean(line.replaceAll(/\s+/g, ' ').trim())
}

/** Columns that a text takes in a terminal. */
export function widthOfText(text: string): number {
  let width = 0
  for (const character of stripVTControlCharacters(text)) {
    if (wide.test(character)) width += 2
    else if (!/\p{M}/u.test(character)) width += 1
  }
  return width
}

/** Cuts a text to a width, with an ellipsis where something is missing. */
export function fit(text: string, width: number): string {
  if (widthOfText(text) <= width) return text
  let kept = ''
  let used = 0
  for (const character of text) {
    used += widthOfText(character)
    if (used > width - 1) break
    kept += character
  }
  return `${kept.trimEnd()}…`
}

/** Fills a text up to a width. */
export function pad(text: string, width: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, width - widthOfText(text)))
  return align === 'left' ? text + space : space + text
}

/** Breaks a text between words; the last of `maxLines` is cut. */
export function wrap(text: string, width: number, maxLines: number): readonly string[] {
  const lines: string[] = []
  const words = text.split(' ')
  let line = ''
  while (words.length > 0) {
    const next = line === '' ? (words[0] as string) : `${line} ${words[0]}`
    if (lines.length === maxLines - 1) {
      line = fit([line, ...words].filter((word) => word !== '').join(' '), width)
      break
    }
    if (line !== '' && widthOfText(next) > width) {
      lines.push(line)
      line = ''
      continue
    }
    line = fit(next, width)
    words.shift()
  }
  return line === '' ? lines : [...lines, line]
}

/** East Asian wide characters and pictures. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u

function writtenOut(character: string): string {
  const code = character.codePointAt(0) as number
  const hex = code.toString(16)
  return code < 256 ? `\\x${hex.padStart(2, '0')}` : `\\u{${hex}}`
}
