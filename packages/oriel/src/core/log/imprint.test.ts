import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Imprint } from './imprint.ts'

/** Shapes that have code of their own beside shapes that nearly look like one. */
const lists = [
  ['role', 'content'],
  ['role', 'content', 'tool_calls'],
  ['role', 'tool_call_id', 'content'],
  ['role', 'content', 'tool_call_id'],
  ['id', 'type', 'function'],
  ['name', 'arguments'],
  ['type', 'text'],
  ['content', 'role'],
  ['role,content'],
  ['role', 'content,tool_calls'],
  ['0', 'role'],
  [],
]

const leaf = fc.constantFrom<unknown>('', 'text', null, undefined, 0, 1, true, false)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, weight: 2, arbitrary: leaf },
    { weight: 1, arbitrary: fc.array(tie('value'), { maxLength: 3 }) },
    {
      weight: 3,
      arbitrary: fc.constantFrom(...lists).chain((keys) => withKeys(keys, tie('value'))),
    },
  ),
}))

function withKeys(
  keys: readonly string[],
  field: fc.Arbitrary<unknown>,
): fc.Arbitrary<Record<string, unknown>> {
  return fc
    .tuple(...keys.map(() => field))
    .map((fields) => Object.fromEntries(keys.map((key, index) => [key, fields[index]])))
}

/** What is in a value, with the order of its keys; unlike JSON it shows undefined. */
function spelled(of: unknown): string {
  if (typeof of !== 'object' || of === null) return `${typeof of} ${of}`
  if (Array.isArray(of)) return `[${of.map(spelled).join()}]`
  return `{${Object.entries(of).map(([key, inner]) => `${JSON.stringify(key)}:${spelled(inner)}`)}}`
}

function objectsIn(of: unknown): object[] {
  if (typeof of !== 'object' || of === null) return []
  return [of, ...Object.values(of).flatMap(objectsIn)]
}

function imprintOf(values: readonly unknown[]): Imprint {
  const imprint = new Imprint()
  for (const one of values) expect(imprint.add(one)).toBe(true)
  return imprint
}

const change = fc.record({
  at: fc.nat(),
  how: fc.constantFrom('set', 'add', 'delete', 'to-the-end', 'nothing'),
  key: fc.nat(),
  leaf,
})

function changeIn(
  values: readonly unknown[],
  { at, how, key, leaf: to }: { at: number; how: string; key: number; leaf: unknown },
): void {
  const objects = values.flatMap(objectsIn)
  if (objects.length === 0) return
  const holder = objects[at % objects.length] as Record<string, unknown>
  const keys = Object.keys(holder)
  const name = keys[key % Math.max(1, keys.length)]
  if (how === 'add' && Array.isArray(holder)) holder.push(to)
  else if (how === 'add') holder[key % 2 === 0 ? 'added' : 'role'] = to
  if (name === undefined) return
  if (how === 'set') holder[name] = to
  if (how === 'delete' && Array.isArray(holder)) holder.pop()
  else if (how === 'delete') delete holder[name]
  if (how === 'to-the-end' && !Array.isArray(holder)) {
    const was = holder[name]
    delete holder[name]
    holder[name] = was
  }
}

describe('an imprint', () => {
  it('[I19] notices every change of plain data, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.array(value, { maxLength: 6 }),
        fc.array(change, { maxLength: 3 }),
        (values, changes) => {
          const imprint = imprintOf(values)
          expect(imprint.isBeginningOf(values)).toBe(true)
          const before = spelled(values)
          for (const one of changes) changeIn(values, one)
          expect(imprint.isBeginningOf(values)).toBe(spelled(values) === before)
        },
      ),
    )
  })

  it('[I19] takes other objects that look the same, and notices when those change', () => {
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 6 }),
        fc.nat(),
        change,
        (values, at, one) => {
          const index = at % values.length
          const imprint = imprintOf(values)
          const others = values.with(index, structuredClone(values[index]))
          expect(imprint.isBeginningOf(others)).toBe(true)
          const before = spelled(others)
          changeIn([others[index]], one)
          expect(imprint.isBeginningOf(others)).toBe(spelled(others) === before)
        },
      ),
    )
  })

  it('[I19] forgets what it refused', () => {
    const imprint = imprintOf([{ role: 'user', content: 'a' }])
    expect(imprint.add({ role: 'user', content: [{ type: 'text', text: () => '' }] })).toBe(false)
    expect(imprint.add({ role: 'user', content: new Date(0) })).toBe(false)
    expect(imprint.length).toBe(1)
    expect(imprint.add({ role: 'user', content: 'b' })).toBe(true)
    expect(imprint.isBeginningOf([{ role: 'user', content: 'a' }])).toBe(false)
    expect(
      imprint.isBeginningOf([
        { role: 'user', content: 'a' },
        { role: 'user', content: 'b' },
      ]),
    ).toBe(true)
  })

  it('[I19] compares what is frozen to the bottom by identity, or with another one that is', () => {
    const frozen = Object.freeze({ role: 'user', content: 'a' })
    const imprint = imprintOf([frozen])
    expect(imprint.isBeginningOf([frozen])).toBe(true)
    expect(imprint.isBeginningOf([{ ...frozen }])).toBe(false)
    expect(imprint.isBeginningOf([Object.freeze({ ...frozen })])).toBe(true)
  })
})
