// The whole store suite behind PgBouncer in transaction mode, where every transaction may run on another connection. Where there is
// no PgBouncer and none can be installed, a skipped test says so.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../../scripts/postgres.ts'
import { systemProgram } from '../../../../scripts/system-program.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { describeStore } from '../../src/testing/store-suite.ts'
import { key, messages } from '../../src/testing/store-suite-data.ts'

const program = systemProgram('pgbouncer')

describe('behind a pooler in transaction mode', () => {
  if (program === undefined) {
    it('needs PgBouncer', (test) => test.skip('pgbouncer is not installed'))
    return
  }

  let server: PostgresServer
  let pooler: ChildProcess
  let folder: string
  let url: string
  let count = 0

  beforeAll(async () => {
    server = await startPostgres({ own: true })
    folder = mkdtempSync(join(tmpdir(), 'oriel-pooler-'))
    chmodSync(folder, 0o777)
    const settings = `[databases]
* = host=${server.socket} user=postgres pool_size=3
[pgbouncer]
listen_addr =
unix_socket_dir = ${folder}
listen_port = 6432
auth_type = any
pool_mode = transaction
default_pool_size = 3
logfile = ${folder}/log
`
    writeFileSync(join(folder, 'pgbouncer.ini'), settings)
    const isRoot = process.getuid?.() === 0
    const user = isRoot ? { uid: Number(execFileSync('id', ['-u', 'nobody'])) } : {}
    pooler = spawn(program, ['-q', join(folder, 'pgbouncer.ini')], {
      ...user,
      stdio: 'ignore',
    })
    while (!existsSync(join(folder, '.s.PGSQL.6432'))) await delay(20)
    url = `postgresql://postgres@localhost:6432/postgres?host=${encodeURIComponent(folder)}`
  })

  afterAll(async () => {
    const ended = once(pooler, 'close')
    pooler.kill('SIGINT')
    await ended
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const open = (known?: string): ReturnType<typeof postgresStore> => {
    if (known === undefined) count += 1
    const schema = known ?? `p_${count}`
    return postgresStore(url, { schema, listenUrl: server.url, timeoutMs: 30_000 })
  }

  describeStore(
    'postgres through PgBouncer',
    async () => {
      const opened = [open()]
      const schema = `p_${count}`
      return {
        store: opened[0] as ReturnType<typeof open>,
        reopen: async () => {
          await opened.at(-1)?.close()
          const store = open(schema)
          opened.push(store)
          return store
        },
        cleanup: async () => opened.at(-1)?.close(),
      }
    },
    { runs: 5 },
  )

  it('[PG2] many clients share a few connections', async () => {
    const stores = Array.from({ length: 4 }, () => open())
    await Promise.all(
      stores.flatMap((store) =>
        Array.from({ length: 20 }, (_, thread) =>
          store.append({ ...key, thread: `t${thread}` }, messages(1, 3), 0),
        ),
      ),
    )
    expect((await stores[0]?.list(key.tenant))?.length).toBe(20)
    await Promise.all(stores.map((store) => store.close()))
  })
})
