// Step slider: selects a past request, or now.

import type { ReactNode } from 'react'
import type { StepSummary } from '../contract.ts'

export interface StepBarProps {
  readonly steps: readonly StepSummary[]
  /** The selected step; undefined is now. */
  readonly step: number | undefined
  readonly onStep: (step: number | undefined) => void
}

export function StepBar({ steps, step, onStep }: StepBarProps): ReactNode {
  const found = step === undefined ? steps.length : steps.findIndex((one) => one.step === step)
  const position = found === -1 ? steps.length : found
  const current = steps[position]
  const move = (to: number): void => onStep(steps[Math.max(0, Math.min(to, steps.length))]?.step)
  return (
    <fieldset className="step-bar">
      <legend className="sr-only">Step</legend>
      <button type="button" disabled={position === 0} onClick={() => move(position - 1)}>
        <span aria-hidden="true">‹</span>
        <span className="sr-only">Step before</span>
      </button>
      <input
        type="range"
        aria-label="Step"
        aria-valuetext={current === undefined ? 'now' : `step ${current.step}`}
        min={0}
        max={steps.length}
        value={position}
        disabled={steps.length === 0}
        onChange={(event) => move(Number(event.target.value))}
      />
      <button type="button" disabled={position >= steps.length} onClick={() => move(position + 1)}>
        <span aria-hidden="true">›</span>
        <span className="sr-only">Step after</span>
      </button>
      <output>
        {current === undefined ? 'now' : `step ${current.step} of ${steps.at(-1)?.step ?? 0}`}
      </output>
    </fieldset>
  )
}
