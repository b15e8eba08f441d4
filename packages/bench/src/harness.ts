// Measurement harness: contenders are interleaved in every round, and medians are compared. On a
// shared machine single times mean little, but ratios of interleaved medians hold.

/**
 * `wall` is elapsed time; `cpu` is CPU time of the whole process including garbage collection,
 * which other load hardly affects. Work that waits for a disk uses `wall`.
 */
export type Clock = 'wall' | 'cpu'

/** Something to be timed. */
export interface Contender {
  readonly name: string
  /** Steps per call of `run`; times are per step. @default 1 */
  readonly steps?: number
  run(): unknown
}

export interface Timing {
  readonly name: string
  readonly rounds: number
  /** Milliseconds per step. */
  readonly medianMs: number
  /** Includes occasional work, such as snapshots. */
  readonly meanMs: number
}

export interface RaceOptions {
  /** Rounds in which each contender runs once. @default 30 */
  readonly rounds?: number
  /** Untimed runs of each contender. @default 3 */
  readonly warmUps?: number
  /** Contenders that would take longer in total get fewer rounds, at least 3. @default 5000 */
  readonly maxMs?: number
  /** @default 'wall' */
  readonly clock?: Clock
  /** Called after every round. */
  readonly onRound?: (done: number, of: number) => void
}

/** Times all contenders, interleaved, with a rotating start. */
export async function race(
  contenders: readonly Contender[],
  { rounds = 30, warmUps = 3, maxMs = 5000, clock = 'wall', onRound }: RaceOptions = {},
): Promise<readonly Timing[]> {
  const times = contenders.map((): number[] => [])
  const wanted: number[] = []
  for (const contender of contenders)
    wanted.push(await warmUp(contender, { rounds, warmUps, maxMs }))
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      const index = (round + turn) % contenders.length
      const own = times[index] as number[]
      if (own.length < (wanted[index] as number))
        own.push(await time(contenders[index] as Contender, clock))
    }
    onRound?.(round + 1, rounds)
  }
  return contenders.map(({ name }, index) => {
    const own = times[index] as number[]
    return { name, rounds: own.length, medianMs: median(own), meanMs: mean(own) }
  })
}

/** Milliseconds of one run, per step. */
export async function time({ run, steps = 1 }: Contender, clock: Clock): Promise<number> {
  const start = now(clock)
  await run()
  return (now(clock) - start) / steps
}

/** Milliseconds since an arbitrary origin. */
export function now(clock: Clock): number {
  if (clock === 'wall') return performance.now()
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Quantile of the values; NaN if there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = (sorted.length - 1) * share
  const low = sorted[Math.floor(place)] ?? Number.NaN
  const high = sorted[Math.ceil(place)] ?? Number.NaN
  return low + (high - low) * (place - Math.floor(place))
}

export function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}

/**
 * Warms up a contender and returns its number of rounds. A slow one is warm after its first run.
 */
async function warmUp(
  contender: Contender,
  { rounds, warmUps, maxMs }: { rounds: number; warmUps: number; maxMs: number },
): Promise<number> {
  const { steps = 1 } = contender
  let lastMs = 0
  for (let run = 0; run < warmUps; run++) {
    lastMs = (await time(contender, 'wall')) * steps
    if (lastMs > maxMs / 10) break
  }
  return Math.max(3, Math.min(rounds, Math.floor(maxMs / lastMs)))
}
