// Timeline: tokens, cost, cache and events of every step.

import { type ReactNode, useMemo } from 'react'
import { go, threadAddress } from '../address.ts'
import { api } from '../api.ts'
import type { ThreadSummary } from '../contract.ts'
import { Empty, Failure, Loading } from '../notice.tsx'
import { formatPercent, formatTokens } from '../numbers.ts'
import { useLoad } from '../use-load.ts'
import { Chart } from './chart.tsx'
import { usualPrices } from './cost.ts'
import { draw, newestOfEach, type Totals as TotalsProps } from './series.ts'
import { StepTable } from './step-table.tsx'

export interface TimelineProps {
  readonly thread: ThreadSummary
  readonly version: number
}

export function Timeline({ thread, version }: TimelineProps): ReactNode {
  const { id } = thread
  const { data, error, reload } = useLoad(id, (signal) => api.timeline(id, signal), version)
  const steps = useMemo(() => newestOfEach(data?.steps ?? []), [data])
  const drawn = useMemo(() => draw(steps), [steps])
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  if (data === undefined) return <Loading what="the timeline" />
  if (steps.length === 0) {
    return (
      <Empty title="Nothing was sent yet.">
        Each model call of this thread becomes a step here.
      </Empty>
    )
  }
  const onPick = (step: number): void => go(threadAddress(id, { step: String(step) }))
  const { numbers, tokens, cost, cache, marks, totals } = drawn
  return (
    <div className="timeline">
      <Totals {...totals} />
      <Chart
        title="Tokens per step"
        summary={`Log ${formatTokens(totals.log)}, view ${formatTokens(totals.view)} at the last step.`}
        steps={numbers}
        lines={tokens}
        marks={marks}
        format={formatTokens}
        onPick={onPick}
      />
      <Chart
        title="Input cost so far, in tokens at the base price"
        summary={`With Oriel ${formatTokens(totals.cost)}, without ${formatTokens(totals.costWithout)}.`}
        steps={numbers}
        lines={cost}
        marks={marks}
        format={formatTokens}
        onPick={onPick}
      />
      <Chart
        title="Input per step, by what the cache did"
        summary={`${formatPercent(totals.cached)} of the input came from the cache.`}
        steps={numbers}
        lines={cache}
        marks={marks}
        format={formatTokens}
        onPick={onPick}
      />
      <p className="legend small">
        <span className="mark mark-epoch" /> epoch <span className="mark mark-compaction" />{' '}
        compaction <span className="mark mark-break" /> cache break. A cached token counts{' '}
        {usualPrices.read}, a written one {usualPrices.write}. Choose a step to see what was sent.
      </p>
      <StepTable thread={id} steps={steps} />
    </div>
  )
}

function Totals({ log, view, cost, costWithout, cached, epochs, breaks }: TotalsProps): ReactNode {
  const saved = costWithout === 0 ? 0 : 1 - cost / costWithout
  return (
    <dl className="tiles">
      <Tile name="View now" value={formatTokens(view)} note={`of ${formatTokens(log)} tokens`} />
      <Tile
        name="Input cost"
        value={formatTokens(cost)}
        note={`${formatTokens(costWithout)} without Oriel (${saved >= 0 ? '−' : '+'}${formatPercent(Math.abs(saved))})`}
      />
      <Tile name="From the cache" value={formatPercent(cached)} note="of the input" />
      <Tile
        name="Epochs"
        value={String(epochs)}
        note={`${breaks} cache ${breaks === 1 ? 'break' : 'breaks'}`}
      />
    </dl>
  )
}

function Tile({
  name,
  value,
  note,
}: {
  readonly name: string
  readonly value: string
  readonly note: string
}): ReactNode {
  return (
    <div className="tile">
      <dt>{name}</dt>
      <dd>
        <b>{value}</b>
        <span className="muted small">{note}</span>
      </dd>
    </div>
  )
}
