// The store that a command reads, and its tenants.

import { existsSync } from 'node:fs'
import { postgresStore, type Store, sqliteStore } from 'oriel'
import { isServer, wrong } from '../doctor/store-options.ts'

/** Opens a store that is there, runs a task on it, and closes it. */
export async function withOpenStore<T>(
  path: string,
  task: (store: Store) => Promise<T>,
): Promise<T> {
  if (!isServer(path) && !existsSync(path)) {
    throw wrong(`there is no store at ${path}; name one with --data or --store.`)
  }
  const store = isServer(path) ? postgresStore(path) : sqliteStore(path)
  try {
    return await task(store)
  } finally {
    await store.close()
  }
}

/** The tenants to look into: one, or all that hold conversations. */
export async function* tenantsOf(store: Store, tenant: string | undefined): AsyncGenerator<string> {
  if (tenant !== undefined) {
    yield tenant
    return
  }
  for (let after = ''; ; ) {
    const page = (await store.tenants?.(after === '' ? {} : { after })) ?? []
    // Settings of agents and lists of a gateway stand beside the conversations.
    yield* page.filter((name) => !/^(?:settings|index):/.test(name))
    const last = page.at(-1)
    if (last === undefined) return
    after = last
  }
}
