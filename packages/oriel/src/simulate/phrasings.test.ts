import { describe, expect, it } from 'vitest'
import { directivesIn } from '../core/text/directives.ts'
import { type Half, ordinaryOf, phrasingsOf } from './phrasings.ts'

const around = (text: string) => `Thanks for the overview. ${text} The importer is next.`

describe('instructions as people write them', () => {
  it.each(['development', 'held-out'] satisfies Half[])(
    '[DR1] are found in the %s half',
    (half) => {
      const all = phrasingsOf(half)
      const missed = all.filter(({ text }) => directivesIn(around(text)).length === 0)
      expect(all.length).toBeGreaterThan(100)
      expect(missed.length / all.length).toBeLessThan(0.05)
    },
  )

  it.each(['development', 'held-out'] satisfies Half[])(
    '[DR1] are not found in ordinary sentences, %s half',
    (half) => {
      for (const text of ordinaryOf(half)) expect(directivesIn(text)).toEqual([])
    },
  )
})
