import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cutText, joinText, minCutLength } from './blob-extraction.ts'

const long = (unit: string): string => unit.repeat(Math.ceil(minCutLength / unit.length))

it('leaves text without large strings alone', () => {
  const text = JSON.stringify({ list: Array.from({ length: 2000 }, (_, index) => `item ${index}`) })
  expect(text.length).toBeGreaterThan(minCutLength)
  expect(cutText(text)).toEqual({ body: text, cuts: [] })
})

it('cuts every large string, keys included, and nothing else', () => {
  const value = { a: long('x'), [long('k')]: 'short', list: [long('y'), 1, long('y')] }
  const { body, cuts } = cutText(JSON.stringify(value))
  expect(body).toBe('{"a":"","":"short","list":["",1,""]}')
  expect(cuts.map(({ literal }) => literal)).toEqual([long('x'), long('k'), long('y'), long('y')])
  expect(cuts.map(({ offset }) => body[offset])).toEqual(['"', '"', '"', '"'])
})

it('cuts at the limit and not one character below', () => {
  expect(cutText(JSON.stringify('x'.repeat(minCutLength))).cuts.length).toBe(1)
  expect(cutText(JSON.stringify('x'.repeat(minCutLength - 1))).cuts.length).toBe(0)
})

it('gives back the text, whatever stands in the strings', () => {
  const unit = fc.constantFrom(
    'a',
    '"',
    '\\',
    '\\"',
    '\n',
    '\0',
    '\ud800',
    '😀',
    '{"a":"b"}',
    '\\\\',
  )
  const text = fc
    .tuple(
      fc.array(unit, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 0, max: 2 * minCutLength }),
    )
    .map(([units, length]) => units.join('').repeat(Math.ceil(length / units.join('').length)))
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), (texts) => {
      const whole = JSON.stringify([...texts, Object.fromEntries(texts.map((key) => [key, key]))])
      const cut = cutText(whole)
      expect(joinText(cut)).toBe(whole)
      // What remains has no large string left, so a second cut finds nothing.
      if (cut.body.length >= minCutLength) expect(cutText(cut.body).cuts).toEqual([])
    }),
    { numRuns: 200 },
  )
})
