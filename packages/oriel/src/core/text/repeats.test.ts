import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scaledRuns } from '../../../test/scaled-runs.ts'
import { LineIndex, linesOf, type Repeat } from './repeats.ts'

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

/** The same by comparing every line with every line before it. */
function foundByForce(known: readonly string[], text: string, minChars: number): Repeat[] {
  const { lines, keys } = linesOf(text)
  const repeats: Repeat[] = []
  const seen: number[] = []
  for (let at = 0; at < lines.length; ) {
    let best: { count: number; chars: number; source: Repeat['source']; from: string } | undefined
    const compare = (source: Repeat['source'], other: string, from: number, end: number): void => {
      const there = linesOf(other)
      if (there.keys[from] !== keys[at]) return
      let count = 0
      while (from + count < end && there.keys[from + count] === keys[at + count]) count += 1
      const chars = lines.slice(at, at + count).join('\n').length + 1
      if (best === undefined || chars > best.chars) {
        best = { count, chars, source, from: there.lines[from] as string }
      }
    }
    if ((keys[at] as string).length >= 8) {
      for (const [source, other] of known.entries()) {
        const { length } = linesOf(other).lines
        for (let from = 0; from < length; from++) compare(source, other, from, length)
      }
      for (const from of seen) compare('own', text, from, at)
    }
    const different = new Set(keys.slice(at, at + (best?.count ?? 0))).size
    if (best === undefined || best.chars < minChars || different < 3) {
      seen.push(at)
      at += 1
      continue
    }
    const kept = best.from !== lines[at] && best.count > 1 ? 1 : 0
    repeats.push({ from: at + kept, count: best.count - kept, source: best.source })
    at += best.count
  }
  return repeats
}

describe('finding lines', () => {
  it('[DD1] gives what comparing all lines gives', () => {
    const line = fc.constantFrom(
      'one long line',
      'another one',
      'a third line',
      'short',
      '7\tone long line',
    )
    const text = fc.array(line, { maxLength: 14 }).map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(
        fc.array(text, { maxLength: 4 }),
        text,
        fc.integer({ min: 1, max: 60 }),
        (known, own, min) => {
          expect(found(known, own, min)).toEqual(foundByForce(known, own, min))
        },
      ),
      { numRuns: scaledRuns(300) },
    )
  })

  it.each([
    [
      'a file of which lines change',
      (n: number, i: number) =>
        (i * 7 + n * 13) % 97 === 0 ? `changed ${n} ${i}` : `value ${i} as it was`,
    ],
    [
      'runs that are too short',
      (n: number, i: number) =>
        i % 4 === 3 ? `row ${n}-${i}` : `item ${i % 40} is unchanged today`,
    ],
    [
      'one line again and again',
      (n: number, i: number) => (i % 50 === 0 ? `${n} ${i}` : '.........'),
    ],
    [
      'one report again and again',
      (n: number, i: number) => (i % 30 === 29 ? `header ${n}` : `line ${i % 30} of the report`),
    ],
  ])('[DD7] compares each line a bounded number of times: %s', (_, lineOf) => {
    const made = new LineIndex()
    const [texts, lines] = [100, 300]
    for (let n = 0; n < texts; n++) {
      const text = linesOf(Array.from({ length: lines }, (_, i) => lineOf(n, i)).join('\n'))
      made.find(text, 200)
      made.add(text)
    }
    // At most 64 earlier places of a line in other texts and 64 in its own, and each line of a run.
    expect(made.compared).toBeLessThanOrEqual(200 * texts * lines)
  })
})
