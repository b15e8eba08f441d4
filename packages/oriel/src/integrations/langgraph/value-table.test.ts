import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../core/log/json.ts'
import { Packing } from './packing.ts'
import { ValueTable } from './value-table.ts'

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 120 }),
  fc.constantFrom('a'.repeat(60)),
)
const { value: jsonArbitrary } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, -1.5, 1e21),
    text,
    fc.array(tie('value'), { maxLength: 8 }),
    fc.dictionary(fc.oneof(text, fc.constantFrom('__proto__', 'type')), tie('value'), {
      maxKeys: 5,
    }),
  ),
}))
const plain = (value: Json): string => JSON.stringify(value)

describe('a table of values', () => {
  it('[LG2] gives back every value, in the table that wrote it and in one made of its nodes', () => {
    fc.assert(
      fc.property(fc.array(jsonArbitrary, { maxLength: 6 }), (values) => {
        const table = new ValueTable()
        const copy = new ValueTable()
        for (const value of values.map((one) => JSON.parse(plain(one)) as Json)) {
          const known = table.size
          const reference = table.write(value)
          copy.add(JSON.parse(JSON.stringify(table.since(known))))
          const stored = JSON.parse(JSON.stringify(reference))
          expect(plain(table.read(reference))).toBe(plain(value))
          expect(plain(copy.read(stored))).toBe(plain(value))
        }
      }),
    )
  })

  it('[LG2] stores nothing new for a value that it has, and one item for a list that grew by one', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 30, maxLength: 60 }), text, (list, item) => {
        const table = new ValueTable()
        table.write(list)
        const before = table.size
        table.write(list)
        expect(table.size).toBe(before)
        table.write([...list, item])
        expect(table.size - before).toBeLessThanOrEqual(2)
      }),
    )
  })

  it('reads lists that are longer than the stack is deep', () => {
    const table = new ValueTable()
    const list = Array.from({ length: 50_000 }, (_, index) => index)
    expect(table.read(table.write(list))).toEqual(list)
  })

  it('forgets what was not stored', () => {
    const table = new ValueTable()
    const [kept, lost] = ['a'.repeat(99), 'b'.repeat(99)]
    const reference = table.write(kept)
    table.write([kept, lost])
    table.truncate(1)
    expect(table.read(reference)).toBe(kept)
    table.write(lost)
    expect(table.since(1)).toEqual([lost])
  })
})

describe('packing', () => {
  it('gives back every text, one after the other', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 9 }), (texts) => {
        const [writer, reader] = [new Packing(), new Packing()]
        for (const one of texts.map((each) => JSON.stringify(each).repeat(9))) {
          expect(reader.unpack(writer.pack(one))).toBe(one)
          writer.learn(one)
          reader.learn(one)
        }
      }),
    )
  })
})
