// Names to choose from: a misspelt one is answered with the nearest.

import { nearestName } from 'oriel/internal'
import { OrielError } from 'oriel/project'

/** The name that was probably meant. A short one allows one edit, a longer one two; the beginning of a name counts too. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const names = known.filter((one) => one.length > 1)
  const near = name.length < 2 ? undefined : nearestName(name, names, name.length < 4 ? 1 : 2)
  if (near !== undefined || name.length < 3) return near
  return names.find((one) => one.startsWith(name.toLowerCase()))
}

/** `, did you mean inspect` behind a misspelt name, or nothing. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  return near === undefined ? '' : `, did you mean ${near}`
}

/** The value of an option that has a closed set of them. */
export function choice<T extends string>(name: string, value: unknown, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value)
  if (found !== undefined) return found
  const given = String(value).slice(0, 60)
  const problem = `--${name} cannot be '${given}'${didYouMean(given, allowed)}`
  throw new OrielError('invalid-option', `${problem}; allowed: ${allowed.join(', ')}.`)
}
