import fc from 'fast-check'
import { type JsonObject, readHistory } from 'oriel'
import { describe, expect, it } from 'vitest'
import { BodyCache } from './body-cache.ts'
import {
  type ClientBody,
  elementsIn,
  knownBody,
  parseBody,
  parseIncremental,
} from './client-body.ts'
import type { Range } from './json-outline.ts'

const limits = { depth: 64, nodes: 1e6 }
const text = fc.string({
  unit: fc.constantFrom('a', ' ', '"', '\\', 'é', '漢', '😀', ',', ']', '}'),
})
const message = fc.record({ role: fc.constantFrom('user', 'assistant'), content: text })
const fields = fc.dictionary(fc.constantFrom('model', 'stream', 'tools', 'é'), fc.jsonValue())

/** Everything about a body that anybody can see. */
function seen({ text: whole, value, outline, bytes }: ClientBody) {
  const cut = ({ start, end }: Range) => [start, whole.slice(start, end)]
  const fields = [...outline.fields].map(([key, range]) => [key, cut(range)])
  const members = [...outline.members].map(([key, ranges]) => [key, ranges.map(cut)])
  return { whole, value, bytes: Buffer.from(bytes), fields, members }
}

function known(bytes: Buffer) {
  const body = parseBody(bytes, limits)
  const list = body.value.messages as JsonObject[]
  return knownBody(body, 'messages', readHistory(list))
}

describe('a body that begins like another', () => {
  it('[GW62] is read as if it stood alone, whatever came before, between and after', () => {
    let alike = 0
    fc.assert(
      fc.property(
        fc.record({ before: fields, after: fields, indent: fc.nat(2) }),
        fc.array(message, { maxLength: 6 }),
        fc.array(message, { maxLength: 4 }),
        fc.array(message, { maxLength: 4 }),
        fields,
        ({ before, after, indent }, shared, old, added, changed) => {
          const write = (list: readonly object[], rest: object) =>
            Buffer.from(JSON.stringify({ ...before, messages: list, ...rest }, null, indent))
          const first = known(write([...shared, ...old], after))
          const next = write([...shared, ...added], changed)
          const found = first && parseIncremental(next, first, limits)
          if (found === undefined) return
          alike += 1
          expect(seen(found)).toEqual(seen(parseBody(next, limits)))
          // And the one after it, read from what was kept of this one.
          const list = found.value.messages as JsonObject[]
          expect(elementsIn(found, 'messages')).toEqual(
            elementsIn(parseBody(next, limits), 'messages'),
          )
          const second = knownBody(found, 'messages', readHistory(list))
          const third = write([...shared, ...added, { role: 'user', content: '漢' }], after)
          const again = second && parseIncremental(third, second, limits)
          if (again !== undefined) expect(seen(again)).toEqual(seen(parseBody(third, limits)))
        },
      ),
      { numRuns: 500 },
    )
    expect(alike).toBeGreaterThan(0)
  })

  it('[GW62] is read anew where a field comes twice, or what follows is no JSON', () => {
    const list = Array.from({ length: 50 }, (_, n) => ({
      role: 'user',
      content: `${n}`.repeat(99),
    }))
    const whole = JSON.stringify({ messages: list })
    const first = known(Buffer.from(whole))
    if (first === undefined) throw new Error('has a list')
    const twice = Buffer.from(`${whole.slice(0, -1)},"messages":[]}`)
    expect(parseIncremental(twice, first, limits)).toBeUndefined()
    for (const rest of ['', ']', ',]}', '] }}', ',{"role":"user"}]', '}']) {
      const broken = Buffer.from(`${whole.slice(0, -2)}${rest}`)
      expect(parseIncremental(broken, first, limits)).toBeUndefined()
    }
    expect(parseIncremental(Buffer.from(whole), first, { ...limits, nodes: 10 })).toBeUndefined()
  })
})

describe('known bodies', () => {
  const list = (count: number, name: string) =>
    Array.from({ length: count }, (_, n) => ({
      role: 'user',
      content: `${name} ${n} ${'x'.repeat(900)}`,
    }))
  const bytesOf = (messages: readonly object[]) => Buffer.from(JSON.stringify({ messages }))

  it('[GW62] gives the same objects again for the same caller, and never for another', () => {
    const bodies = new BodyCache(1e8)
    const take = (scope: string, messages: readonly object[]) => {
      const found = bodies.parse(scope, bytesOf(messages), limits)
      const values = found.body.value.messages as JsonObject[]
      const history = readHistory(values, { previous: found.previous?.history })
      bodies.keep(scope, found, { listKey: 'messages', history })
      return { values, isKnown: found.previous !== undefined }
    }
    const [a, b] = [take('t', list(40, 'a')), take('t', list(40, 'b'))]
    const again = take('t', list(41, 'a'))
    expect(again.isKnown).toBe(true)
    expect(again.values[39]).toBe(a.values[39])
    expect(take('t', list(42, 'b')).values[0]).toBe(b.values[0])
    expect(take('other', list(42, 'a')).isKnown).toBe(false)
  })

  it('[GW62] keeps conversations apart that begin with the same long instructions', () => {
    const bodies = new BodyCache(1e8)
    const instructions = { role: 'system', content: 'y'.repeat(70_000) }
    const shared = (count: number, name: string): number => {
      const said = (_: unknown, n: number) => ({
        role: 'user',
        content: `${name}, ${n}. `.repeat(50),
      })
      const messages = [instructions, ...Array.from({ length: count }, said)]
      const found = bodies.parse('t', bytesOf(messages), limits)
      const values = found.body.value.messages as JsonObject[]
      const history = readHistory(values, { previous: found.previous?.history })
      bodies.keep('t', found, { listKey: 'messages', history })
      return found.body.alike?.count ?? 0
    }
    const names = Array.from({ length: 20 }, (_, n) => `conversation ${n}`)
    for (const name of names) shared(30, name)
    expect(names.map((name) => shared(31, name))).toEqual(names.map(() => 31))
    expect(names.map((name) => shared(32, name))).toEqual(names.map(() => 32))
  })

  it('[GW62] reads every body as if it stood alone, however requests go on, branch and overlap', () => {
    const step = fc.record({
      conversation: fc.nat(2),
      /** Messages that are dropped from the end, and those that are added. */
      dropped: fc.nat(3),
      added: fc.array(message, { maxLength: 3 }),
      /** Whether it is kept only after the next one was read. */
      isLate: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 25 }), (steps) => {
        const bodies = new BodyCache(1e8)
        const said = [0, 1, 2].map((n): object[] => list(24, `conversation ${n}`))
        let late: (() => void) | undefined
        for (const { conversation, dropped, added, isLate } of steps) {
          const before = said[conversation] ?? []
          const messages = [...before.slice(0, before.length - dropped), ...added]
          said[conversation] = messages
          const found = bodies.parse('t', bytesOf(messages), limits)
          expect(found.body.value).toEqual({ messages })
          expect(seen(found.body)).toEqual(seen(parseBody(bytesOf(messages), limits)))
          const values = found.body.value.messages as JsonObject[]
          const history = readHistory(values, { previous: found.previous?.history })
          const keep = () => bodies.keep('t', found, { listKey: 'messages', history })
          late?.()
          late = isLate ? keep : undefined
          if (!isLate) keep()
        }
      }),
      { numRuns: 300 },
    )
  })

  it('[GW62] forgets the oldest beyond its room', () => {
    const bodies = new BodyCache(6e7)
    const big = (n: number) => list(4000, String(n))
    for (let n = 0; n < 8; n++) {
      const found = bodies.parse('t', bytesOf(big(n)), limits)
      const history = readHistory(found.body.value.messages as JsonObject[])
      bodies.keep('t', found, { listKey: 'messages', history })
    }
    expect(bodies.parse('t', bytesOf(big(0)), limits).previous).toBeUndefined()
    expect(bodies.parse('t', bytesOf(big(7)), limits).previous).toBeDefined()
  })
})
