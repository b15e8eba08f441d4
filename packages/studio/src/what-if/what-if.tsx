// Policy page: try another policy on this thread from its first message on, and apply it.

import { type ReactNode, useState } from 'react'
import { setParams, useAddress } from '../address.ts'
import { api } from '../api.ts'
import type { Info, Policy, ThreadSummary } from '../contract.ts'
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

/** The policy that is compared first. */
const usualPreset = 'recommended'
/** Longer threads are replayed when somebody asks for it. */
const maxAtOnce = 400

export function WhatIf({ thread, info, onApplied }: WhatIfProps): ReactNode {
  const { params } = useAddress()
  const [isStopped, setStopped] = useState(false)
  const named = params.get('policy')
  // At once for a thread that is replayed in a moment.
  const usual =
    thread.messages <= maxAtOnce && info.presets.includes(usualPreset) ? usualPreset : null
  const asked = isStopped ? null : (named ?? (usual === null ? null : written(usual, info)))
  const [text, setText] = useState(() => written(named ?? usual ?? thread.policy ?? {}, info))
  const [problem, setProblem] = useState<string>()
  const [done, setDone] = useState(0)
  // Both at once, each of them one replay after the other: a caller may run few at a time.
  const base = useLoad(asked === null ? undefined : thread.id, async (signal) => {
    setDone(0)
    const everything = await api.whatIf(thread.id, {}, signal)
    setDone(1)
    return { everything, own: await api.whatIf(thread.id, thread.policy ?? {}, signal) }
  })
  const other = useLoad(asked === null ? undefined : `${thread.id} ${asked}`, (signal) =>
    api.whatIf(thread.id, parse(asked ?? ''), signal),
  )
  const ready = base.data === undefined ? done : 2
  const count = ready + (other.data === undefined ? 0 : 1)
  const error = other.error ?? base.error
  const run = (policy: string): void => {
    setProblem(undefined)
    setStopped(false)
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
        {error !== undefined && <Failure error={error} />}
        {asked !== null && count < 3 && error === undefined && (
          <div className="notice" role="status">
            <progress max={3} value={count} aria-label="Replays" />
            Replaying the thread: {count} of 3 policies
            <button type="button" onClick={() => setStopped(true)}>
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
        {base.data !== undefined && other.data !== undefined && (
          <Outcome {...base.data} other={other.data} />
        )}
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
