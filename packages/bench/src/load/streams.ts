// Concurrent streams: completeness, chunk delay and resource usage.

import type { Contender, Mock } from './contenders.ts'
import { HttpClient } from './http-client.ts'
import { type Percentiles, percentiles } from './paired.ts'
import { useOf } from './process-use.ts'
import { Sessions } from './sessions.ts'
import { runSlice } from './slice.ts'

export interface StreamsOptions {
  readonly mock: Mock
  readonly contenders: readonly Contender[]
  /** Streams at the same time. */
  readonly streams: number
  /** How long each of them takes. */
  readonly streamSeconds: number
  /** How long that many are open. */
  readonly holdSeconds: number
  onContender(text: string): void
}

export interface StreamsResult {
  readonly contender: string
  readonly started: number
  readonly whole: number
  /** Connections open at the same time. */
  readonly peak: number
  readonly chunks: readonly [number, number]
  readonly firstText: Percentiles
  readonly relay: Percentiles
  readonly rssBeforeMb: number
  readonly rssPeakMb: number
  readonly cpuMs: number
  readonly failures: Readonly<Record<string, number>>
}

/** Time between two chunks of one stream. */
const intervalMs = 200

export async function runStreams(options: StreamsOptions): Promise<readonly StreamsResult[]> {
  const { mock, contenders, streams, streamSeconds, holdSeconds, onContender } = options
  const chunks = Math.round((streamSeconds * 1000) / intervalMs)
  await mock.set({ latencyMs: 50, chunks, intervalMs })
  const results: StreamsResult[] = []
  for (const [index, contender] of contenders.entries()) {
    onContender(`${streams} streams: ${contender.name}`)
    const client = new HttpClient(contender.port)
    const workload = {
      name: '',
      bodyBytes: 2000,
      turns: 1,
      format: 'chat',
      isStream: true,
    } as const
    const sessions = new Sessions(workload, 700 + index)
    const before = memoryOf(contender)
    const watch = { peak: 0, rssMb: before }
    const timer = setInterval(() => {
      watch.peak = Math.max(watch.peak, client.open)
      watch.rssMb = Math.max(watch.rssMb, memoryOf(contender))
    }, 250)
    const rate = streams / streamSeconds
    const seconds = streamSeconds + holdSeconds
    const slice = await runSlice({ contender, client, sessions, rate, seconds })
    clearInterval(timer)
    client.close()
    const counts = slice.chunks.toSorted((a, b) => a - b)
    results.push({
      contender: contender.name,
      started: slice.requests,
      whole: slice.latenciesMs.length,
      peak: watch.peak,
      chunks: [counts[0] ?? 0, counts.at(-1) ?? 0],
      firstText: percentiles(slice.firstTextMs),
      relay: percentiles(slice.relayMs),
      rssBeforeMb: before,
      rssPeakMb: watch.rssMb,
      cpuMs: slice.cpuMs,
      failures: slice.failures,
    })
  }
  return results
}

function memoryOf({ pid }: Contender): number {
  return pid === undefined ? Number.NaN : useOf(pid).rssMb
}
