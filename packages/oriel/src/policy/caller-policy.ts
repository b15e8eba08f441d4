// Policies in requests: checked like every policy, limited in size, and without the fields that only an operator may set.

import { OrielError } from '../core/log/errors.ts'
import { isObject } from '../core/log/json.ts'
import type { CustomRule } from '../rules/custom.ts'
import { type Policy, parsePolicy } from './schema.ts'

/** Limits of a policy in a request: far above what people write, far below what keeps a server busy. */
export const callerPolicyLimits = {
  /** Characters of all keys and texts together. */
  characters: 65_536,
  /** Names and patterns in `expiry.tools`, `expiry.kinds` and `expiry.toolDefaults` together. */
  names: 100,
  /** Characters of one name, pattern or prompt id. */
  nameLength: 200,
} as const

/** Fields that name a place on the server's disk. No request may choose one, or learn it. */
const operatorFields: readonly (readonly [part: keyof Policy, field: string])[] = [
  ['toolOutput', 'directory'],
]

/** The path of each field that only the operator sets: `toolOutput.directory`. */
export const operatorPaths: ReadonlySet<string> = new Set(
  operatorFields.map((steps) => steps.join('.')),
)

/**
 * The policy that a caller asks for. Throws OrielError 'invalid-policy' as `parsePolicy` does, and for a policy that is too large or sets
 * a field that only the operator may set. Costs no more than the size that is allowed.
 */
export function parseCallerPolicy(
  input: unknown,
  path = 'policy',
  own: readonly CustomRule[] = [],
): Policy {
  assertSize(input, path)
  const policy = parsePolicy(input, path, own)
  for (const [part, field] of operatorFields) {
    const value = policy[part]
    if (!isObject(value) || value[field] === undefined) continue
    throw refused(`${path}.${part}.${field}`, 'only the operator of the server may set it')
  }
  return policy
}

/** The policy as callers may see it: without what only the operator sets. */
export function callerView(policy: Policy): Policy {
  const shown: Record<string, unknown> = { ...policy }
  for (const [part, field] of operatorFields) {
    const value = shown[part]
    if (!isObject(value) || !(field in value)) continue
    const { [field]: _hidden, ...rest } = value
    shown[part] = rest
  }
  return shown
}

/** Before anything is parsed: what is too large must cost next to nothing. */
function assertSize(input: unknown, path: string): void {
  const { characters } = callerPolicyLimits
  let size = 0
  const waiting: unknown[] = [input]
  while (waiting.length > 0) {
    const value = waiting.pop()
    size += typeof value === 'string' ? value.length : 1
    if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        size += key.length
        waiting.push(inner)
        if (size > characters) break
      }
    }
    if (size > characters) throw refused(path, `it has more than ${characters} characters`)
  }
  if (isObject(input) && isObject(input.expiry)) assertNames(input.expiry, `${path}.expiry`)
  if (isObject(input) && isObject(input.tools)) assertKept(input.tools.keep, `${path}.tools.keep`)
}

function assertKept(keep: unknown, path: string): void {
  const { names: most, nameLength } = callerPolicyLimits
  if (!Array.isArray(keep)) return
  if (keep.length > most) throw refused(path, `it has more than ${most} names and patterns`)
  if (keep.some((name) => typeof name === 'string' && name.length > nameLength)) {
    throw refused(path, `a name or pattern has more than ${nameLength} characters`)
  }
}

const namedFields = ['tools', 'kinds', 'toolDefaults'] as const

function assertNames(expiry: Readonly<Record<string, unknown>>, path: string): void {
  const { names: most, nameLength } = callerPolicyLimits
  const texts = namedFields.flatMap((field) => {
    const value = expiry[field]
    return isObject(value) ? Object.entries(value) : []
  })
  if (texts.length > most) throw refused(path, `it has more than ${most} names and patterns`)
  const prompts = [expiry.override, ...texts.map(([, setting]) => setting)].flatMap((setting) =>
    isObject(setting) && typeof setting.prompt === 'string' ? [setting.prompt] : [],
  )
  if ([...texts.map(([name]) => name), ...prompts].some((text) => text.length > nameLength)) {
    throw refused(path, `a name, pattern or prompt has more than ${nameLength} characters`)
  }
}

function refused(path: string, problem: string): OrielError {
  return new OrielError('invalid-policy', `Invalid policy at ${path}: ${problem}.`, { path })
}
