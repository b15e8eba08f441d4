// Two processes of `oriel serve` on one PostgreSQL: they share threads, live pages and what they already know.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Entry, postgresStore } from 'oriel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../scripts/postgres.ts'

type Message = { readonly role: string; readonly content: string }

let database: PostgresServer
let upstream: Server
let gateways: { readonly url: string; readonly child: ChildProcess }[] = []
let answers = 0

beforeAll(async () => {
  database = await startPostgres({ own: true, isDurable: true })
  upstream = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      answers += 1
      const message = { role: 'assistant', content: `Answer ${answers}.` }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }] }))
    })
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  gateways = await Promise.all([serve(), serve()])
})

afterAll(async () => {
  for (const { child } of gateways) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = once(child, 'close')
    child.kill('SIGTERM')
    await ended
  }
  upstream.close()
  await database.close()
})

/** A process of `oriel serve`; resolves when it listens. */
async function serve(): Promise<{ url: string; child: ChildProcess }> {
  const { port } = upstream.address() as AddressInfo
  const file = join(import.meta.dirname, 'serve-child.ts')
  const sources = join(import.meta.dirname, '../../../scripts/sources.ts')
  const words = ['serve', '--port', '0', '--store', database.url]
  const child = spawn(
    process.execPath,
    ['--import', sources, file, ...words, '--upstream', `http://127.0.0.1:${port}`],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NO_COLOR: '1' } },
  )
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const url = /listens on (\S+)/.exec(line)?.[1]
    if (url !== undefined) return { url, child }
  }
  throw new Error('oriel serve ended before it listened.')
}

async function ask(
  gateway: number,
  session: string,
  messages: readonly Message[],
): Promise<{ thread: string; message: Message }> {
  const response = await fetch(`${gateways[gateway]?.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer me', 'x-session-id': session },
    body: JSON.stringify({ model: 'm', messages }),
  })
  expect(response.status).toBe(200)
  const { choices } = (await response.json()) as { choices: { message: Message }[] }
  const thread = response.headers.get('x-oriel-thread') ?? ''
  return { thread, message: choices[0]?.message as Message }
}

/** One conversation, each turn at another gateway. */
async function talk(session: string, turns: number, pick: (turn: number) => number): Promise<void> {
  const history: Message[] = []
  const threads = new Set<string>()
  for (let turn = 0; turn < turns; turn++) {
    history.push({ role: 'user', content: `${session}, question ${turn}` })
    const { thread, message } = await ask(pick(turn), session, history)
    threads.add(thread)
    history.push({ role: 'assistant', content: message.content })
  }
  expect(threads.size).toBe(1)
  await expectLog([...threads][0] ?? '', history)
}

/** An answer is logged a moment after the client has it. */
async function expectLog(thread: string, messages: readonly Message[]): Promise<void> {
  const wanted = messages.map(({ content }) => content)
  const giveUpAt = performance.now() + 20_000
  let said = await loggedOf(thread)
  while (said.length < wanted.length && performance.now() < giveUpAt) said = await loggedOf(thread)
  expect(said).toEqual(wanted)
}

/** The texts of a thread's messages, wherever its tenant is. */
async function loggedOf(thread: string): Promise<readonly string[]> {
  const store = postgresStore(database.url)
  try {
    for (const tenant of (await store.tenants?.()) ?? []) {
      const entries: Entry[] = []
      for await (const entry of store.read({ tenant, thread })) entries.push(entry)
      for await (const problem of store.verify({ tenant, thread })) throw new Error(problem.message)
      if (entries.length === 0) continue
      return entries.flatMap((entry) =>
        entry.type === 'message'
          ? entry.blocks.map((block) => (block.type === 'text' ? block.text : ''))
          : [],
      )
    }
    return []
  } finally {
    await store.close()
  }
}

describe('two gateways on one PostgreSQL', () => {
  it('[PG11] continue each other’s conversations: one thread, every message once, in order', async () => {
    const sessions = Array.from({ length: 4 }, (_, index) => `session-${index}`)
    await Promise.all(
      sessions.map((session, index) => talk(session, 4, (turn) => (turn + index) % 2)),
    )
  })

  it('[PG11] show live what the other one does', async () => {
    const control = new AbortController()
    const events = await fetch(`${gateways[1]?.url}/api/events`, {
      headers: { authorization: 'Bearer me' },
      signal: control.signal,
    })
    const { thread } = await ask(0, 'live', [{ role: 'user', content: 'hello' }])
    let text = ''
    const decoder = new TextDecoder()
    for await (const chunk of events.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true })
      if (text.includes('event: thread-changed') && text.includes(thread)) break
    }
    expect(text).not.toContain('hello')
    control.abort()
  })

  it('[PG11] one that is killed leaves a conversation that the other continues', async () => {
    const history: Message[] = [{ role: 'user', content: 'before' }]
    const first = await ask(0, 'killed', history)
    history.push(
      { role: 'assistant', content: first.message.content },
      { role: 'user', content: 'after' },
    )
    gateways[0]?.child.kill('SIGKILL')
    const second = await ask(1, 'killed', history)
    expect(second.thread).toBe(first.thread)
    await expectLog(first.thread, [...history, second.message])
  })
})
