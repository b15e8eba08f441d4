import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeStore } from '../testing/store-suite.ts'
import { sqliteStore } from './sqlite.ts'

describeStore('sqlite', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'oriel-sqlite-'))
  const path = join(directory, 'data', 'store.db')
  let store = sqliteStore(path)
  return {
    store,
    reopen: async () => {
      await store.close()
      store = sqliteStore(path)
      return store
    },
    cleanup: async () => {
      await store.close()
      rmSync(directory, { recursive: true })
    },
  }
})
