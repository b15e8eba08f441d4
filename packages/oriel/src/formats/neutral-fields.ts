// Fields of Oriel's own messages and blocks that rules act on: checked when they come in.

import { isObject, type Json } from '../core/json.ts'
import { wrongShape } from './foreign.ts'

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
const oneOf =
  (...choices: readonly string[]) =>
  (value: unknown): boolean =>
    typeof value === 'string' && choices.includes(value)

/** What a block's lifetime may be: one unit, and how many of it. */
export function checkLifetime(value: Json | undefined, path: string): void {
  if (value === undefined) return
  const [pair, ...others] = isObject(value) ? Object.entries(value) : []
  const isUnit = pair !== undefined && ['newer', 'turns', 'steps'].includes(pair[0])
  if (others.length === 0 && isUnit && isCount(pair[1])) return
  const expected = '{ newer: n }, { turns: n } or { steps: n }, n a whole number, 0 or more,'
  throw wrongShape(path, expected, value)
}

/** Who sees a message or a block. */
export function checkAudience(value: Json | undefined, path: string): void {
  if (value === undefined) return
  if (!isObject(value)) throw wrongShape(path, '{ now?, later?, person? }', value)
  for (const key of ['now', 'later', 'person']) {
    const flag = value[key]
    if (flag !== undefined && typeof flag !== 'boolean') {
      throw wrongShape(`${path}.${key}`, 'true or false', flag)
    }
  }
}

const expiryFields: Readonly<
  Record<string, { expected: string; is: (value: unknown) => boolean }>
> = {
  after: { expected: 'a whole number, 0 or more, or null', is: (v) => v === null || isCount(v) },
  unit: { expected: "'steps' or 'turns'", is: oneOf('steps', 'turns') },
  mode: { expected: "'none', 'remove' or 'compact'", is: oneOf('none', 'remove', 'compact') },
  compact: { expected: "'first-chars' or 'summary'", is: oneOf('first-chars', 'summary') },
  length: { expected: 'a whole number above 0', is: (v) => isCount(v) && v !== 0 },
  prompt: { expected: "a prompt's id", is: (v) => typeof v === 'string' && v !== '' },
}

/** When a message expires: its own setting, which goes before its tool's. */
export function checkExpiry(value: Json | undefined, path: string): void {
  if (value === undefined) return
  if (!isObject(value)) throw wrongShape(path, 'an expiry { after, mode, ... }', value)
  for (const key of ['after', 'mode']) {
    if (!(key in value))
      throw wrongShape(`${path}.${key}`, expiryFields[key]?.expected ?? '', undefined)
  }
  for (const [key, field] of Object.entries(value)) {
    const known = Object.hasOwn(expiryFields, key) ? expiryFields[key] : undefined
    if (known === undefined) throw wrongShape(`${path}.${key}`, 'a field of an expiry', field)
    if (!known.is(field)) throw wrongShape(`${path}.${key}`, known.expected, field)
  }
}
