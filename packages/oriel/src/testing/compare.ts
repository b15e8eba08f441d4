// Comparing JSON exactly, and making sure that nobody changes it.

import { isObject } from '../core/log/json.ts'

/** JSON text with sorted keys: equal texts are equal values, also with half surrogate pairs and keys called `__proto__`. */
export function exactText(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) => (isObject(field) ? sorted(field) : field), 1)
}

/** The same value, with nothing in it that could be changed. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const field of Object.values(value)) frozen(field)
  }
  return value
}

function sorted(value: Readonly<Record<string, unknown>>): object {
  // `fromEntries` defines fields, so that `__proto__` stays one.
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
