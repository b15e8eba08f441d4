// The gateway under load, beside direct calls and another gateway: `npm run load`. See packages/bench/README.md.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { fileSystemOf, withFolder } from '../disk.ts'
import { endProgress, machine, progress, report, type Table } from '../report.ts'
import { type Contender, type Mock, startMock, startOriel, startPortkey } from './contenders.ts'
import { runPaired } from './paired.ts'
import { pairedTables } from './tables.ts'
import { pairedCases } from './workloads.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    raw: { type: 'string' },
    json: { type: 'boolean', default: false },
    dir: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
})

const names = positionals.length > 0 ? positionals : Object.keys(pairedCases)
const rounds = Number(values.rounds ?? (values.quick ? 2 : 5))
const sliceSeconds = Number(values.seconds ?? (values.quick ? 1.5 : 4))
const mockSettings = { latencyMs: 50, chunks: 20, intervalMs: 10 }

await withFolder(values.dir, async (folder) => {
  const mock = await startMock(mockSettings)
  const contenders = await startAll(mock, folder)
  const results = []
  const tables: Table[] = []
  for (const name of names) {
    const found = pairedCases[name]
    if (found === undefined)
      throw new Error(`There is no case '${name}'; known: ${Object.keys(pairedCases).join(', ')}.`)
    const { workload, rate, warmRequests, hasBursts = false, hasPortkey } = found
    const result = await runPaired({
      mock,
      contenders: contenders.filter((one) => hasPortkey || one.name !== 'portkey'),
      workload,
      rate,
      hasBursts,
      rounds,
      sliceSeconds,
      warmRequests: values.quick ? Math.ceil(warmRequests / 5) : warmRequests,
      folder,
      onRound: progress,
    })
    results.push(result)
    tables.push(...pairedTables([result]))
  }
  endProgress()
  report('load', tables, { json: values.json, write: false, directory: values.dir })
  const about = {
    ...machine(),
    commit: commit(),
    fileSystem: fileSystemOf(folder),
    load: loadavg(),
  }
  if (values.raw !== undefined) writeFileSync(values.raw, JSON.stringify({ about, results }))
  process.stdout.write(`${JSON.stringify(about)}\n`)
  for (const one of [...contenders, mock]) await one.stop()
})

async function startAll(mock: Mock, folder: string): Promise<readonly Contender[]> {
  const upstream = mock.port
  return [
    await startOriel('pass', { upstream, folder }),
    await startOriel('memory', { upstream, folder }),
    await startOriel('sqlite', { upstream, folder }),
    await startPortkey({ upstream }),
  ]
}

function commit(): string {
  const git = (...command: string[]): string =>
    execFileSync('git', command, { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
  return (
    git('rev-parse', '--short', 'HEAD') +
    (git('status', '--porcelain') === '' ? '' : ' and changes')
  )
}
