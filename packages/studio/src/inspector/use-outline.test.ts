import { describe, expect, it } from 'vitest'
import type { Outline, OutlineRow, TimelineStep } from '../contract.ts'
import { withBase, withSteps } from './use-outline.ts'

const row = (seq: number): OutlineRow => ({ type: 'block', seq, index: 0 }) as OutlineRow
const outline = (name: string, rows: readonly OutlineRow[]): Outline => ({
  ...{ version: 1, name, tokens: { log: 0, view: 0 } },
  rows,
})

describe('what differs', () => {
  it('[ST9] joins the rows that stay, as the same objects', () => {
    const before = outline('a', [1, 2, 3, 4].map(row))
    const changed = row(9)
    const answer = { ...outline('b', [changed]), base: { name: 'a', start: 1, end: 2 } }
    const { rows, name } = withBase(answer, before)
    expect(name).toBe('b')
    expect(rows).toHaveLength(4)
    expect(rows[0]).toBe(before.rows[0])
    expect(rows[1]).toBe(changed)
    expect(rows[3]).toBe(before.rows[3])
    const whole = withBase({ ...answer, base: { name: 'a', start: 4, end: 0 } }, before)
    expect(whole.rows.map((one) => (one.type === 'block' ? one.seq : 0))).toEqual([1, 2, 3, 4, 9])
  })

  it('[ST9] puts steps that changed in their place, and new ones behind', () => {
    const step = (number: number, seq: number) => ({ step: number, seq }) as TimelineStep
    const before = [step(1, 10), step(2, 20)]
    expect(withSteps(before, [])).toBe(before)
    expect(withSteps(before, [step(3, 31), step(2, 30)])).toEqual([
      step(1, 10),
      step(2, 30),
      step(3, 31),
    ])
  })
})
