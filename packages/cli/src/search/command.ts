// `oriel search`: the messages that answer a query best, over all threads of a store, with their passages.

import { openThread, type Store, searchThreads, type ThreadSearchResult } from 'oriel'
import { nameOf } from '../doctor/store-options.ts'
import { plural } from '../render/layout.ts'
import { clean } from '../render/text.ts'
import { type Colors, colorsFor, type Terminal } from '../terminal.ts'
import { tenantsOf, withOpenStore } from './open.ts'
import type { SearchSettings } from './settings.ts'

type Found = ThreadSearchResult & { readonly tenant: string }

/** Resolves to the exit code: 0, or 1 if nothing was found. */
export async function search(settings: SearchSettings, terminal: Terminal): Promise<number> {
  const found = await withOpenStore(settings.path, (store) => find(store, settings))
  const { stdout, env } = terminal
  if (settings.isJson) stdout.write(`${JSON.stringify({ results: found }, null, 2)}\n`)
  else stdout.write(render(found, settings.query, colorsFor(stdout, env)))
  return found.length === 0 ? 1 : 0
}

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

function render(found: readonly Found[], query: string, colors: Colors): string {
  const blocks = found.map((result) => {
    const { role, tool, id, seq, at } = result
    const speaker = tool === undefined ? role : `${role} ${tool}`
    const when = new Date(at).toISOString().slice(0, 16).replace('T', ' ')
    const head = clean(`${nameOf(result)}, ${speaker}, ${id}, entry ${seq}, ${when}`)
    const lines = result.text
      .split('\n')
      .map((line) => `  ${highlight(clean(line), query, colors)}`)
    return [colors.bold(head), ...lines].join('\n')
  })
  const end = found.length === 0 ? 'nothing found' : plural(found.length, 'message')
  return `${[...blocks, end].join('\n\n')}\n`
}

/** The words of the query stand out, whatever their case. */
function highlight(line: string, query: string, colors: Colors): string {
  const words = query.match(/[\p{L}\p{N}_]{3,}/gu) ?? []
  if (words.length === 0) return line
  const pattern = new RegExp(
    words.map((word) => word.replaceAll(/[^\p{L}\p{N}_]/gu, '')).join('|'),
    'giu',
  )
  return line.replaceAll(pattern, (word) => colors.yellow(colors.bold(word)))
}
