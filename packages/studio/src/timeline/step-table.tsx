// Table of steps.

import { type ReactNode, useState } from 'react'
import { threadAddress } from '../address.ts'
import { causeName } from '../causes.ts'
import type { TimelineStep } from '../contract.ts'
import { Link } from '../link.tsx'
import { formatDollars, formatPercent, formatTokens } from '../numbers.ts'

export interface StepTableProps {
  readonly thread: string
  readonly steps: readonly TimelineStep[]
}

/** Steps shown initially, newest first. */
const pageSize = 50

export function StepTable({ thread, steps }: StepTableProps): ReactNode {
  const [shown, setShown] = useState(pageSize)
  const newest = steps.toReversed()
  return (
    <>
      <table className="step-table">
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col" className="number">
              Sent
            </th>
            <th scope="col" className="number">
              In full
            </th>
            <th scope="col" className="number">
              Input
            </th>
            <th scope="col" className="number">
              Cached
            </th>
            <th scope="col" className="number">
              Cost
            </th>
            <th scope="col">What happened</th>
          </tr>
        </thead>
        <tbody>
          {newest.slice(0, shown).map((step) => (
            <StepRow key={step.step} thread={thread} step={step} />
          ))}
        </tbody>
      </table>
      {newest.length > shown && (
        <button type="button" className="more" onClick={() => setShown(shown + pageSize)}>
          Show more
        </button>
      )}
    </>
  )
}

function StepRow({
  thread,
  step,
}: {
  readonly thread: string
  readonly step: TimelineStep
}): ReactNode {
  const { tokens, usage, cost, epoch, compaction, cacheBreak, recovery, interrupted, requests } =
    step
  const input = usage === undefined ? 0 : usage.uncached + usage.cacheRead + usage.cacheWrite
  return (
    <tr>
      <th scope="row">
        <Link href={threadAddress(thread, { step: String(step.step) })}>{step.step}</Link>
      </th>
      <td className="number">{formatTokens(tokens.view)}</td>
      <td className="number">{formatTokens(tokens.log)}</td>
      <td className="number">{usage === undefined ? '–' : formatTokens(input)}</td>
      <td className="number">
        {input === 0 ? '–' : formatPercent((usage?.cacheRead ?? 0) / input)}
      </td>
      <td className="number" data-step-dollars={cost?.dollars}>
        {cost === undefined ? '–' : formatDollars(cost.dollars)}
      </td>
      <td className="events">
        {cacheBreak !== undefined && (
          <span className="tag tag-break">
            cache break, {causeName(cacheBreak.cause)}: {formatTokens(cacheBreak.lost)} tokens
            {cacheBreak.dollars === undefined ? '' : `, ${formatDollars(cacheBreak.dollars)}`}
          </span>
        )}
        {recovery === true && (
          <span className="tag">made smaller: the provider refused its length</span>
        )}
        {requests > 1 && <span className="tag">sent {requests} times</span>}
        {compaction === true && <span className="tag tag-compaction">fold</span>}
        {epoch !== undefined && (
          <span className="tag tag-epoch">
            {epoch.edits} {epoch.edits === 1 ? 'edit' : 'edits'}: {epoch.rules.join(', ')},{' '}
            {formatTokens(epoch.tokensSaved)} saved
          </span>
        )}
        {interrupted === true && <span className="tag">interrupted</span>}
      </td>
    </tr>
  )
}
