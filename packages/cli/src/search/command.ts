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
    const lines = nearMatch(result, colors).map((line) => `  ${line}`)
    return [colors.bold(head), ...lines].join('\n')
  })
  const end = found.length === 0 ? 'nothing found' : plural(found.length, 'message')
  return `${[...blocks, end].join('\n\n')}\n`
}

/** A gateway tells only those whose key sees every tenant whose thread it is. */
function where({ tenant, thread }: Found): string {
  return tenant === '' ? `thread ${thread}` : nameOf({ tenant, thread })
}

/** Lines shown of a passage. */
const mostLines = 6

/** The lines around the first match; `oriel search --json` has the whole passage. */
function nearMatch(result: Found, colors: Colors): readonly string[] {
  const lines = highlighted(result, colors).split('\n')
  const first = result.text.slice(0, result.marks[0]?.[0] ?? 0).split('\n').length - 1
  const from = Math.max(0, Math.min(first - 1, lines.length - mostLines))
  const shown = lines.slice(from, from + mostLines)
  return [
    ...(from > 0 ? ['...'] : []),
    ...shown,
    ...(from + mostLines < lines.length ? ['...'] : []),
  ]
}

/** The words that match stand out. */
function highlighted({ text, marks }: Found, colors: Colors): string {
  let shown = ''
  let from = 0
  for (const [start, end] of marks) {
    const word = colors.yellow(colors.bold(cleanLines(text.slice(start, end))))
    shown += cleanLines(text.slice(from, start)) + word
    from = end
  }
  return shown + cleanLines(text.slice(from))
}

function cleanLines(text: string): string {
  return text.split('\n').map(clean).join('\n')
}
