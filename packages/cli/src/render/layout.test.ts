import fc from 'fast-check'
import picocolors from 'picocolors'
import { describe, expect, it } from 'vitest'
import { bar, heading, number, percent, plural, roughly, sparkline, table } from './layout.ts'
import { widthOfText } from './text.ts'

describe('table', () => {
  it('aligns columns by what they hold', () => {
    const rows = [
      ['read', '12'],
      ['日本', '3,456'],
    ]
    expect(table([{}, { align: 'right' }], rows, 40)).toEqual(['  read     12', '  日本  3,456'])
  })

  it('gives one column what the others leave', () => {
    const rows = [['a long name that does not fit', '12']]
    expect(table([{ takesRest: true }, {}], rows, 20)).toEqual(['  a long name t…  12'])
  })

  it('cleans every text and styles it afterwards', () => {
    const style = picocolors.createColors(true).red
    expect(table([{}], [[{ text: '\u001b[2Jgone\u0007', style }]], 40)).toEqual([
      `  ${style('gone\\x07')}`,
    ])
  })

  it('is never wider than the paper, whatever the cells hold', () => {
    const cell = fc.string({ unit: 'binary', maxLength: 80 })
    const columns = [
      { maxWidth: 10 },
      { takesRest: true },
      { maxWidth: 12, align: 'right' },
    ] as const
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell, cell), { maxLength: 5 }), (rows) => {
        const widths = table(columns, rows, 72).map(widthOfText)
        expect(Math.max(0, ...widths)).toBeLessThanOrEqual(72)
      }),
    )
  })
})

describe('heading', () => {
  it('cuts the remark, not the title', () => {
    const colors = picocolors.createColors(false)
    const paper = { colors, width: 20, top: 5, showContent: true }
    expect(heading(paper, 'Tools', 'every one of them')).toEqual(['', 'Tools  every one of…'])
    expect(heading(paper, 'Tools')).toEqual(['', 'Tools'])
  })
})

describe('bar', () => {
  it('shows eighths, and anything above nothing', () => {
    expect([bar(0, 10), bar(0.0001, 10), bar(0.05, 10), bar(0.5, 10), bar(2, 4)]).toEqual([
      '',
      '▏',
      '▌',
      '█████',
      '████',
    ])
  })
})

describe('sparkline', () => {
  it('shows each value, or the largest of each group', () => {
    expect(sparkline([0, 4, 8], 10)).toBe('▁▅█')
    expect(sparkline([0, 8, 1, 1, 0, 0], 3)).toBe('█▂▁')
    expect(sparkline([], 10)).toBe('')
  })
})

describe('numbers', () => {
  it('are written for people', () => {
    expect([number(1234567), roughly(999_999), roughly(104_650_000)]).toEqual([
      '1,234,567',
      '999,999',
      '104.7 million',
    ])
    expect([percent(0), percent(0.001), percent(0.456)]).toEqual(['0%', '<1%', '46%'])
    expect([plural(1, 'turn'), plural(2000, 'turn')]).toEqual(['1 turn', '2,000 turns'])
  })
})
