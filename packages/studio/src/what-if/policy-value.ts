// Reading and setting single fields of a policy. What is not named stays as it is.

import type { Json, JsonObject } from '../contract.ts'

export type Value = string | number | boolean

export function valueAt(policy: JsonObject, path: string): Value | undefined {
  let value: Json | undefined = policy
  for (const name of path.split('.')) {
    value = isObject(value) ? value[name] : undefined
  }
  return typeof value === 'object' ? undefined : value
}

/** The policy with a field set, or without it. Parts on the way are made. */
export function withValue(policy: JsonObject, path: string, value: Value | undefined): JsonObject {
  const [name = '', ...rest] = path.split('.')
  if (rest.length === 0) return withPart(policy, name, value)
  const inner = policy[name]
  const next = withValue(isObject(inner) ? inner : {}, rest.join('.'), value)
  // Inside a part an empty object says nothing; the part itself does.
  return { ...policy, [name]: next }
}

/** The policy with a part, or without it. */
export function withPart(policy: JsonObject, part: string, value: Json | undefined): JsonObject {
  const { [part]: _before, ...rest } = policy
  return value === undefined ? rest : { ...policy, [part]: value }
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
