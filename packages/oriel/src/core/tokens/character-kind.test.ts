import { expect, test } from 'vitest'
import { kindAt, kindOf, kinds } from './character-kind.ts'

const everyCode = Array.from({ length: 0x10000 }, (_, code) => code)

test.each([
  ['a', kinds.lower],
  ['Z', kinds.upper],
  ['7', kinds.digit],
  ['\t', kinds.blank],
  ['\u00a0', kinds.blank],
  ['\r', kinds.newline],
  ['{', kinds.symbol],
  ['\u0000', kinds.symbol],
  ['×', kinds.symbol],
  ['é', kinds.latin],
  ['ệ', kinds.latin],
  ['\u0301', kinds.latin],
  ['中', kinds.ideograph],
  ['ア', kinds.kana],
  ['한', kinds.hangul],
  ['я', kinds.cyrillic],
  ['λ', kinds.greek],
  ['ب', kinds.arabic],
  ['א', kinds.hebrew],
  ['ก', kinds.thai],
  ['क', kinds.indic],
  ['ქ', kinds.otherScript],
  ['አ', kinds.rareScript],
  ['—', kinds.symbol],
  ['。', kinds.symbol],
  ['\ud83d', kinds.symbol],
])('%j is of its kind', (character, kind) => {
  expect(kindOf(character.charCodeAt(0))).toBe(kind)
})

test('white space is exactly what a regular expression calls white space', () => {
  const isSpace = (code: number): boolean => {
    const kind = kindOf(code)
    return kind === kinds.blank || kind === kinds.newline
  }
  const differing = everyCode.filter(
    (code) => isSpace(code) !== /\s/u.test(String.fromCharCode(code)),
  )
  expect(differing).toEqual([])
})

test('nearly every letter and mark of Unicode is of a kind of letters', () => {
  const letters = everyCode.filter((code) => /[\p{L}\p{M}]/u.test(String.fromCharCode(code)))
  const missed = letters.filter((code) => kindOf(code) === kinds.symbol)
  expect(missed.length / letters.length).toBeLessThan(0.03)
})

test('past the end there is no character', () => {
  expect(kindAt('a', 0)).toBe(kinds.lower)
  expect(kindAt('a', 1)).toBe(kinds.end)
  expect(kindAt('', 0)).toBe(kinds.end)
})
