// Every scalar field of the policy: path, default, environment variable, URL parameter, and how a text is parsed. Made from the rules.

import { check, type Schema } from '../core/schema/schema.ts'
import { memory } from '../rules/compaction.ts'
import { rules } from '../rules/index.ts'
import type { Defaults } from '../rules/rule.ts'
import { tools } from '../rules/tools.ts'
import { policySchema } from './schema.ts'

/** The default of each field, by its path. */
const defaults: Defaults = Object.fromEntries([
  ...[...Object.values(rules), memory, tools].flatMap(({ name, defaults: own }) =>
    Object.entries(own).map(([field, value]) => [`${name}.${field}`, value] as const),
  ),
  ['schedule', 'immediate'],
])

export interface PolicyField {
  /** For example `history.length`, `expiry.duplicates.similarity`. */
  readonly path: string
  readonly part: string
  /** The path inside the part. Absent for a part that is itself a value (`schedule`). */
  readonly field?: string
  /** A `share` is a number from 0 to 1. */
  readonly kind: 'integer' | 'share' | 'boolean' | 'choice' | 'text'
  readonly choices?: readonly string[]
  /** The value it has when its part is on and nobody set it. Absent = off until set, or not one fixed value. */
  readonly default?: string | number | boolean
  /** The default as the docs show it. */
  readonly defaultText: string
  /** The environment variable, for example `ORIEL_HISTORY_LENGTH`. */
  readonly variable: string
  /** The URL parameter, for example `historyLength`. */
  readonly parameter: string
  /** Reads a text as the field's value; undefined when it is not one. */
  readonly read: (text: string) => string | number | boolean | undefined
  /** Whether a value of any type is one of this field's. */
  readonly accepts: (value: unknown) => boolean
}

/** All scalar fields, in the order of the schema. */
export const policyFields: readonly PolicyField[] = Object.entries(policySchema.fields).flatMap(
  ([part, schema]) => fieldsOf(part, schema),
)

/** A scalar is a field, an object has those of its own. What users name themselves (tools, kinds) has none. */
function fieldsOf(path: string, schema: Schema): readonly PolicyField[] {
  if (schema.type !== 'object') return fieldOf(path, schema)
  return Object.entries(schema.fields).flatMap(([name, value]) =>
    fieldsOf(`${path}.${name}`, value),
  )
}

function fieldOf(path: string, schema: Schema): readonly PolicyField[] {
  const kind = kindOf(schema)
  if (kind === undefined) return []
  const [part = path, ...names] = path.split('.')
  const fallback = defaults[path] ?? { words: 'off' }
  const accepts = (value: unknown): boolean =>
    value !== undefined && value !== null && check(schema, value).ok
  return [
    {
      path,
      part,
      kind,
      ...(names.length === 0 ? {} : { field: names.join('.') }),
      ...(schema.type === 'choice' ? { choices: schema.choices.map(String) } : {}),
      ...(typeof fallback === 'object' ? {} : { default: fallback }),
      defaultText: typeof fallback === 'object' ? fallback.words : String(fallback),
      variable: `ORIEL_${path
        .replaceAll('.', '_')
        .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
        .toUpperCase()}`,
      parameter: path.replaceAll(/\.(\w)/g, (_, letter: string) => letter.toUpperCase()),
      accepts,
      read: (text) => {
        const value = readText(kind, text.trim())
        return value !== undefined && accepts(value) ? value : undefined
      },
    },
  ]
}

function kindOf(schema: Schema): PolicyField['kind'] | undefined {
  if (schema.type === 'number') return schema.isInteger ? 'integer' : 'share'
  return schema.type === 'boolean' || schema.type === 'choice' || schema.type === 'text'
    ? schema.type
    : undefined
}

/** Strict on purpose: `5abc` and `1e3` are mistakes, not numbers. */
function readText(kind: PolicyField['kind'], text: string): string | number | boolean | undefined {
  if (kind === 'integer') return /^\d{1,15}$/.test(text) ? Number(text) : undefined
  if (kind === 'share') return /^[01](?:\.\d{1,15})?$/.test(text) ? Number(text) : undefined
  if (kind !== 'boolean') return text === '' ? undefined : text
  if (text === 'true' || text === '1') return true
  return text === 'false' || text === '0' ? false : undefined
}
