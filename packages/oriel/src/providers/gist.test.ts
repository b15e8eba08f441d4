import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../core/log/json.ts'
import { gistOf, isAlike } from './gist.ts'

const keys = ['role', 'content', 'refusal', 'annotations', 'name', 'constructor', 'reasoning']
const field = fc.oneof(
  fc.constantFrom<Json[]>(null, '', [], 'text', 0),
  fc.constant<Json>([{ type: 'text', text: 'text' }]),
)
const message = fc.dictionary(fc.constantFrom(...keys), field) as fc.Arbitrary<Json>

describe('messages that are alike', () => {
  it('[GW7] say the same', () => {
    fc.assert(
      fc.property(message, message, (a, b) => {
        fc.pre(isAlike(a, b))
        expect(gistOf(a)).toEqual(gistOf(b))
      }),
      { numRuns: 300 },
    )
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
