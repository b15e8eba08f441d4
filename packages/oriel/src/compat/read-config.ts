// Reads a configuration of another system: every field is checked, an unknown one is refused.

import { OrielError } from '../core/log/errors.ts'
import {
  check,
  explainIssue,
  type Infer,
  nullable,
  type ObjectSchema,
  optional,
  type Schema,
} from '../core/schema/schema.ts'
import { describe, joinPath } from '../policy/schema.ts'

/** The value, checked. Throws OrielError 'invalid-option' with the path of what is wrong. */
export function readConfig<S extends ObjectSchema>(
  schema: S,
  value: unknown,
  path: string,
): Infer<S> {
  const result = check(schema, value)
  if (result.ok) return result.value
  const [issue] = result.issues
  if (issue.code === 'unknown-keys') {
    const at = joinPath(path, [...issue.path, issue.keys[0] as string])
    throw invalid(at, `${at} is not known; ${explainIssue(issue)}.`)
  }
  const at = joinPath(path, issue.path)
  throw invalid(at, `${at} is ${describe(issue.got)}: ${explainIssue(issue)}.`)
}

function invalid(path: string, message: string): OrielError {
  return new OrielError('invalid-option', message, { path })
}

/** A setting of a source that may be left out, where null means the same. */
export function setting<S extends Schema>(
  schema: S,
): S & { readonly isNullable: true } & { readonly isOptional: true } {
  return optional(nullable(schema))
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

/** The fields that have a value. */
export function defined<T extends object>(fields: T): { [K in keyof T]: NonNullable<T[K]> } {
  const entries = Object.entries(fields).filter(
    ([, value]) => value !== undefined && value !== null,
  )
  // Only fields without a value are left out.
  return Object.fromEntries(entries) as { [K in keyof T]: NonNullable<T[K]> }
}
