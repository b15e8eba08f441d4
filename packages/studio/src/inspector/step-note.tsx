// What happened at a step, in one line: against the request before, and to the provider's cache; and the request itself.

import { type ReactNode, useState } from 'react'
import { api } from '../api.ts'
import { causeName } from '../causes.ts'
import type { Outline, TimelineStep } from '../contract.ts'
import { CopyButton } from '../copy-button.tsx'
import { Failure, Loading } from '../notice.tsx'
import { formatCount, formatDollars, formatPercent, formatTokens, grouped } from '../numbers.ts'
import { useLoad } from '../use-load.ts'

export interface StepNoteProps {
  readonly thread: string
  readonly outline: Outline
  readonly step: TimelineStep | undefined
}

export function StepNote({ thread, outline, step }: StepNoteProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const { change, previousStep, exact } = outline
  const number = outline.step
  return (
    <div className="step-note" data-step={number ?? 'next'}>
      <p>
        {number === undefined ? (
          <span>This is what would be sent now. It has not been sent.</span>
        ) : (
          <Against step={number} previousStep={previousStep} change={change} />
        )}
        {step !== undefined && <Paid step={step} />}
        {exact === false && (
          <span className="warning">
            The bytes that were sent differed from this reconstruction.
          </span>
        )}
        {number !== undefined && (
          <button
            type="button"
            className="quiet"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? 'Hide request' : 'Show request'}
          </button>
        )}
      </p>
      {isOpen && number !== undefined && <ExactRequest thread={thread} step={number} />}
    </div>
  )
}

interface AgainstProps {
  readonly step: number
  readonly previousStep: number | undefined
  readonly change: Outline['change'] | undefined
}

function Against({ step, previousStep, change }: AgainstProps): ReactNode {
  if (previousStep === undefined) return <span>The first request.</span>
  // A step is sent again when the provider refused it.
  const before = previousStep === step ? 'the try before' : `step ${previousStep}`
  if (change === undefined) {
    return (
      <span className="tag tag-good" data-cause="none">
        extends {before}: the cached part stays valid
      </span>
    )
  }
  return (
    <span className="tag tag-break" data-cause={change.cause}>
      differs from {before} from message {change.index + 1} on: {causeName(change.cause)}
      {change.rule === undefined ? '' : ` (${change.rule}: ${grouped(change.reason ?? '')})`}
    </span>
  )
}

function Paid({ step }: { readonly step: TimelineStep }): ReactNode {
  const { usage, cost, cacheBreak } = step
  if (usage === undefined) return null
  const input = usage.uncached + usage.cacheRead + usage.cacheWrite
  return (
    <>
      {cost !== undefined && <b>{formatDollars(cost.dollars)}</b>}
      <span className="muted">
        {formatTokens(input)} tokens by the provider’s count,{' '}
        {formatPercent(input === 0 ? 0 : usage.cacheRead / input)} of them cached
      </span>
      {cacheBreak !== undefined && (
        <span className="tag tag-break">
          cache break, {causeName(cacheBreak.cause)}: {formatTokens(cacheBreak.lost)} tokens read
          anew
          {cacheBreak.dollars === undefined ? '' : `, ${formatDollars(cacheBreak.dollars)}`}
        </span>
      )}
    </>
  )
}

function ExactRequest({
  thread,
  step,
}: {
  readonly thread: string
  readonly step: number
}): ReactNode {
  const { data, error, reload } = useLoad(`${thread} ${step}`, (signal) =>
    api.request(thread, step, signal),
  )
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  if (data === undefined) return <Loading what="the request" />
  const text = JSON.stringify(data.body, undefined, 2)
  return (
    <section className="exact" aria-label={`Request of step ${step}`}>
      <div className="actions">
        <span className="muted small">
          {formatCount(text.length)} characters{data.exact ? ', as it was sent' : ''}
        </span>
        <CopyButton text={text} label="Copy request" />
      </div>
      <pre>{text.length > 100_000 ? `${text.slice(0, 100_000)}\n…` : text}</pre>
    </section>
  )
}
