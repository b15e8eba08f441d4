// The long run of faults on PostgreSQL: kills writing processes, stops the server and cuts connections, at random, and checks after
// each. `npx node packages/oriel/test/faults/long-postgres.ts --kills 100 [--seed 1]`. Ends with 1 on the first violation.

import { parseArgs } from 'node:util'
import pg from 'pg'
import { startPostgres } from '../../../../scripts/postgres.ts'
import { countAcknowledged, createAcknowledged, runChild, violations } from './harness.ts'
import { choose, createRandom, integer, seed as newSeed } from './random.ts'

/** After so many faults the tables are given up for fresh ones. */
const faultsPerSchema = 10

const { values } = parseArgs({ options: { kills: { type: 'string' }, seed: { type: 'string' } } })
const faults = Number(values.kills ?? 100)
const seed = Number(values.seed ?? newSeed)
if (!Number.isSafeInteger(faults) || faults < 1)
  throw new Error('--kills must be a number of at least 1')

const random = createRandom(seed)
const server = await startPostgres({ own: true, isDurable: true })
const admin = new pg.Pool({ connectionString: server.url, max: 1 })
admin.on('error', () => {})
console.log(`ORIEL_SEED=${seed}, ${faults} faults`)

type Kind = 'kill' | 'stop' | 'cut' | 'kill-summarizing'
const done = { kill: 0, stop: 0, cut: 0, 'kill-summarizing': 0 }
let entries = 0
let isBad = false
for (let fault = 0; fault < faults && !isBad; ) {
  const path = `${server.url}#long_${fault}`
  const acknowledged = createAcknowledged()
  for (let turn = 0; turn < faultsPerSchema && fault < faults && !isBad; turn++) {
    const kind = choose<Kind>(random, ['kill', 'kill', 'stop', 'cut', 'kill-summarizing'])
    await strike(kind, path, acknowledged)
    fault += 1
    done[kind] += 1
    const found = await violations(path, acknowledged)
    for (const line of found) console.error(`VIOLATION after ${kind}, fault ${fault}: ${line}`)
    isBad = found.length > 0
  }
  entries += countAcknowledged(acknowledged) + acknowledged.said.size
  console.log(
    `${fault} of ${faults} faults ${JSON.stringify(done)}, ${entries} acknowledged so far`,
  )
  await admin.query(`drop schema if exists long_${fault - faultsPerSchema} cascade`)
}
await admin.end()
await server.close()
console.log(isBad ? 'a promise was broken' : 'no violation')
process.exitCode = isBad ? 1 : 0

/** Two processes at work, and something happens to one of them, to the server or to their connections. */
async function strike(
  kind: Kind,
  path: string,
  acknowledged: ReturnType<typeof createAcknowledged>,
): Promise<void> {
  const own = (): number => integer(random, [1, 2 ** 30])
  if (kind === 'kill-summarizing') {
    const killAt = choose(random, ['model', 'modelled'])
    await Promise.all([
      runChild({ path, seed: own(), mode: 'talk', killAt }, acknowledged),
      runChild({ path, seed: own(), mode: 'talk' }, acknowledged),
    ])
    return
  }
  const at = integer(random, [5, 150])
  let lines = 0
  let happening: Promise<unknown> = Promise.resolve()
  const onLine = (): void => {
    lines += 1
    if (lines !== at || kind === 'kill') return
    happening = kind === 'stop' ? restart() : cut()
  }
  const mode = choose(random, ['race', 'append', 'erase'] as const)
  const killAfterLines = kind === 'kill' ? at : 400
  await Promise.all([
    runChild({ path, seed: own(), mode, onLine, killAfterLines }, acknowledged),
    runChild({ path, seed: own(), mode: 'race', onLine }, acknowledged),
  ])
  await happening
}

async function restart(): Promise<void> {
  await server.control?.stop('immediate')
  await server.control?.start()
}

async function cut(): Promise<void> {
  const text = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'oriel'`
  await admin.query(text).catch(() => undefined)
}
