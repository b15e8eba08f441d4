// Tokens by which a database's text index finds the passages of one tenant or one thread.

import { hash } from 'node:crypto'
import { type Scope, scopeParts } from '../../core/log/scope.ts'
import type { SearchScope } from '../backend.ts'
import type { ThreadKey } from '../store.ts'

/** Words of a text never begin with a colon, so that none looks like one of these. */
function tokenOf(kind: string, ...names: readonly string[]): string {
  return `:${kind}${hash('sha256', names.join('\0')).slice(0, 20)}`
}

/** The token that every passage in a scope has. */
export function scopeToken({ tenant, thread }: SearchScope): string {
  return thread === undefined ? tokenOf('n', tenant) : tokenOf('t', tenant, thread)
}

/** The tokens of the groups of threads that a thread belongs to, by its scope. */
export function groupTokens(tenant: string, scope: Scope | undefined): readonly string[] {
  if (scope === undefined) return []
  return scopeParts(scope).map(([kind, name]) => tokenOf('s', tenant, kind, name))
}

/** Both tokens of a thread's passages, with a space between them. */
export function scopeTokens({ tenant, thread }: ThreadKey): string {
  return `${scopeToken({ tenant })} ${scopeToken({ tenant, thread })}`
}
