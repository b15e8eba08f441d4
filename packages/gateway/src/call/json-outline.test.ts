import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { elementsOf, outlineOf, type Range, withoutMembers } from './json-outline.ts'

const cut = (text: string, range: Range | undefined): string =>
  range === undefined ? '' : text.slice(range.start, range.end)

describe('outlineOf', () => {
  it('finds every field and element of any object, however it is written', () => {
    const value = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
    fc.assert(
      fc.property(value, fc.array(fc.jsonValue()), fc.nat(3), (object, list, indent) => {
        const whole = { ...object, messages: list }
        const text = JSON.stringify(whole, null, indent)
        const { fields } = outlineOf(text)
        const parsed = JSON.parse(text) as Record<string, unknown>
        expect([...fields.keys()].sort()).toEqual(Object.keys(parsed).sort())
        for (const [key, range] of fields) {
          expect(JSON.parse(cut(text, range))).toEqual(parsed[key])
        }
        const elements = elementsOf(text, fields.get('messages') as Range)
        expect(elements.map((range) => JSON.parse(cut(text, range)))).toEqual(parsed.messages)
      }),
    )
  })

  it('takes the last of a field that comes twice, and reads escaped names', () => {
    const text = '{ "a" : 1, "\\u0061": [ 2 ] ,"b":"}"}'
    const { fields, depth } = outlineOf(text)
    expect(cut(text, fields.get('a'))).toBe('[ 2 ]')
    expect(cut(text, fields.get('b'))).toBe('"}"')
    expect(depth).toBe(2)
  })

  it('takes one member out and leaves every other byte', () => {
    const whole = '{ "a": 1 , "oriel": { "x": "," } , "b": [2]}'
    const cutOut = (text: string): string =>
      withoutMembers(text, outlineOf(text).members.get('oriel') ?? [])
    expect(cutOut(whole)).toBe('{ "a": 1 ,  "b": [2]}')
    expect(cutOut('{"a":1, "oriel":{}}')).toBe('{"a":1}')
    expect(cutOut('{"oriel":{}}')).toBe('{}')
    expect(cutOut(`{"oriel":{}${' '.repeat(2000)},"a":1}`)).toBe('{"a":1}')
  })

  it('takes every member of a name out', () => {
    const cutOut = (text: string): string =>
      withoutMembers(text, outlineOf(text).members.get('oriel') ?? [])
    expect(cutOut('{"oriel":1,"a":2,"or\\u0069el":3,"b":4}')).toBe('{"a":2,"b":4}')
    expect(cutOut('{"a":1, "oriel":2, "oriel":3}')).toBe('{"a":1}')
    expect(cutOut('{"oriel":1,"oriel":2}')).toBe('{}')
  })

  it('measures nesting without recursion', () => {
    const text = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect(outlineOf(text).depth).toBe(100_001)
  })
})
