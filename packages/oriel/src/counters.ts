// The token counters that a caller can name, and the check of one that a caller brings.

import { OrielError } from './core/log/errors.ts'
import type { Counter } from './core/tokens/counter.ts'
import { estimate } from './core/tokens/estimate.ts'
import { type Encoding, exactCounter } from './core/tokens/exact.ts'

/**
 * How tokens are counted: by the estimate, exactly as OpenAI's o200k does, or by a counter of your
 * own. The name 'o200k' needs Node and the package gpt-tokenizer; bundled programs and browsers
 * pass the counter of `oriel/o200k` instead, which counts the same.
 */
export type TokensOption = 'estimate' | 'o200k' | Counter

/**
 * The counter that an option names; `estimate` when there is none. The same option always gives the
 * same object. Throws `invalid-option` for anything else.
 */
export function resolveCounter(option: TokensOption | undefined): Counter {
  if (option === undefined || option === 'estimate') return estimate
  if (option === 'o200k') return o200k
  if (isCounter(option)) return option
  throw new OrielError(
    'invalid-option',
    `tokens must be 'estimate', 'o200k' or { name, count }; got ${describe(option)}`,
    { path: 'tokens' },
  )
}

function isCounter(option: unknown): option is Counter {
  if (typeof option !== 'object' || option === null) return false
  const { name, count } = option as Partial<Counter>
  return typeof name === 'string' && name !== '' && typeof count === 'function'
}

function describe(option: unknown): string {
  if (typeof option === 'string') return `the unknown name ${JSON.stringify(option.slice(0, 40))}`
  if (option === null) return 'null'
  return typeof option === 'object' ? 'an object that is no counter' : `a ${typeof option}`
}

const o200k = exactCounter(loadEncoding)

/** What we use of Node, without an import that a browser could not resolve. */
interface NodeProcess {
  getBuiltinModule?(name: 'node:module'): {
    createRequire(from: string): (name: string) => unknown
  }
}

/** From where packages are looked up. Bundled as CommonJS, a file has no address: then from the working directory. */
function ownAddress(): string {
  const { url = `${process.cwd()}/` } = import.meta as { readonly url?: string }
  return url
}

/** Synchronous, because `project` is; and the package's CommonJS build loads on every Node that we support. */
function loadEncoding(): Encoding {
  const { process } = globalThis as { process?: NodeProcess }
  try {
    const require = process?.getBuiltinModule?.('node:module').createRequire(ownAddress())
    if (require === undefined) throw new Error('This platform has no require.')
    return require('gpt-tokenizer/encoding/o200k_base') as Encoding
  } catch (cause) {
    throw new OrielError(
      'not-installed',
      "tokens: 'o200k' needs the package gpt-tokenizer. Run `npm install gpt-tokenizer`. In a bundle or a browser, pass the counter instead: import { o200k } from 'oriel/o200k'.",
      { path: 'tokens', cause },
    )
  }
}
