// The check of an options argument: an object with known names only.

import { nearestName } from '../text/nearest-name.ts'
import { OrielError, wrongOption } from './errors.ts'

/** Every name of an options type. The compiler asks for a new option here too. */
export type OptionNames<T> = { readonly [Name in keyof Required<T>]: true }

/**
 * Rejects an options argument that is not an object, or that has an option which `of` does not take: 'invalid-option' with its name as
 * the path.
 */
export function assertOptions<T extends object>(
  options: T,
  names: OptionNames<T>,
  of: string,
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw wrongOption('options', 'an object')
  }
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(names, name)) continue
    const known = Object.keys(names)
    const near = nearestName(name, known)
    const hint = near === undefined ? '' : ` Did you mean '${near}'?`
    const message = `${of} has no option '${name.slice(0, 40)}'.${hint} It takes: ${known.join(', ')}.`
    throw new OrielError('invalid-option', message, { path: name })
  }
}
