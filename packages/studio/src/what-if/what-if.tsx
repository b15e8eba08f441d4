// Policy page: try another policy on this thread from its first message on, and apply it.

import { type ReactNode, useState } from 'react'
import { setParams, useAddress } from '../address.ts'
import { api } from '../api.ts'
import type { Info, OtherView, Policy, ThreadSummary } from '../contract.ts'
import { CopyButton } from '../copy-button.tsx'
import { Failure } from '../notice.tsx'
import { useLoad } from '../use-load.ts'
import { Outcome } from './outcome.tsx'
import { templateOf } from './template.ts'

export interface WhatIfProps {
  readonly thread: ThreadSummary
  readonly info: Info
  readonly onApplied: () => void
}

interface Compared {
  readonly everything: OtherView
  readonly own: OtherView
  readonly other: OtherView
}

export function WhatIf({ thread, info, onApplied }: WhatIfProps): ReactNode {
  const { params } = useAddress()
  const asked = params.get('policy')
  const [text, setText] = useState(() => written(asked ?? thread.policy ?? {}, info))
  const [problem, setProblem] = useState<string>()
  const [done, setDone] = useState(0)
  const outcome = useLoad(asked === null ? undefined : `${thread.id} ${asked}`, async (signal) => {
    // One after the other: a caller may run few replays at once.
    const views: OtherView[] = []
    setDone(0)
    for (const policy of [{}, thread.policy ?? {}, parse(asked ?? '')]) {
      views.push(await api.whatIf(thread.id, policy, signal))
      setDone(views.length)
    }
    const [everything, own, other] = views as [OtherView, OtherView, OtherView]
    return { everything, own, other } satisfies Compared
  })
  const run = (policy: string): void => {
    setProblem(undefined)
    try {
      parse(policy)
      setParams({ policy })
    } catch {
      setProblem('This is not valid JSON.')
    }
  }
  return (
    <div className="what-if">
      <form
        aria-label="Policy to try"
        onSubmit={(event) => {
          event.preventDefault()
          run(text)
        }}
      >
        <label>
          Start from a preset
          <select
            value=""
            onChange={(event) => {
              const policy = written(event.target.value, info)
              setText(policy)
              run(policy)
            }}
          >
            <option value="" disabled>
              choose…
            </option>
            {info.presets.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Policy
          <textarea
            rows={16}
            spellCheck={false}
            data-slash=""
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <div className="actions">
          <button type="submit" className="primary">
            Try it
          </button>
          <CopyButton
            label="Copy as agent template"
            text={async () => JSON.stringify(templateOf(parse(text), thread.model), undefined, 2)}
          />
          <ApplyButton thread={thread} text={text} onApplied={onApplied} />
        </div>
        {problem !== undefined && (
          <p role="alert" className="warning">
            {problem}
          </p>
        )}
      </form>
      <div className="what-if-result" aria-live="polite">
        {outcome.error !== undefined && <Failure error={outcome.error} />}
        {asked !== null && outcome.isLoading && outcome.error === undefined && (
          <div className="notice" role="status">
            <progress max={3} value={done} aria-label="Replays" />
            Replaying the thread, {done + 1 > 3 ? 3 : done + 1} of 3
            <button type="button" onClick={() => setParams({ policy: undefined })}>
              Stop
            </button>
          </div>
        )}
        {asked === null && (
          <p className="muted">
            The messages of this thread are replayed under the policy, from the first one on.
            Nothing is stored. “Apply” makes it the policy of this thread.
          </p>
        )}
        {outcome.data !== undefined && <Outcome {...outcome.data} />}
      </div>
    </div>
  )
}

interface ApplyButtonProps {
  readonly thread: ThreadSummary
  readonly text: string
  readonly onApplied: () => void
}

/** Says what it does before it does it. */
function ApplyButton({ thread, text, onApplied }: ApplyButtonProps): ReactNode {
  const [isAsking, setAsking] = useState(false)
  const [note, setNote] = useState<{ text: string; isError: boolean }>()
  const apply = async (): Promise<void> => {
    setAsking(false)
    try {
      await api.setPolicy(thread.id, parse(text))
      setNote({ text: 'Applied from the next request on.', isError: false })
      onApplied()
    } catch (error) {
      setNote({ text: (error as Error).message, isError: true })
    }
  }
  if (isAsking) {
    return (
      <fieldset className="effect">
        <legend className="sr-only">Apply the policy</legend>
        <p>
          Future requests of this thread follow it; edits made so far stay. A call through the
          gateway returns to the policy of its agent.
        </p>
        <button type="button" className="primary" onClick={() => void apply()}>
          Apply now
        </button>
        <button type="button" onClick={() => setAsking(false)}>
          Cancel
        </button>
      </fieldset>
    )
  }
  return (
    <>
      <button type="button" onClick={() => setAsking(true)}>
        Apply
      </button>
      {note !== undefined && (
        <span
          role={note.isError ? 'alert' : 'status'}
          className={note.isError ? 'warning' : 'muted'}
        >
          {note.text}
        </span>
      )}
    </>
  )
}

/** A policy as JSON; the name of a preset as the settings behind it. */
function written(policy: Policy | string, { presetPolicies }: Info): string {
  if (typeof policy !== 'string') return JSON.stringify(policy, undefined, 2)
  const known = Object.hasOwn(presetPolicies, policy) ? presetPolicies[policy] : undefined
  return known === undefined ? policy : JSON.stringify(known, undefined, 2)
}

function parse(text: string): Policy | string {
  const trimmed = text.trim()
  return /^[a-z][a-z-]*$/.test(trimmed) ? trimmed : (JSON.parse(trimmed) as Policy)
}
