// The whole store suite behind PgBouncer in transaction mode, where every transaction may run on another connection. Skipped where
// it is not installed (`apt-get install pgbouncer`).

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../../scripts/postgres.ts'
import { postgresStore } from '../../src/stores/postgres.ts'
import { describeStore } from '../../src/testing/store-suite.ts'
import { key, messages } from '../../src/testing/store-suite-data.ts'

const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find(
  (file) => existsSync(file),
)

describe.skipIf(program === undefined)('behind a pooler in transaction mode', () => {
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
    pooler = spawn(program ?? '', ['-q', join(folder, 'pgbouncer.ini')], {
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

  const open = (): ReturnType<typeof postgresStore> => {
    count += 1
    return postgresStore(url, { schema: `p_${count}`, listenUrl: server.url, timeoutMs: 30_000 })
  }

  describeStore(
    'postgres through PgBouncer',
    async () => {
      const store = open()
      return { store, cleanup: () => store.close() }
    },
    { runs: 5 },
  )

  it('[PG2] many clients share a few connections', async () => {
    const stores = Array.from({ length: 4 }, open)
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
