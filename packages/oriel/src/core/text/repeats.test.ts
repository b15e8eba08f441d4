import { describe, expect, it } from 'vitest'
import { LineIndex, linesOf } from './repeats.ts'

const file = Array.from(
  { length: 12 },
  (_, n) => `    line number ${'abcdefghijkl'[n]} of the file`,
)
const index = (...texts: readonly string[]) => {
  const made = new LineIndex()
  for (const text of texts) made.add(linesOf(text))
  return made
}
const found = (known: readonly string[], text: string, minChars = 60) =>
  index(...known).find(linesOf(text), minChars)

describe('lines that were there before', () => {
  it('[DD1] are found in a row, between others', () => {
    const text = ['new one', ...file.slice(2, 8), 'new two'].join('\n')
    expect(found([file.join('\n')], text)).toEqual([{ from: 1, count: 6, source: 0 }])
  })

  it('[DD1] are found with other line numbers, of which the first stays', () => {
    const numbered = (start: number) => file.map((line, n) => `${start + n}\t${line}`).join('\n')
    expect(found([numbered(1)], numbered(1))).toEqual([{ from: 0, count: 12, source: 0 }])
    expect(found([numbered(1)], numbered(4))).toEqual([{ from: 1, count: 11, source: 0 }])
  })

  it('[DD1] are found in a difference', () => {
    const diff = ['diff --git a/x b/x', '@@ -1,12 +1,12 @@', ...file.map((line) => `+${line}`)]
    expect(found([file.join('\n')], diff.join('\n'))).toEqual([{ from: 3, count: 11, source: 0 }])
  })

  it('[DD1] are not found where they are indented otherwise', () => {
    expect(found([file.join('\n')], file.map((line) => `  ${line}`).join('\n'))).toEqual([])
  })

  it('[DD1] are left where they are too few', () => {
    expect(found([file.join('\n')], file.slice(0, 2).join('\n'), 100)).toEqual([])
  })

  it('[DD1] are taken from the text with the longest run, of equals from the earliest', () => {
    const part = file.slice(0, 4).join('\n')
    const whole = file.join('\n')
    expect(found([part, whole, whole], whole)).toEqual([{ from: 0, count: 12, source: 1 }])
  })

  it('[DD2] may follow themselves', () => {
    const text = ['begin', ...Array.from({ length: 40 }, () => 'again'), 'end'].join('\n')
    expect(found([], text)).toEqual([])
    expect(index().find(linesOf(text), 60, { countsLines: true })).toEqual([
      { from: 2, count: 39, source: 'before' },
    ])
  })

  it('[DD2] may be further up in the same text', () => {
    const text = [...file, 'between', ...file].join('\n')
    expect(found([], text)).toEqual([{ from: 13, count: 12, source: 'own' }])
  })
})
