import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { canonicalJson, type Entry, type Json } from 'oriel'
import { describe, expect, it } from 'vitest'
import { entryHash, HeadHash, toLine } from './lines.ts'

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\ud800', '\udc00x', '\0', '\u2028', '\u202e', '\u009b31m', '\u{e0001}', '\r\n'),
)

/** Any JSON, with what is easily lost: lone surrogates, negative zero, keys that objects have already. */
const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(-0, 2 ** 53 + 2),
    text,
    fc.array(tie('value')),
    fc
      .array(fc.tuple(fc.oneof(text, fc.constantFrom('__proto__', 'toJSON')), tie('value')))
      .map((pairs) => Object.fromEntries(pairs) as Json),
  ),
})).value

function entryOf(value: Json): Entry {
  return { type: 'x-test', id: 'e1', seq: 1, at: 0, value } as unknown as Entry
}

describe('a line', () => {
  it('gives back exactly what it was made from', () => {
    fc.assert(
      fc.property(json, (value) => {
        const entry = entryOf(value)
        const line = toLine({ seq: 1, hash: entryHash(entry), entry })
        const read = JSON.parse(line) as { readonly hash: string; readonly entry: Entry }
        expect(read.entry).toStrictEqual(entry)
        expect(entryHash(read.entry)).toBe(read.hash)
        expect(toLine({ seq: 1, hash: read.hash, entry: read.entry })).toBe(line)
      }),
    )
  })

  it('is one line for every reader, and harmless in a terminal', () => {
    fc.assert(
      fc.property(json, (value) => {
        const line = toLine({ seq: 1, hash: '', entry: entryOf(value) })
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u)
      }),
    )
  })

  it('keeps a negative zero', () => {
    const line = toLine({ seq: 1, hash: '', entry: entryOf([-0, 0]) })
    expect(line).toContain('[-0,0]')
  })
})

describe('hashes', () => {
  it('are over the canonical JSON, whatever the order of keys', () => {
    const entry = entryOf({ b: 1, a: 2 })
    const turned = { value: { a: 2, b: 1 }, at: 0, seq: 1, id: 'e1', type: 'x-test' } as never
    expect(entryHash(entry)).toBe(entryHash(turned))
    const expected = createHash('sha256').update(canonicalJson(entry as unknown as Json))
    expect(entryHash(entry)).toBe(expected.digest('hex'))
  })

  it('of a thread cover its names, its entries and their order', () => {
    const headOf = (tenant: string, thread: string, ...hashes: string[]): string => {
      const head = new HeadHash({ tenant, thread })
      for (const hash of hashes) head.add(hash)
      return head.digest()
    }
    const heads = [
      headOf('a', 'b', '1', '2'),
      headOf('a', 'b', '2', '1'),
      headOf('a', 'b', '1'),
      headOf('b', 'a', '1', '2'),
      headOf('ab', '', '1', '2'),
    ]
    expect(new Set(heads).size).toBe(heads.length)
  })
})
