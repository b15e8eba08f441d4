// Soak test of the durable gateway at a steady rate: memory growth, open files, size of the
// write-ahead log.

import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Contender } from './contenders.ts'
import { HttpClient } from './http-client.ts'
import { failuresOf, type Percentiles, percentiles } from './paired.ts'
import { openFiles } from './process-use.ts'
import { Sessions, type Workload } from './sessions.ts'
import { runSlice, type Slice } from './slice.ts'

export interface SoakOptions {
  readonly contender: Contender
  /** The folder of its store. */
  readonly data: string
  readonly minutes: number
  readonly rate: number
  /** Bodies take turns: whole answers and streams. */
  readonly workloads: readonly Workload[]
  onMinute(text: string): void
}

export interface SoakMinute {
  readonly minute: number
  readonly requests: number
  readonly failures: Readonly<Record<string, number>>
  readonly latency: Percentiles
  readonly cpuMs: number
  readonly rssMb: number
  readonly files: number
  readonly walMb: number
  readonly databaseMb: number
}

export interface SoakResult {
  readonly rate: number
  readonly minutes: readonly SoakMinute[]
  /** Growth of memory over the last two thirds of the time, by least squares. */
  readonly rssMbPerTenMinutes: number
}

const sliceSeconds = 10

export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const { contender, data, rate, workloads, onMinute } = options
  const clients = workloads.map((workload, index) => ({
    client: new HttpClient(contender.port),
    sessions: new Sessions(workload, 900 + index),
  }))
  const minutes: SoakMinute[] = []
  for (let minute = 1; minute <= options.minutes; minute++) {
    const slices: Slice[] = []
    for (let turn = 0; turn < 60 / sliceSeconds; turn++) {
      const parts = clients.map((part) =>
        runSlice({ contender, ...part, rate: rate / clients.length, seconds: sliceSeconds }),
      )
      slices.push(...(await Promise.all(parts)))
    }
    const one = minuteOf(minute, slices, { contender, data })
    minutes.push(one)
    const { rssMb, walMb, files, latency } = one
    onMinute(
      `minute ${minute}: RSS ${rssMb.toFixed(0)} MB, WAL ${walMb.toFixed(1)} MB, ${files} files, p99 ${latency.p99.toFixed(1)} ms, failed ${JSON.stringify(one.failures)}`,
    )
  }
  for (const { client } of clients) client.close()
  return { rate, minutes, rssMbPerTenMinutes: 10 * slopeOf(minutes) }
}

function minuteOf(
  minute: number,
  slices: readonly Slice[],
  { contender, data }: Pick<SoakOptions, 'contender' | 'data'>,
): SoakMinute {
  const requests = slices.reduce((sum, slice) => sum + slice.requests, 0)
  const pid = contender.pid ?? process.pid
  return {
    minute,
    requests,
    failures: failuresOf(slices),
    latency: percentiles(slices.flatMap(({ latenciesMs }) => latenciesMs)),
    // The slices of one moment all count the whole process.
    cpuMs: slices.reduce((sum, slice) => sum + slice.cpuMs, 0) / slices.length / 2,
    rssMb: slices.at(-1)?.rssMb ?? Number.NaN,
    files: openFiles(pid),
    walMb: sizeMb(join(data, 'oriel.db-wal')),
    databaseMb: sizeMb(join(data, 'oriel.db')),
  }
}

function slopeOf(minutes: readonly SoakMinute[]): number {
  const late = minutes.slice(Math.floor(minutes.length / 3))
  const meanX = late.reduce((sum, one) => sum + one.minute, 0) / late.length
  const meanY = late.reduce((sum, one) => sum + one.rssMb, 0) / late.length
  const up = late.reduce((sum, one) => sum + (one.minute - meanX) * (one.rssMb - meanY), 0)
  return up / late.reduce((sum, one) => sum + (one.minute - meanX) ** 2, 0)
}

function sizeMb(file: string): number {
  return existsSync(file) ? statSync(file).size / 2 ** 20 : 0
}
