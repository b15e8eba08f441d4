import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RowLayout } from './row-layout.ts'

describe('RowLayout', () => {
  it('places rows by guess until they are measured', () => {
    const layout = new RowLayout(3, 10)
    expect([layout.topOf(0), layout.topOf(2), layout.total]).toEqual([0, 20, 30])
    expect(layout.measure(0, 25)).toBe(15)
    expect([layout.topOf(1), layout.total]).toEqual([25, 45])
    expect(layout.measure(0, 25.2)).toBe(0)
  })

  it('keeps measured heights when rows are added', () => {
    const layout = new RowLayout(2, 10)
    layout.measure(1, 50)
    layout.resize(4)
    expect(layout.total).toBe(80)
    layout.resize(1)
    expect(layout.total).toBe(10)
    expect(layout.measure(3, 99)).toBe(0)
  })

  it('finds the row at any offset, whatever was measured', () => {
    const heights = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(heights, fc.nat(), fc.nat(), (rows, seed, start) => {
        const layout = new RowLayout(rows.length, 40)
        // Measured in an order of its own, with questions in between.
        for (let step = 0; step < rows.length; step++) {
          const index = (start + step * (1 + (seed % 7))) % rows.length
          layout.measure(index, rows[index] ?? 0)
          layout.topOf(index)
        }
        for (const [index, height] of rows.entries()) layout.measure(index, height)
        const tops = rows.map((_, index) => rows.slice(0, index).reduce((sum, one) => sum + one, 0))
        expect(rows.map((_, index) => layout.topOf(index))).toEqual(tops)
        for (const [index, top] of tops.entries()) {
          expect(layout.indexAt(top)).toBe(index)
          expect(layout.indexAt(top + (rows[index] ?? 1) - 0.5)).toBe(index)
        }
      }),
    )
  })
})
