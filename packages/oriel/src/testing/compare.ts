// Exact JSON comparison and deep freezing.

import { isObject } from '../core/log/json.ts'

/**
 * JSON text with sorted keys: equal texts are equal values, including lone surrogates and keys
 * called `__proto__`.
 */
export function exactText(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) => (isObject(field) ? sorted(field) : field), 1)
}

/** Deep freezes the value. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const field of Object.values(value)) frozen(field)
  }
  return value
}

function sorted(value: Readonly<Record<string, unknown>>): object {
  // `fromEntries` defines properties, so `__proto__` stays one.
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
