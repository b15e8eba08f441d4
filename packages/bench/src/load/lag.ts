// Event loop lag while one client sends very large requests: how long everybody else waits.

import { lastWords } from './answers.ts'
import type { Contender } from './contenders.ts'
import { HttpClient } from './http-client.ts'
import { lagBounds } from './lag-bounds.ts'
import { type Percentiles, percentiles } from './paired.ts'
import { Sessions } from './sessions.ts'
import { requestOf, runSlice } from './slice.ts'

export interface LagOptions {
  readonly contenders: readonly Contender[]
  /** Sizes of the large requests; 0 for none, which shows what the machine itself adds. */
  readonly megabytes: readonly number[]
  /** Large requests one after the other. */
  readonly rounds: number
  onContender(text: string): void
}

export interface LagResult {
  readonly contender: string
  readonly megabytes: number
  /** Statuses of the large requests. */
  readonly statuses: readonly number[]
  readonly largeMs: readonly number[]
  /** Samples of the loop by their lag; see `lagBounds`. */
  readonly counts: readonly number[]
  readonly maxMs: number
  /** Small requests at the same time. */
  readonly small: Percentiles
  readonly failures: Readonly<Record<string, number>>
}

const smallRate = 20
const small = { name: '', bodyBytes: 2000, turns: 4, format: 'chat', isStream: false } as const

export async function runLag(options: LagOptions): Promise<readonly LagResult[]> {
  const results: LagResult[] = []
  for (const [index, contender] of options.contenders.entries()) {
    // Workers and optimized code are there before anything counts.
    await send(contender, new Sessions(largeOf(1), 60 + index))
    for (const megabytes of options.megabytes) {
      options.onContender(`lag: ${contender.name}, ${megabytes} MB`)
      results.push(await measure(contender, { ...options, megabytes, seed: 900 + index }))
    }
  }
  return results
}

function largeOf(megabytes: number) {
  return { ...small, bodyBytes: megabytes * 1_000_000, turns: 1 }
}

async function measure(
  contender: Contender,
  { megabytes, rounds, seed }: { megabytes: number; rounds: number; seed: number },
): Promise<LagResult> {
  const client = new HttpClient(contender.port)
  await contender.loopDelay()
  const seconds = megabytes === 0 ? 3 : Math.max(3, (megabytes * rounds) / 4)
  const beside = runSlice({
    contender,
    client,
    sessions: new Sessions(small, seed + megabytes),
    rate: smallRate,
    seconds,
  })
  const statuses: number[] = []
  const largeMs: number[] = []
  const sessions = new Sessions(largeOf(megabytes), seed * 10 + megabytes)
  for (let round = 0; round < (megabytes === 0 ? 0 : rounds); round++) {
    const { status, ms } = await send(contender, sessions)
    statuses.push(status)
    largeMs.push(ms)
  }
  const { latenciesMs, failures } = await beside
  const lag = await contender.loopDelay()
  client.close()
  return {
    contender: contender.name,
    megabytes,
    statuses,
    largeMs,
    counts: lag?.counts ?? lagBounds.map(() => 0),
    maxMs: lag?.maxMs ?? Number.NaN,
    small: percentiles(latenciesMs),
    failures,
  }
}

function send(
  contender: Contender,
  sessions: Sessions,
): Promise<{ readonly status: number; readonly ms: number }> {
  const client = new HttpClient(contender.port)
  const call = sessions.next()
  const startedAt = performance.now()
  return new Promise((resolve) => {
    client.send({
      request: requestOf(contender, call),
      isStream: false,
      lastWord: lastWords[call.format],
      onEnd({ status }) {
        client.close()
        resolve({ status, ms: performance.now() - startedAt })
      },
    })
  })
}
