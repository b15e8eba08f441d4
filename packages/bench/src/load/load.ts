// Gateway load test, compared with direct calls and another gateway: `npm run load [-- cases and
// options]`. See packages/bench/README.md.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fileSystemOf, withFolder } from '../disk.ts'
import { endProgress, machine, progress, publish, report, type Table } from '../report.ts'
import { type Contender, type Mock, startMock, startOriel, startPortkey } from './contenders.ts'
import { runLag } from './lag.ts'
import { runOverload } from './overload.ts'
import { runPaired } from './paired.ts'
import { highestOf, type RateStep, runRates } from './rates.ts'
import { runSoak } from './soak.ts'
import { runStreams } from './streams.ts'
import {
  lagTable,
  overloadTable,
  pairedTables,
  ratesTable,
  soakTable,
  streamsTable,
} from './tables.ts'
import { pairedCases } from './workloads.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    raw: { type: 'string' },
    dir: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string' },
    only: { type: 'string' },
    hold: { type: 'string' },
  },
})

const others = ['rates', 'streams', 'lag', 'overload']
const quickCases = ['small', 'new', 'stream', 'large', ...others]
const allCases = [...Object.keys(pairedCases), ...others]
const cases = positionals.length > 0 ? positionals : values.quick ? quickCases : allCases
const unknown = cases.find((name) => !allCases.includes(name) && name !== 'soak')
if (unknown !== undefined)
  throw new Error(`There is no case '${unknown}'; known: ${allCases.join(', ')}, soak.`)

const rounds = Number(values.rounds ?? (values.quick ? 1 : 5))
const sliceSeconds = Number(values.seconds ?? (values.quick ? 1.2 : 4))
const stepSeconds = Number(values.seconds ?? (values.quick ? 1.5 : 8))
/** Enough to visit every long session once. */
const quickWarmRequests = 30
const usualMock = { latencyMs: 50, chunks: 20, intervalMs: 10 }
const workload = (pairedCases.small as (typeof pairedCases)[string]).workload

const busyAtStart = loadavg()[0] ?? 0
const commitAtStart = commit()
await withFolder(values.dir, async (folder) => {
  const mock = await startMock(usualMock)
  const contenders = await startAll(mock, folder)
  const results: Record<string, unknown> = {}
  const tables: Table[] = []
  let steps: readonly RateStep[] = []
  for (const name of cases) {
    const found = pairedCases[name]
    if (found !== undefined) {
      await mock.set(usualMock)
      const result = await runCase(found, mock, contenders, folder)
      results[name] = result
      tables.push(...pairedTables([result]))
    } else if (name === 'rates') {
      steps = await runRisingRates(mock, contenders)
      results[name] = steps
      tables.push(ratesTable(steps, stepSeconds))
    } else if (name === 'streams') {
      const found = await runManyStreams(mock, contenders)
      results[name] = found
      tables.push(streamsTable(found))
      await mock.set(usualMock)
    } else if (name === 'lag') {
      const found = await runLag({
        contenders,
        megabytes: values.quick ? [0, 5] : [0, 5, 20],
        rounds: values.quick ? 1 : 3,
        onContender: progress,
      })
      results[name] = found
      tables.push(lagTable(found))
    } else if (name === 'overload') {
      const found = await runOverload({
        contenders,
        workload,
        capacity: (one) => (steps.length === 0 ? 800 : highestOf(steps, one)),
        seconds: values.quick ? 2 : 15,
        onContender: progress,
      })
      results[name] = found
      tables.push(overloadTable(found))
    } else {
      const soak = await runLong(contenders, folder)
      results[name] = soak
      tables.push(soakTable(soak))
    }
  }
  endProgress()
  const about = {
    ...machine(),
    commit: commitAtStart,
    fileSystem: fileSystemOf(folder),
    busyAtStart,
  }
  // Published below, with what the run was like.
  report('load', tables, { json: values.json, write: false, directory: values.dir })
  process.stderr.write(`${JSON.stringify(about)}\n`)
  if (values.raw !== undefined) writeFileSync(values.raw, JSON.stringify({ about, results }))
  if (values.write) publish('load', tables, `${sentence(about)}\n\n`, 'load')
  for (const one of [...contenders, mock]) await one.stop()
})

async function startAll(mock: Mock, folder: string): Promise<readonly Contender[]> {
  const upstream = mock.port
  const starts = {
    pass: () => startOriel('pass', { upstream, folder }),
    memory: () => startOriel('memory', { upstream, folder }),
    sqlite: () => startOriel('sqlite', { upstream, folder }),
    portkey: () => startPortkey({ upstream }),
  }
  const isSoak = cases.length === 1 && cases[0] === 'soak'
  const only = isSoak ? ['sqlite'] : values.only?.split(',')
  const started: Contender[] = []
  for (const [name, start] of Object.entries(starts)) {
    if (only === undefined || only.includes(name)) started.push(await start())
  }
  return started
}

function runCase(
  found: (typeof pairedCases)[string],
  mock: Mock,
  contenders: readonly Contender[],
  folder: string,
) {
  const { warmRequests, hasPortkey, rate, ...rest } = found
  return runPaired({
    ...rest,
    rate: Number(values.rate ?? rate),
    mock,
    contenders: contenders.filter((one) => hasPortkey || one.name !== 'portkey'),
    rounds,
    sliceSeconds,
    warmRequests: values.quick ? Math.max(quickWarmRequests, warmRequests / 10) : warmRequests,
    folder,
    onRound: progress,
  })
}

function runRisingRates(mock: Mock, contenders: readonly Contender[]) {
  const rates = values.quick ? [400, 800, 1200] : [100, 200, 400, 600, 800, 1000, 1250, 1500, 2000]
  const measured = values.quick ? contenders : [mock, ...contenders]
  return runRates({ contenders: measured, workload, rates, stepSeconds, onStep: progress })
}

function runManyStreams(mock: Mock, contenders: readonly Contender[]) {
  return runStreams({
    mock,
    contenders,
    streams: 1000,
    streamSeconds: values.quick ? 4 : 10,
    holdSeconds: Number(values.hold ?? (values.quick ? 0.5 : 60)),
    onContender: progress,
  })
}

function runLong(contenders: readonly Contender[], folder: string) {
  const contender = contenders.find(({ name }) => name === 'oriel, durable')
  if (contender === undefined) throw new Error('The soak needs the durable gateway: --only sqlite.')
  return runSoak({
    contender,
    data: join(folder, 'sqlite/data'),
    minutes: Number(values.minutes),
    rate: Number(values.rate ?? 200),
    workloads: [workload, { ...workload, isStream: true }],
    onMinute: (text) => process.stderr.write(`${text}\n`),
  })
}

function sentence(about: { commit: string; fileSystem: string; busyAtStart: number }): string {
  const { commit: at, fileSystem, busyAtStart: busy } = about
  return `Commit ${at}, ${fileSystem}; load of the machine before the run: ${busy.toFixed(1)}. The mock upstream takes 50 ms.`
}

function commit(): string {
  const git = (...command: string[]): string =>
    execFileSync('git', command, { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
  const isChanged = git('status', '--porcelain', '--untracked-files=no') !== ''
  return git('rev-parse', '--short', 'HEAD') + (isChanged ? ' with changes' : '')
}
