import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry } from '../../core/log/entry.ts'
import { awkwardJson, messageAt, messages } from '../../testing/store-suite-data.ts'
import {
  blobHash,
  chainEntries,
  contentHash,
  createSalt,
  genesis,
  headerHash,
  namedHashes,
  readEntry,
  writeEntries,
  writeJson,
} from './entry-form.ts'

const key = { tenant: 'acme', thread: 'a' }

describe('text', () => {
  it('gives back any JSON, keys in order, negative zero kept', () => {
    fc.assert(
      fc.property(awkwardJson(), (value) => {
        const read: unknown = JSON.parse(writeJson(value, ['value']))
        expect(isDeepStrictEqual(read, value)).toBe(true)
        expect(JSON.stringify(read)).toBe(JSON.stringify(value))
      }),
      { numRuns: 500 },
    )
  })

  it('is well-formed and free of control characters, so that every text column keeps it', () => {
    fc.assert(
      fc.property(awkwardJson(), (value) => {
        const text = writeJson(value, ['value'])
        expect(text.isWellFormed()).toBe(true)
        expect([...text].every((unit) => unit >= ' ')).toBe(true)
      }),
    )
  })

  it('names the place of a value that is not JSON', () => {
    const entry = messageAt(1, 'x', { meta: { list: [1, Number.NaN] } })
    expect(() => writeEntries([entry], 0)).toThrow(
      expect.objectContaining({ code: 'not-json', path: 'entries[0].meta.list[1]' }),
    )
  })

  it('takes content as deep as messages may be, and refuses what no reader could write again', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
    const entry = (depth: number): Entry => messageAt(1, 'x', { meta: nested(depth) as never })
    expect(writeEntries([entry(100)], 0).length).toBe(1)
    expect(() => writeEntries([entry(5000)], 0)).toThrow(
      expect.objectContaining({ code: 'too-deep' }),
    )
  })
})

describe('chain', () => {
  const salt = '00112233445566778899aabbccddeeff'
  const chain = { key, salt, previous: genesis }

  it('has the hashes of form 1 for ever', () => {
    const chained = chainEntries(chain, writeEntries([messageAt(1, 'hello')], 0))
    expect(chained.map(({ content, header }) => ({ content, header }))).toEqual([
      {
        content: '084da4c3f3188fc5c4dea935c2fecb1ced849b9158fa34a28d1b9f5d1157c2fb',
        header: '6864bda34dd4237846de261c638573b3efcf03db68c2965710337a0951921a87',
      },
    ])
  })

  it('hashes a header as the JSON of its fields, whatever the names are', () => {
    const names = fc.string({ unit: 'binary' })
    fc.assert(
      fc.property(names, names, names, fc.nat(), (tenant, thread, type, seq) => {
        const fields = { key: { tenant, thread }, previous: genesis, seq, type, content: genesis }
        const text = JSON.stringify([1, genesis, tenant, thread, seq, type, genesis])
        expect(headerHash(fields)).toBe(hash('sha256', text))
      }),
    )
  })

  it('covers everything: no part of a header can change unseen', () => {
    const header = { key, previous: genesis, seq: 1, type: 'message', content: genesis }
    const variants = [
      header,
      { ...header, key: { ...key, tenant: 'b' } },
      { ...header, key: { ...key, thread: 'b' } },
      { ...header, key: { tenant: 'acme","a', thread: '' } },
      { ...header, previous: '1'.repeat(64) },
      { ...header, seq: 2 },
      { ...header, type: 'edit' },
      { ...header, content: '1'.repeat(64) },
    ]
    expect(new Set(variants.map(headerHash)).size).toBe(variants.length)
  })

  it('refuses an entry that was changed, moved or taken from another thread', () => {
    const [first, second] = chainEntries(chain, writeEntries(messages(1, 2), 0))
    if (first === undefined || second === undefined) throw new Error('two entries were chained')
    const corrupt = expect.objectContaining({ code: 'corrupt-entry' })
    expect(readEntry(chain, first)).toEqual(messages(1, 1)[0])
    expect(readEntry({ ...chain, previous: first.header }, second)).toEqual(messages(2, 1)[0])
    expect(() => readEntry(chain, second)).toThrow(corrupt)
    expect(() => readEntry(chain, { ...first, text: `${first.text} ` })).toThrow(corrupt)
    expect(() => readEntry(chain, { ...first, type: 'edit' })).toThrow(corrupt)
    expect(() => readEntry({ ...chain, salt: createSalt() }, first)).toThrow(corrupt)
    expect(() => readEntry({ ...chain, key: { ...key, tenant: 'b' } }, first)).toThrow(corrupt)
  })

  it('says nothing about the content once the salt is gone', () => {
    const hashes = Array.from({ length: 10 }, () => contentHash(createSalt(), 'the same text'))
    expect(new Set(hashes).size).toBe(10)
  })
})

describe('named blobs', () => {
  it('are the hashes that stand as whole strings', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((text) => blobHash(new TextEncoder().encode(text)))
    const value = { frame: a, list: [b, b], inside: `see ${c}`, quoted: `"${c}"`, [`${c}!`]: 1 }
    const text = JSON.stringify(value)
    expect(namedHashes({ type: 'message', text }).toSorted()).toEqual([a, b].toSorted())
    expect(namedHashes({ type: 'request', text })).toEqual([])
  })
})
