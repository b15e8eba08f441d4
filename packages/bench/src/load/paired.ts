// Paired comparison with direct calls: short slices alternate, and a contender's overhead is the
// difference to the adjacent direct slice, so that other load affects both.

import { median, quantile } from '../harness.ts'
import type { Contender, LoopDelay, Mock } from './contenders.ts'
import { measureSyncs } from './fsync.ts'
import { HttpClient } from './http-client.ts'
import { Sessions, type Workload } from './sessions.ts'
import { runSlice, type Slice } from './slice.ts'

export interface PairedOptions {
  readonly mock: Mock
  readonly contenders: readonly Contender[]
  readonly workload: Workload
  /** Requests in a second. */
  readonly rate: number
  readonly hasBursts?: boolean
  readonly rounds: number
  readonly sliceSeconds: number
  /** Warm-up requests per contender: cold code is slow. */
  readonly warmRequests: number
  /** Warm-up rate. @default twice the measured rate */
  readonly warmRate?: number | undefined
  /** Directory for measuring disk syncs. */
  readonly folder: string
  onRound(text: string): void
}

export interface PairedResult {
  readonly workload: Workload
  readonly rate: number
  readonly hasBursts: boolean
  readonly rounds: number
  readonly sliceSeconds: number
  readonly syncsMs: readonly number[]
  readonly measured: readonly Measured[]
}

export interface Measured {
  readonly name: string
  readonly slices: readonly Slice[]
  /** The adjacent slices of direct calls, in the same order. */
  readonly direct: readonly Slice[]
  readonly loop: readonly (LoopDelay | undefined)[]
}

/** Syncs that are measured in each round. */
const syncsPerRound = 25
/** Seconds at the start of a slice that open connections again, and do not count. */
const skipSeconds = 0.3

export async function runPaired(options: PairedOptions): Promise<PairedResult> {
  const { mock, contenders, workload, rate, rounds, sliceSeconds, folder, onRound } = options
  const parts = contenders.map((one) => createPart(one, mock, workload))
  const syncsMs: number[] = []
  const skip = Math.round(rate * skipSeconds)
  const slice = (side: Side): Promise<Slice> =>
    runSlice({ ...side, rate, seconds: sliceSeconds, skip, hasBursts: options.hasBursts ?? false })
  await warmUp(parts, options)
  for (let round = 0; round < rounds; round++) {
    syncsMs.push(...(await measureSyncs(folder, { count: syncsPerRound, paceMs: 1000 / rate })))
    for (let turn = 0; turn < parts.length; turn++) {
      const part = parts[(round + turn) % parts.length] as Part
      const isFirst = (round + turn) % 2 === 0
      await part.own.contender.loopDelay()
      if (isFirst) part.slices.push(await slice(part.own))
      part.directSlices.push(await slice(part.direct))
      if (!isFirst) part.slices.push(await slice(part.own))
      part.loop.push(await part.own.contender.loopDelay())
      onRound(`${workload.name}: round ${round + 1} of ${rounds}, ${part.own.contender.name}`)
    }
  }
  for (const { own, direct } of parts) {
    own.client.close()
    direct.client.close()
  }
  const measured = parts.map(({ own, slices, directSlices, loop }) => ({
    name: own.contender.name,
    slices,
    direct: directSlices,
    loop,
  }))
  const hasBursts = options.hasBursts ?? false
  return { workload, rate, hasBursts, rounds, sliceSeconds, syncsMs, measured }
}

interface Side {
  readonly contender: Contender
  readonly client: HttpClient
  readonly sessions: Sessions
}

interface Part {
  readonly own: Side
  readonly direct: Side
  readonly slices: Slice[]
  readonly directSlices: Slice[]
  readonly loop: (LoopDelay | undefined)[]
}

/** Concurrent sessions of a client with long conversations. */
const longSessions = 12
let seeds = 0

function createPart(contender: Contender, mock: Mock, workload: Workload): Part {
  const side = (one: Contender): Side => {
    seeds += 1
    const sessions = new Sessions(workload, seeds)
    if (workload.turns > 10) sessions.prepare(longSessions)
    return { contender: one, client: new HttpClient(one.port), sessions }
  }
  return { own: side(contender), direct: side(mock), slices: [], directSlices: [], loop: [] }
}

async function warmUp(parts: readonly Part[], options: PairedOptions): Promise<void> {
  const { warmRequests, workload, onRound, warmRate: rate = options.rate * 2 } = options
  const seconds = warmRequests / rate
  for (const { own, direct } of parts) {
    onRound(`${workload.name}: warming up ${own.contender.name}`)
    await runSlice({ ...direct, rate, seconds: Math.min(seconds, 1) })
    await runSlice({ ...own, rate, seconds })
  }
}

/** Aggregate of a contender's slices. */
export interface Summary {
  readonly name: string
  readonly requests: number
  readonly failures: Readonly<Record<string, number>>
  readonly latency: Percentiles
  /**
   * Overhead over direct calls: the median over the rounds of the difference per percentile, with
   * minimum and maximum.
   */
  readonly added: Readonly<Record<'p50' | 'p95' | 'p99', Spread>>
  readonly firstText: Percentiles | undefined
  readonly addedFirstText: Readonly<Record<'p50' | 'p99', Spread>> | undefined
  readonly addedRelay: Readonly<Record<'p50' | 'p99', Spread>> | undefined
  /** Minimum and maximum text chunks per stream. */
  readonly chunks: readonly [number, number] | undefined
  readonly cpuMs: Spread
  readonly rssMb: number
  readonly loopP99Ms: number
  readonly lagP99Ms: number
}

export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
  readonly max: number
}

export interface Spread {
  readonly median: number
  readonly least: number
  readonly greatest: number
}

export function summarize({ name, slices, direct, loop }: Measured): Summary {
  const all = slices.flatMap(({ latenciesMs }) => latenciesMs)
  const firstTexts = slices.flatMap(({ firstTextMs }) => firstTextMs)
  const chunks = slices.flatMap((one) => one.chunks)
  const isStream = chunks.length > 0
  const difference = (values: (slice: Slice) => readonly number[], share: number): Spread =>
    spread(
      slices.map((one, round) => {
        return quantile(values(one), share) - quantile(values(direct[round] as Slice), share)
      }),
    )
  const latency = (one: Slice): readonly number[] => one.latenciesMs
  const text = (one: Slice): readonly number[] => one.firstTextMs
  const relay = (one: Slice): readonly number[] => one.relayMs
  return {
    name,
    requests: slices.reduce((sum, one) => sum + one.requests, 0),
    failures: failuresOf(slices),
    latency: percentiles(all),
    added: {
      p50: difference(latency, 0.5),
      p95: difference(latency, 0.95),
      p99: difference(latency, 0.99),
    },
    firstText: isStream ? percentiles(firstTexts) : undefined,
    addedFirstText: isStream
      ? { p50: difference(text, 0.5), p99: difference(text, 0.99) }
      : undefined,
    addedRelay: isStream
      ? { p50: difference(relay, 0.5), p99: difference(relay, 0.99) }
      : undefined,
    chunks: isStream ? extent(chunks) : undefined,
    cpuMs: spread(slices.map(({ cpuMs }) => cpuMs)),
    rssMb: slices.at(-1)?.rssMb ?? Number.NaN,
    loopP99Ms: median(loop.map((one) => one?.p99Ms ?? Number.NaN)),
    lagP99Ms: quantile(
      slices.flatMap(({ lagMs }) => lagMs),
      0.99,
    ),
  }
}

export function failuresOf(slices: readonly Slice[]): Readonly<Record<string, number>> {
  const all: Record<string, number> = {}
  for (const { failures } of slices) {
    for (const [kind, count] of Object.entries(failures)) all[kind] = (all[kind] ?? 0) + count
  }
  return all
}

export function percentiles(values: readonly number[]): Percentiles {
  const at = (share: number): number => quantile(values, share)
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

function spread(values: readonly number[]): Spread {
  const [least, greatest] = extent(values)
  return { median: median(values), least, greatest }
}

/** Avoids spreading the values over arguments, which are limited. */
function extent(values: readonly number[]): readonly [number, number] {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    if (value < least) least = value
    if (value > greatest) greatest = value
  }
  return [least, greatest]
}
