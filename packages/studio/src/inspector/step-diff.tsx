// Request at a step, and its diff to the previous step.

import type { ReactNode } from 'react'
import { api } from '../api.ts'
import type { Json } from '../contract.ts'
import { Failure, Loading } from '../notice.tsx'
import { formatCount } from '../numbers.ts'
import { useLoad } from '../use-load.ts'

export interface StepDiffProps {
  readonly thread: string
  readonly step: number
}

/** Messages shown per side; a request may have thousands. */
const maxShown = 60

export function StepDiff({ thread, step }: StepDiffProps): ReactNode {
  const { data, error, reload } = useLoad(`${thread} ${step}`, (signal) =>
    api.request(thread, step, signal),
  )
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  if (data === undefined) return <Loading what="the request" />
  const { difference, change, exact } = data
  const { previousStep, same, removed, added } = difference
  return (
    <div className="difference" data-step={step}>
      <p>
        {previousStep === undefined ? (
          <>The first request: {count(added.length)}.</>
        ) : (
          <>
            {count(same)} as at step {previousStep}; after them {formatCount(removed.length)} of
            step {previousStep} gone or changed, {formatCount(added.length)} new.
          </>
        )}{' '}
        {change === undefined && previousStep !== undefined && (
          <span className="tag tag-good">only extends it: the cache holds</span>
        )}
        {change !== undefined && (
          <span className="tag tag-break" data-cause={change.cause}>
            first change at message {change.index + 1}: {change.cause}
            {change.rule === undefined ? '' : ` (${change.rule}: ${change.reason ?? ''})`}
          </span>
        )}{' '}
        <span className="muted">
          {exact ? 'Rebuilt byte for byte.' : 'Rebuilt; the bytes sent were different.'}
        </span>
      </p>
      <details>
        <summary>Messages</summary>
        <div className="difference-sides">
          {removed.length > 0 && (
            <Side title={`Step ${previousStep}`} mark="−" messages={removed} />
          )}
          <Side title={`Step ${step}`} mark="+" messages={added} />
        </div>
      </details>
    </div>
  )
}

function count(messages: number): string {
  return `${formatCount(messages)} ${messages === 1 ? 'message' : 'messages'}`
}

interface SideProps {
  readonly title: string
  readonly mark: string
  readonly messages: readonly Json[]
}

function Side({ title, mark, messages }: SideProps): ReactNode {
  return (
    <section className={mark === '+' ? 'side side-added' : 'side side-removed'} aria-label={title}>
      <h3>{title}</h3>
      <ol>
        {messages.slice(0, maxShown).map((message, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the order of a request is what it is.
          <li key={index}>
            <span aria-hidden="true">{mark}</span>
            <pre>{shorten(JSON.stringify(message, undefined, 1))}</pre>
          </li>
        ))}
      </ol>
      {messages.length > maxShown && (
        <p className="muted">{formatCount(messages.length - maxShown)} more</p>
      )}
    </section>
  )
}

function shorten(text: string): string {
  return text.length > 2000
    ? `${text.slice(0, 2000)} … ${formatCount(text.length)} characters`
    : text
}
