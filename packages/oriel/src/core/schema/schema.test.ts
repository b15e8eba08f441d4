import fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { policySchema } from '../../policy/schema.ts'
import { isObject } from '../log/json.ts'
import {
  anyText,
  anything,
  boolean,
  check,
  choice,
  count,
  explainIssue,
  type Infer,
  type Issue,
  integer,
  list,
  nullable,
  object,
  only,
  optional,
  positive,
  record,
  type Schema,
  share,
  text,
} from './schema.ts'

/** The same schema for Zod, whose checks are the reference. */
function forZod(schema: Schema): z.ZodType {
  const inner = bareForZod(schema)
  const orNull = schema.isNullable === true ? inner.nullable() : inner
  return schema.isOptional === true ? orNull.optional() : orNull
}

/** Built once for each schema. */
const references = new WeakMap<Schema, z.ZodType>()

function reference(schema: Schema): z.ZodType {
  const built = references.get(schema) ?? forZod(schema)
  references.set(schema, built)
  return built
}

function bareForZod(schema: Schema): z.ZodType {
  switch (schema.type) {
    case 'number': {
      const number = schema.isInteger ? z.number().int() : z.number()
      const above = schema.min === undefined ? number : number.min(schema.min)
      return schema.max === undefined ? above : above.max(schema.max)
    }
    case 'boolean':
      return z.boolean()
    case 'text':
      return z.string().min(schema.minLength)
    case 'choice':
      return z.literal(schema.choices as readonly string[])
    case 'list':
      return z.array(forZod(schema.element))
    case 'object':
      return z.strictObject(
        Object.fromEntries(Object.entries(schema.fields).map(([key, one]) => [key, forZod(one)])),
      )
    case 'record':
      return z.record(z.string().min(1), forZod(schema.value))
    default:
      return z.unknown()
  }
}

type Compared = readonly [path: string, problem: string]

/** What Zod finds, in our words. Of one scalar the first finding counts. */
function foundByZod(schema: Schema, value: unknown): readonly Compared[] {
  const { error } = reference(schema).safeParse(value)
  const found = (error?.issues ?? []).map((issue): Compared => {
    const at = JSON.stringify(issue.path)
    switch (issue.code) {
      case 'invalid_type':
        return [at, `expected ${issue.expected === 'int' ? 'an integer' : issue.expected}`]
      case 'invalid_value':
        return [at, `allowed: ${issue.values.map(String).join(', ')}`]
      case 'too_small':
        return [at, issue.origin === 'string' ? 'too short' : 'too small']
      case 'too_big':
        return [at, `must be at most ${issue.maximum}`]
      case 'unrecognized_keys':
        return [at, `unknown: ${issue.keys.join(', ')}`]
      default:
        return [at, issue.code]
    }
  })
  return found.filter(([at, problem], index) => {
    const isKeys = problem.startsWith('unknown: ')
    return (
      isKeys ||
      found.findIndex(([other, what]) => other === at && !what.startsWith('unknown: ')) === index
    )
  })
}

function foundHere(schema: Schema, value: unknown): readonly Compared[] {
  const result = check(schema, value)
  if (result.ok) return []
  return result.issues.map((issue): Compared => {
    const at = JSON.stringify(issue.path)
    if (issue.code === 'too-small') return [at, issue.isLength ? 'too short' : 'too small']
    if (issue.code === 'unknown-keys') return [at, `unknown: ${issue.keys.join(', ')}`]
    return [at, issue.code === 'wrong-name' ? 'invalid_key' : explainIssue(issue)]
  })
}

/** Without names of what every object has: Zod takes those of a prototype for fields. */
const names = fc.constantFrom('a', 'b', 'c', 'd', '')

const schemas = fc.letrec<{ any: Schema; leaf: Schema }>((tie) => ({
  leaf: fc.constantFrom<Schema>(
    ...[boolean, text, anyText, count, positive, integer, share, choice('x', 'y'), anything],
  ),
  any: fc
    .tuple(
      fc.oneof(
        { depthSize: 'small' },
        tie('leaf'),
        tie('any').map((one): Schema => list(one)),
        tie('any').map((one): Schema => record(one)),
        fc
          .dictionary(names, tie('any'), { maxKeys: 4, noNullPrototype: true })
          .map((fields): Schema => object(fields)),
      ),
      fc.boolean(),
      fc.boolean(),
    )
    .map(([schema, isOptional, isNullable]) => {
      const own = isOptional ? optional(schema) : schema
      return isNullable ? nullable(own) : own
    }),
})).any

const scalars = fc.constantFrom(
  ...['x', 'y', '', 'other', true, false, null, undefined, 0, -0, 1, -1, 0.5, 1.5, -0.5, 7],
  ...[2 ** 53, -(2 ** 53), 2 ** 60, 1e300, Number.NaN, Infinity, -Infinity, 5n, Symbol.iterator],
)

const values = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    scalars,
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(names, fc.constantFrom('__proto__', 'lenght')), tie('any'), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
    fc.constantFrom(new Map(), new Date(0), /x/, () => 1),
  ),
})).any

/** Mostly what the schema accepts, with other values in between. */
function nearly(schema: Schema): fc.Arbitrary<unknown> {
  const right = (): fc.Arbitrary<unknown> => {
    switch (schema.type) {
      case 'object':
        return fc
          .tuple(
            fc.record(
              Object.fromEntries(
                Object.entries(schema.fields).map(([key, one]) => [key, nearly(one)]),
              ),
              { requiredKeys: [], noNullPrototype: true },
            ),
            fc.dictionary(names, scalars, { maxKeys: 1, noNullPrototype: true }),
          )
          .map(([own, other]) => ({ ...other, ...own }))
      case 'record':
        return fc.dictionary(names, nearly(schema.value), { maxKeys: 3, noNullPrototype: true })
      case 'list':
        return fc.array(nearly(schema.element), { maxLength: 3 })
      default:
        return scalars
    }
  }
  return fc.oneof({ weight: 9, arbitrary: right() }, { weight: 1, arbitrary: values })
}

const cases = schemas.chain((schema) =>
  fc.tuple(fc.constant(schema), fc.oneof(nearly(schema), values)),
)

describe('a schema', () => {
  it('[P2] finds what Zod finds, in the same places and order', () => {
    fc.assert(
      fc.property(cases, ([schema, value]) => {
        expect(foundHere(schema, value)).toEqual(foundByZod(schema, value))
      }),
      { numRuns: 1000 },
    )
  })

  it('[P2] finds in policies what Zod finds', () => {
    fc.assert(
      fc.property(nearly(policySchema), (value) => {
        expect(foundHere(policySchema, value)).toEqual(foundByZod(policySchema, value))
      }),
      { numRuns: 1000 },
    )
  })

  it('[P2] copies what it accepts as Zod does, with the fields in its own order', () => {
    fc.assert(
      fc.property(cases, ([schema, value]) => {
        const result = check(schema, value)
        fc.pre(result.ok)
        const copy = forZod(schema).parse(value)
        expect(result.value).toStrictEqual(copy)
        expect(keysOf(result.value)).toEqual(keysOf(copy))
      }),
      { numRuns: 500 },
    )
  })

  it('[P2] takes any name in a record', () => {
    const value = { constructor: 1, toString: 2, hasOwnProperty: 3 }
    expect(check(record(count), value)).toEqual({ ok: true, value })
    expect(check(record(count), JSON.parse('{"__proto__":1}'))).toEqual({ ok: true, value: {} })
  })

  it('[P2] never changes or keeps the value', () => {
    const given = { tools: { a: { length: 1 } }, names: ['a'] }
    const schema = object({ tools: record(object({ length: count })), names: list(text) })
    const result = check(schema, given)
    expect(result).toEqual({ ok: true, value: given })
    expect(result.ok && result.value.tools).not.toBe(given.tools)
    expect(result.ok && result.value.names).not.toBe(given.names)
  })

  it('[P2] says more than the allowed value where that is not enough', () => {
    const result = check(only(true, 'it is always on'), false)
    expect(result.ok ? '' : explainIssue(result.issues[0] as Issue)).toBe('it is always on')
  })

  it('[P2] gives the type of what it accepts', () => {
    const schema = object({
      a: optional(count),
      b: choice('x', 'y'),
      c: nullable(text),
      d: optional(nullable(boolean)),
      e: list(share),
      f: record(object({ g: anyText })),
    })
    type Value = Infer<typeof schema>
    expectTypeOf<Value['b']>().toEqualTypeOf<'x' | 'y'>()
    expectTypeOf<Value['c']>().toEqualTypeOf<string | null>()
    expectTypeOf<Value['d']>().toEqualTypeOf<boolean | null | undefined>()
    expectTypeOf<{ b: 'x'; c: null; e: []; f: { k: { g: string } } }>().toExtend<Value>()
    expectTypeOf<{ c: null; e: []; f: Record<string, never> }>().not.toExtend<Value>()
  })
})

/** The names of all fields, in their order. */
function keysOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(keysOf)
  if (!isObject(value)) return undefined
  return Object.entries(value).map(([key, inner]) => [key, keysOf(inner)])
}
