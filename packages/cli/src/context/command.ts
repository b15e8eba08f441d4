// `oriel context`: what fills the window of a thread now, by category.

import { openThread, type Store } from 'oriel'
import { type Composition, compositionOf, contextReport } from 'oriel/inspect'
import { nameOf, wrong } from '../doctor/store-options.ts'
import { renderJson } from '../render/json.ts'
import { clean } from '../render/text.ts'
import { askGateway, type GatewayAddress } from '../search/gateway.ts'
import { tenantsOf, withOpenStore } from '../search/open.ts'
import type { ContextSettings } from '../search/settings.ts'
import { colorsFor, type Terminal } from '../terminal.ts'

export async function context(settings: ContextSettings, terminal: Terminal): Promise<number> {
  const { stdout, env } = terminal
  const { name, composition } =
    settings.gateway === undefined
      ? await withOpenStore(settings.path, (store) => read(store, settings))
      : await askFor(settings.gateway, settings.thread)
  if (settings.isJson) stdout.write(renderJson(composition))
  else {
    const { bold, cyan } = colorsFor(stdout, env)
    const colors = { head: (text: string) => bold(clean(text)), bar: cyan }
    stdout.write(`${contextReport(name, composition, colors)}\n`)
  }
  return 0
}

async function askFor(gateway: GatewayAddress, thread: string) {
  const path = `api/threads/${encodeURIComponent(thread)}/context`
  return { name: `thread ${thread}`, composition: await askGateway<Composition>(gateway, path) }
}

async function read(store: Store, { thread: id, tenant: asked }: ContextSettings) {
  for await (const tenant of tenantsOf(store, asked)) {
    if ((await store.info({ tenant, thread: id })) === undefined) continue
    const thread = await openThread({ id, tenant, store })
    return { name: nameOf({ tenant, thread: id }), composition: await compositionOf(thread) }
  }
  throw wrong(`there is no thread ${id} in this store.`)
}
