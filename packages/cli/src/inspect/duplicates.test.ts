import { describe, expect, it } from 'vitest'
import { findRepeats, type Repeatable } from './duplicates.ts'

const lines = Array.from(
  { length: 60 },
  (_, index) => `const value${index} = compute(${index * 7})`,
)
const file = lines.join('\n')
const editedFile = lines.with(30, 'const value30 = await fetchValue()').join('\n')
const otherFile = lines
  .map((line) => line.replace('compute', 'render').replace('value', 'view'))
  .join('\n')

function resultsOf(...texts: readonly string[]): readonly Repeatable[] {
  return texts.map((text, index) => ({ index: index * 2, tool: 'read', tokens: text.length, text }))
}

describe('findRepeats', () => {
  it('finds identical results and says what the older copies cost', () => {
    expect(findRepeats(resultsOf(file, otherFile, file, file))).toEqual([
      {
        tool: 'read',
        times: 3,
        isIdentical: true,
        wastedTokens: 2 * file.length,
        indexes: [0, 4, 6],
      },
    ])
  })

  it('finds a file that was read again after an edit', () => {
    expect(findRepeats(resultsOf(file, editedFile))).toEqual([
      { tool: 'read', times: 2, isIdentical: false, wastedTokens: file.length, indexes: [0, 2] },
    ])
  })

  it('follows a file through many edits, each close to the one before', () => {
    const versions = Array.from({ length: 30 }, (_, edits) =>
      lines.map((line, index) => (index < edits ? `// removed ${index}` : line)).join('\n'),
    )
    expect(findRepeats(resultsOf(...versions))[0]?.times).toBe(30)
    expect(findRepeats(resultsOf(versions[0] as string, versions[29] as string))).toEqual([])
  })

  it('does not take different texts of the same shape for repeats', () => {
    const order = (id: string, item: string): string =>
      JSON.stringify({ id, status: 'shipped', items: [{ item, amount: 1, colour: 'black' }] })
    expect(
      findRepeats(resultsOf(order('W1', 'lamp'), order('W2', 'chair'), otherFile, file)),
    ).toEqual([])
  })

  it('ignores short results and compares within one tool only', () => {
    const short = { index: 0, tool: 'edit', tokens: 19, text: 'ok' }
    expect(findRepeats([short, { ...short, index: 1 }])).toEqual([])
    const [one] = resultsOf(file)
    expect(findRepeats([one as Repeatable, { ...(one as Repeatable), tool: 'shell' }])).toEqual([])
  })

  it('puts the most wasteful first', () => {
    const found = findRepeats(
      resultsOf('a b c d e f g h i j k l', file, file, 'a b c d e f g h i j k l'),
    )
    expect(found.map(({ indexes }) => indexes)).toEqual([
      [2, 4],
      [0, 6],
    ])
  })

  it('compares texts without words', () => {
    const rule = '='.repeat(40)
    expect(findRepeats(resultsOf(rule, rule, `${rule}${rule}`))).toMatchObject([{ times: 3 }])
    expect(findRepeats(resultsOf('漢字'.repeat(20), '仮名'.repeat(20)))).toEqual([])
  })
})
