// Thread page: log, view, cost and what-if of one thread.

import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { chatAddress, go, threadAddress, useAddress } from '../address.ts'
import { api } from '../api.ts'
import type { Composition, Info, ThreadSummary, TimelineStep } from '../contract.ts'
import { Link } from '../link.tsx'
import { Failure, Loading } from '../notice.tsx'
import { countOf, formatDollars, formatPercent, formatTokens } from '../numbers.ts'
import { Timeline } from '../timeline/timeline.tsx'
import { useDebounced } from '../use-debounced.ts'
import { useEvents } from '../use-events.ts'
import { useLoad } from '../use-load.ts'
import { useTitle } from '../use-title.ts'
import { WhatIf } from '../what-if/what-if.tsx'
import { ContextBar } from './context-bar.tsx'
import { Edits } from './edits.tsx'
import { Inspector } from './inspector.tsx'
import { useOutline, useTimeline } from './use-outline.ts'

const tabs = [
  ['inspector', 'Inspector'],
  ['timeline', 'Timeline'],
  ['edits', 'Edits'],
  ['what-if', 'Policy'],
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
  const asked = params.get('step')
  const step = asked === 'next' ? 'next' : stepNumber(asked)
  const timeline = useTimeline(id, version)
  const isInspector = tab === 'inspector'
  // A thread that was never sent has no other numbers than those of its next request.
  const isUnsent = thread.data?.requests === 0
  const outline = useOutline(isInspector || isUnsent ? id : undefined, step, version)
  const steps = timeline.data?.steps ?? noSteps
  if (thread.error !== undefined) return <Failure error={thread.error} onRetry={thread.reload} />
  if (thread.data === undefined) return <Loading what="the thread" />
  const shown = isInspector || isUnsent ? outline.data : undefined
  return (
    <section className="thread" aria-label="Thread">
      <ThreadHead
        thread={thread.data}
        isOwn={thread.data.tenant === info.tenant}
        hasChat={info.agents.length > 0}
        context={shown === undefined ? thread.data.context : shown.context}
        title={titleOf(shown?.step ?? (shown === undefined ? steps.at(-1)?.step : undefined))}
      />
      <Tabs id={id} tab={tab} />
      <div className="tab-body" role="tabpanel" aria-label={tab}>
        {isInspector && (
          <Inspector thread={thread.data} outline={outline} steps={steps} onChange={refresh} />
        )}
        {tab === 'timeline' && <Timeline thread={thread.data} timeline={timeline} />}
        {tab === 'edits' && (
          <Edits thread={thread.data} steps={steps} version={version} onChange={refresh} />
        )}
        {tab === 'what-if' && <WhatIf thread={thread.data} info={info} onApplied={refresh} />}
      </div>
    </section>
  )
}

const noSteps: readonly TimelineStep[] = []

function stepNumber(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

function titleOf(step: number | undefined): string {
  return step === undefined ? 'Next request' : `Request of step ${step}`
}

/** Tabs with one stop in the tab order; arrow keys move between them. */
function Tabs({ id, tab }: { readonly id: string; readonly tab: string }): ReactNode {
  const list = useRef<HTMLDivElement>(null)
  const open = (name: string): void =>
    go(threadAddress(id, name === 'inspector' ? {} : { tab: name }))
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (by === undefined) return
    event.preventDefault()
    const at = tabs.findIndex(([name]) => name === tab)
    const next = tabs[(at + by + tabs.length) % tabs.length]?.[0] ?? 'inspector'
    open(next)
    list.current?.querySelector<HTMLElement>(`[data-tab="${next}"]`)?.focus()
  }
  return (
    <div
      className="tabs"
      role="tablist"
      aria-label="Parts of the thread"
      ref={list}
      onKeyDown={onKeyDown}
    >
      {tabs.map(([name, title]) => (
        <button
          type="button"
          role="tab"
          key={name}
          data-tab={name}
          tabIndex={tab === name ? 0 : -1}
          aria-selected={tab === name}
          onClick={() => open(name)}
        >
          {title}
        </button>
      ))}
    </div>
  )
}

interface ThreadHeadProps {
  readonly thread: ThreadSummary
  /** Foreign threads are read-only. */
  readonly isOwn: boolean
  readonly hasChat: boolean
  readonly context: Composition | undefined
  /** The request that the bar shows. */
  readonly title: string
}

function ThreadHead({ thread, isOwn, hasChat, context, title: shown }: ThreadHeadProps): ReactNode {
  const { id, title, messages, steps, tokens, cost, model, forkedFrom, requests } = thread
  const saved = cost === undefined ? 0 : cost.withoutOriel - cost.dollars
  return (
    <header className="thread-head">
      <div className="thread-title">
        <h1 title={title}>{titleText(title, id)}</h1>
        <p className="muted small">
          {model !== undefined && <span>{model}</span>}
          <span>{countOf(messages, 'message')}</span>
          <span>{countOf(steps, 'step')}</span>
          <span data-head-log={tokens.log}>{formatTokens(tokens.log)} tokens in full</span>
          {requests > 0 && (
            <span data-head-view={tokens.view}>{formatTokens(tokens.view)} sent last</span>
          )}
          {cost !== undefined && (
            <span data-head-dollars={cost.dollars}>{formatDollars(cost.dollars)}</span>
          )}
          {cost !== undefined && saved !== 0 && (
            <span className={saved > 0 ? 'better' : 'worse'} data-head-saved={saved}>
              {formatPercent(Math.abs(saved) / cost.withoutOriel)} {saved > 0 ? 'saved' : 'more'}
            </span>
          )}
          {forkedFrom !== undefined && (
            <Link href={threadAddress(forkedFrom.thread)}>
              forked from {forkedFrom.thread} at {forkedFrom.at}
            </Link>
          )}
          <span className="id">{id}</span>
        </p>
      </div>
      <div className="actions">
        {isOwn && hasChat && (
          <Link className="button" href={`${chatAddress}&thread=${encodeURIComponent(id)}`}>
            Continue in chat
          </Link>
        )}
        <ExportButton id={id} />
        <EraseButton id={id} />
      </div>
      {context !== undefined && <ContextBar context={context} title={shown} />}
    </header>
  )
}

/** The beginning of the first message; it is cut where the library cuts it. */
function titleText(title: string, id: string): string {
  if (title === '') return id
  return [...title].length < longestTitle ? title : `${title}…`
}

/** As the library cuts titles. */
const longestTitle = 120

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
      {error?.message ?? 'Erase all of this thread? It cannot be restored.'}
      <button
        type="button"
        className="danger"
        onClick={() => api.erase(id).then(() => go('/threads'), setError)}
      >
        Erase
      </button>
      <button type="button" ref={button} onClick={() => setAsking(false)}>
        Keep
      </button>
    </span>
  )
}
