// One way to measure for every benchmark: contenders take turns inside one run, and medians are compared. On a machine that does
// other work as well, single times mean little, while ratios of interleaved medians hold.

/**
 * What is timed: `wall` is the clock on the wall; `cpu` is the work of all of the process's cores, garbage collection included,
 * which other programs on the machine hardly change. Work that waits for a disk is timed by the wall.
 */
export type Clock = 'wall' | 'cpu'

/** Something to be timed. */
export interface Contender {
  readonly name: string
  /** How many steps one call of `run` does; times are given per step. @default 1 */
  readonly steps?: number
  run(): unknown
}

export interface Timing {
  readonly name: string
  readonly rounds: number
  /** Milliseconds per step. */
  readonly medianMs: number
  /** With the work that comes only now and then, such as a snapshot. */
  readonly meanMs: number
}

export interface RaceOptions {
  /** Rounds in which each contender runs once. @default 30 */
  readonly rounds?: number
  /** Runs of each contender before anything is counted. @default 3 */
  readonly warmUps?: number
  /** A contender that would take longer than this in all gets fewer rounds, but never fewer than 3. @default 5000 */
  readonly maxMs?: number
  /** @default 'wall' */
  readonly clock?: Clock
  /** Called after every round. */
  readonly onRound?: (done: number, of: number) => void
}

/** Times all contenders, one after the other in every round, each round beginning with another one. */
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

/** Milliseconds since some moment. */
export function now(clock: Clock): number {
  if (clock === 'wall') return performance.now()
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** The value below which this share of the values lies; NaN when there are none. */
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

/** Runs a contender until it is warm, and says how many rounds it may have. A slow one is warm after its first run. */
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
