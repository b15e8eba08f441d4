// `oriel context`: what fills the window of a thread now, by category.

import { openThread, type Store } from 'oriel'
import { type Composition, compositionOf, contextCategories } from 'oriel/inspect'
import { nameOf, wrong } from '../doctor/store-options.ts'
import { clean } from '../render/text.ts'
import { askGateway, type GatewayAddress } from '../search/gateway.ts'
import { tenantsOf, withOpenStore } from '../search/open.ts'
import type { ContextSettings } from '../search/settings.ts'
import { type Colors, colorsFor, type Terminal } from '../terminal.ts'

/** Characters of the longest bar. */
const barWidth = 40

export async function context(settings: ContextSettings, terminal: Terminal): Promise<number> {
  const { stdout, env } = terminal
  const { name, composition } =
    settings.gateway === undefined
      ? await withOpenStore(settings.path, (store) => read(store, settings))
      : await askFor(settings.gateway, settings.thread)
  if (settings.isJson) stdout.write(`${JSON.stringify(composition, null, 2)}\n`)
  else stdout.write(render(name, composition, colorsFor(stdout, env)))
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

function render(name: string, composition: Composition, colors: Colors): string {
  const { tokens, used, window, free, model } = composition
  const whole = window ?? used
  const rows = [
    ...contextCategories.map((category) => [category, tokens[category]] as const),
    ...(free === undefined ? [] : [['free', free] as const]),
  ]
  const width = Math.max(...rows.map(([category]) => category.length))
  const lines = rows.map(([category, count]) => {
    const share = whole === 0 ? 0 : count / whole
    const bar = '#'.repeat(Math.round(share * barWidth)).padEnd(barWidth)
    const number = count.toLocaleString('en').padStart(11)
    return `  ${category.padEnd(width)}  ${number}  ${`${(100 * share).toFixed(1)} %`.padStart(7)}  ${colors.cyan(bar.trimEnd())}`.trimEnd()
  })
  const of = window === undefined ? '' : ` of ${window.toLocaleString('en')}`
  const about = model === undefined ? '' : `, ${model}`
  const head = clean(`${name}: ${used.toLocaleString('en')}${of} tokens${about}`)
  return `${[colors.bold(head), ...lines].join('\n')}\n`
}
