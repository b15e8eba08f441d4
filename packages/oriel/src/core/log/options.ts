// The check of an options argument: an object with known names only.

import { nearestName } from '../text/nearest-name.ts'
import { OrielError, wrongOption } from './errors.ts'

/** Every name of an options type. The compiler asks for a new option here too. */
export type OptionNames<T> = { readonly [Name in keyof Required<T>]: true }

/**
 * Rejects an options argument that is not an object, or that has an option which `of` does not take: 'invalid-option' with its name as
 * the path. `at` is where the object stands among the options of `of`, for example `frame`.
 */
export function assertOptions<T extends object>(
  options: T,
  names: OptionNames<T>,
  of: string,
  at = '',
): void {
  assertObject(options, at === '' ? 'options' : at)
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(names, name)) throw unknownOption(name, Object.keys(names), { of, at })
  }
}

/**
 * The same for an object that may have fields of its own, such as an instance of a class: only what is nearly a known name, or a name of
 * another object (`elsewhere`), is rejected.
 */
export function assertNoSlip(
  given: object,
  names: { readonly known: readonly string[]; readonly elsewhere?: readonly string[] },
  { of, at }: { readonly of: string; readonly at: string },
): void {
  const { known, elsewhere = [] } = names
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue
    const isSlip = elsewhere.includes(name) || isNearly(name, known)
    if (isSlip) throw unknownOption(name, known, { of, at })
  }
}

/** Whether a name is a slip of the pen for a known one: one letter in four, at most. */
export function isNearly(name: string, known: readonly string[]): boolean {
  const near = nearestName(name, known)
  if (near === undefined || known.includes(name)) return false
  return nearestName(name, [near], Math.floor(near.length / 4)) !== undefined
}

/** Rejects what is no limit in tokens; absent is no limit. */
export function assertTokens(value: unknown, path: string): void {
  if (value === undefined || (typeof value === 'number' && Number.isFinite(value) && value > 0)) {
    return
  }
  const got = typeof value === 'string' ? `'${value.slice(0, 40)}'` : String(value)
  const message = `${path} must be a number of tokens above 0, got ${got}.`
  throw new OrielError('invalid-option', message, { path })
}

function assertObject(value: unknown, path: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return
  throw wrongOption(path, 'an object')
}

function unknownOption(
  name: string,
  known: readonly string[],
  { of, at }: { readonly of: string; readonly at: string },
): OrielError {
  const near = nearestName(name, known)
  const hint = near === undefined ? '' : ` Did you mean '${near}'?`
  const path = at === '' ? name : `${at}.${name}`
  const said = at === '' ? name.slice(0, 40) : `${at}.${name.slice(0, 40)}`
  const message = `${of} has no option '${said}'.${hint} ${at === '' ? 'It' : at} takes: ${known.join(', ')}.`
  return new OrielError('invalid-option', message, { path })
}
