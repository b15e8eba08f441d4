// Thread list: each thread with its numbers.

import { type ReactNode, useEffect, useState } from 'react'
import { threadAddress } from '../address.ts'
import type { Info, ThreadSummary } from '../contract.ts'
import { Link } from '../link.tsx'
import {
  formatAgo,
  formatCount,
  formatDollars,
  formatPercent,
  formatTokens,
  unpriced,
} from '../numbers.ts'

/** The tenant for a foreign thread's URL; own threads need only their id. */
function othersTenant({ tenant }: ThreadSummary, info: Info): { readonly tenant?: string } {
  return tenant === undefined || tenant === info.tenant ? {} : { tenant }
}

const columns = [
  ['Messages', 'Messages in the log'],
  ['Log', 'Tokens of everything that was said'],
  ['View', 'Tokens of the newest request: what the model read'],
  ['Saved', 'Of the cost of sending everything in full'],
  ['Cached', 'Share of the input that was read from the provider’s cache'],
  ['Cost', 'Of all requests'],
] as const

export function ThreadTable(props: {
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
          <th scope="col">Agent</th>
          {columns.map(([name, meaning]) => (
            <th key={name} scope="col" className="number" title={meaning}>
              {name}
            </th>
          ))}
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
  const { id, title, messages, steps, tokens, usage, cost, updatedAt, forkedFrom, model } = thread
  const input = usage.uncached + usage.cacheRead + usage.cacheWrite
  const address = threadAddress(id, whose)
  return (
    <tr data-thread={id}>
      <th scope="row">
        <Link href={address}>{title === '' ? id : title}</Link>
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
      <td data-label="Agent">{thread.agent ?? <span className="muted">–</span>}</td>
      <td className="number" data-label="Messages" title={`${formatCount(steps)} steps`}>
        {formatCount(messages)}
      </td>
      <td
        className="number"
        data-label="Log"
        data-tokens={tokens.log}
        title={`${formatCount(tokens.log)} tokens in full`}
      >
        {formatTokens(tokens.log)}
      </td>
      <td
        className="number"
        data-label="View"
        data-tokens={tokens.view}
        title={`${formatCount(tokens.view)} tokens in the newest request`}
      >
        {thread.requests === 0 ? '–' : formatTokens(tokens.view)}
      </td>
      <td className="number" data-label="Saved" data-saved={savedBy(cost)}>
        <Saved cost={cost} />
      </td>
      <td className="number" data-label="Cached" title="Input read from the provider’s cache">
        {input === 0 ? '–' : formatPercent(usage.cacheRead / input)}
      </td>
      <td className="number" data-label="Cost" data-dollars={cost?.dollars}>
        {cost === undefined ? (
          <span title="The price of this model is not known.">–</span>
        ) : (
          <Link
            href={threadAddress(id, { ...whose, tab: 'timeline' })}
            title={unpriced(cost.unpricedCalls) || undefined}
          >
            {formatDollars(cost.dollars)}
          </Link>
        )}
      </td>
      <td data-label="Last activity">
        <time dateTime={new Date(updatedAt).toISOString()}>{formatAgo(updatedAt, now)}</time>
      </td>
    </tr>
  )
}

function savedBy(cost: ThreadSummary['cost'] | undefined): number | undefined {
  return cost === undefined ? undefined : cost.withoutOriel - cost.dollars
}

function Saved({ cost }: { readonly cost: ThreadSummary['cost'] | undefined }): ReactNode {
  const saved = savedBy(cost)
  if (saved === undefined || cost === undefined) return '–'
  if (saved === 0) return '$0'
  const share = Math.abs(saved) / cost.withoutOriel
  const title = `${formatDollars(cost.withoutOriel)} with everything in full`
  return saved > 0 ? (
    <span className="better" title={title}>
      {formatPercent(share)}
    </span>
  ) : (
    <span className="worse" title={title}>
      {formatPercent(share)} more
    </span>
  )
}
