// Schemas of settings: plain data that says what a value may be, and the check against it. Small, because pages load it.

import { assertNever } from '../log/errors.ts'
import { isObject } from '../log/json.ts'

export type Schema =
  | NumberSchema
  | BooleanSchema
  | TextSchema
  | ChoiceSchema
  | ListSchema
  | ObjectSchema
  | RecordSchema
  | AnySchema

interface Base {
  /** Whether a field may be missing, or undefined. @default false */
  readonly isOptional?: boolean
  /** @default false */
  readonly isNullable?: boolean
}

/** A finite number. */
export interface NumberSchema extends Base {
  readonly type: 'number'
  readonly isInteger: boolean
  readonly min?: number
  readonly max?: number
}

export interface BooleanSchema extends Base {
  readonly type: 'boolean'
}

export interface TextSchema extends Base {
  readonly type: 'text'
  readonly minLength: number
}

export interface ChoiceSchema<Choice = unknown> extends Base {
  readonly type: 'choice'
  readonly choices: readonly Choice[]
  /** What an error says of any other value. @default the choices */
  readonly hint?: string
}

export interface ListSchema<Element extends Schema = Schema> extends Base {
  readonly type: 'list'
  readonly element: Element
}

/** An object with known fields only. */
export interface ObjectSchema<Fields extends Shape = Shape> extends Base {
  readonly type: 'object'
  readonly fields: Fields
}

/** An object whose fields the user names; all have the same schema. */
export interface RecordSchema<Value extends Schema = Schema> extends Base {
  readonly type: 'record'
  readonly value: Value
}

export interface AnySchema extends Base {
  readonly type: 'any'
}

export type Shape = { readonly [Name in string]: Schema }

/** The values that a schema accepts; unknown where the schema is known only at run time. */
export type Infer<S> = Schema extends S
  ? unknown
  :
      | (S extends { readonly isOptional: true } ? undefined : never)
      | (S extends { readonly isNullable: true } ? null : never)
      | Present<S>

type Present<S> = S extends NumberSchema
  ? number
  : S extends BooleanSchema
    ? boolean
    : S extends TextSchema
      ? string
      : S extends ChoiceSchema<infer Choice>
        ? Choice
        : S extends ListSchema<infer Element>
          ? readonly Infer<Element>[]
          : S extends ObjectSchema<infer Fields>
            ? InferFields<Fields>
            : S extends RecordSchema<infer Value>
              ? Readonly<Record<string, Infer<Value>>>
              : unknown

type InferFields<Fields extends Shape> = {
  readonly [Name in keyof Fields as IsOptional<Fields[Name]> extends true ? Name : never]?: Infer<
    Fields[Name]
  >
} & {
  readonly [Name in keyof Fields as IsOptional<Fields[Name]> extends true ? never : Name]: Infer<
    Fields[Name]
  >
}

type IsOptional<S> = S extends { readonly isOptional: true } ? true : false

/** A whole number. */
export const integer = { type: 'number', isInteger: true } as const
/** A whole number from 0. */
export const count = { type: 'number', isInteger: true, min: 0 } as const
/** A whole number from 1. */
export const positive = { type: 'number', isInteger: true, min: 1 } as const
/** A number from 0 to 1. */
export const share = { type: 'number', isInteger: false, min: 0, max: 1 } as const
export const boolean = { type: 'boolean' } as const
/** A text that is not empty. */
export const text = { type: 'text', minLength: 1 } as const
export const anyText = { type: 'text', minLength: 0 } as const
export const anything = { type: 'any', isOptional: true } as const

export function choice<const Choice>(...choices: readonly Choice[]): ChoiceSchema<Choice> {
  return { type: 'choice', choices }
}

/** One value, and what an error says of any other. */
export function only<const Choice>(choice: Choice, hint: string): ChoiceSchema<Choice> {
  return { type: 'choice', choices: [choice], hint }
}

export function list<Element extends Schema>(element: Element): ListSchema<Element> {
  return { type: 'list', element }
}

export function object<Fields extends Shape>(fields: Fields): ObjectSchema<Fields> {
  return { type: 'object', fields }
}

export function record<Value extends Schema>(value: Value): RecordSchema<Value> {
  return { type: 'record', value }
}

export function optional<S extends Schema>(schema: S): S & { readonly isOptional: true } {
  return { ...schema, isOptional: true }
}

export function nullable<S extends Schema>(schema: S): S & { readonly isNullable: true } {
  return { ...schema, isNullable: true }
}

/** What is wrong with a value, and where. */
export type Issue = {
  readonly path: readonly PropertyKey[]
  /** The value at the path. */
  readonly got: unknown
} & (
  | { readonly code: 'wrong-type'; readonly expected: string }
  | {
      readonly code: 'wrong-choice'
      readonly allowed: readonly unknown[]
      readonly hint?: string | undefined
    }
  | { readonly code: 'too-small'; readonly min: number; readonly isLength: boolean }
  | { readonly code: 'too-big'; readonly max: number }
  /** The path is that of the object. */
  | {
      readonly code: 'unknown-keys'
      readonly keys: readonly string[]
      readonly known: readonly string[]
    }
  | { readonly code: 'wrong-name' }
)

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly [Issue, ...Issue[]] }

/**
 * A copy of the value with the fields in the order of the schema, or everything that is wrong with it: the fields of an object in the
 * order of the schema, then its unknown keys.
 */
export function check<S extends Schema>(schema: S, value: unknown): Checked<Infer<S>> {
  const issues: Issue[] = []
  const copy = read(schema, value, { path: [], issues })
  const [first, ...others] = issues
  // Without an issue the copy is what the schema says.
  if (first === undefined) return { ok: true, value: copy as Infer<S> }
  return { ok: false, issues: [first, ...others] }
}

/** An issue in words that follow the value: `expected number`, `must be at least 1`. */
export function explainIssue(issue: Issue): string {
  switch (issue.code) {
    case 'wrong-type':
      return `expected ${issue.expected}`
    case 'wrong-choice':
      return issue.hint ?? `allowed: ${issue.allowed.map(String).join(', ')}`
    case 'too-small':
      return `must be at least ${issue.min}${issue.isLength ? ' characters long' : ''}`
    case 'too-big':
      return `must be at most ${issue.max}`
    case 'unknown-keys':
      return `allowed: ${issue.known.join(', ')}`
    case 'wrong-name':
      return 'its name must not be empty'
    default:
      return assertNever(issue)
  }
}

interface Place {
  readonly path: readonly PropertyKey[]
  readonly issues: Issue[]
}

function read(schema: Schema, value: unknown, place: Place): unknown {
  if (value === undefined && schema.isOptional === true) return value
  if (value === null && schema.isNullable === true) return value
  const { path, issues } = place
  const wrongType = (expected: string): void => {
    issues.push({ code: 'wrong-type', path, got: value, expected })
  }
  switch (schema.type) {
    case 'number':
      checkNumber(schema, value, place)
      return value
    case 'boolean':
      if (typeof value !== 'boolean') wrongType('boolean')
      return value
    case 'text':
      if (typeof value !== 'string') wrongType('string')
      else if (value.length < schema.minLength) {
        const min = schema.minLength
        issues.push({ code: 'too-small', path, got: value, min, isLength: true })
      }
      return value
    case 'choice': {
      const { choices: allowed, hint } = schema
      if (allowed.includes(value)) return value
      issues.push({ code: 'wrong-choice', path, got: value, allowed, hint })
      return value
    }
    case 'list':
      if (!Array.isArray(value)) return wrongType('array')
      return Array.from(value, (one: unknown, index) =>
        read(schema.element, one, { path: [...path, index], issues }),
      )
    case 'object':
      return isObject(value) ? readObject(schema, value, place) : wrongType('object')
    case 'record':
      return isPlain(value) ? readRecord(schema, value, place) : wrongType('record')
    case 'any':
      return value
    default:
      return assertNever(schema)
  }
}

function checkNumber(schema: NumberSchema, got: unknown, { path, issues }: Place): void {
  const { isInteger, min = -Infinity, max = Infinity } = schema
  const most = isInteger ? Number.MAX_SAFE_INTEGER : Infinity
  const range = { min: Math.max(min, -most), max: Math.min(max, most) }
  if (typeof got !== 'number' || !Number.isFinite(got)) {
    issues.push({ code: 'wrong-type', path, got, expected: 'number' })
  } else if (isInteger && !Number.isInteger(got)) {
    issues.push({ code: 'wrong-type', path, got, expected: 'an integer' })
  } else if (got < range.min) {
    issues.push({ code: 'too-small', path, got, min: range.min, isLength: false })
  } else if (got > range.max) {
    issues.push({ code: 'too-big', path, got, max: range.max })
  }
}

type Fields = Readonly<Record<string, unknown>>

/** Whether a value is an object that no class made; also one of another realm. */
function isPlain(value: unknown): value is Fields {
  if (!isObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function readObject({ fields }: ObjectSchema, value: Fields, { path, issues }: Place): object {
  const copy: Record<string, unknown> = {}
  for (const [key, schema] of Object.entries(fields)) {
    const own = read(schema, value[key], { path: [...path, key], issues })
    if (key in value) copy[key] = own
  }
  const keys: string[] = []
  for (const key in value) if (!Object.hasOwn(fields, key)) keys.push(key)
  if (keys.length > 0) {
    issues.push({ code: 'unknown-keys', path, got: value, keys, known: Object.keys(fields) })
  }
  return copy
}

function readRecord({ value: schema }: RecordSchema, value: Fields, place: Place): object {
  const copy: Record<string, unknown> = {}
  for (const [key, own] of Object.entries(value)) {
    // Assigning it would change the prototype of the copy.
    if (key === '__proto__') continue
    const path = [...place.path, key]
    if (key === '') place.issues.push({ code: 'wrong-name', path, got: own })
    else copy[key] = read(schema, own, { ...place, path })
  }
  return copy
}
