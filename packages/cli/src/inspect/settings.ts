// Options of `oriel inspect`. An invalid one is rejected with its name, value and allowed values.

import { type FormatName, formatNames, OrielError } from 'oriel'
import { defaultTop } from '../defaults.ts'
import { choice } from '../names.ts'
import { type PolicyOption, readPolicy } from '../policy-option.ts'

export interface InspectSettings {
  readonly format?: FormatName
  /** An id, or a number from 1. */
  readonly conversation?: string | number
  readonly policy?: PolicyOption
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

/** `32000` or `32k`. */
export function readCount(raw: RawOptions, name: string, least = 1): number | undefined {
  const value = single(raw, name)
  if (value === undefined) return undefined
  const match = /^(\d+)(k?)$/i.exec(String(value))
  const count = match === null ? -1 : Number(match[1]) * (match[2] === '' ? 1 : 1000)
  if (Number.isSafeInteger(count) && count >= least) return count
  const kind = least === 0 ? 'a whole number, 0 or more' : 'a whole number above 0'
  throw wrong(`--${name} must be ${kind}, such as 20 or 32k; got '${String(value)}'.`)
}

function wrong(message: string): OrielError {
  return new OrielError('invalid-option', message)
}
