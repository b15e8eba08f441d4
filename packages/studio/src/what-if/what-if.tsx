// What-if: another policy on this thread from its first message on, with the resulting view and
// cost. Changes nothing.

import { type ReactNode, useState } from 'react'
import { setParams, useAddress } from '../address.ts'
import { api } from '../api.ts'
import type { Info, Policy, ThreadSummary } from '../contract.ts'
import { Failure, Loading } from '../notice.tsx'
import { useLoad } from '../use-load.ts'
import { Outcome } from './outcome.tsx'
import { templateOf } from './template.ts'

export interface WhatIfProps {
  readonly thread: ThreadSummary
  readonly info: Info
}

export function WhatIf({ thread, info }: WhatIfProps): ReactNode {
  const { params } = useAddress()
  const asked = params.get('policy')
  const [text, setText] = useState(asked ?? JSON.stringify(thread.policy ?? {}, undefined, 2))
  const [problem, setProblem] = useState<string>()
  const own = useLoad(asked === null ? undefined : thread.id, () =>
    api.whatIf(thread.id, thread.policy ?? {}),
  )
  const outcome = useLoad(asked === null ? undefined : `${thread.id} ${asked}`, () =>
    api.whatIf(thread.id, parse(asked ?? '')),
  )
  const run = (policy: string): void => {
    setProblem(undefined)
    try {
      parse(policy)
      setParams({ policy })
    } catch {
      setProblem('This is neither the name of a preset nor JSON.')
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
              setText(event.target.value)
              run(event.target.value)
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
          Policy: JSON, or a preset’s name
          <textarea
            rows={14}
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
          <CopyButton text={text} thread={thread} />
        </div>
        {problem !== undefined && (
          <p role="alert" className="warning">
            {problem}
          </p>
        )}
      </form>
      <div className="what-if-result" aria-live="polite">
        {outcome.error !== undefined && <Failure error={outcome.error} />}
        {own.error !== undefined && <Failure error={own.error} onRetry={own.reload} />}
        {asked !== null && (outcome.isLoading || own.isLoading) && (
          <Loading what="the other view" />
        )}
        {asked === null && (
          <p className="muted">
            The messages of this thread are played again under the policy, from the first one on.
            Nothing is changed by that.
          </p>
        )}
        {outcome.data !== undefined && own.data !== undefined && (
          <Outcome own={own.data} other={outcome.data} />
        )}
      </div>
    </div>
  )
}

function parse(text: string): Policy | string {
  const trimmed = text.trim()
  return /^[a-z][a-z-]*$/.test(trimmed) ? trimmed : (JSON.parse(trimmed) as Policy)
}

function CopyButton({
  text,
  thread,
}: {
  readonly text: string
  readonly thread: ThreadSummary
}): ReactNode {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  const copy = async (): Promise<void> => {
    try {
      const template = templateOf(parse(text), thread.model)
      await navigator.clipboard.writeText(JSON.stringify(template, undefined, 2))
      setState('copied')
    } catch {
      setState('failed')
    }
  }
  const labels = {
    idle: 'Copy as agent template',
    copied: 'Copied: save it as agents/<name>.json',
    failed: 'Could not copy',
  }
  return (
    <button type="button" onClick={() => void copy()}>
      {labels[state]}
    </button>
  )
}
