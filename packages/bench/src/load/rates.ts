// Rate sweep: the highest rate at which a contender answers everything, and its latency.

import type { Contender, Mock } from './contenders.ts'
import { HttpClient } from './http-client.ts'
import { failuresOf, type Percentiles, percentiles } from './paired.ts'
import { Sessions, type Workload } from './sessions.ts'
import { runSlice } from './slice.ts'

export interface RatesOptions {
  readonly contenders: readonly (Contender | Mock)[]
  readonly workload: Workload
  readonly rates: readonly number[]
  readonly stepSeconds: number
  onStep(text: string): void
}

export interface RateStep {
  readonly contender: string
  readonly rate: number
  /** Complete answers per second, counted until the last one. */
  readonly answered: number
  readonly latency: Percentiles
  readonly failures: Readonly<Record<string, number>>
  readonly cpuMs: number
  readonly rssMb: number
  readonly isHeld: boolean
}

/** A step is sustained if nothing fails and answers keep up with requests. */
const keepUpShare = 0.9

/** The steps of every contender, up to the first that it does not sustain. */
export async function runRates(options: RatesOptions): Promise<readonly RateStep[]> {
  const { contenders, workload, rates, stepSeconds, onStep } = options
  const steps: RateStep[] = []
  for (const [index, contender] of contenders.entries()) {
    const client = new HttpClient(contender.port)
    const sessions = new Sessions(workload, 500 + index)
    await runSlice({ contender, client, sessions, rate: 200, seconds: Math.max(2, stepSeconds) })
    for (const rate of rates) {
      onStep(`rising rates: ${contender.name} at ${rate}/s`)
      const slice = await runSlice({ contender, client, sessions, rate, seconds: stepSeconds })
      const answered = slice.latenciesMs.length / slice.seconds
      const failures = failuresOf([slice])
      const isHeld = Object.keys(failures).length === 0 && answered >= rate * keepUpShare
      const { cpuMs, rssMb } = slice
      const latency = percentiles(slice.latenciesMs)
      const name = contender.name
      steps.push({ contender: name, rate, answered, latency, failures, cpuMs, rssMb, isHeld })
      if (!isHeld) break
    }
    client.close()
  }
  return steps
}

/** The highest sustained rate of a contender. */
export function highestOf(steps: readonly RateStep[], contender: string): number {
  const held = steps.filter((step) => step.contender === contender && step.isHeld)
  return Math.max(0, ...held.map(({ rate }) => rate))
}
