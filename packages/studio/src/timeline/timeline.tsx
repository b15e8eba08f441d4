// Timeline: what each step sent, cost and broke.

import { type ReactNode, useMemo } from 'react'
import { go, threadAddress } from '../address.ts'
import type { ThreadSummary, TimelineStep } from '../contract.ts'
import { Empty, Failure, Loading } from '../notice.tsx'
import {
  countOf,
  formatCount,
  formatDollars,
  formatPercent,
  formatTokens,
  listed,
  unpriced,
} from '../numbers.ts'
import { Tile } from '../tile.tsx'
import type { Loaded } from '../use-load.ts'
import { Chart } from './chart.tsx'
import { draw } from './series.ts'
import { StepTable } from './step-table.tsx'

export interface TimelineProps {
  readonly thread: ThreadSummary
  readonly timeline: Loaded<{ readonly steps: readonly TimelineStep[] }>
}

export function Timeline({ thread, timeline }: TimelineProps): ReactNode {
  const { id } = thread
  const { data, error, reload } = timeline
  const steps = data?.steps
  const drawn = useMemo(() => draw(steps ?? []), [steps])
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  if (steps === undefined) return <Loading what="the timeline" />
  if (steps.length === 0) {
    return (
      <Empty title="Nothing was sent yet.">
        Each model call of this thread becomes a step here.
      </Empty>
    )
  }
  const onPick = (step: number): void => go(threadAddress(id, { step: String(step) }))
  const { numbers, context, dollars, cache, marks } = drawn
  const { tokens, cost } = thread
  const shared = { steps: numbers, marks, onPick }
  return (
    <div className="timeline">
      <Totals thread={thread} />
      <p className="legend small">
        <span className="mark mark-compaction" /> fold <span className="mark mark-break" /> cache
        break <span className="mark mark-epoch" /> edits <span className="mark mark-recovery" />{' '}
        recovery. Click a step to see what was sent; drag to zoom, double-click to zoom out.
      </p>
      <Chart
        {...shared}
        title="Tokens per request"
        summary={`At the last step ${formatTokens(tokens.view)} of ${formatTokens(tokens.log)} tokens were sent.`}
        lines={context}
        format={formatTokens}
      />
      {dollars.length > 0 && cost !== undefined && (
        <Chart
          {...shared}
          title="Dollars so far"
          summary={`${formatDollars(cost.dollars)} spent, ${formatDollars(cost.withoutOriel)} with everything in full.`}
          lines={dollars}
          format={formatDollars}
        />
      )}
      {cache.length > 0 && (
        <Chart
          {...shared}
          title="Input tokens by cache"
          summary="What the provider read from its cache, wrote to it, and read anew."
          lines={cache}
          format={formatTokens}
        />
      )}
      <StepTable thread={id} steps={steps} />
    </div>
  )
}

/** The thread's own numbers, as on every page. */
function Totals({ thread }: { readonly thread: ThreadSummary }): ReactNode {
  const { tokens, cost, usage, breaks, folds, edits, sent } = thread
  const input = usage.uncached + usage.cacheRead + usage.cacheWrite
  const saved = cost === undefined ? 0 : cost.withoutOriel - cost.dollars
  return (
    <dl className="tiles">
      <Tile
        name="Newest request"
        value={formatTokens(tokens.view)}
        note={`of ${formatTokens(tokens.log)} tokens in full`}
      />
      <Tile
        name="Spent"
        value={cost === undefined ? '–' : formatDollars(cost.dollars)}
        note={
          cost === undefined
            ? 'the price of this model is not known'
            : listed([
                `${formatDollars(cost.withoutOriel)} with everything in full`,
                unpriced(cost.unpricedCalls),
              ])
        }
      />
      <Tile
        name={saved < 0 ? 'Cost more' : 'Saved'}
        value={
          cost === undefined ? formatTokens(sent.log - sent.view) : formatDollars(Math.abs(saved))
        }
        note={
          cost === undefined || cost.withoutOriel === 0
            ? 'tokens not sent'
            : saved === 0
              ? 'nothing was reduced, or it cost the same'
              : formatPercent(Math.abs(saved) / cost.withoutOriel)
        }
        tone={saved > 0 ? 'good' : undefined}
      />
      <Tile
        name="Cache hits"
        value={input === 0 ? '–' : formatPercent(usage.cacheRead / input)}
        note={`of ${formatTokens(input)} input tokens`}
      />
      <Tile
        name="Cache breaks"
        value={formatCount(breaks.count)}
        note={`${breaks.dollars === undefined ? '' : `${formatDollars(breaks.dollars)} lost; `}${countOf(folds, 'fold')}, ${countOf(edits, 'edit')}`}
      />
    </dl>
  )
}
