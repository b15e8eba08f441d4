// Tables of the load test.

import { quantile } from '../harness.ts'
import { type Cell, count, figure, percent, type Row, type Table } from '../report.ts'
import type { LagResult } from './lag.ts'
import { lagBounds } from './lag-bounds.ts'
import type { OverloadResult } from './overload.ts'
import { type PairedResult, type Spread, type Summary, summarize } from './paired.ts'
import type { RateStep } from './rates.ts'
import type { SoakResult } from './soak.ts'
import type { StreamsResult } from './streams.ts'

export function pairedTables(results: readonly PairedResult[]): readonly Table[] {
  return results.map((result) => {
    const { workload, rate, hasBursts, rounds, sliceSeconds, syncsMs } = result
    const kilobytes = Math.round(workload.bodyBytes / 1000)
    return {
      title: workload.name,
      rows: result.measured.map((one) => rowOf(summarize(one))),
      notes: [
        `${rate} requests a second${hasBursts ? ' in the mean' : ''}, ${rounds} rounds of ${sliceSeconds} s; bodies from ${kilobytes} KB on.`,
        `The disk's own fsync in the same run: p50 ${ms(quantile(syncsMs, 0.5))} ms, p99 ${ms(quantile(syncsMs, 0.99))} ms.`,
        ...directNote(result),
      ],
    }
  })
}

function directNote({ measured }: PairedResult): readonly string[] {
  const [first] = measured
  if (first === undefined) return []
  const direct = summarize({ ...first, slices: first.direct })
  const { p50, p95, p99, max } = direct.latency
  const texts = direct.firstText === undefined ? '' : `; first text p50 ${ms(direct.firstText.p50)}`
  return [
    `Direct calls: p50 ${ms(p50)}, p95 ${ms(p95)}, p99 ${ms(p99)}, max ${ms(max)} ms${texts}; requests were sent ${ms(direct.lagP99Ms)} ms late at most (p99).`,
  ]
}

function rowOf(summary: Summary): Row {
  const { latency, added, addedFirstText, addedRelay, chunks, cpuMs, rssMb, failures } = summary
  return {
    contender: summary.name,
    'p50 ms': figure(latency.p50),
    'p95 ms': figure(latency.p95),
    'p99 ms': figure(latency.p99),
    'max ms': figure(latency.max),
    'added p50': spreadCell(added.p50),
    'added p95': spreadCell(added.p95),
    'added p99': spreadCell(added.p99),
    ...(addedFirstText === undefined || addedRelay === undefined
      ? {}
      : {
          'first text, added p50': spreadCell(addedFirstText.p50),
          'p99 ': spreadCell(addedFirstText.p99),
          'chunk relay, added p99': spreadCell(addedRelay.p99),
          chunks: chunks?.[0] === chunks?.[1] ? String(chunks?.[0]) : String(chunks),
        }),
    'CPU ms/request': spreadCell(cpuMs),
    'loop p99 ms': figure(summary.loopP99Ms),
    'RSS MB': count(rssMb),
    failed: failedCell(failures),
  }
}

function spreadCell({ median, least, greatest }: Spread): Cell {
  return { value: median, text: `${ms(median)} (${ms(least)} to ${ms(greatest)})` }
}

export function ms(value: number): string {
  return value.toFixed(Math.abs(value) < 10 ? 2 : 1)
}

export function ratesTable(steps: readonly RateStep[], stepSeconds: number): Table {
  return {
    title: 'Rising rates, 2 KB',
    rows: steps.map((step) => ({
      contender: step.contender,
      'requests/s': count(step.rate),
      'answered/s': count(step.answered),
      'p50 ms': figure(step.latency.p50),
      'p99 ms': figure(step.latency.p99),
      'CPU ms/request': figure(step.cpuMs),
      'RSS MB': Number.isNaN(step.rssMb) ? '-' : count(step.rssMb),
      failed: failedCell(step.failures),
    })),
    notes: [
      `${stepSeconds} s for each step; a contender's steps end with the first at which something fails or answers fall behind. Client, mock and contender share the machine's cores.`,
    ],
  }
}

export function streamsTable(results: readonly StreamsResult[]): Table {
  return {
    title: 'Streams at the same time',
    rows: results.map((one) => ({
      contender: one.contender,
      'at the same time': count(one.peak),
      whole: `${one.whole} of ${one.started}`,
      'chunks each':
        one.chunks[0] === one.chunks[1] ? String(one.chunks[0]) : one.chunks.join(' to '),
      'first text p50 ms': figure(one.firstText.p50),
      'p99 ms': figure(one.firstText.p99),
      'chunk relay p50 ms': figure(one.relay.p50),
      'p99 ms ': figure(one.relay.p99),
      'CPU ms/stream': figure(one.cpuMs),
      'RSS MB before': count(one.rssBeforeMb),
      'RSS MB most': count(one.rssPeakMb),
      failed: failedCell(one.failures),
    })),
    notes: [
      'Chunk relay: from the mock writing a chunk to the client reading it, so with the time of both.',
    ],
  }
}

export function overloadTable(results: readonly OverloadResult[]): Table {
  return {
    title: 'Three times too many requests',
    rows: results.map((one) => ({
      contender: one.contender,
      'requests/s': count(one.rate),
      'answered/s': count(one.goodput),
      answered: percent(one.answered / one.requests),
      'p50 ms of answers': figure(one.latency.p50),
      'p99 ms': figure(one.latency.p99),
      rejected: failedCell(one.failures),
      'with retry-after': percent(one.retryAfterShare),
      'RSS MB': count(one.rssMb),
      'failed afterwards': count(one.failedAfterwards),
    })),
    notes: [
      'Rejected: by status; 0 is a connection without an answer, cut an answer that broke off, unsent what the client could not send.',
      'Client and mock go before the contender where they share cores. Latency counts from when a request was due, with the wait for a connection.',
    ],
  }
}

export function lagTable(results: readonly LagResult[]): Table {
  const label = (index: number): string => {
    const bound = lagBounds[index] ?? Infinity
    return bound === Infinity ? `> ${lagBounds[index - 1]} ms` : `<= ${bound} ms`
  }
  return {
    title: 'Event loop lag beside large requests',
    rows: results.map((one) => ({
      contender: one.contender,
      'large requests':
        one.megabytes === 0 ? 'none' : `${one.statuses.length} x ${one.megabytes} MB`,
      'large, ms': one.largeMs.map((ms) => Math.round(ms)).join(', '),
      ...Object.fromEntries(one.counts.map((times, index) => [label(index), count(times)])),
      'longest ms': figure(one.maxMs),
      'small p50 ms': figure(one.small.p50),
      'p99 ms': figure(one.small.p99),
      failed: failedCell(one.failures),
    })),
    notes: [
      'Samples of the main loop, 10 ms apart, by how late they came. Small requests of 2 KB arrive at 20 a second meanwhile; the mock takes 50 ms.',
      'The rows without large requests show what the machine itself adds.',
    ],
  }
}

export function soakTable({ rate, minutes, rssMbPerTenMinutes }: SoakResult): Table {
  const every = Math.max(1, Math.ceil(minutes.length / 12))
  return {
    title: `${minutes.length} minutes at ${rate} requests/s`,
    rows: minutes
      .filter((_, index) => index % every === every - 1 || index === 0)
      .map((one) => ({
        minute: count(one.minute),
        'p50 ms': figure(one.latency.p50),
        'p99 ms': figure(one.latency.p99),
        'RSS MB': count(one.rssMb),
        files: count(one.files),
        'WAL MB': figure(one.walMb),
        'database MB': count(one.databaseMb),
        failed: failedCell(one.failures),
      })),
    notes: [
      `Memory over the last two thirds of the time: ${ms(rssMbPerTenMinutes)} MB in ten minutes.`,
    ],
  }
}

function failedCell(failures: Readonly<Record<string, number>>): Cell {
  const parts = Object.entries(failures).map(([kind, times]) => `${kind}: ${times}`)
  return parts.length === 0 ? count(0) : parts.join(', ')
}
