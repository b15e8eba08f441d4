// JSON values: validation, copying, comparison, canonical text. Keys such as `__proto__` are plain
// data.

import { OrielError } from './errors.ts'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** Maximum nesting. JSON writers overflow the stack long before readers do. */
export const maxDepth = 64
/** Maximum string length. No provider accepts a request above 32 MB. */
export const maxStringLength = 32 * 1024 * 1024

/**
 * Throws a typed error with the path unless `value` is plain JSON within the limits. Does not
 * modify it.
 */
export function checkJson(
  value: unknown,
  path: string,
  depth: number = maxDepth,
): asserts value is Json {
  begin(value, path, { depth, copy: false })
}

/** Parses JSON text. Returns undefined if it is invalid or exceeds the limits of `checkJson`. */
export function parseJson(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    checkJson(value, 'text')
    return value
  } catch {
    return undefined
  }
}

/**
 * Converts a class instance of a foreign format, such as a URL, to JSON; undefined if it is not
 * supported. `depth` is 0 for the value itself.
 */
export type Convert = (value: object, depth: number) => unknown

/** Deep copy that shares nothing with the input, validated as in `checkJson`, in one pass. */
export function cloneJson(value: unknown, path: string, convert?: Convert): Json {
  return begin(value, path, { depth: maxDepth, copy: true, convert }) as Json
}

/**
 * Deep copy of plain data without validation. Arrays and plain objects are copied, everything else
 * is shared.
 */
export function copyPlain<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  // The copy has the shape of the input.
  if (Array.isArray(value)) return value.map(copyPlain) as T
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return value
  const copy = { ...value } as Record<string, unknown>
  for (const key in copy) {
    const field = copy[key]
    if (typeof field !== 'object' || field === null || !Object.hasOwn(copy, key)) continue
    setField(copy, key, copyPlain(field))
  }
  return copy as T
}

interface Walk {
  /** Start of the path, and the keys from there. Joined only for an error message. */
  readonly path: string
  readonly keys: (string | number)[]
  readonly ancestors: object[]
  readonly depth: number
  readonly copy: boolean
  readonly convert?: Convert | undefined
}

function begin(
  value: unknown,
  path: string,
  how: Pick<Walk, 'depth' | 'copy' | 'convert'>,
): Json | undefined {
  const by = { ...how, path, keys: [], ancestors: [] }
  try {
    return walk(value, by)
  } catch (cause) {
    throw readingError(pathOf(by), cause)
  }
}

function walk(value: unknown, by: Walk): Json | undefined {
  switch (typeof value) {
    case 'boolean':
      return value
    case 'string':
      if (value.length > maxStringLength) throw tooLarge(pathOf(by), value.length)
      return value
    case 'number':
      if (!Number.isFinite(value)) throw notJson(pathOf(by), String(value))
      return value
    case 'object':
      if (value === null) return null
      return Array.isArray(value) ? walkArray(value, by) : walkObject(value, by)
    default:
      throw notJson(pathOf(by), value === undefined ? 'undefined' : `a ${typeof value}`)
  }
}

/** Getters and proxies can throw. Wraps their errors with the path. */
export function reading<T>(path: string, look: () => T): T {
  try {
    return look()
  } catch (cause) {
    throw readingError(path, cause)
  }
}

function readingError(path: string, cause: unknown): OrielError {
  if (OrielError.is(cause)) return cause
  const message = `The value at ${shorten(path)} is not JSON: reading it throws.`
  return new OrielError('not-json', message, { path: shorten(path), cause })
}

function walkArray(value: readonly unknown[], by: Walk): Json | undefined {
  enter(value, by)
  const result: Json[] = []
  for (let index = 0; index < value.length; index++) {
    by.keys.push(index)
    if (!(index in value)) throw notJson(pathOf(by), 'a hole in an array')
    const child = walk(value[index], by)
    if (by.copy) result.push(child as Json)
    by.keys.pop()
  }
  by.ancestors.pop()
  return by.copy ? result : undefined
}

function walkObject(value: object, by: Walk): Json | undefined {
  const prototype: unknown = Object.getPrototypeOf(value)
  // A prototype without a parent is `Object.prototype` of some realm; anything else is a class
  // instance.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    const converted = by.convert?.(value, by.ancestors.length)
    if (converted !== undefined && converted !== value) return walk(converted, by)
    throw notJson(pathOf(by), 'an instance of a class; pass plain data')
  }
  enter(value, by)
  const result: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    by.keys.push(key)
    const field = (value as Record<string, unknown>)[key]
    if (field !== undefined) {
      const child = walk(field, by)
      if (by.copy) setField(result, key, child as Json)
    }
    by.keys.pop()
  }
  by.ancestors.pop()
  return by.copy ? result : undefined
}

function enter(value: object, by: Walk): void {
  const { ancestors, depth } = by
  if (ancestors.includes(value)) throw notJson(pathOf(by), 'a cycle')
  if (ancestors.length >= depth) {
    const path = shorten(pathOf(by))
    throw new OrielError(
      'too-deep',
      `The value at ${path} is nested deeper than ${depth} levels. Flatten it or send it as text.`,
      { path, details: { limit: depth } },
    )
  }
  ancestors.push(value)
}

function pathOf({ path, keys }: Pick<Walk, 'path' | 'keys'>): string {
  return keys.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}.${step}`),
    path,
  )
}

/** Sets an own property, even one called `__proto__`. */
export function setField(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  } else target[key] = value
}

/** Deep equality, independent of key order. An undefined property equals an absent one. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    return a.every((item, index) => equalJson(item, b[index]))
  }
  return equalFields(a as Fields, b as Fields)
}

type Fields = Readonly<Record<string, unknown>>

/** Compares without allocating key arrays: this runs for every message of a long conversation. */
function equalFields(a: Fields, b: Fields): boolean {
  let fields = 0
  for (const key of Object.keys(a)) {
    if (a[key] === undefined) continue
    if (!Object.hasOwn(b, key) || !equalJson(a[key], b[key])) return false
    fields += 1
  }
  for (const key of Object.keys(b)) if (b[key] !== undefined) fields -= 1
  return fields === 0
}

function definedKeys(value: object): string[] {
  return Object.keys(value).filter((key) => (value as Record<string, unknown>)[key] !== undefined)
}

/** JSON text with sorted keys: equal values give equal text. */
export function canonicalJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`
  const fields = definedKeys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson((value as JsonObject)[key] as Json)}`)
  return `{${fields.join(',')}}`
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

/** True for an object that is neither null nor an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The same of a value that is known to be JSON. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value)
}

function notJson(path: string, got: string): OrielError {
  return new OrielError('not-json', `The value at ${shorten(path)} is not JSON: got ${got}.`, {
    path: shorten(path),
  })
}

function tooLarge(path: string, length: number): OrielError {
  return new OrielError(
    'too-large',
    `The string at ${shorten(path)} has ${length} characters; at most ${maxStringLength} are accepted. Store it elsewhere and pass a reference.`,
    { path: shorten(path), details: { limit: maxStringLength, got: length } },
  )
}

/** Truncates paths, which contain user keys, to fit a log line. */
function shorten(path: string): string {
  return path.length <= 200 ? path : `${path.slice(0, 150)}...${path.slice(-40)}`
}

/** True if no string contains a lone surrogate. */
export function isWellFormed(value: Json | undefined): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every((item: Json) => isWellFormed(item))
  const fields = value as JsonObject
  for (const key in fields) {
    const isWell = key.isWellFormed() && isWellFormed(fields[key])
    if (!isWell && Object.hasOwn(fields, key)) return false
  }
  return true
}
