import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { jsonPieces, writeJson } from './entry-form.ts'

it('[T9] long texts are written in pieces that say the same', () => {
  const long = fc
    .tuple(fc.string({ unit: 'binary', minLength: 1 }), fc.nat({ max: 4 }))
    .map(([unit, shift]) => 'x'.repeat(shift) + unit.repeat(Math.ceil(70_000 / unit.length)))
  const field = fc.oneof(fc.string(), long, fc.integer(), fc.constantFrom(null, -0, undefined))
  const nested = fc.dictionary(fc.string(), fc.oneof(field, fc.dictionary(fc.string(), field)))
  fc.assert(
    fc.property(nested, (value) => {
      const pieces = [...jsonPieces(value, ['value'])]
      expect(JSON.parse(pieces.join(''))).toEqual(JSON.parse(writeJson(value, ['value'])))
      expect(pieces.every((piece) => piece.length < 400_000)).toBe(true)
    }),
    { numRuns: 8 },
  )
})

it('[T9] what is not JSON is refused in pieces too, with its place', () => {
  expect(() => [...jsonPieces({ deep: { at: [Number.NaN] } }, ['value'])]).toThrow(
    'value.deep.at[0]',
  )
  expect(() => [...jsonPieces({ deep: new Date(0) }, ['value'])]).toThrow('value.deep')
})
