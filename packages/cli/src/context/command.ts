// `oriel context`: what fills the window of a thread now, by category.

import { openThread, type Store } from 'oriel'
import { type Composition, compositionOf } from 'oriel/inspect'
import { nameOf, wrong } from '../doctor/store-options.ts'
import { renderJson } from '../render/json.ts'
import { bar, number, percent, table } from '../render/layout.ts'
import { clean } from '../render/text.ts'
import { askGateway, type GatewayAddress } from '../search/gateway.ts'
import { tenantsOf, withOpenStore } from '../search/open.ts'
import type { ContextSettings } from '../search/settings.ts'
import { type Colors, colorsFor, type Terminal, widthOf } from '../terminal.ts'

export async function context(settings: ContextSettings, terminal: Terminal): Promise<number> {
  const { stdout, env } = terminal
  const { name, composition } =
    settings.gateway === undefined
      ? await withOpenStore(settings.path, (store) => read(store, settings))
      : await askFor(settings.gateway, settings.thread)
  if (settings.isJson) stdout.write(renderJson(composition))
  else {
    const paper = { colors: colorsFor(stdout, env), width: widthOf(stdout) }
    stdout.write(`${render(name, composition, paper).join('\n')}\n`)
  }
  return 0
}

const barWidth = 40

function render(
  name: string,
  { tokens, used, window, free, model }: Composition,
  { colors, width }: { readonly colors: Colors; readonly width: number },
): readonly string[] {
  const whole = Math.max(1, window ?? used)
  const counts = [
    ...Object.entries(tokens),
    ...(free === undefined ? [] : [['free', free] as const]),
  ]
  const rows = counts.map(([category, count]) => [
    category,
    number(count),
    { text: percent(count / whole), style: colors.dim },
    { text: bar(count / whole, barWidth), style: colors.cyan },
  ])
  const of = window === undefined ? '' : ` of ${number(window)}`
  const about = model === undefined ? '' : `, ${model}`
  const right = { align: 'right' } as const
  return [
    `${colors.bold('oriel context')}  ${clean(`${name}: ${number(used)}${of} tokens${about}`)}`,
    '',
    ...table([{}, right, right, {}], rows, width),
  ]
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
