// Step scrubber: every request of the thread, with ticks where something happened, and the next one.

import { type ReactNode, useEffect, useState } from 'react'
import type { TimelineStep } from '../contract.ts'

export interface StepBarProps {
  readonly steps: readonly TimelineStep[]
  /** The shown step; `next` for the request that would be sent now. */
  readonly step: number | 'next'
  readonly onStep: (step: number | 'next') => void
}

/** Ticks are drawn up to this many; of more, only folds and breaks. */
const maxTicks = 400

export function StepBar({ steps, step, onStep }: StepBarProps): ReactNode {
  const found = step === 'next' ? steps.length : steps.findIndex((one) => one.step === step)
  const position = found === -1 ? steps.length : found
  const last = steps.at(-1)?.step ?? 0
  const move = (to: number): void => {
    onStep(steps[Math.max(0, Math.min(to, steps.length))]?.step ?? 'next')
  }
  const current = steps[position]
  return (
    <fieldset className="step-bar">
      <legend className="sr-only">Step</legend>
      <button type="button" disabled={position === 0} onClick={() => move(position - 1)}>
        <span aria-hidden="true">‹</span>
        <span className="sr-only">Step before</span>
      </button>
      <span className="scrubber">
        <input
          type="range"
          aria-label="Step"
          aria-valuetext={current === undefined ? 'next request' : `step ${current.step}`}
          min={0}
          max={steps.length}
          value={position}
          disabled={steps.length === 0}
          onChange={(event) => move(Number(event.target.value))}
        />
        <Ticks steps={steps} />
      </span>
      <button type="button" disabled={position >= steps.length} onClick={() => move(position + 1)}>
        <span aria-hidden="true">›</span>
        <span className="sr-only">Step after</span>
      </button>
      {steps.length === 0 ? (
        <output>Not sent yet</output>
      ) : (
        <StepField step={step} last={last} onStep={onStep} />
      )}
      {steps.length > 0 && (
        <button
          type="button"
          aria-pressed={step === 'next'}
          onClick={() => onStep(step === 'next' ? last : 'next')}
        >
          Next request
        </button>
      )}
    </fieldset>
  )
}

interface StepFieldProps {
  readonly step: number | 'next'
  readonly last: number
  readonly onStep: (step: number) => void
}

function StepField({ step, last, onStep }: StepFieldProps): ReactNode {
  const shown = step === 'next' ? '' : String(step)
  const [text, setText] = useState(shown)
  useEffect(() => setText(shown), [shown])
  return (
    <form
      className="step-field"
      onSubmit={(event) => {
        event.preventDefault()
        const wanted = Number(text)
        if (Number.isInteger(wanted) && wanted > 0) onStep(Math.min(wanted, last))
      }}
    >
      <label>
        Step{' '}
        <input
          inputMode="numeric"
          pattern="\d*"
          size={4}
          value={text}
          placeholder="next"
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <output>{step === 'next' ? `after ${last}` : `step ${step} of ${last}`}</output>
    </form>
  )
}

function Ticks({ steps }: { readonly steps: readonly TimelineStep[] }): ReactNode {
  const marked = steps.flatMap((one, at) => {
    const kind = kindOf(one)
    return kind === undefined ? [] : [{ at, kind, step: one.step }]
  })
  const shown = marked.length > maxTicks ? marked.filter(({ kind }) => kind !== 'epoch') : marked
  return (
    <span className="ticks" aria-hidden="true">
      {shown.slice(-maxTicks).map(({ at, kind, step }) => (
        <i
          key={step}
          className={`tick tick-${kind}`}
          style={{ left: `${(100 * at) / steps.length}%` }}
        />
      ))}
    </span>
  )
}

/** The gravest event of a step. */
export function kindOf(
  step: TimelineStep,
): 'compaction' | 'break' | 'recovery' | 'epoch' | undefined {
  if (step.compaction === true) return 'compaction'
  if (step.cacheBreak !== undefined) return 'break'
  if (step.recovery === true) return 'recovery'
  return step.epoch === undefined ? undefined : 'epoch'
}
