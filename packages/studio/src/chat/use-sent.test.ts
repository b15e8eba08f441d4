import { expect, it } from 'vitest'
import type { OutlineRow } from '../contract.ts'
import { shownIn } from './use-sent.ts'

it('[ST1] a message has its most reduced form, with the rule and the reason; those of a run have the run’s', () => {
  const block = (seq: number, form: string, rule?: string) =>
    ({ type: 'block', seq, index: 0, form, rule, reason: rule && `by ${rule}` }) as OutlineRow
  const shown = shownIn({
    rows: [
      { type: 'folded', from: 2, to: 5, rule: 'compaction', reason: 'full' } as OutlineRow,
      block(6, 'clipped', 'toolOutput'),
      block(6, 'full'),
      block(7, 'full'),
    ],
  })
  expect(shown.of(3)).toEqual({ form: 'dropped', rule: 'compaction', reason: 'full' })
  expect(shown.of(6)).toEqual({ form: 'clipped', rule: 'toolOutput', reason: 'by toolOutput' })
  expect(shown.of(7)).toBeUndefined()
  expect(shownIn(undefined).of(1)).toBeUndefined()
})
