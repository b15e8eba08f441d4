// Options of `oriel inspect`. An invalid one is rejected with its name, value and allowed values.

import { readFileSync } from 'node:fs'
import { type FormatName, formatNames, OrielError, type PolicyInput, presets, project } from 'oriel'
import { defaultTop } from '../defaults.ts'

export interface InspectSettings {
  readonly format?: FormatName
  /** An id, or a number from 1. */
  readonly conversation?: string | number
  readonly policy?: { readonly name: string; readonly policy: PolicyInput }
  readonly budget?: number
  readonly tokens?: 'estimate' | 'o200k'
  readonly top: number
  readonly isJson: boolean
  readonly isStrict: boolean
  readonly showContent: boolean
}

/** Options as parsed: text that looks like a number is a number. */
export type RawOptions = Readonly<Record<string, unknown>>

export function readSettings(raw: RawOptions): InspectSettings {
  const format = single(raw, 'format')
  const tokens = single(raw, 'tokens')
  const conversation = single(raw, 'conversation')
  const policy = single(raw, 'policy')
  const budget = readCount(raw, 'budget')
  return {
    ...(format === undefined ? {} : { format: choice('format', format, formatNames) }),
    ...(tokens === undefined
      ? {}
      : { tokens: choice('tokens', tokens, ['estimate', 'o200k'] as const) }),
    ...(conversation === undefined ? {} : { conversation }),
    ...(policy === undefined ? {} : { policy: readPolicy(String(policy)) }),
    ...(budget === undefined ? {} : { budget }),
    top: readCount(raw, 'top') ?? defaultTop,
    isJson: raw.json === true,
    isStrict: raw.strict === true,
    showContent: raw.content !== false,
  }
}

export function single(raw: RawOptions, name: string): string | number | undefined {
  const value = raw[name]
  if (value === undefined) return undefined
  if (typeof value === 'string' || typeof value === 'number') return value
  throw wrong(`--${name} takes one value; give it once.`)
}

export function choice<T extends string>(name: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value)
  if (found !== undefined) return found
  throw wrong(`--${name} cannot be '${String(value)}'; allowed: ${allowed.join(', ')}.`)
}

/** `32000` or `32k`. */
export function readCount(raw: RawOptions, name: string): number | undefined {
  const value = single(raw, name)
  if (value === undefined) return undefined
  const match = /^(\d+)(k?)$/i.exec(String(value))
  const count = match === null ? 0 : Number(match[1]) * (match[2] === '' ? 1 : 1000)
  if (Number.isSafeInteger(count) && count > 0) return count
  throw wrong(
    `--${name} must be a whole number above 0, such as 20 or 32k; got '${String(value)}'.`,
  )
}

export function readPolicy(name: string): { readonly name: string; readonly policy: PolicyInput } {
  const policy = Object.hasOwn(presets, name)
    ? (name as keyof typeof presets)
    : (readJson(name) as PolicyInput)
  // Validates the policy at once.
  project([{ role: 'user', content: 'Hello.' }], policy)
  return { name, policy }
}

function readJson(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    const names = Object.keys(presets).join(', ')
    throw wrong(
      `--policy: there is no preset and no file called '${file}'; presets: ${names}.`,
      cause,
    )
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw wrong(
      `--policy: ${file} is not JSON; write a policy such as {"history":{"length":20}}.`,
      cause,
    )
  }
}

function wrong(message: string, cause?: unknown): OrielError {
  return new OrielError('invalid-option', message, { cause })
}
