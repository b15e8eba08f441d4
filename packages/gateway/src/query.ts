// What stands behind the question mark of an address: for the gateway, and for the upstream.

import { ownParameters } from './settings.ts'

/** All of it; mostly nothing, which needs no list of its own. */
export function queryOf(url: URL): URLSearchParams {
  return url.search === '' ? noQuery : url.searchParams
}

const noQuery = new URLSearchParams()

/** What the query says to the upstream. */
export function foreignQuery(url: URL): string {
  if (url.search === '') return ''
  const others = [...url.searchParams].filter(([name]) => !ownParameters.has(name))
  return others.length === 0 ? '' : `?${new URLSearchParams(others)}`
}
