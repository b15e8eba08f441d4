// What the studio asks of a long thread. Makes one of 10,000 messages and 2,500 steps in SQLite (`--dir` keeps it), asks a gateway for each
// route of the thread page, and prints time, bytes on the wire and the longest pause of the event loop: as the clock has it, and the computing of
// the main thread in it, which other programs do not lengthen. Needs `npm run build:code`.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { get, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createGateway, serveGateway } from '../../gateway/dist/index.js'
import { sqliteStore } from '../../oriel/dist/index.js'
import type { ChatMessage } from './conversations.ts'
import {
  sqliteStore as draftStore,
  type Entry,
  memoryStore,
  openThread,
  type Store,
} from './oriel.ts'
import {
  endProgress,
  figure,
  progress,
  type Row,
  readSettings,
  report,
  type Table,
  words,
} from './report.ts'

const key = { tenant: 'local', thread: 'long' }
const stepCount = 2500
/** Results of a step: with its answer, four messages. */
const resultCount = 3

/** The default, under which most is folded, and one under which every row stays. */
const policies = {
  'policy recommended': 'recommended',
  'old results as placeholders': {
    toolResults: { strategy: 'keepRecent', max: 20, cutoff: 0 },
  },
} as const

/** What the page asks for when it opens. */
const opening = ['', '/timeline', '/outline']

const frame = {
  system: 'You help the engineers of a freight company.',
  tools: [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }],
}

const vocabulary =
  'the agent reads file config and prints total error 404 order W7342 user_17 src/index.ts then asks whether to retry because build failed'.split(
    ' ',
  )

const settings = readSettings()
const folder = settings.directory ?? mkdtempSync(join(tmpdir(), 'oriel-bench-studio-'))
const tables: Table[] = []
for (const [name, policy] of Object.entries(policies)) {
  const file = join(folder, `${name.replaceAll(' ', '-')}.db`)
  if (!existsSync(file)) await writeThread(file, policy)
  tables.push(await measure(file, name))
}
endProgress()
report('studio', tables, settings)
if (settings.directory === undefined) rmSync(folder, { recursive: true, force: true })

async function measure(file: string, name: string): Promise<Table> {
  const store = sqliteStore(file)
  const gateway = createGateway({ store })
  const server = await serveGateway(gateway, { port: 0, host: '127.0.0.1' })
  const { version = 0, bytes = 0 } = (await store.info(key)) ?? {}
  const rows: Row[] = []
  const fetched = (path: string, body?: object, thread = key.thread): Promise<number> =>
    transfer(`${server.url}/api/threads/${thread}${path}`, body)
  const ask = (contender: string, path: string, body?: object): Promise<void> =>
    timed(contender, () => fetched(path, body))
  const timed = async (contender: string, run: () => Promise<number>): Promise<void> => {
    const lag = monitorEventLoopDelay({ resolution: 1 })
    lag.enable()
    const pauses = watchPauses()
    const started = performance.now()
    const before = process.cpuUsage()
    const sent = await run()
    const ms = performance.now() - started
    const { user, system } = process.cpuUsage(before)
    lag.disable()
    rows.push({
      contender,
      milliseconds: figure(ms),
      'CPU ms': figure((user + system) / 1000),
      'KB on the wire': figure(sent / 1024),
      'longest pause, ms': figure(lag.max / 1e6),
      'of it computing, ms': figure(pauses.end()),
    })
    progress(`studio: ${name}, ${contender}`)
  }
  // A gateway that has run for a while has compiled its code: other threads were looked at before this one.
  for (const other of await writeOthers(store)) {
    for (const path of opening) await fetched(path, undefined, other)
    await fetched('/outline?step=next', undefined, other)
  }
  await timed('opened, cold', async () => {
    const sizes = await Promise.all(opening.map((path) => fetched(path)))
    return sizes.reduce((sum, size) => sum + size, 0)
  })
  await ask('newest request', '/outline')
  for (const step of [1250, 2400, 10, 1900]) await ask(`step ${step}`, `/outline?step=${step}`)
  await ask('next request', '/outline?step=next')
  await ask('effect of a pin', '/effect', { type: 'pin', id: await someMessage(store) })
  await ask('originals of a page', '/texts?from=9000&limit=100')
  await ask('edits, first page', '/edits?limit=100')
  await ask('pin', '/pin', { id: await someMessage(store) })
  await ask('summary after a change', '')
  await ask('timeline after a change', `/timeline?since=${version}`)
  await ask('next request after a change', `/outline?step=next&have=next.${version}`)
  await server.close()
  await store.close()
  return {
    title: `Thread page: ${words(stepCount * (resultCount + 1))} messages, ${words(stepCount)} steps, ${name}`,
    rows,
    notes: [
      `${words(version)} entries, ${Math.round(bytes / 2 ** 20)} MB.`,
      'Computing of all threads of the process, the client included. On a machine that is busy otherwise, the other times say little.',
    ],
  }
}

/** The most that the main thread computes between two turns of its event loop, in milliseconds. */
function watchPauses(): { end(): number } {
  const spent = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let [longest, last, isOver] = [0, spent(), false]
  const turn = (): void => {
    const now = spent()
    longest = Math.max(longest, now - last)
    last = now
    if (!isOver) setTimeout(turn, 0)
  }
  setTimeout(turn, 0)
  return {
    end() {
      isOver = true
      turn()
      return longest
    },
  }
}

/** Short threads, so that nothing is measured for the first time. */
async function writeOthers(store: ReturnType<typeof sqliteStore>): Promise<readonly string[]> {
  const ids = ['other-1', 'other-2', 'other-3']
  for (const id of ids) {
    const thread = await openThread({
      id,
      tenant: key.tenant,
      store: store as never,
      policy: policies['policy recommended'],
    })
    await thread.append({ role: 'user', content: textOf(1, 300) })
    for (let step = 0; step < 60; step++) {
      await thread.view({ format: 'openai-chat', model: 'claude-sonnet-4-5', frame })
      await thread.append(stepOf(step), { format: 'openai-chat' })
    }
    await thread.settled()
  }
  return ids
}

/** Bytes of the body as it comes, compressed. */
function transfer(url: string, body: object | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'accept-encoding': 'gzip', 'content-type': 'application/json' }
    const asked =
      body === undefined ? get(url, { headers }) : request(url, { method: 'POST', headers })
    asked.on('error', reject)
    asked.on('response', (response) => {
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      response.on('end', () => {
        const { statusCode = 0 } = response
        if (statusCode >= 400) reject(new Error(`${url} answered ${statusCode}.`))
        else resolve(bytes)
      })
    })
    if (body !== undefined) asked.end(JSON.stringify(body))
  })
}

async function someMessage(store: Pick<Store, 'read'>): Promise<string> {
  for await (const entry of store.read(key, { from: 5000 })) {
    if (entry.type === 'message') return entry.id
  }
  throw new Error('The thread is too short.')
}

/** Built in memory and copied, because the disk would take minutes. */
async function writeThread(path: string, policy: (typeof policies)[keyof typeof policies]) {
  const played = memoryStore()
  const thread = await openThread({ id: key.thread, tenant: key.tenant, store: played, policy })
  for (let step = 0; step < stepCount; step++) {
    if (step % 50 === 0) {
      await thread.append({ role: 'user', content: textOf(step, 300) })
      progress(`studio: playing ${step} of ${stepCount} steps`)
    }
    const view = await thread.view({ format: 'openai-chat', model: 'claude-sonnet-4-5', frame })
    const input = view.tokens.after
    await thread.usage(
      {
        prompt_tokens: input,
        completion_tokens: 60,
        prompt_tokens_details: { cached_tokens: 0.9 * input },
      },
      view.id,
    )
    await thread.append(stepOf(step), { format: 'openai-chat' })
  }
  const store = draftStore(path)
  let batch: Entry[] = []
  let version = 0
  const flush = async (): Promise<void> => {
    if (batch.length > 0) ({ version } = await store.append(key, batch, version))
    batch = []
  }
  for await (const entry of played.read(key)) {
    batch.push(entry)
    if (batch.length === 2000) await flush()
  }
  await flush()
  await thread.settled()
  const snapshot = await played.loadSnapshot(key)
  if (snapshot !== undefined) await store.saveSnapshot(key, snapshot)
  await store.close()
}

function stepOf(step: number): ChatMessage[] {
  const ids = Array.from({ length: resultCount }, (_, at) => `call_${step}_${at}`)
  const calls = ids.map((id, at) => ({
    id,
    type: 'function' as const,
    function: { name: 'read', arguments: JSON.stringify({ path: `src/file-${step}-${at}.ts` }) },
  }))
  return [
    { role: 'assistant', content: null, tool_calls: calls },
    ...ids.map((id, at) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: textOf(step * 3 + at, 1200),
    })),
  ]
}

/** A text of about `length` characters, different for every number. */
function textOf(number: number, length: number): string {
  let text = `${number}:`
  for (let at = 1; text.length < length; at++) {
    const word = vocabulary[(number * 31 + at * at * 7 + at) % vocabulary.length]
    text += at % 12 === 0 ? ` ${word}-${number * at}\n` : ` ${word}`
  }
  return text
}
