// Reads a configuration of another system: every field is checked, an unknown one is refused.

import { z } from 'zod'
import { OrielError } from '../core/log/errors.ts'
import { describe } from '../policy/schema.ts'

/** The value, checked. Throws OrielError 'invalid-option' with the path of what is wrong. */
export function readConfig<S extends z.ZodObject>(
  schema: S,
  value: unknown,
  path: string,
): z.infer<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const [unknown] = issue?.code === 'unrecognized_keys' ? issue.keys : []
  const steps = [...(issue?.path ?? []), ...(unknown === undefined ? [] : [unknown])]
  const at = steps.reduce<string>(
    (joined, step) =>
      typeof step === 'number' ? `${joined}[${step}]` : `${joined}.${String(step)}`,
    path,
  )
  if (unknown !== undefined) {
    const known = Object.keys(innerShape(schema, issue?.path ?? [])).join(', ')
    throw invalid(at, `${at} is not known; allowed: ${known}.`)
  }
  const got = (issue?.path ?? []).reduce<unknown>(
    (inner, step) => (inner as Record<PropertyKey, unknown> | undefined)?.[step],
    value,
  )
  throw invalid(at, `${at} is ${describe(got)}: ${issue?.message ?? 'invalid'}.`)
}

function invalid(path: string, message: string): OrielError {
  return new OrielError('invalid-option', message, { path })
}

/** The fields of the object at the path. */
function innerShape(schema: z.ZodType, path: readonly PropertyKey[]): z.core.$ZodLooseShape {
  let inner: unknown = schema
  for (const step of path) {
    if (inner instanceof z.ZodOptional) inner = inner.unwrap()
    if (inner instanceof z.ZodObject) inner = inner.shape[String(step)]
  }
  if (inner instanceof z.ZodOptional) inner = inner.unwrap()
  return inner instanceof z.ZodObject ? inner.shape : {}
}

/** A setting of a source that may be left out, where null means the same. */
export function optional<S extends z.ZodType>(schema: S): z.ZodOptional<z.ZodNullable<S>> {
  return schema.nullable().optional()
}

/** A list that another system gave. Throws OrielError with the code where it is none. */
export function readList<T>(
  list: readonly T[],
  path: string,
  code: 'invalid-option' | 'invalid-input',
): readonly T[] {
  if (Array.isArray(list)) return list
  throw new OrielError(code, `${path} must be a list, got ${describe(list)}.`, { path })
}

export const count = z.number().int().min(0)

/** The fields that have a value. */
export function defined<T extends object>(fields: T): { [K in keyof T]: NonNullable<T[K]> } {
  const entries = Object.entries(fields).filter(
    ([, value]) => value !== undefined && value !== null,
  )
  // Only fields without a value are left out.
  return Object.fromEntries(entries) as { [K in keyof T]: NonNullable<T[K]> }
}
