// Several processes on one PostgreSQL, killed and cut off; the long run is `long-postgres.ts`.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../../../../scripts/postgres.ts'
import { countAcknowledged, createAcknowledged, runChild, violations } from './harness.ts'
import { seed } from './random.ts'

const server = await startPostgres({ own: true, isDurable: true })
const admin = new pg.Pool({ connectionString: server.url, max: 1 })
admin.on('error', () => {})

afterAll(async () => {
  await admin.end()
  await server.close()
})

const newPlace = (): string => `${server.url}#k_${randomBytes(6).toString('hex')}`

describe(`several processes on PostgreSQL (ORIEL_SEED=${seed})`, () => {
  it('[PG1] that race for one thread lose nothing and double nothing, also when one is killed', async () => {
    const path = newPlace()
    const logs = [1, 2, 3].map(() => createAcknowledged())
    const ends = await Promise.all(
      logs.map((acknowledged, index) => {
        const options = { path, seed: seed + index, mode: 'race' } as const
        return runChild(index === 0 ? { ...options, killAfterLines: 30 } : options, acknowledged)
      }),
    )
    expect(ends.map(({ signal }) => signal)).toEqual(['SIGKILL', null, null])
    for (const { errors } of ends) expect(errors).toBe('')
    const all = createAcknowledged()
    const merged = new Map<number, string>()
    for (const log of logs)
      for (const [seq, digest] of log.threads.get('race') ?? []) merged.set(seq, digest)
    all.threads.set('race', merged)
    // No position was acknowledged to two processes.
    expect(merged.size).toBe(logs.reduce((sum, log) => sum + countAcknowledged(log), 0))
    expect(await violations(path, all)).toEqual([])
  })

  it('[PG1] that make the same appends are answered the same', async () => {
    const path = newPlace()
    const options = { path, seed, mode: 'same' } as const
    const ends = await Promise.all([1, 2].map(() => runChild(options, createAcknowledged())))
    const [first, second] = ends.map(({ lines }) => lines.filter((line) => line.startsWith('head')))
    expect(first?.length).toBe(20)
    expect(second).toEqual(first)
  })

  it('[PG1] [PG6] of which one is killed while it summarizes: the other goes on, nothing is lost', async () => {
    let isKilled = false
    // Which of the two summarizes first is up to the machine.
    for (let attempt = 0; attempt < 5 && !isKilled; attempt++) {
      const path = newPlace()
      const acknowledged = createAcknowledged()
      const [victim, other] = await Promise.all([
        runChild({ path, seed, mode: 'talk', killAt: 'model' }, acknowledged),
        runChild({ path, seed: seed + 1, mode: 'talk' }, acknowledged),
      ])
      isKilled = victim.signal === 'SIGKILL'
      expect(other).toMatchObject({ status: 0, errors: '' })
      expect(acknowledged.said.size).toBeGreaterThan(60)
      expect(await violations(path, acknowledged)).toEqual([])
    }
    expect(isKilled).toBe(true)
  })

  it('[PG3] whose server is stopped and whose connections are cut while they write', async () => {
    const path = newPlace()
    const acknowledged = createAcknowledged()
    let lines = 0
    let isStopping = Promise.resolve()
    const onLine = (): void => {
      lines += 1
      if (lines === 60) {
        isStopping = (async () => {
          await server.control?.stop('immediate')
          await server.control?.start()
        })()
      }
      if (lines === 120) {
        const text = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'oriel'`
        isStopping = isStopping
          .then(() => admin.query(text))
          .then(
            () => undefined,
            () => undefined,
          )
      }
    }
    const ends = await Promise.all([
      runChild({ path, seed, mode: 'race', onLine }, acknowledged),
      runChild({ path, seed: seed + 1, mode: 'erase', onLine }, acknowledged),
    ])
    await isStopping
    for (const end of ends) expect(end).toMatchObject({ status: 0, errors: '' })
    expect(await violations(path, acknowledged)).toEqual([])
  })
})
