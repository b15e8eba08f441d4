// Start page: what all threads spent and saved, how to connect an agent, and the threads.

import type { ReactNode } from 'react'
import { setParams, useAddress, useLeftPlace } from '../address.ts'
import { api } from '../api.ts'
import type { Info, Overview, ThreadSummary } from '../contract.ts'
import { useKeys } from '../keyboard.ts'
import { Empty, Failure, Loading } from '../notice.tsx'
import { formatTokens } from '../numbers.ts'
import { useDebounced } from '../use-debounced.ts'
import { useEvents } from '../use-events.ts'
import { useLoad } from '../use-load.ts'
import { useTitle } from '../use-title.ts'
import { Connect, Welcome } from './connect.tsx'
import { FoundMessages } from './found-messages.tsx'
import { ListControls } from './list-controls.tsx'
import { Sums } from './sums.tsx'
import { shownThreads, ThreadTable } from './thread-table.tsx'

const pageSize = 50

export function StartPage({ info }: { readonly info: Info }): ReactNode {
  useTitle('Overview')
  const { params } = useAddress()
  const search = params.get('search') ?? ''
  const sort = params.get('sort') ?? 'recent'
  const count = Math.max(
    sort === 'recent' ? pageSize : 4 * pageSize,
    Number(params.get('count')) || 0,
  )
  const list = useLoad(search, (signal) => load(search, count, signal), count)
  const overview = useLoad('overview', (signal) => api.overview(signal))
  useLeftPlace(list.data !== undefined)
  const all = list.data?.threads ?? []
  const model = params.get('model') ?? ''
  const agent = params.get('agent') ?? ''
  const threads = shownThreads(all, { sort, model, agent })
  const refresh = useDebounced(() => {
    list.reload()
    overview.reload()
  })
  useEvents('all', refresh)
  useKeys({ j: () => focusThread(1), k: () => focusThread(-1) })
  const isNew = list.data !== undefined && all.length === 0 && search === ''
  return (
    <section className="start" aria-label="Overview">
      {overview.error !== undefined && <Failure error={overview.error} onRetry={overview.reload} />}
      {isNew && <Welcome info={info} />}
      {!isNew && overview.data !== undefined && (
        <>
          <h1 className="headline">{headlineOf(overview.data)}</h1>
          {overview.data.requests > 0 && <Sums overview={overview.data} isDemo={info.isDemo} />}
          <Connect isOpen={overview.data.requests === 0} />
        </>
      )}
      {!isNew && (
        <ListControls
          search={search}
          sort={sort}
          model={model}
          models={namesIn(all.map((thread) => thread.model))}
          agent={agent}
          agents={namesIn(all.map((thread) => thread.agent))}
          info={info}
        />
      )}
      {list.error !== undefined && <Failure error={list.error} onRetry={list.reload} />}
      {list.data === undefined && list.isLoading && <Loading what="threads" />}
      {search.trim().length > 1 && <FoundMessages query={search} info={info} />}
      {list.data !== undefined && threads.length === 0 && !isNew && (
        <Empty title="No thread found.">The search covers ids, titles and every message.</Empty>
      )}
      {threads.length > 0 && <ThreadTable info={info} threads={threads} />}
      {list.data?.cursor !== undefined && (
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

/** One sentence about all threads, from their numbers. */
function headlineOf({ tokens, requests, edits }: Overview): string {
  if (requests === 0) return 'No model has read any of these threads yet.'
  const said = `Your agents said ${formatTokens(tokens.log)} tokens.`
  const isReduced = tokens.view < tokens.log && edits > 0
  return isReduced
    ? `${said} The model read ${formatTokens(tokens.view)}.`
    : `${said} The model read all of them.`
}

function namesIn(names: readonly (string | undefined)[]): readonly string[] {
  return [...new Set(names.filter((name) => name !== undefined))].sort()
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
