// Safe terminal text of known width. Transcripts are untrusted and must not control the terminal.

import { stripVTControlCharacters } from 'node:util'

/** Maximum characters searched for a first line. */
const lookedAt = 4000

/**
 * Removes escape sequences, and writes other control and bidirectional characters as escapes, such
 * as `\x07`.
 */
export function clean(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll(/\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}/gu, writtenOut)
    .toWellFormed()
}

/** The first non-blank line, sanitized, with collapsed whitespace. */
export function firstLine(text: string): string {
  const lines = text.slice(0, lookedAt).split(/\r?\n/)
  const line = lines.find((one) => one.trim() !== '') ?? ''
  return clean(line.replaceAll(/\s+/g, ' ').trim())
}

/** Width of a text in terminal columns. */
export function widthOfText(text: string): number {
  let width = 0
  for (const character of stripVTControlCharacters(text)) {
    if (wide.test(character)) width += 2
    else if (!/\p{M}/u.test(character)) width += 1
  }
  return width
}

/** Truncates a text to a width, with an ellipsis. */
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

/** Pads a text to a width. */
export function pad(text: string, width: number, align: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, width - widthOfText(text)))
  return align === 'left' ? text + space : space + text
}

/** Wraps a text at words; the last of `maxLines` is truncated. */
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

/** East Asian wide characters and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u

function writtenOut(character: string): string {
  const code = character.codePointAt(0) as number
  const hex = code.toString(16)
  return code < 256 ? `\\x${hex.padStart(2, '0')}` : `\\u{${hex}}`
}
