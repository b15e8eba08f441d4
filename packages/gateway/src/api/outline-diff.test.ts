import fc from 'fast-check'
import type { OutlineRow } from 'oriel/inspect'
import { expect, it } from 'vitest'
import { sameEnds } from './outline-diff.ts'

const row = fc.record({
  type: fc.constantFrom('block', 'folded', 'summary'),
  seq: fc.integer({ min: 1, max: 5 }),
  form: fc.constantFrom('full', 'omitted'),
  tools: fc.constant(['read']),
}) as unknown as fc.Arbitrary<OutlineRow>

it('[ST9] what differs between two outlines, put between what they share, is the newer one', () => {
  fc.assert(
    fc.property(fc.array(row), fc.array(row), fc.array(row), (start, middle, end) => {
      const before = [...start, ...end]
      const after = [...start, ...middle, ...end.map((one) => ({ ...one }))]
      for (const [old, now] of [
        [before, after],
        [after, before],
        [before, before],
      ] as const) {
        const same = sameEnds(old, now)
        const changed = now.slice(same.start, now.length - same.end)
        const kept = old.slice(old.length - same.end)
        expect([...old.slice(0, same.start), ...changed, ...kept]).toEqual(now)
        expect(same.start + same.end).toBeLessThanOrEqual(Math.min(old.length, now.length))
      }
      // No more is sent than was put in between.
      const { start: first, end: last } = sameEnds(before, after)
      expect(after.length - first - last).toBeLessThanOrEqual(middle.length)
    }),
  )
})
