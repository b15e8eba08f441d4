// The store of a gateway: a SQLite file, or a database by its URL.

import { postgresStore, type Store, sqliteStore } from 'oriel'
import { isServer } from '../doctor/store-options.ts'

export function openStore(path: string): Store {
  return isServer(path) ? postgresStore(path) : sqliteStore(path)
}
