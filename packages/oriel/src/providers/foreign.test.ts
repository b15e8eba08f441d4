import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MessageEntry } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import type { Json } from '../core/log/json.ts'
import type { ViewMessage } from '../core/view/view.ts'
import {
  extraOf,
  fieldOf,
  findIllFormed,
  materialOfDraft,
  materialOfView,
  nativeIfNeeded,
  nativeOf,
  parseDataUrl,
  readList,
  readObject,
  readObjects,
  readString,
  standIn,
  wellFormed,
} from './foreign.ts'

function failure(work: () => unknown): { code: string; path: string | undefined } {
  try {
    work()
  } catch (error) {
    if (OrielError.is(error)) return { code: error.code, path: error.path }
    throw error
  }
  throw new Error('expected an error')
}

describe('reading', () => {
  test('a list is copied, with a path for each message', () => {
    const message = { role: 'user', content: ['a'] }
    const [place] = readList([message], 'messages')
    expect(place).toEqual({ value: message, path: 'messages[0]' })
    expect(place?.value).not.toBe(message)
    expect(place?.value.content).not.toBe(message.content)
  })

  test('what is not a list of JSON objects is a typed error with its path', () => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    const cases: [unknown, string, string][] = [
      [null, 'invalid-input', 'messages'],
      ['text', 'invalid-input', 'messages'],
      [{ length: 1 }, 'invalid-input', 'messages'],
      [[{}, null], 'invalid-input', 'messages[1]'],
      [[[]], 'invalid-input', 'messages[0]'],
      [['text'], 'invalid-input', 'messages[0]'],
      [[{}, { content: Number.NaN }], 'not-json', 'messages[1].content'],
      [[cycle], 'not-json', 'messages[0].self'],
      [new Array(1), 'not-json', 'messages[0]'],
    ]
    for (const [input, code, path] of cases) {
      expect(failure(() => readList(input, 'messages'))).toEqual({ code, path })
    }
  })

  test('fields are read by type, and an error names the field', () => {
    const place = {
      value: { text: 'a', list: [{ a: 1 }], mixed: [1], object: { b: 2 } },
      path: 'm[0]',
    }
    expect(readString(place, 'text')).toBe('a')
    expect(readObject(place, 'object')).toEqual({ value: { b: 2 }, path: 'm[0].object' })
    expect(readObjects(place, 'list')).toEqual([{ value: { a: 1 }, path: 'm[0].list[0]' }])
    const invalid = (path: string) => ({ code: 'invalid-input', path })
    expect(failure(() => readString(place, 'list'))).toEqual(invalid('m[0].list'))
    expect(failure(() => readString(place, 'absent'))).toEqual(invalid('m[0].absent'))
    expect(failure(() => readObject(place, 'list'))).toEqual(invalid('m[0].list'))
    expect(failure(() => readObjects(place, 'text'))).toEqual(invalid('m[0].text'))
    expect(failure(() => readObjects(place, 'mixed'))).toEqual(invalid('m[0].mixed[0]'))
  })

  test('an error never repeats content', () => {
    const place = { value: { text: 'secret' }, path: 'm' }
    expect(() => readObjects(place, 'text')).toThrow(
      /^Expected an array at m\.text, got a value of type string\.$/,
    )
  })

  test('names that every object inherits are absent unless they are there', () => {
    expect(fieldOf({ value: {}, path: '' }, 'constructor')).toBeUndefined()
    const value = JSON.parse('{"constructor":1,"__proto__":2}') as Record<string, Json>
    expect(fieldOf({ value, path: '' }, 'constructor')).toBe(1)
    expect(fieldOf({ value, path: '' }, '__proto__')).toBe(2)
  })
})

describe('keeping what is not read', () => {
  test('extra holds the other fields, also one called __proto__', () => {
    const value = JSON.parse('{"role":"user","__proto__":{"a":1},"b":null}') as Record<string, Json>
    const { extra } = extraOf(value, ['role'])
    expect(JSON.stringify(extra)).toBe('{"__proto__":{"a":1},"b":null}')
    expect(extraOf({ role: 'user' }, ['role'])).toEqual({})
  })

  test('native is kept only if the rebuilt messages differ', () => {
    const original = [{ a: 1, b: [null] }]
    const format = 'openai-chat'
    expect(nativeIfNeeded({ format, original, rebuilt: [{ b: [null], a: 1 }] })).toEqual({})
    expect(nativeIfNeeded({ format, original, rebuilt: [{ a: 1 }] })).toEqual({
      native: { format, value: original },
    })
  })
})

describe('what a builder works from', () => {
  const entry: MessageEntry = {
    type: 'message',
    id: 'e1' as MessageEntry['id'],
    seq: 1,
    at: 0,
    turn: 1,
    step: 1,
    role: 'user',
    origin: 'user',
    blocks: [{ type: 'text', text: 'a' }],
    source: { format: 'openai-chat' },
    extra: { name: 'bob' },
    native: { format: 'openai-chat', value: [{ role: 'user' }] },
  }
  const message: ViewMessage = { role: 'user', origin: 'user', blocks: entry.blocks, entry }

  test('a string draft is one text block', () => {
    expect(materialOfDraft({ role: 'user', content: 'a' })).toEqual({
      role: 'user',
      blocks: [{ type: 'text', text: 'a' }],
      isOwn: true,
      extra: {},
    })
  })

  test('extra goes back only to the format it came from', () => {
    expect(materialOfView(message, 'openai-chat')).toMatchObject({
      isOwn: true,
      extra: { name: 'bob' },
    })
    expect(materialOfView(message, 'anthropic')).toMatchObject({ isOwn: false, extra: {} })
  })

  test('native is for the same format, the same blocks and the same ids', () => {
    expect(nativeOf(message, 'openai-chat')).toBe(entry.native?.value)
    expect(nativeOf(message, 'anthropic')).toBeUndefined()
    expect(
      nativeOf({ ...message, blocks: [{ type: 'text', text: 'a' }] }, 'openai-chat'),
    ).toBeUndefined()
    expect(nativeOf({ ...message, blocks: [] }, 'openai-chat')).toBeUndefined()
    expect(nativeOf({ ...message, wireIds: new Map([[0, 'x']]) }, 'openai-chat')).toBeUndefined()
    expect(nativeOf({ ...message, wireIds: new Map() }, 'openai-chat')).toBe(entry.native?.value)
  })
})

describe('well-formed strings', () => {
  test('a value without lone surrogates is returned as it is', () => {
    const value = { a: ['\u{1F600}', 1, null], b: { c: true } }
    expect(wellFormed(value)).toBe(value)
    expect(findIllFormed(value, 'x')).toBeUndefined()
  })

  test('lone surrogates are replaced wherever they stand, keys included', () => {
    const value = { ok: ['a'], 'k\ud800': ['b', { c: '\udc00!' }] }
    expect(wellFormed(value)).toEqual({ ok: ['a'], 'k\ufffd': ['b', { c: '\ufffd!' }] })
  })

  test('the path of the first one is found, in reading order', () => {
    expect(findIllFormed({ a: ['x', { b: '\ud800' }], c: '\ud800' }, 'body')).toBe('body.a[1].b')
    expect(findIllFormed('\ud800', 'body')).toBe('body')
    expect(findIllFormed({ '\ud800': 1 }, 'body')).toBe('body')
  })

  test('cycles and any depth are fine', () => {
    const cycle: unknown[] = []
    cycle.push(cycle, cycle, { cycle })
    expect(findIllFormed(cycle, 'x')).toBeUndefined()
    let deep: unknown = '\ud800'
    for (let level = 0; level < 5_000; level++) deep = [deep]
    expect(findIllFormed(deep, '')).toBe('[0]'.repeat(5_000))
  })

  test('what was made well formed has no ill-formed string', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ noUnicodeString: false }),
        fc.string({ unit: 'binary' }),
        (value, text) => {
          const made = wellFormed({ value: value as Json, text, half: `${text}\ud83d` })
          expect(findIllFormed(made, '')).toBeUndefined()
        },
      ),
    )
  })
})

describe('data URLs and stand-ins', () => {
  test('only the plain base64 form is taken apart', () => {
    expect(parseDataUrl('data:image/png;base64,AAAA')).toEqual({
      mediaType: 'image/png',
      data: 'AAAA',
    })
    expect(parseDataUrl('data:;base64,AAAA')).toBeUndefined()
    expect(parseDataUrl('data:text/plain;charset=utf-8;base64,AAAA')).toBeUndefined()
    expect(parseDataUrl('data:text/plain,hello')).toBeUndefined()
    expect(parseDataUrl('https://example.com/a.png')).toBeUndefined()
  })

  test('a stand-in names the block and never repeats data', () => {
    expect(standIn({ type: 'image', mediaType: 'image/png', data: 'AAAA' })).toBe(
      '[image image/png]',
    )
    expect(standIn({ type: 'image', url: 'https://a.test/b.png' })).toBe(
      '[image https://a.test/b.png]',
    )
    expect(standIn({ type: 'image', url: `data:x,${'A'.repeat(50)}` })).toBe('[image]')
    expect(
      standIn({ type: 'file', name: 'a.pdf', mediaType: 'application/pdf', data: 'AAAA' }),
    ).toBe('[file a.pdf application/pdf]')
    expect(standIn({ type: 'image', url: `https://a.test/${'b'.repeat(300)}` })).toBe('[image]')
  })
})
