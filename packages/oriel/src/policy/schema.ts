// The policy: its type and schema, made from the rules, and the check of what users write. Errors name the path, the value and what is allowed.

import { OrielError } from '../core/log/errors.ts'
import { cloneJson, isObject } from '../core/log/json.ts'
import {
  check as checkSchema,
  choice,
  explainIssue,
  type Issue,
  object,
  optional,
} from '../core/schema/schema.ts'
import { nearestName } from '../core/text/nearest-name.ts'
import { type MemorySettings, memory } from '../rules/compaction.ts'
import type { CustomRule } from '../rules/custom.ts'
import type { HistorySettings } from '../rules/history.ts'
import { rules } from '../rules/index.ts'
import type { Rule } from '../rules/rule.ts'
import { type ToolsSettings, tools } from '../rules/tools.ts'
import { presets } from './presets.ts'

type Rules = typeof rules
/** The settings that a rule is asked with: the documented type, not what its schema infers. */
type SettingsOf<R extends Rule> = Parameters<R['propose']>[1]

/** What the model should see, declared. A part that is absent is off; `{}` means the part's defaults. */
export interface Policy extends RuleParts {
  /** In the summary of `compaction`, the lines and values most likely to be needed again. Needs `compaction`. @default off */
  readonly memory?: MemorySettings | undefined
  /** Which tool definitions a request carries; the others are found by a search. A mode alone may stand for the part. @default all of them */
  readonly tools?: ToolsSettings | undefined
  /** `immediate`: edits are made when they fall due; `cache-aware`: when they pay. @default 'immediate' */
  readonly schedule?: 'immediate' | 'cache-aware' | undefined
}

/** The part of each rule, under its name. */
export type RuleParts = { readonly [Name in keyof Rules]?: SettingsOf<Rules[Name]> | undefined }

export type HistoryPolicy = HistorySettings

/** The schema of each rule's part. */
type RuleSchemas = {
  readonly [Name in keyof Rules]: Rules[Name]['schema'] & { readonly isOptional: true }
}

const ruleSchemas = Object.fromEntries(
  Object.entries(rules).map(([name, { schema }]) => [name, optional(schema)]),
  // Each name has its own rule's schema.
) as unknown as RuleSchemas

/** The schema of a whole policy; `policyFields` reads its fields one by one. */
export const policySchema = object({
  ...ruleSchemas,
  memory: optional(memory.schema),
  tools: optional(tools.schema),
  schedule: optional(choice('immediate', 'cache-aware')),
})

export type PresetName = keyof typeof presets

/** A policy as callers may write it: a preset's name, or parts over a preset. `Own` are rules of the caller's own. */
export type PolicyInput<Own extends readonly CustomRule[] = readonly []> =
  | PresetName
  // `object`, since any string would be an object without parts.
  | (object &
      Omit<Policy, 'tools'> &
      CustomParts<Own> & {
        readonly tools?: ToolsSettings | ToolsSettings['mode']
        readonly preset?: PresetName
      })

/** The parts of rules of one's own, under their names; of a list whose names only the run knows, none. */
export type CustomParts<Own extends readonly CustomRule[]> = {
  readonly [R in Own[number] as string extends R['name'] ? never : R['name']]?:
    | NonNullable<R['~written']>
    | undefined
}

/**
 * The policy that an input stands for. `own` are the rules of the caller's own that it may name. Throws OrielError 'invalid-policy' with
 * the path of the first wrong value.
 */
export function parsePolicy(
  input: unknown,
  path = 'policy',
  own: readonly CustomRule[] = [],
): Policy {
  if (input === undefined) return {}
  if (typeof input === 'string') return presetNamed(input, path)
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalid(path, `expected an object or the name of a preset, got ${describe(input)}`)
  }
  if (isChecked(input, own)) return input
  const { preset, ...given } = input as { preset?: unknown; tools?: unknown }
  const parts = typeof given.tools === 'string' ? { ...given, tools: { mode: given.tools } } : given
  const checked = check(parts, path, own)
  if (preset === undefined) return checked
  const base = presetNamed(preset, `${path}.preset`)
  const named = own.filter(({ name }) => name in checked)
  return asChecked({ ...base, ...mergedParts(base, checked) }, named)
}

/** The parts of a policy with the fields of the preset that each leaves open. */
function mergedParts(preset: Policy, parts: Policy): Policy {
  const known = preset as Readonly<Record<string, unknown>>
  const merged = Object.entries(parts).map(([name, part]: [string, unknown]) => {
    const base = known[name]
    return [name, isObject(base) && isObject(part) ? { ...base, ...part } : part] as const
  })
  return Object.fromEntries(merged)
}

/** Whether a value is a policy as `parsePolicy` gives it with these rules. */
export function isChecked(value: unknown, own: readonly CustomRule[] = []): value is Policy {
  if (typeof value !== 'object' || value === null) return false
  return checkedPolicies.get(value)?.every((rule) => own.includes(rule)) === true
}

/** Policies that were checked, with the users' rules that they name. They cannot be changed, so they need not be checked again. */
const checkedPolicies = new WeakMap<object, readonly CustomRule[]>()

function asChecked(policy: Policy, named: readonly CustomRule[] = []): Policy {
  for (const part of Object.values(policy)) freeze(part)
  checkedPolicies.set(Object.freeze(policy), named)
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
  const hint = nearest([String(name)], Object.keys(presets))
  throw invalid(path, `no preset is called ${describe(name)}${hint}`)
}

function check(value: object, path: string, own: readonly CustomRule[] = []): Policy {
  const named = own.filter(({ name }) => partOf(value, name) !== undefined)
  const custom = named.map((rule) => [rule.name, customPart(rule, value, path)] as const)
  const result = checkSchema(policySchema, without(value, own))
  if (result.ok) return asChecked({ ...result.value, ...Object.fromEntries(custom) }, named)
  const { issues } = result
  // A misspelt key is why another one is missing.
  const issue = issues.find(({ code }) => code === 'unknown-keys') ?? issues[0]
  const [unknown] = issue.code === 'unknown-keys' ? issue.keys : []
  const steps = unknown === undefined ? issue.path : [...issue.path, unknown]
  throw invalid(joinPath(path, steps), explain(issue, own))
}

function without(value: object, own: readonly CustomRule[]): object {
  const names = new Set(own.map(({ name }) => name))
  return Object.fromEntries(Object.entries(value).filter(([key]) => !names.has(key)))
}

function partOf(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}

/** What a policy says for a user's rule, as it was written: the log keeps it. */
function customPart({ name, schema, defaults }: CustomRule, value: object, path: string): object {
  const own = `${path}.${name}`
  const part = partOf(value, name)
  if (!isObject(part)) throw invalid(own, `got ${describe(part)}, expected object`)
  const copy = cloneJson(part, own) as object
  if (schema === undefined) {
    checkFields(copy, defaults, own)
    return copy
  }
  const result = schema['~standard'].validate(copy)
  if (result instanceof Promise) {
    throw new OrielError('invalid-option', `The schema of the rule '${name}' must not be async.`)
  }
  const issue = result.issues?.[0]
  if (issue === undefined) return copy
  const steps = (issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step))
  throw invalid(joinPath(own, steps), issue.message.replace(/\.$/, ''))
}

/** Without a schema the fields are those that have a default, of the same types. */
function checkFields(part: object, defaults: object, path: string): void {
  const kindOf = (value: unknown): string =>
    value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  for (const [field, value] of Object.entries(part)) {
    const known = partOf(defaults, field)
    if (known === undefined) {
      const near = nearest([field], Object.keys(defaults))
      throw invalid(`${path}.${field}`, `unknown key ${describe(field)}${near}`)
    }
    if (kindOf(value) === kindOf(known)) continue
    throw invalid(`${path}.${field}`, `got ${describe(value)}, expected ${kindOf(known)}`)
  }
}

function explain(issue: Issue, own: readonly CustomRule[]): string {
  if (issue.code !== 'unknown-keys') return `got ${describe(issue.got)}, ${explainIssue(issue)}`
  const isRoot = issue.path.length === 0
  const known = isRoot ? [...issue.known, ...own.map(({ name }) => name), 'preset'] : issue.known
  return `unknown key ${issue.keys.map(describe).join(', ')}${nearest(issue.keys, known)}`
}

/** The known keys, and the one that is nearest to the unknown one where one is near. */
function nearest([key = '']: readonly string[], known: readonly string[]): string {
  const near = nearestName(key, known)
  return `${near === undefined ? '' : ` (did you mean '${near}'?)`}; allowed: ${known.join(', ')}`
}

/** A path with further steps, as errors show it. */
export function joinPath(path: string, steps: readonly PropertyKey[]): string {
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
