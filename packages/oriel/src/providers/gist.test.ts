import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../core/log/json.ts'
import { gistOf, isAlike } from './gist.ts'

const keys = ['role', 'content', 'refusal', 'annotations', 'name', 'constructor', 'reasoning']
const field = fc.oneof(
  fc.constantFrom<Json[]>(null, '', [], 'text', 0),
  fc.constant<Json>([{ type: 'text', text: 'text' }]),
)
const message = fc.dictionary(fc.constantFrom(...keys), field) as fc.Arbitrary<JsonObject>
/** Two messages that differ in a few fields, so that many of them are alike. */
const pair = fc
  .record({ message, left: message, right: message, isClose: fc.boolean() })
  .map(({ message: base, left, right, isClose }) => {
    const empty = (fields: JsonObject): JsonObject =>
      Object.fromEntries(Object.keys(fields).map((key, at) => [key, at % 2 === 0 ? null : []]))
    return isClose
      ? [{ ...empty(left), ...base }, base]
      : [
          { ...left, ...base },
          { ...right, ...base },
        ]
  })

describe('messages that are alike', () => {
  it('[GW7] say the same', () => {
    fc.assert(
      fc.property(pair, ([a = null, b = null]) => {
        if (isAlike(a, b)) expect(gistOf(a)).toEqual(gistOf(b))
      }),
      { numRuns: 300 },
    )
  })

  it('are found often enough for the property to mean something', () => {
    const found = fc.sample(pair, 300).filter(([a = null, b = null]) => isAlike(a, b))
    expect(found.length).toBeGreaterThan(30)
  })

  it('[GW7] differ in fields that say nothing, and in no others', () => {
    const said = { role: 'assistant', content: 'Yes' }
    expect(isAlike({ ...said, refusal: null, annotations: [] }, said)).toBe(true)
    expect(isAlike(said, { ...said, refusal: null, annotations: [] })).toBe(true)
    expect(isAlike({ ...said, refusal: 'No' }, said)).toBe(false)
    expect(isAlike(said, { ...said, reasoning: 'Hm.' })).toBe(false)
    expect(isAlike(said, { ...said, content: 'No' })).toBe(false)
    expect(isAlike(said, undefined)).toBe(false)
  })
})
