// What the load harness prints.

import { quantile } from '../harness.ts'
import { type Cell, count, figure, type Row, type Table } from '../report.ts'
import { type PairedResult, type Spread, type Summary, summarize } from './paired.ts'

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
  const failed = Object.values(failures).reduce((sum, one) => sum + one, 0)
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
    failed: failed === 0 ? count(0) : JSON.stringify(failures),
  }
}

function spreadCell({ median, least, greatest }: Spread): Cell {
  return { value: median, text: `${ms(median)} (${ms(least)} to ${ms(greatest)})` }
}

export function ms(value: number): string {
  return value.toFixed(Math.abs(value) < 10 ? 2 : 1)
}
