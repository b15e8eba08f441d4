import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { head, tail } from './clip.ts'

const clusters = ['a', 'e\u0301', '漢', '🙂', '👩‍👩‍👧‍👦', '👍🏽', '🇩🇪', '\n', 'ก็']

describe('a cut text', () => {
  it('[DA9] begins and ends with whole characters as people see them', () => {
    const parts = fc.array(fc.constantFrom(...clusters), { maxLength: 40 })
    // Neighbouring flags would be one run of letters without a space between them.
    const spaced = parts.map((list) => list.map((one) => `${one} `))
    fc.assert(
      fc.property(spaced, fc.nat(120), (list, length) => {
        const text = list.join('')
        const first = head(text, length)
        const last = tail(text, length)
        expect(Math.max(first.length, last.length)).toBeLessThanOrEqual(length)
        const units = list.flatMap((one) => [one.slice(0, -1), ' '])
        const starts = units.map((_, index) => units.slice(0, index).join('').length)
        expect([...starts, text.length]).toContain(first.length)
        expect([...starts, text.length]).toContain(text.length - last.length)
      }),
    )
  })

  it('[DA9] is cut between code points where a character has no end', () => {
    const endless = `a${'\u0301'.repeat(500)}`
    expect(head(endless, 200)).toHaveLength(200)
    expect(tail(endless, 200)).toHaveLength(200)
  })
})
