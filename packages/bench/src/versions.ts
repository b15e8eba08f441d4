// Two versions of Oriel in one process, taking turns: `npm run bench:versions -- <folder of the other workspace>`, both built.
// Prints the CPU time of each, and this version's share of the other's.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [, , otherRoot] = process.argv
if (otherRoot === undefined) throw new Error('Name the folder of the other workspace.')
const ownRoot = join(import.meta.dirname, '../../..')

type Work = () => Promise<unknown>
interface Contender {
  readonly works: ReadonlyMap<string, Work>
  close(): Promise<void>
}

const rounds = 60

const contenders = [await open(ownRoot), await open(otherRoot)] as const
const names = [...contenders[0].works.keys()]
const medians = new Map(names.map((name) => [name, [] as number[][]]))
for (const name of names) {
  const works = contenders.map(({ works: all }) => all.get(name) as Work)
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds + 10; round++) {
    // The one that comes second finds warmer caches: they change places in every round.
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const before = process.cpuUsage()
      await (works[at] as Work)()
      const { user, system } = process.cpuUsage(before)
      if (round >= 10) times[at as 0 | 1].push((user + system) / 1000)
    }
  }
  medians.set(name, times)
}
process.stdout.write('| work | this version, ms | other, ms | ratio |\n|---|---:|---:|---:|\n')
for (const [name, [own = [], other = []]] of medians) {
  const [a, b] = [median(own), median(other)]
  process.stdout.write(`| ${name} | ${a.toFixed(2)} | ${b.toFixed(2)} | ${(a / b).toFixed(2)} |\n`)
}
for (const { close } of contenders) await close()
process.exit(0)

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

async function open(root: string): Promise<Contender> {
  // biome-ignore lint/suspicious/noExplicitAny: another version has other types.
  const load = (path: string): Promise<any> => import(pathToFileURL(join(root, path)).href)
  const oriel = await load('packages/oriel/dist/index.js')
  const { createGateway, serveGateway } = await load('packages/gateway/dist/index.js')
  const folder = mkdtempSync(join(tmpdir(), 'oriel-versions-'))
  const store = oriel.sqliteStore(join(folder, 'threads.db'))
  const thread = await oriel.openThread({ store, id: 'steps', policy: 'recommended' })
  const upstream = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({
          id: 'c',
          object: 'chat.completion',
          model: 'm',
          choices: [
            { index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' },
          ],
        }),
      )
    })
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const gateway = createGateway({
    store: oriel.sqliteStore(join(folder, 'gateway.db')),
    upstreams: [
      { name: 'local', baseUrl: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1` },
    ],
  })
  const server = await serveGateway(gateway, { port: 0 })
  const url = `http://127.0.0.1:${server.port}/v1/chat/completions`
  const long = conversation(1000)
  let step = 0
  const works = new Map<string, Work>([
    ['project, 1,000 messages, recommended', async () => oriel.project(long, 'recommended')],
    [
      'project, 1,000 messages, a window of 10 turns',
      async () => oriel.project(long, { history: { policy: 'lastN', length: 10 } }),
    ],
    [
      'a thread: append a turn and view, SQLite',
      async () => {
        step += 1
        await thread.append(conversation(4, step))
        await thread.view({ format: 'openai-chat' })
      },
    ],
    ['a managed call of 2 KB through the gateway, durable', calls(url, 12)],
    ['a managed call of 400 KB through the gateway, durable', calls(url, 2600)],
  ])
  return {
    works,
    async close() {
      await server.close()
      upstream.close()
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** Calls that resend a growing history, as an agent does. */
function calls(url: string, length: number): Work {
  const history: { role: string; content: string }[] = conversation(length + 1)
  return async () => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: history }),
    })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    await response.text()
    history.push(
      { role: 'assistant', content: 'Done.' },
      { role: 'user', content: `Go on with ${history.length}.` },
    )
  }
}

/** Messages of a user and an assistant, about 150 characters each. */
function conversation(length: number, seed = 0): { role: string; content: string }[] {
  return Array.from({ length }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content:
      `Message ${seed}.${at}: the release notes of version ${at} name three changes, `.repeat(2),
  }))
}
