// The policy: what a user may ask for, checked, with errors that name the path, what was got and what is allowed.

import { z } from 'zod'
import { OrielError } from '../core/log/errors.ts'
import { type MemorySettings, memory } from '../rules/compaction.ts'
import type { HistorySettings } from '../rules/history.ts'
import { rules } from '../rules/index.ts'
import type { Rule } from '../rules/rule.ts'
import { presets } from './presets.ts'

type Rules = typeof rules
/** The settings that a rule is asked with: the documented type, not what its schema infers. */
type SettingsOf<R extends Rule> = Parameters<R['propose']>[1]

/** What the model should see, declared. A part that is absent is off; `{}` means the part's defaults. */
export interface Policy extends RuleParts {
  /** In the summary of `compaction`, the lines and values most likely to be needed again. Needs `compaction`. @default off */
  readonly memory?: MemorySettings | undefined
  /** `immediate`: edits are made when they fall due; `cache-aware`: when they pay. @default 'immediate' */
  readonly schedule?: 'immediate' | 'cache-aware' | undefined
}

/** The part of each rule, under its name. */
export type RuleParts = { readonly [Name in keyof Rules]?: SettingsOf<Rules[Name]> | undefined }

export type HistoryPolicy = HistorySettings

/** The schema of each rule's part. */
type RuleSchemas = { readonly [Name in keyof Rules]: z.ZodOptional<Rules[Name]['schema']> }

const ruleSchemas = Object.fromEntries(
  Object.entries(rules).map(([name, { schema }]) => [name, schema.optional()]),
  // Each name has its own rule's schema.
) as unknown as RuleSchemas

/** The schema of a whole policy; `policyFields` reads its fields one by one. */
export const policySchema = z.strictObject({
  ...ruleSchemas,
  memory: memory.schema.optional(),
  schedule: z.enum(['immediate', 'cache-aware']).optional(),
})

export type PresetName = keyof typeof presets

/** A policy as callers may write it: a preset's name, or parts over a preset. */
export type PolicyInput = PresetName | (Policy & { readonly preset?: PresetName })

/** The policy that an input stands for. Throws OrielError 'invalid-policy' with the path of the first wrong value. */
export function parsePolicy(input: unknown, path = 'policy'): Policy {
  if (input === undefined) return {}
  if (typeof input === 'string') return presetNamed(input, path)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalid(path, `expected an object or the name of a preset, got ${describe(input)}`)
  }
  if (isChecked(input)) return input
  const { preset, ...parts } = input as { preset?: unknown }
  const checked = check(parts, path)
  if (preset === undefined) return checked
  return asChecked({ ...presetNamed(preset, `${path}.preset`), ...checked })
}

/** Whether a value is a policy as `parsePolicy` gives it. */
export function isChecked(value: unknown): value is Policy {
  return typeof value === 'object' && value !== null && checkedPolicies.has(value)
}

/** Policies that were checked. They cannot be changed afterwards, so they need not be checked again. */
const checkedPolicies = new WeakSet<object>()

function asChecked(policy: Policy): Policy {
  for (const part of Object.values(policy)) freeze(part)
  checkedPolicies.add(Object.freeze(policy))
  return policy
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  Object.freeze(value)
  for (const part of Object.values(value)) freeze(part)
}

function presetNamed(name: unknown, path: string): Policy {
  if (typeof name === 'string' && Object.hasOwn(presets, name)) {
    return check(presets[name as PresetName], path)
  }
  throw invalid(
    path,
    `no preset is called ${describe(name)}; allowed: ${Object.keys(presets).join(', ')}`,
  )
}

function check(value: unknown, path: string): Policy {
  const result = policySchema.safeParse(value)
  if (result.success) return asChecked(result.data)
  const { issues } = result.error
  // A misspelt key is why another one is missing.
  const issue = (issues.find(({ code }) => code === 'unrecognized_keys') ??
    issues[0]) as z.core.$ZodIssue
  const [unknown] = issue.code === 'unrecognized_keys' ? issue.keys : []
  const steps = unknown === undefined ? issue.path : [...issue.path, unknown]
  throw invalid(joinPath(path, steps), explain(issue, value))
}

function explain(issue: z.core.$ZodIssue, value: unknown): string {
  const got = describe(valueAt(value, issue.path))
  switch (issue.code) {
    case 'unrecognized_keys':
      return `unknown key ${issue.keys.map(describe).join(', ')}${suggestion(issue)}`
    case 'invalid_value':
      return `got ${got}, allowed: ${issue.values.map((allowed) => String(allowed)).join(', ')}`
    case 'too_small':
      return `got ${got}, must be at least ${issue.minimum}${issue.origin === 'string' ? ' characters long' : ''}`
    case 'too_big':
      return `got ${got}, must be at most ${issue.maximum}`
    case 'invalid_type':
      return `got ${got}, expected ${issue.expected === 'int' ? 'an integer' : issue.expected}`
    default:
      return `got ${got}: ${issue.message}`
  }
}

/** The known keys, and the one that is nearest to the unknown one where one is near. */
function suggestion(issue: z.core.$ZodIssueUnrecognizedKeys): string {
  const known = knownKeys(issue.path)
  const key = issue.keys[0] as string
  const near = known
    .map((candidate) => ({
      candidate,
      distance: distance(key.toLowerCase(), candidate.toLowerCase()),
    }))
    .sort((a, b) => a.distance - b.distance)[0]
  const isNear = near !== undefined && near.distance <= 3
  return `${isNear ? ` (did you mean '${near.candidate}'?)` : ''}; allowed: ${known.join(', ')}`
}

function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  const schema = path.reduce<unknown>(fieldSchema, policySchema)
  const keys = Object.keys(shapeOf(schema) ?? {})
  return path.length === 0 ? [...keys, 'preset'] : keys
}

/** The schema of a field; each field of a record has the same. */
function fieldSchema(schema: unknown, step: PropertyKey): unknown {
  const inner = unwrapped(schema)
  return inner instanceof z.ZodRecord ? inner.valueType : shapeOf(inner)?.[String(step)]
}

function shapeOf(schema: unknown): Record<string, unknown> | undefined {
  const inner = unwrapped(schema)
  return inner instanceof z.ZodObject ? inner.shape : undefined
}

function unwrapped(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? schema.unwrap() : schema
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replace, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (current, key) =>
      typeof current === 'object' && current !== null
        ? (current as Record<PropertyKey, unknown>)[key]
        : undefined,
    value,
  )
}

function joinPath(path: string, steps: readonly PropertyKey[]): string {
  return steps.reduce<string>(
    (joined, step) =>
      typeof step === 'number' ? `${joined}[${step}]` : `${joined}.${String(step)}`,
    path,
  )
}

/** A value as an error message may show it: short, and never a whole message. */
export function describe(value: unknown): string {
  if (typeof value === 'string')
    return `'${value.length > 40 ? `${value.slice(0, 37)}...` : value}'`
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}

function invalid(path: string, problem: string): OrielError {
  return new OrielError('invalid-policy', `Invalid policy at ${path}: ${problem}.`, { path })
}
