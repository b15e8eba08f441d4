// LangGraph's own conformance suite, on every store.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as vitest from 'vitest'
import { type PostgresServer, startPostgres } from '../../../../../scripts/postgres.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { postgresStore } from '../../stores/postgres/index.ts'
import { sqliteStore } from '../../stores/sqlite/index.ts'
import type { Store } from '../../stores/store.ts'
import { OrielSaver } from './index.ts'

// The suite uses the functions of its test runner as globals.
const { describe, it, test, expect, beforeAll, afterAll, beforeEach, afterEach } = vitest
Object.assign(globalThis, {
  describe,
  it,
  test,
  expect,
  beforeAll,
  afterAll,
  beforeEach,
  afterEach,
})
const { deltaChannelHistoryTests, specTest } = await import(
  '@langchain/langgraph-checkpoint-validation'
)

function suite(name: string, open: () => Store): void {
  const stores = new Map<OrielSaver, Store>()
  const initializer = {
    checkpointerName: name,
    createCheckpointer(): OrielSaver {
      const store = open()
      const saver = new OrielSaver({ store })
      stores.set(saver, store)
      return saver
    },
    async destroyCheckpointer(saver: OrielSaver): Promise<void> {
      await stores.get(saver)?.close()
    },
  }
  describe(`[LG1] the checkpointer on the store ${name}`, () => {
    specTest(initializer)
    deltaChannelHistoryTests(initializer)
  })
}

suite('memory', () => memoryStore())

const directory = mkdtempSync(join(tmpdir(), 'oriel-langgraph-'))
let count = 0
suite('sqlite', () => sqliteStore({ path: join(directory, `${count++}.db`) }))
afterAll(() => rmSync(directory, { recursive: true }))

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())
suite('postgres', () => {
  const schema = `t_${randomBytes(6).toString('hex')}`
  return postgresStore(server.url, { schema, timeoutMs: 30_000 })
})
