// `oriel search`: the messages that answer a query best, over all threads of a store, with their passages.

import { openThread, type Store, searchThreads, type ThreadSearchResult } from 'oriel'
import { nameOf } from '../doctor/store-options.ts'
import { renderJson } from '../render/json.ts'
import { plural } from '../render/layout.ts'
import { clean } from '../render/text.ts'
import { type Colors, colorsFor, type Terminal } from '../terminal.ts'
import { askGateway, type GatewayAddress } from './gateway.ts'
import { tenantsOf, withOpenStore } from './open.ts'
import type { SearchSettings } from './settings.ts'

type Found = ThreadSearchResult & { readonly tenant: string }

/** Resolves to the exit code: 0, or 1 if nothing was found. */
export async function search(settings: SearchSettings, terminal: Terminal): Promise<number> {
  const found =
    settings.gateway === undefined
      ? await withOpenStore(settings.path, (store) => find(store, settings))
      : await askFor(settings.gateway, settings)
  const { stdout, env } = terminal
  if (settings.isJson) stdout.write(renderJson({ results: found }))
  else stdout.write(render(found, colorsFor(stdout, env)))
  return found.length === 0 ? 1 : 0
}

/** Through its API a gateway gives what a model may read. */
async function askFor(
  gateway: GatewayAddress,
  { query, choice, limit }: SearchSettings,
): Promise<readonly Found[]> {
  const [thread] = choice.threads
  const asked = new URLSearchParams({ q: query, limit: String(limit), ...(thread && { thread }) })
  const { results } = await askGateway<{ readonly results: readonly FoundAtGateway[] }>(
    gateway,
    `api/search?${asked}`,
  )
  return results.map((result) => ({ ...result, tenant: result.tenant ?? '' }))
}

type FoundAtGateway = ThreadSearchResult & { readonly tenant?: string }

/** A person asks: what was excluded and what is for people is found too. */
async function find(
  store: Store,
  { query, choice, limit }: SearchSettings,
): Promise<readonly Found[]> {
  const options = { limit, audience: 'person' } as const
  const found: Found[] = []
  for await (const tenant of tenantsOf(store, choice.tenant)) {
    if (choice.threads.length === 0) {
      const own = await searchThreads(store, tenant, query, options)
      found.push(...own.map((result) => ({ ...result, tenant })))
    }
    for (const id of choice.threads) {
      if ((await store.info({ tenant, thread: id })) === undefined) continue
      const thread = await openThread({ id, tenant, store })
      const own = await thread.search(query, options)
      found.push(...own.map((result) => ({ ...result, thread: id, tenant })))
    }
  }
  return found.toSorted((a, b) => b.score - a.score).slice(0, limit)
}

function render(found: readonly Found[], colors: Colors): string {
  const blocks = found.map((result) => {
    const { role, tool, id, seq, at } = result
    const speaker = tool === undefined ? role : `${role} ${tool}`
    const when = new Date(at).toISOString().slice(0, 16).replace('T', ' ')
    const head = clean(`${where(result)}, ${speaker}, ${id}, entry ${seq}, ${when}`)
    const lines = highlighted(result, colors)
      .split('\n')
      .map((line) => `  ${line}`)
    return [colors.bold(head), ...lines].join('\n')
  })
  const end = found.length === 0 ? 'nothing found' : plural(found.length, 'message')
  return `${[...blocks, end].join('\n\n')}\n`
}

/** A gateway tells only those whose key sees every tenant whose thread it is. */
function where({ tenant, thread }: Found): string {
  return tenant === '' ? `thread ${thread}` : nameOf({ tenant, thread })
}

/** Characters of a passage that a terminal shows, about five lines, and how many of them stand before the first match. */
const shownCharacters = 400
const before = 80

/** The words that match stand out, in the part of the passage that has most of them. */
function highlighted({ text, marks }: Found, colors: Colors): string {
  const start = startOf(text, marks)
  const end = Math.min(text.length, start + shownCharacters)
  let shown = start > 0 ? '... ' : ''
  let from = start
  for (const [at, to] of marks) {
    if (at < start || to > end) continue
    const word = colors.yellow(colors.bold(cleanLines(text.slice(at, to))))
    shown += cleanLines(text.slice(from, at)) + word
    from = to
  }
  return shown + cleanLines(text.slice(from, end)) + (end < text.length ? ' ...' : '')
}

/** Where the part begins that has most different words of the query: the first of several. */
function startOf(text: string, marks: Found['marks']): number {
  if (text.length <= shownCharacters) return 0
  let best = { start: 0, words: 0 }
  for (const [first] of marks) {
    const start = Math.min(Math.max(0, first - before), text.length - shownCharacters)
    const inside = marks.filter(([at, to]) => at >= start && to <= start + shownCharacters)
    const words = new Set(inside.map(([at, to]) => text.slice(at, to).toLowerCase())).size
    if (words > best.words) best = { start, words }
  }
  return best.start
}

function cleanLines(text: string): string {
  return text.split('\n').map(clean).join('\n')
}
