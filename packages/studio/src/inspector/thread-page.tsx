// Thread page: log, view, cost and what-if of one thread.

import { type ReactNode, useEffect, useRef, useState } from 'react'
import { chatAddress, go, threadAddress, useAddress } from '../address.ts'
import { api } from '../api.ts'
import type { Info, ThreadSummary } from '../contract.ts'
import { Link } from '../link.tsx'
import { Failure, Loading } from '../notice.tsx'
import { formatBytes, formatCount, formatDollars, formatTokens } from '../numbers.ts'
import { Timeline } from '../timeline/timeline.tsx'
import { useDebounced } from '../use-debounced.ts'
import { useEvents } from '../use-events.ts'
import { useLoad } from '../use-load.ts'
import { useTitle } from '../use-title.ts'
import { WhatIf } from '../what-if/what-if.tsx'
import { Edits } from './edits.tsx'
import { Inspector } from './inspector.tsx'

const tabs = [
  ['inspector', 'Inspector'],
  ['timeline', 'Timeline'],
  ['edits', 'Edits'],
  ['what-if', 'What if'],
] as const

export interface ThreadPageProps {
  readonly id: string
  readonly info: Info
}

export function ThreadPage({ id, info }: ThreadPageProps): ReactNode {
  const { params } = useAddress()
  const tab = tabs.find(([name]) => name === params.get('tab'))?.[0] ?? 'inspector'
  const thread = useLoad(id, (signal) => api.thread(id, signal))
  useTitle(thread.data?.title || id)
  const [version, setVersion] = useState(0)
  const refresh = useDebounced(() => {
    thread.reload()
    setVersion((before) => before + 1)
  })
  useEvents({ thread: id }, ({ type }) => {
    if (type === 'thread-changed' || type === 'reconnected') refresh()
  })
  if (thread.error !== undefined) return <Failure error={thread.error} onRetry={thread.reload} />
  if (thread.data === undefined) return <Loading what="the thread" />
  return (
    <section className="thread" aria-label="Thread">
      <ThreadHead thread={thread.data} isOwn={thread.data.tenant === info.tenant} />
      <div className="tabs" role="tablist" aria-label="Parts of the thread">
        {tabs.map(([name, title]) => (
          <button
            type="button"
            role="tab"
            key={name}
            aria-selected={tab === name}
            onClick={() => go(threadAddress(id, name === 'inspector' ? {} : { tab: name }))}
          >
            {title}
          </button>
        ))}
      </div>
      <div className="tab-body" role="tabpanel" aria-label={tab}>
        {tab === 'inspector' && (
          <Inspector thread={thread.data} version={version} onChange={refresh} />
        )}
        {tab === 'timeline' && <Timeline thread={thread.data} version={version} />}
        {tab === 'edits' && <Edits thread={thread.data} version={version} onChange={refresh} />}
        {tab === 'what-if' && <WhatIf thread={thread.data} info={info} />}
      </div>
    </section>
  )
}

interface ThreadHeadProps {
  readonly thread: ThreadSummary
  /** Foreign threads are read-only. */
  readonly isOwn: boolean
}

function ThreadHead({ thread, isOwn }: ThreadHeadProps): ReactNode {
  const { id, title, messages, steps, bytes, tokens, cost, model, forkedFrom } = thread
  return (
    <header className="thread-head">
      <div>
        <h1>{title === '' ? id : title}</h1>
        <p className="muted small">
          <span className="id">{id}</span>
          {model !== undefined && <span>{model}</span>}
          <span>{formatCount(messages)} messages</span>
          <span>{formatCount(steps)} steps</span>
          <span>{formatBytes(bytes)}</span>
          <span>
            {formatTokens(tokens.log)} tokens in the log, {formatTokens(tokens.view)} in view
          </span>
          {cost !== undefined && <span>{formatDollars(cost.dollars)}</span>}
          {forkedFrom !== undefined && (
            <Link href={threadAddress(forkedFrom.thread)}>
              forked from {forkedFrom.thread} at {forkedFrom.at}
            </Link>
          )}
        </p>
      </div>
      <div className="actions">
        {isOwn && (
          <Link className="button" href={`${chatAddress}&thread=${encodeURIComponent(id)}`}>
            Continue in chat
          </Link>
        )}
        <ExportButton id={id} />
        <EraseButton id={id} />
      </div>
    </header>
  )
}

function ExportButton({ id }: { readonly id: string }): ReactNode {
  const [error, setError] = useState<Error>()
  const save = async (): Promise<void> => {
    setError(undefined)
    const address = URL.createObjectURL(await api.exportThread(id))
    const link = document.createElement('a')
    link.href = address
    link.download = `${id}.jsonl`
    link.click()
    URL.revokeObjectURL(address)
  }
  return (
    <>
      {error !== undefined && (
        <span role="alert" className="warning">
          {error.message}
        </span>
      )}
      <button type="button" onClick={() => save().catch(setError)}>
        Export
      </button>
    </>
  )
}

/**
 * Asks for confirmation, because erasing cannot be undone. The focus moves to the safe answer, and
 * back.
 */
function EraseButton({ id }: { readonly id: string }): ReactNode {
  const [isAsking, setAsking] = useState(false)
  const [error, setError] = useState<Error>()
  const button = useRef<HTMLButtonElement>(null)
  const wasAsking = useRef(false)
  useEffect(() => {
    if (isAsking || wasAsking.current) button.current?.focus()
    wasAsking.current = isAsking
  }, [isAsking])
  if (!isAsking) {
    return (
      <button type="button" ref={button} onClick={() => setAsking(true)}>
        Erase
      </button>
    )
  }
  return (
    <span className="sure" role="alertdialog" aria-label="Erase this thread">
      {error?.message ?? 'For good?'}
      <button
        type="button"
        className="danger"
        onClick={() => api.erase(id).then(() => go('/threads'), setError)}
      >
        Erase for good
      </button>
      <button type="button" ref={button} onClick={() => setAsking(false)}>
        Keep
      </button>
    </span>
  )
}
