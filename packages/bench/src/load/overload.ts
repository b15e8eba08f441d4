// Overload test at three times the capacity: rejections, goodput, and recovery.

import { constants, setPriority } from 'node:os'
import type { Contender } from './contenders.ts'
import { HttpClient } from './http-client.ts'
import { type Percentiles, percentiles } from './paired.ts'
import { Sessions, type Workload } from './sessions.ts'
import { runSlice, type Slice } from './slice.ts'

export interface OverloadOptions {
  readonly contenders: readonly Contender[]
  readonly workload: Workload
  /** Highest sustained rate per contender. */
  readonly capacity: (name: string) => number
  readonly seconds: number
  onContender(text: string): void
}

export interface OverloadResult {
  readonly contender: string
  readonly rate: number
  readonly requests: number
  readonly answered: number
  /** Complete answers per second. */
  readonly goodput: number
  readonly latency: Percentiles
  readonly failures: Readonly<Record<string, number>>
  /** Share of the 429 and 503 responses with retry-after. */
  readonly retryAfterShare: number
  readonly rssMb: number
  /** Failures at a quarter of the capacity, directly afterwards. */
  readonly failedAfterwards: number
}

const factor = 3

export async function runOverload(options: OverloadOptions): Promise<readonly OverloadResult[]> {
  const { contenders, workload, capacity, seconds, onContender } = options
  const results: OverloadResult[] = []
  for (const [index, contender] of contenders.entries()) {
    onContender(`overload: ${contender.name}`)
    const client = new HttpClient(contender.port)
    const sessions = new Sessions(workload, 800 + index)
    const most = Math.max(capacity(contender.name), 100)
    const rate = most * factor
    yieldTo(contender, true)
    const slice = await runSlice({ contender, client, sessions, rate, seconds })
    yieldTo(contender, false)
    const after = await runSlice({ contender, client, sessions, rate: most / 4, seconds: 2 })
    client.close()
    results.push(resultOf(contender.name, rate, slice, after))
  }
  return results
}

/**
 * Lowers the contender's priority if all share the cores, so that its overload is measured and not
 * that of client and mock.
 */
function yieldTo({ pid }: Contender, isLast: boolean): void {
  if (pid === undefined) return
  try {
    setPriority(pid, isLast ? constants.priority.PRIORITY_LOW : constants.priority.PRIORITY_NORMAL)
  } catch {
    // Without permission to raise the priority again the contender stays low, so overload is the
    // last case.
  }
}

function resultOf(contender: string, rate: number, slice: Slice, after: Slice): OverloadResult {
  const { failures, withRetryAfter, latenciesMs, requests, rssMb } = slice
  const shed = (failures['429'] ?? 0) + (failures['503'] ?? 0)
  return {
    contender,
    rate,
    requests,
    answered: latenciesMs.length,
    goodput: latenciesMs.length / slice.seconds,
    latency: percentiles(latenciesMs),
    failures,
    retryAfterShare: shed === 0 ? Number.NaN : withRetryAfter / shed,
    rssMb,
    failedAfterwards: Object.values(after.failures).reduce((sum, one) => sum + one, 0),
  }
}
