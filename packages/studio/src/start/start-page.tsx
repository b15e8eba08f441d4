// Start page: what all threads spent and saved, how to connect an agent, and the threads.

import { type ReactNode, useRef } from 'react'
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
import { ThreadTable } from './thread-table.tsx'

const pageSize = 50

export function StartPage({ info }: { readonly info: Info }): ReactNode {
  useTitle('Overview')
  const { params } = useAddress()
  const search = params.get('search') ?? ''
  const sort = params.get('sort') ?? 'recent'
  const model = params.get('model') ?? ''
  const agent = params.get('agent') ?? ''
  const count = Math.max(pageSize, Number(params.get('count')) || 0)
  const asked = { search, sort, model, agent }
  const list = useLoad(JSON.stringify(asked), (signal) => load(asked, count, signal), count)
  const overview = useLoad('overview', (signal) => api.overview(signal))
  useLeftPlace(list.data !== undefined)
  const threads = list.data?.threads ?? []
  const names = useNames(threads, { model, agent })
  const refresh = useDebounced(() => {
    list.reload()
    overview.reload()
  })
  useEvents('all', refresh)
  useKeys({ j: () => focusThread(1), k: () => focusThread(-1) })
  const isFiltered = search !== '' || model !== '' || agent !== ''
  const isNew = list.data !== undefined && threads.length === 0 && !isFiltered
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
          models={names.models}
          agent={agent}
          agents={names.agents}
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

/** The models and agents that were seen so far: a filter leaves one, and the others must stay to choose. */
function useNames(
  threads: readonly ThreadSummary[],
  { model, agent }: { readonly model: string; readonly agent: string },
): { readonly models: readonly string[]; readonly agents: readonly string[] } {
  const seen = useRef({ models: new Set<string>(), agents: new Set<string>() })
  const { models, agents } = seen.current
  for (const name of [model, ...threads.map((thread) => thread.model ?? '')]) models.add(name)
  for (const name of [agent, ...threads.map((thread) => thread.agent ?? '')]) agents.add(name)
  const listed = (names: ReadonlySet<string>): readonly string[] =>
    [...names].filter((name) => name !== '').sort()
  return { models: listed(models), agents: listed(agents) }
}

/** Moves the focus to the next or previous thread; to the first if none has it. */
function focusThread(by: 1 | -1): void {
  const rows = [...document.querySelectorAll('[data-thread]')]
  const at = rows.findIndex((row) => row.contains(document.activeElement))
  const next = at === -1 ? rows[0] : rows[at + by]
  next?.querySelector('a')?.focus()
}

interface Asked {
  readonly search: string
  readonly sort: string
  readonly model: string
  readonly agent: string
}

/** Loads as many pages as needed. */
async function load(asked: Asked, count: number, signal: AbortSignal) {
  const threads: ThreadSummary[] = []
  let cursor: string | undefined
  do {
    const next = cursor === undefined ? {} : { cursor }
    const page = await api.threads({ ...asked, limit: pageSize, ...next }, signal)
    threads.push(...page.threads)
    cursor = page.cursor
  } while (cursor !== undefined && threads.length < count)
  return { threads, ...(cursor === undefined ? {} : { cursor }) }
}
