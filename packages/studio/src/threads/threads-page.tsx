// Threads page: all threads, most recent first, updated live.

import { type ReactNode, useEffect, useState } from 'react'
import { chatAddress, setParams, threadAddress, useAddress, useLeftPlace } from '../address.ts'
import { api } from '../api.ts'
import type { Info, ThreadSummary } from '../contract.ts'
import { useKeys } from '../keyboard.ts'
import { Link } from '../link.tsx'
import { Empty, Failure, Loading } from '../notice.tsx'
import {
  formatAgo,
  formatBytes,
  formatCount,
  formatDollars,
  formatPercent,
  formatTokens,
} from '../numbers.ts'
import { inputCost } from '../timeline/cost.ts'
import { useDebounced } from '../use-debounced.ts'
import { useEvents } from '../use-events.ts'
import { useLoad } from '../use-load.ts'
import { useTitle } from '../use-title.ts'

const pageSize = 50

export function ThreadsPage({ info }: { readonly info: Info }): ReactNode {
  useTitle('Threads')
  const { params } = useAddress()
  const search = params.get('search') ?? ''
  const count = Math.max(pageSize, Number(params.get('count')) || 0)
  const { data, error, isLoading, reload } = useLoad(
    search,
    (signal) => load(search, count, signal),
    count,
  )
  useLeftPlace(data !== undefined)
  const threads = data?.threads ?? []
  useEvents('all', useDebounced(reload))
  useKeys({ j: () => focusThread(1), k: () => focusThread(-1) })
  return (
    <section className="threads" aria-label="Threads">
      <div className="toolbar">
        <h1>Threads</h1>
        <Search value={search} />
        <span className="spacer" />
        <Link href={chatAddress} className="button primary">
          New chat
        </Link>
      </div>
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {data === undefined && isLoading && <Loading what="threads" />}
      {data !== undefined && threads.length === 0 && (
        <Empty title={search === '' ? 'No threads yet.' : 'Nothing found.'}>
          {search === ''
            ? `Start a chat, or give an agent the base URL ${location.origin}/v1 (${location.origin} for Anthropic's SDK).`
            : 'Search looks at ids, titles and text.'}
        </Empty>
      )}
      {threads.length > 0 && <ThreadTable info={info} threads={threads} />}
      {data?.cursor !== undefined && (
        <button
          type="button"
          className="more"
          onClick={() => setParams({ count: String(count + pageSize) })}
        >
          Show more
        </button>
      )}
    </section>
  )
}

/** Moves the focus to the next or previous thread; to the first if none has it. */
function focusThread(by: 1 | -1): void {
  const rows = [...document.querySelectorAll('[data-thread]')]
  const at = rows.findIndex((row) => row.contains(document.activeElement))
  const next = at === -1 ? rows[0] : rows[at + by]
  next?.querySelector('a')?.focus()
}

/** Loads as many pages as needed. */
async function load(search: string, count: number, signal: AbortSignal) {
  const threads: ThreadSummary[] = []
  let cursor: string | undefined
  do {
    const page = await api.threads(
      { search, limit: pageSize, ...(cursor === undefined ? {} : { cursor }) },
      signal,
    )
    threads.push(...page.threads)
    cursor = page.cursor
  } while (cursor !== undefined && threads.length < count)
  return { threads, ...(cursor === undefined ? {} : { cursor }) }
}

function Search({ value }: { readonly value: string }): ReactNode {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const apply = useDebounced(() => setParams({ search: text, count: undefined }))
  return (
    <input
      type="search"
      aria-label="Search threads"
      placeholder="Search id, title or text"
      data-slash=""
      value={text}
      onChange={(event) => {
        setText(event.target.value)
        apply()
      }}
    />
  )
}

/** The tenant for a foreign thread's URL; own threads need only their id. */
function othersTenant({ tenant }: ThreadSummary, info: Info): { readonly tenant?: string } {
  return tenant === undefined || tenant === info.tenant ? {} : { tenant }
}

function ThreadTable(props: {
  readonly info: Info
  readonly threads: readonly ThreadSummary[]
}): ReactNode {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5000)
    return () => clearInterval(timer)
  }, [])
  return (
    <table className="thread-table">
      <thead>
        <tr>
          <th scope="col">Thread</th>
          <th scope="col" className="number">
            Messages
          </th>
          <th scope="col" className="number">
            Size
          </th>
          <th scope="col" className="number">
            Log
          </th>
          <th scope="col" className="number">
            View
          </th>
          <th scope="col" className="number">
            Cached
          </th>
          <th scope="col" className="number">
            Cost
          </th>
          <th scope="col">Last activity</th>
        </tr>
      </thead>
      <tbody>
        {props.threads.map((thread) => (
          <ThreadRow
            key={`${thread.tenant} ${thread.id}`}
            thread={thread}
            whose={othersTenant(thread, props.info)}
            now={now}
          />
        ))}
      </tbody>
    </table>
  )
}

interface ThreadRowProps {
  readonly thread: ThreadSummary
  readonly whose: { readonly tenant?: string }
  readonly now: number
}

function ThreadRow({ thread, whose, now }: ThreadRowProps): ReactNode {
  const { id, title, messages, steps, bytes, tokens, usage, cost, updatedAt, forkedFrom, model } =
    thread
  const input = usage.uncached + usage.cacheRead + usage.cacheWrite
  return (
    <tr data-thread={id}>
      <th scope="row">
        <Link href={threadAddress(id, whose)}>{title === '' ? id : title}</Link>
        <div className="muted small">
          {model !== undefined && <span>{model}</span>}
          <span className="id">{id}</span>
          {thread.damage !== undefined && <span className="tag">damaged ({thread.damage})</span>}
          {forkedFrom !== undefined && (
            <Link href={threadAddress(forkedFrom.thread, whose)} className="tag">
              fork at {forkedFrom.at}
            </Link>
          )}
        </div>
      </th>
      <td className="number" data-label="Messages" title={`${steps} steps`}>
        {formatCount(messages)}
      </td>
      <td className="number" data-label="Size">
        {formatBytes(bytes)}
      </td>
      <td className="number" data-label="Log" title="Tokens in the log">
        {formatTokens(tokens.log)}
      </td>
      <td className="number" data-label="View" title="Tokens in the view">
        {formatTokens(tokens.view)}
      </td>
      <td
        className="number"
        data-label="Cached"
        title="Share of the input that came from the provider's cache"
      >
        {input === 0 ? '–' : formatPercent(usage.cacheRead / input)}
      </td>
      <td
        className="number"
        data-label="Cost"
        title="Dollars where the price is known, else input tokens at the base price"
      >
        {cost === undefined ? `${formatTokens(inputCost(usage))} t` : formatDollars(cost.dollars)}
      </td>
      <td data-label="Last activity">
        <time dateTime={new Date(updatedAt).toISOString()}>{formatAgo(updatedAt, now)}</time>
      </td>
    </tr>
  )
}
