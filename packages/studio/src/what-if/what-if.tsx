// Policy page: a form for another policy with its outcome beside it, live; try, apply, or take it along as an agent template.

import { type ReactNode, useEffect, useState } from 'react'
import { setParams, useAddress } from '../address.ts'
import { api } from '../api.ts'
import type { Info, JsonObject, Policy, ThreadSummary } from '../contract.ts'
import { CopyButton } from '../copy-button.tsx'
import { Failure } from '../notice.tsx'
import { formatPercent } from '../numbers.ts'
import { useDebounced } from '../use-debounced.ts'
import { useLoad } from '../use-load.ts'
import { Outcome } from './outcome.tsx'
import { PolicyForm } from './policy-form.tsx'
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
  const isLive = thread.messages <= maxAtOnce
  const usual = isLive && info.presets.includes(usualPreset) ? usualPreset : null
  const asked = isStopped ? null : (named ?? (usual === null ? null : written(usual, info)))
  const [text, setText] = useState(() => written(named ?? usual ?? thread.policy ?? {}, info))
  const [progress, setProgress] = useState(0)
  const compared = useLoad(asked === null ? undefined : `${thread.id} ${asked}`, (signal) => {
    setProgress(0)
    const policies = [{}, thread.policy ?? {}, parse(asked ?? '')]
    return api.compare(thread.id, policies, { signal, onProgress: setProgress })
  })
  const run = (policy: string): void => {
    setStopped(false)
    if (problemOf(policy) === undefined) setParams({ policy })
  }
  const runSoon = useDebounced(() => isLive && run(text))
  const change = (policy: string): void => {
    setText(policy)
    runSoon()
  }
  return (
    <div className="what-if">
      <PolicyEditor thread={thread} info={info} text={text} onChange={change} onRun={run}>
        <ApplyButton thread={thread} text={text} onApplied={onApplied} />
      </PolicyEditor>
      <div className="what-if-result" aria-live="polite">
        {compared.error !== undefined && <Failure error={compared.error} />}
        {asked !== null && compared.isLoading && (
          <div className="notice" role="status">
            <progress max={1} value={progress} aria-label="Replay" />
            Replaying the thread under three policies: {formatPercent(progress)}
            <button type="button" onClick={() => setStopped(true)}>
              Stop
            </button>
          </div>
        )}
        {asked === null && (
          <p className="muted">
            {isStopped ? 'Stopped. ' : ''}The messages of this thread are replayed under the policy,
            from the first one on. Nothing is stored. “Apply” makes it the policy of this thread.
          </p>
        )}
        {compared.data !== undefined && <Outcome thread={thread} comparison={compared.data} />}
      </div>
    </div>
  )
}

interface PolicyEditorProps {
  readonly thread: ThreadSummary
  readonly info: Info
  readonly text: string
  readonly onChange: (text: string) => void
  readonly onRun: (text: string) => void
  readonly children: ReactNode
}

function PolicyEditor(props: PolicyEditorProps): ReactNode {
  const { thread, info, text, onChange, onRun, children } = props
  const { params } = useAddress()
  const isJson = params.get('edit') === 'json'
  const fields = useLoad('fields', (signal) => api.policyFields(signal))
  const problem = problemOf(text)
  const policy = problem === undefined ? objectOf(text, info) : undefined
  const template = async (): Promise<string> =>
    JSON.stringify(templateOf(parse(text), thread.model), undefined, 2)
  return (
    <form
      aria-label="Policy to try"
      onSubmit={(event) => {
        event.preventDefault()
        onRun(text)
      }}
    >
      <div className="policy-head">
        <label>
          Start from a preset
          <select
            value=""
            onChange={(event) => {
              const chosen = written(event.target.value, info)
              onChange(chosen)
              onRun(chosen)
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
        <button
          type="button"
          aria-pressed={isJson}
          onClick={() => setParams({ edit: isJson ? undefined : 'json' })}
        >
          JSON
        </button>
      </div>
      <div className="actions">
        <button type="submit" className="primary">
          Try it
        </button>
        {children}
        <DownloadButton text={template} />
        <CopyButton label="Copy as agent template" text={template} />
      </div>
      {problem !== undefined && (
        <p role="alert" className="warning">
          {problem}
        </p>
      )}
      {isJson || policy === undefined ? (
        <label>
          Policy as JSON
          <textarea
            rows={18}
            spellCheck={false}
            data-slash=""
            value={text}
            onChange={(event) => onChange(event.target.value)}
          />
        </label>
      ) : (
        <PolicyForm
          fields={fields.data?.fields ?? []}
          policy={policy}
          onChange={(next) => onChange(JSON.stringify(next, undefined, 2))}
        />
      )}
    </form>
  )
}

/** Saves the policy as the template of an agent: a file for the folder that the configuration names as `agents`. */
function DownloadButton({ text }: { readonly text: () => Promise<string> }): ReactNode {
  const [address, setAddress] = useState<string>()
  useEffect(() => () => URL.revokeObjectURL(address ?? ''), [address])
  const save = async (): Promise<void> => {
    const url = URL.createObjectURL(new Blob([await text()], { type: 'application/json' }))
    const link = document.createElement('a')
    link.href = url
    link.download = 'my-agent.json'
    link.click()
    setAddress(url)
  }
  return (
    <button type="button" onClick={() => void save()}>
      Save as agent template
    </button>
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

/** The policy as an object; a preset's name as its settings. */
function objectOf(text: string, { presetPolicies }: Info): JsonObject | undefined {
  const policy = parse(text)
  const object = typeof policy === 'string' ? presetPolicies[policy] : policy
  return object as JsonObject | undefined
}

/** What is wrong with a text; undefined for a policy, as far as the page can tell. */
function problemOf(text: string): string | undefined {
  try {
    const policy = parse(text)
    const isPolicy =
      typeof policy === 'string' ||
      (typeof policy === 'object' && policy !== null && !Array.isArray(policy))
    return isPolicy ? undefined : 'A policy is an object.'
  } catch {
    return 'This is not valid JSON.'
  }
}
