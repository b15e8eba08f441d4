// Where a store is: a file of SQLite, or an address of PostgreSQL with the schema behind a #.

import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import type { Store } from '../../src/stores/store.ts'

export function isAddress(place: string): boolean {
  return place.startsWith('postgres')
}

export function openRemote(place: string): Store {
  const [url = '', schema = 'oriel'] = place.split('#')
  return postgresStore(url, { schema, timeoutMs: 30_000 })
}

export function openPlace(place: string): Store {
  return isAddress(place) ? openRemote(place) : sqliteStore(place)
}
