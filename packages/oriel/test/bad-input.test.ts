import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ErrorCode, OrielError } from '../src/core/log/errors.ts'
import { maxDepth, maxStringLength } from '../src/core/log/json.ts'
import { project } from '../src/project.ts'
import type { FormatName } from '../src/providers/format.ts'
import { decode, encode, formatNamed, formatNames, validate } from '../src/providers/registry.ts'
import { sqliteStore } from '../src/stores/sqlite/index.ts'
import { conversationOf } from '../src/testing/arbitraries.ts'
import { exactText } from '../src/testing/compare.ts'

/** What a call ended in: an error of ours as `code at path`, or the name of anything else, which is a failure. */
function outcome(work: () => unknown): string {
  try {
    work()
    return 'accepted'
  } catch (error) {
    if (!OrielError.is(error)) return `threw ${String(error)}`
    return `${error.code} at ${error.path ?? 'no path'}`
  }
}

/** Projects something that is not, or not quite, a list of messages. */
function refusal(messages: unknown, format: FormatName = 'openai-chat'): string {
  return outcome(() => project(messages as never, undefined, { format }))
}

/** Arrays inside arrays, `levels` deep, built without recursion. */
function nested(levels: number): unknown {
  let value: unknown = 'core'
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

class Custom {
  role = 'user'
  content = 'an instance of a class'
}

function cyclic(): object {
  const message: Record<string, unknown> = { role: 'user', content: 'x' }
  message.self = { again: [message] }
  return message
}

describe.each(formatNames)('drafts that are none, encoded to %s', (format) => {
  it('are refused with an error of ours, or encoded', () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom(null, {}, [], '', [null], { type: 'text' }),
    )
    const place = fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 5 })
    const broken = fc.tuple(conversationOf(format), place, value)
    fc.assert(
      fc.property(broken, ([messages, steps, replacement]) => {
        const drafts = decode(format, messages).map(({ draft }) => draft)
        const copy = JSON.parse(JSON.stringify(drafts)) as unknown[]
        replaceAt(copy, steps, replacement)
        expect(outcome(() => encode(format, copy as never))).not.toContain('threw')
      }),
    )
  })

  it('are named by their path', () => {
    const refused = (draft: unknown): string => outcome(() => encode(format, [draft] as never))
    expect(refused(null)).toBe('invalid-input at drafts[0]')
    expect(refused({ role: 'nobody', content: 'x' })).toBe('invalid-input at drafts[0].role')
    expect(refused({ role: 'user' })).toBe('invalid-input at drafts[0].content')
    expect(refused({ role: 'user', content: [null] })).toBe('invalid-input at drafts[0].content[0]')
    const carried = { role: 'user', content: 'x', native: { format, value: {} } }
    expect(refused(carried)).toBe('invalid-input at drafts[0].native.value')
    const block = { type: 'text', text: 'x', extra: null }
    expect(refused({ role: 'assistant', content: [block] })).toBe(
      'invalid-input at drafts[0].content[0].extra',
    )
    const call = { type: 'tool-call', callId: 'a', name: 'b' }
    expect(refused({ role: 'assistant', content: [call] })).toBe(
      'invalid-input at drafts[0].content[0].arguments',
    )
  })
})

/** Puts a value somewhere into a tree; each step picks one of what is there. */
function replaceAt(holder: unknown, [step = 0, ...rest]: readonly number[], value: unknown): void {
  if (typeof holder !== 'object' || holder === null) return
  const fields = holder as Record<string, unknown>
  const keys = Object.keys(fields)
  const key = keys[step % Math.max(1, keys.length)]
  if (key === undefined) return
  const isLeaf = typeof fields[key] !== 'object' || fields[key] === null
  if (rest.length === 0 || isLeaf) fields[key] = value
  else replaceAt(fields[key], rest, value)
}

describe.each(formatNames)('bad input in %s', (format) => {
  /** Where a message has its words, and how they stand there. */
  const key = format === 'gemini' ? 'parts' : 'content'
  const words = (text: string): unknown => (format === 'gemini' ? [{ text }] : text)
  const says = (text: string, more: object = {}): object => ({
    role: 'user',
    [key]: words(text),
    ...more,
  })

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a number', 5],
    ['a text', 'hello'],
    ['a boolean', true],
    ['an object', { messages: [] }],
    ['a list-like object', { length: 1, 0: { role: 'user', content: 'x' } }],
    ['a function', () => []],
    ['a symbol', Symbol('messages')],
    ['a map', new Map()],
    ['a set of messages', new Set([{ role: 'user', content: 'x' }])],
    ['bytes', new Uint8Array(3)],
    ['a promise', Promise.resolve([])],
    ['a big integer', 5n],
  ])('refuses %s in place of the messages', (_, messages) => {
    expect(refusal(messages, format)).toBe('invalid-input at messages')
  })

  it.each<[string, unknown, ErrorCode]>([
    ['null', null, 'invalid-input'],
    ['a number', 5, 'invalid-input'],
    ['a text', 'hello', 'invalid-input'],
    ['a boolean', false, 'invalid-input'],
    ['a list', [], 'invalid-input'],
    ['nothing', undefined, 'not-json'],
    ['a function', () => 'x', 'not-json'],
    ['a symbol', Symbol('x'), 'not-json'],
    ['a big integer', 5n, 'not-json'],
    ['a date', new Date(0), 'not-json'],
    ['a map', new Map([['role', 'user']]), 'not-json'],
    ['an instance of a class', new Custom(), 'not-json'],
    ['a regular expression', /x/, 'not-json'],
    ['an error', new Error('x'), 'not-json'],
    ['bytes', new Uint8Array(3), 'not-json'],
    ['a boxed text', Object('x'), 'not-json'],
  ])('refuses %s in place of a message', (_, message, code) => {
    const good = says('hello')
    expect(refusal([good, message], format)).toBe(`${code} at messages[1]`)
  })

  it.each([
    ['not a number', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['a big integer', 1n],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a date', new Date(0)],
    ['a map', new Map()],
    ['an instance of a class', new Custom()],
    ['a weak reference', new WeakRef({})],
    ['an object with a throwing toJSON', { toJSON: () => expect.unreachable() }],
  ])('refuses %s anywhere inside a message', (_, value) => {
    const got = refusal([says('x', { extra: { list: [0, value] } })], format)
    expect(got).toMatch(/^not-json at messages\[0\]\.extra\.list\[1\](\.toJSON)?$/)
  })

  it('refuses a cycle', () => {
    expect(refusal([cyclic()], format)).toBe('not-json at messages[0].self.again[0]')
    const list: unknown[] = [says('x')]
    list.push(list)
    expect(refusal(list, format)).toMatch(/^not-json at messages\[1\]/)
  })

  it('accepts an object that is there twice without being a cycle', () => {
    const shared = { a: [1] }
    const message = says('x', { first: shared, second: [shared, shared] })
    expect(refusal([message, message], format)).toBe('accepted')
  })

  it('refuses holes in lists', () => {
    const messages: unknown[] = [says('x')]
    messages[2] = says('y')
    expect(refusal(messages, format)).toBe('not-json at messages[1]')
    const content = [{ type: 'text', text: 'x' }] as unknown[]
    content.length = 2
    expect(refusal([{ role: 'user', [key]: content }], format)).toBe(
      `not-json at messages[0].${key}[1]`,
    )
  })

  it('accepts the deepest nesting allowed and refuses one level more', () => {
    const deep = (levels: number): unknown => [says('x', { x: nested(levels) })]
    // The message itself is a level.
    expect(refusal(deep(maxDepth - 1), format)).toBe('accepted')
    expect(refusal(deep(maxDepth), format)).toMatch(/^too-deep at messages\[0\]\.x\[0\]/)
    expect(refusal(deep(5000), format)).toMatch(/^too-deep at messages\[0\]\.x\[0\]/)
    expect(refusal(deep(100_000), format)).toMatch(/^too-deep at messages\[0\]\.x\[0\]/)
  })

  it('[I2] sends nothing deeper or larger than the provider takes', () => {
    const deepest = says('x', { x: nested(maxDepth - 1) })
    const large = says('€'.repeat(12 * 1024 * 1024))
    for (const message of [deepest, large]) {
      const got = outcome(() => {
        const { messages } = project([message], undefined, { format })
        expect(validate(format, messages)).toEqual([])
      })
      expect(got).toMatch(/^(accepted|cannot-project at|too-large at|too-deep at)/)
    }
  })

  it('refuses a text of 50 MB, and says how long it may be', () => {
    const text = 'x'.repeat(50 * 1024 * 1024)
    const got = outcome(() => project([says(text)], undefined, { format }))
    expect(got).toMatch(/^too-large at messages\[0\]\.(content|parts\[0\]\.text)$/)
    expect(() => project([says(text)], undefined, { format })).toThrow(
      expect.objectContaining({ details: { limit: maxStringLength, got: text.length } }),
    )
  })

  it('refuses what throws when it is looked at, without letting the error through', () => {
    const boom = (): never => {
      throw new Error('boom')
    }
    const getter = {
      role: 'user',
      get [key]() {
        return boom()
      },
    }
    expect(refusal([getter], format)).toBe(`not-json at messages[0].${key}`)
    const extra = {
      get deep() {
        return boom()
      },
    }
    const inside = says('x')
    Object.assign(inside, { extra })
    expect(refusal([inside], format)).toBe('not-json at messages[0].extra.deep')
    for (const trap of ['get', 'ownKeys', 'getPrototypeOf', 'getOwnPropertyDescriptor', 'has']) {
      const message = new Proxy(says('x'), { [trap]: boom })
      expect(refusal([message], format)).toMatch(/^(not-json at messages\[0\]|accepted)/)
      const list = new Proxy([says('x')], { [trap]: boom })
      expect(refusal(list, format)).toMatch(/^(not-json at messages|accepted)/)
    }
    const { proxy, revoke } = Proxy.revocable([], {})
    revoke()
    expect(refusal(proxy, format)).toBe('invalid-input at messages')
    expect(refusal([proxy], format)).toBe('not-json at messages[0]')
  })

  it('reads each field once, so that nothing can change under its hands', () => {
    let reads = 0
    const message = {
      role: 'user',
      get [key]() {
        reads += 1
        return words(`read ${reads}`)
      },
    }
    const { messages } = project([message], undefined, { format })
    expect(exactText(messages)).toBe(exactText([says('read 1')]))
    expect(reads).toBe(1)
  })

  it.each([
    ['an unknown one', 'alien'],
    ['an empty one', ''],
    ['a number', 7],
    ['null', null],
    ['nothing', undefined],
    ['an inherited name', 'constructor'],
  ])('refuses a role that is %s', (_, role) => {
    const got = refusal([says('x', { role })], format)
    // Gemini takes what has no role for the user's.
    const isKnown = format === 'gemini' && role === undefined
    expect(got).toMatch(isKnown ? /^accepted$/ : /^invalid-input at messages\[0\](\.role)?$/)
  })

  it.each([
    ['a number', 5],
    ['a boolean', true],
    ['an object', { text: 'x' }],
    ['a list with a text in it', ['x']],
    ['a list with null in it', [null]],
    ['a list in a list', [[]]],
  ])('refuses content that is %s', (_, content) => {
    const got = refusal([{ role: 'user', [key]: content }], format)
    expect(got).toMatch(/^invalid-input at messages\[0\]\.(content|parts)/)
  })

  it('accepts any field of a wrong type, or refuses it with its path', () => {
    const wrong = fc.constantFrom<unknown>(null, 0, true, '', [], {}, [null], [[]], ['x'], {
      a: {},
    })
    fc.assert(
      fc.property(conversationOf(format), fc.nat(), wrong, (messages, at, value) => {
        const copy = JSON.parse(JSON.stringify(messages)) as unknown[]
        replaceSpot(copy, at, value)
        const before = exactText(copy)
        const got = refusal(copy, format)
        expect(got).toMatch(/^(accepted|cannot-project at|invalid-input at messages\[)/)
        expect(exactText(copy)).toBe(before)
      }),
    )
  })

  it('answers anything at all with an error of its own, and leaves it as it was', () => {
    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withObjectString: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true,
    })
    fc.assert(
      fc.property(fc.array(anything), (messages) => {
        const before = fc.stringify(messages)
        const prototype = Object.getOwnPropertyNames(Object.prototype).join()
        expect(refusal(messages, format)).toMatch(/^(accepted$|[a-z-]+ at (messages|no path))/)
        expect(Array.isArray(validate(format, messages))).toBe(true)
        expect(fc.stringify(messages)).toBe(before)
        expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(prototype)
      }),
    )
  })

  it('keeps fields called like the inside of JavaScript as data', () => {
    const json = `[{"role":"user","${key}":${JSON.stringify(words('x'))},"__proto__":{"polluted":true},
      "constructor":{"prototype":{"polluted":true}},"toString":"x","hasOwnProperty":1}]`
    const { messages } = project(JSON.parse(json), undefined, { format })
    expect(exactText(messages)).toBe(exactText(JSON.parse(json)))
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it('judges what cannot be read without throwing', () => {
    const boom = (): never => {
      throw new Error('boom')
    }
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const strange = [
      proxy,
      [proxy],
      cyclic(),
      [cyclic()],
      {
        get messages() {
          return boom()
        },
      },
    ]
    for (const body of [
      ...strange,
      [
        {
          get role() {
            return boom()
          },
        },
      ],
      nested(5000),
      5n,
    ]) {
      expect(Array.isArray(validate(format, body))).toBe(true)
      expect(Array.isArray(formatNamed(format).validate({ messages: body, input: body }))).toBe(
        true,
      )
    }
  })
})

describe('bad options', () => {
  const messages = [{ role: 'user', content: 'x' }]

  it.each([Number.NaN, 0, -1, Number.POSITIVE_INFINITY, '4000', null, {}, 10n])(
    'refuses the budget %s',
    (budget) => {
      const got = outcome(() => project(messages, undefined, { budget: budget as never }))
      expect(got).toBe('invalid-option at budget')
    },
  )

  it.each(['nope', '', '__proto__', 'constructor', 5, null])('refuses the format %s', (format) => {
    const source = outcome(() => project(messages, undefined, { format: format as never }))
    expect(source).toBe('unknown-format at format')
    const target = outcome(() => project(messages, undefined, { to: format as never }))
    expect(target).toMatch(/^unknown-format at (to|format)$/)
  })

  it.each(['nope', '', 5, {}, { name: 'x' }, { name: 'x', count: 5 }])(
    'refuses the counter %s',
    (tokens) => {
      const got = outcome(() => project(messages, undefined, { tokens: tokens as never }))
      expect(got).toBe('invalid-option at tokens')
    },
  )

  it.each<[unknown, string]>([
    [null, 'policy'],
    [[], 'policy'],
    [5, 'policy'],
    ['nope', 'policy'],
    ['__proto__', 'policy'],
    [{ preset: 'nope' }, 'policy.preset'],
    [{ histroy: {} }, 'policy.histroy'],
    [{ history: null }, 'policy.history'],
    [{ history: { length: '10' } }, 'policy.history.length'],
    [{ history: { length: -1 } }, 'policy.history.length'],
    [{ history: { length: 1.5 } }, 'policy.history.length'],
    [{ history: { length: Number.NaN } }, 'policy.history.length'],
    [{ history: { policy: 'some' } }, 'policy.history.policy'],
    [{ history: { constructor: 1 } }, 'policy.history.constructor'],
  ])('refuses the policy %j with its path', (policy, path) => {
    const got = outcome(() => project(messages, policy as never))
    expect(got).toBe(`invalid-policy at ${path}`)
  })

  it('refuses a frame that is not JSON', () => {
    const frames = [{ tools: [5n] }, { system: cyclic() }, { tools: nested(5000) }]
    for (const frame of frames) {
      const got = outcome(() => project(messages, undefined, { frame, budget: 4000 }))
      expect(got).toMatch(/^(not-json|too-deep|invalid-option) at frame/)
    }
  })
})

describe('options of a wrong type', () => {
  const history = [{ role: 'user', content: 'Hello.' }]
  const options = ['format', 'to', 'frame', 'model', 'budget', 'tokens', 'now', 'rules', 'success']

  it.each(options)('project refuses %s, with its path', (option) => {
    for (const value of [[], true, Symbol('x'), 'no such thing'] as const) {
      if (value === 'no such thing' && option === 'model') continue
      if (Array.isArray(value) && option === 'rules') continue
      const got = outcome(() => project(history, 'recommended', { [option]: value }))
      expect(got).toMatch(/^(invalid-option|unknown-format) at /)
    }
  })

  it('shows a text as a text', () => {
    const ask = (): unknown => project(history, {}, { budget: '100k' as never })
    expect(ask).toThrow("budget must be a number of tokens above 0, got '100k'.")
  })

  it('sqliteStore names the path among its options', () => {
    expect(() => sqliteStore({ file: 'x.db' } as never)).toThrow('It takes: path, now,')
  })
})

/** Replaces one value somewhere in a list of messages. */
function replaceSpot(messages: unknown[], at: number, value: unknown): void {
  const spots: { readonly holder: Record<string, unknown>; readonly key: string }[] = []
  const walk = (holder: Record<string, unknown>): void => {
    for (const key of Object.keys(holder)) {
      spots.push({ holder, key })
      const field = holder[key]
      if (typeof field === 'object' && field !== null) walk(field as Record<string, unknown>)
    }
  }
  walk(messages as unknown as Record<string, unknown>)
  const spot = spots[at % Math.max(1, spots.length)]
  if (spot !== undefined) spot.holder[spot.key] = value
}
