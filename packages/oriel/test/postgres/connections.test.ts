// Connections that break, and servers that become unreachable: errors of calls, never of the process, and nothing acknowledged is lost.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../../scripts/postgres.ts'
import type { Entry } from '../../src/core/log/entry.ts'
import { OrielError } from '../../src/core/log/errors.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import type { Store, StoreChange } from '../../src/stores/store.ts'
import {
  collect,
  key,
  messageAt,
  messages,
  readAll,
  rejection,
} from '../../src/testing/store-suite-data.ts'
import { Wire } from './wire.ts'

let server: PostgresServer
let wire: Wire
let admin: pg.Pool
const opened: Store[] = []

beforeAll(async () => {
  // A server of its own: it is stopped and started.
  server = await startPostgres({ own: true, isDurable: true })
  wire = await Wire.open(server.socket ?? '')
  admin = new pg.Pool({ connectionString: server.url, max: 2 })
  admin.on('error', () => {})
})

afterEach(async () => {
  wire.mode = 'pass'
  wire.onRequest = undefined
  await Promise.all(opened.splice(0).map((store) => store.close()))
})

afterAll(async () => {
  await admin.end()
  await wire.close()
  await server.close()
})

function open(options: Parameters<typeof postgresStore>[1] = {}, url = wire.url): Store {
  const schema = `c_${randomBytes(6).toString('hex')}`
  const store = postgresStore(url, { schema, timeoutMs: 20_000, ...options })
  opened.push(store)
  return store
}

/** Ends every session but the one that asks. */
async function terminate(): Promise<void> {
  await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name = 'oriel'`,
  )
}

describe('a lost connection', () => {
  it('[PG3] whose answer was lost: the append took place once, and the caller gets its result', async () => {
    const store = open()
    const first = await store.append(key, messages(1, 2), 0)
    wire.swallowNextAnswer()
    const second = await store.append(key, messages(3, 2), 2)
    expect(second.version).toBe(4)
    expect(await store.append(key, messages(1, 2), 0)).toEqual(first)
    expect(await readAll(store, key)).toEqual(messages(1, 4))
    expect(await collect(store.verify())).toEqual([])
  })

  it('[PG3] that does not answer: a typed error in time, and the next call works', async () => {
    const schema = `silent_${randomBytes(4).toString('hex')}`
    await open({ schema }).append(key, messages(1, 1), 0)
    const store = open({ schema, timeoutMs: 1500 })
    await store.info(key)
    wire.mode = 'silent'
    const start = performance.now()
    const error = await rejection(store.append(key, messages(2, 1), 1), 'storage-failed')
    expect(performance.now() - start).toBeLessThan(15_000)
    expect(error.message).toContain('safe')
    await rejection(store.info(key), 'storage-failed')
    wire.mode = 'pass'
    wire.cut()
    expect((await store.append(key, messages(2, 1), 1)).version).toBe(2)
  })

  it('[PG3] to a server that refuses: a typed error, and the next call works', async () => {
    const store = open()
    await store.append(key, messages(1, 1), 0)
    wire.mode = 'refuse'
    wire.cut()
    await rejection(store.append(key, messages(2, 1), 1), 'storage-failed')
    wire.mode = 'pass'
    expect((await store.append(key, messages(2, 1), 1)).version).toBe(2)
  })

  it('[PG3] cut and terminated at random: nothing acknowledged is lost, nothing doubled', async () => {
    const store = open()
    const acknowledged = new Map<number, string>()
    for (let version = 0; version < 25; ) {
      const text = `message ${version} `.repeat(1 + (version % 7) * 100)
      const appending = store.append(key, [messageAt(version + 1, text)], version)
      // Something breaks while it is on its way: before, during or after its commit, as it happens.
      const breaking =
        version % 3 === 1 ? terminate() : new Promise((resolve) => setTimeout(resolve, version % 5))
      if (version % 3 === 2) void breaking.then(() => wire.cut())
      try {
        version = (await appending).version
        acknowledged.set(version, text)
      } catch (error) {
        if (!OrielError.is(error, 'storage-failed')) throw error
      }
      await breaking
    }
    const texts = (await readAll(store, key)).map((entry) => JSON.stringify(entry))
    expect(texts.length).toBe(25)
    for (const [seq, text] of acknowledged) expect(texts[seq - 1]).toContain(JSON.stringify(text))
    expect(await collect(store.verify())).toEqual([])
  })

  it('[PG3] never shows one tenant what another asked for', async () => {
    const store = open({ maxConnections: 4 })
    const tenants = Array.from({ length: 12 }, (_, index) => `tenant-${index}`)
    for (const tenant of tenants) {
      await store.append({ tenant, thread: 't' }, [messageAt(1, `canary of ${tenant}!`)], 0)
    }
    const seen: string[] = []
    const ask = async (tenant: string): Promise<void> => {
      for (let round = 0; round < 8; round++) {
        const found = await readAll(store, { tenant, thread: 't' }).catch((error: unknown) => {
          if (OrielError.is(error, 'storage-failed')) return []
          throw error
        })
        for (const entry of found)
          if (!JSON.stringify(entry).includes(`canary of ${tenant}!`)) seen.push(tenant)
      }
    }
    const asking = Promise.all(tenants.map(ask))
    for (let round = 0; round < 6; round++) {
      await terminate()
      await new Promise((resolve) => setTimeout(resolve, 10))
      wire.cut()
    }
    await asking
    expect(seen).toEqual([])
  })

  it('[PG3] that was long in coming and does not answer: one timeout for both', async () => {
    const pool = new pg.Pool({ connectionString: wire.url, max: 1 })
    pool.on('error', () => {})
    const timeoutMs = 3000
    const store = postgresStore(pool, {
      schema: `slow_${randomBytes(4).toString('hex')}`,
      timeoutMs,
    })
    await store.append(key, messages(1, 1), 0)
    const stuck = await pool.connect()
    const start = performance.now()
    const failing = rejection(store.info(key), 'storage-failed')
    await new Promise((resolve) => setTimeout(resolve, timeoutMs * 0.8))
    wire.mode = 'silent'
    stuck.release()
    await failing
    // It is the promise itself: within `timeoutMs`, and half as much again for a busy machine.
    expect(performance.now() - start).toBeLessThan(timeoutMs * 1.5)
    wire.mode = 'pass'
    wire.cut()
    expect((await store.info(key))?.version).toBe(1)
    await store.close()
    await pool.end()
  })

  it('[PG3] for want of a free one: a typed error in time', async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 1 })
    const store = postgresStore(pool, { schema: 'busy', timeoutMs: 200 })
    await store.append(key, messages(1, 1), 0)
    const stuck = await pool.connect()
    await rejection(store.info(key), 'storage-failed')
    stuck.release()
    expect((await store.info(key))?.version).toBe(1)
    await store.close()
    // A pool of the caller's is not ended.
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await pool.end()
  })
})

describe('a server that goes away', () => {
  it('[PG3] at once, while writers write: what was acknowledged is there after its recovery', async () => {
    const store = open()
    const acknowledged: Entry[] = []
    let isOver = false
    const writing = (async () => {
      for (let seq = 1; !isOver; ) {
        const entry = messageAt(seq, `message ${seq}`)
        try {
          await store.append(key, [entry], seq - 1)
          acknowledged.push(entry)
          seq += 1
        } catch (error) {
          if (!OrielError.is(error, 'storage-failed')) throw error
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
      }
    })()
    for (let round = 0; round < 3; round++) {
      await new Promise((resolve) => setTimeout(resolve, 150))
      await server.control?.stop('immediate')
      await server.control?.start()
    }
    const before = acknowledged.length
    while (acknowledged.length < before + 3) await new Promise((resolve) => setTimeout(resolve, 10))
    isOver = true
    await writing
    expect(await readAll(store, key)).toEqual(acknowledged)
    expect(await collect(store.verify())).toEqual([])
  })

  it('[PG3] in mid-transaction: an erasure is whole or has not begun', async () => {
    const store = open()
    for (const word of ['for update', 'set body = null', 'commit']) {
      // A thread for each: the server may have erased one before it is gone.
      const own = { ...key, thread: `stopped-at-${word}` }
      await store.append(own, [messageAt(1, 'forget me '.repeat(2000)), ...messages(2, 300)], 0)
      let isStopped: Promise<void> | undefined
      wire.onRequest = (text) => {
        if (text.includes(word)) isStopped ??= server.control?.stop('immediate')
      }
      const outcome = await store.erase(own).catch((error: unknown) => error)
      wire.onRequest = undefined
      expect(isStopped).toBeDefined()
      await isStopped
      await server.control?.start()
      if (outcome !== undefined) expect(OrielError.is(outcome, 'storage-failed')).toBe(true)
      const left = (await readAll(store, own)).length
      expect([0, 301]).toContain(left)
      expect(await collect(store.verify())).toEqual([])
      await store.erase(own)
      expect(await readAll(store, own)).toEqual([])
    }
  })
})

/** What a store that watches hears of its threads. */
interface Heard {
  readonly changes: readonly StoreChange[]
  until(isIt: (change: StoreChange) => boolean): Promise<void>
  close(): Promise<void>
}

async function listen(store: Store): Promise<Heard> {
  const changes: StoreChange[] = []
  const watch = await store.watch?.((change) => changes.push(change))
  const until = async (isIt: (change: StoreChange) => boolean): Promise<void> => {
    const giveUpAt = performance.now() + 60_000
    while (!changes.some(isIt)) {
      if (performance.now() > giveUpAt) throw new Error(`not heard: ${JSON.stringify(changes)}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  return { changes, until, close: async () => watch?.close() }
}

const isVersion = (version: number) => (change: StoreChange) =>
  change.type === 'changed' && change.version === version

describe('a server that is listened to', () => {
  it('[PG5] is listened to again when it is back, and who listens is told to look again', async () => {
    const schema = `w_${randomBytes(4).toString('hex')}`
    const [writer, watcher] = [open({ schema }, server.url), open({ schema }, server.url)]
    const heard = await listen(watcher)
    await writer.append(key, messages(1, 1), 0)
    await heard.until(isVersion(1))
    await server.control?.stop('immediate')
    await server.control?.start()
    await heard.until(({ type }) => type === 'missed')
    await writer.append(key, messages(2, 1), 1)
    await heard.until(isVersion(2))
    await heard.close()
  })

  it('[PG5] although it took a connection and never answered: the attempt is given up, and each change is heard once', async () => {
    const schema = `w_${randomBytes(4).toString('hex')}`
    const writer = open({ schema }, server.url)
    const heard = await listen(open({ schema, timeoutMs: 600_000 }))
    wire.mode = 'silent'
    wire.cut()
    await wire.whenAsked()
    wire.mode = 'pass'
    await heard.until(({ type }) => type === 'missed')
    await writer.append(key, messages(1, 1), 0)
    await heard.until(isVersion(1))
    await writer.append(key, messages(2, 1), 1)
    await heard.until(isVersion(2))
    expect(heard.changes.filter(isVersion(1))).toHaveLength(1)
    await heard.close()
    // The server would end the connection that it owes an answer only after a minute.
    wire.cut()
  })
})
