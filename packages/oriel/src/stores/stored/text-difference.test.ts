import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyDifference, differenceOf } from './text-difference.ts'

const words = fc.array(
  fc.constantFrom('alpha ', 'beta', '\ud83d\ude00', '"x":1,', ' ', 'long word '.repeat(8)),
  {
    maxLength: 60,
  },
)

describe('the difference of two texts', () => {
  it('[SQ6] gives back the new text from the old one, whatever both are', () => {
    fc.assert(
      fc.property(words, words, words, words, (head, removed, put, tail) => {
        const before = [...head, ...removed, ...tail].join('')
        const text = [...head, ...put, ...tail].join('')
        expect(applyDifference(before, differenceOf(before, text))).toBe(text)
      }),
    )
  })

  it('[SQ6] has of a text that was changed in some places only what is new', () => {
    const lines = Array.from({ length: 500 }, (_, line) => `Line ${line} says ${line * 7919}.\n`)
    const before = lines.join('')
    const text = [...lines.slice(0, 100), 'one more\n', ...lines.slice(101), 'and the end'].join('')
    const { steps, added } = differenceOf(before, text)
    expect(added.length).toBeLessThan(100)
    expect(steps.length).toBeLessThan(12)
  })

  it('[SQ6] is not applied to a text that it does not fit', () => {
    expect(applyDifference('short', { steps: [0, 3, 40], added: '' })).toBeUndefined()
    expect(applyDifference('short', { steps: [1, 0, 0], added: 'two' })).toBeUndefined()
  })
})
