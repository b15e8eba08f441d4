// Tokens by which a database's text index finds the passages of one tenant or one thread.

import { hash } from 'node:crypto'
import type { SearchScope } from '../backend.ts'

/** Words of a text never begin with a colon, so that none looks like one of these. */
function tokenOf(kind: string, ...names: readonly string[]): string {
  return `:${kind}${hash('sha256', names.join('\0')).slice(0, 20)}`
}

/** The token that every passage in a scope has. */
export function scopeToken({ tenant, thread }: SearchScope): string {
  return thread === undefined ? tokenOf('n', tenant) : tokenOf('t', tenant, thread)
}

/** Both tokens of a thread's passages, with a space between them. */
export function scopeTokens({ tenant, thread }: Required<SearchScope>): string {
  return `${scopeToken({ tenant })} ${scopeToken({ tenant, thread })}`
}
