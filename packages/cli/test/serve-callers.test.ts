// `oriel serve` as a process with a small heap, and callers that ask for much: the others are answered meanwhile, and it stays up.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

let folder: string
let child: ChildProcess
let url: string

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'oriel-callers-'))
  const sources = join(import.meta.dirname, '../../../scripts/sources.ts')
  const words = ['serve', '--port', '0', '--data', join(folder, 'data'), '--policy', 'turn-expiry']
  child = spawn(
    process.execPath,
    [
      '--max-old-space-size=256',
      ...['--import', sources, join(import.meta.dirname, 'serve-child.ts'), ...words],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NO_COLOR: '1' } },
  )
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const found = /listens on (\S+)/.exec(line)?.[1]
    if (found === undefined) continue
    url = found
    return
  }
})

afterEach(async () => {
  const ended = once(child, 'close')
  if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended
  rmSync(folder, { recursive: true, force: true })
})

type Message = Record<string, unknown>

/** A conversation of so many tool steps, each with a result of so many characters. */
function conversation(steps: number, characters: number): Message[] {
  const messages: Message[] = [{ role: 'user', content: 'Read all of it.' }]
  for (let step = 0; step < steps; step++) {
    const id = `call_${step}`
    const call = { name: `read_${step % 50}`, arguments: JSON.stringify({ step }) }
    const content = `${step} ${'words of a result '.repeat(characters / 18)}`
    messages.push(
      { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: call }] },
      { role: 'tool', tool_call_id: id, content },
    )
  }
  return messages
}

async function post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })
}

/** Puts a conversation into a thread. */
async function talk(messages: readonly Message[]): Promise<string> {
  const response = await post('/v1/chat/completions', { model: 'm', messages })
  expect(response.status).toBe(200)
  await response.arrayBuffer()
  return response.headers.get('x-oriel-thread') ?? ''
}

const patterns = Object.fromEntries(
  Array.from({ length: 100 }, (_, n) => [`*r*e*a*${n}*`, { after: 3, mode: 'remove' }]),
)

/** How many health checks are answered, one after the other, while something else is under way. */
async function pulsesDuring(work: Promise<unknown>): Promise<number> {
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  let pulses = 0
  while (!isOver) {
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    pulses += 1
  }
  await over
  return pulses
}

/** A busy machine needs a while for the long ones. */
const timeout = 180_000

describe('oriel serve with a small heap', { timeout }, () => {
  it('[GW83] answers others while it replays a thread for somebody', async () => {
    const thread = await talk(conversation(300, 900))
    const body = { from: 'start', policy: { expiry: { tools: patterns } } }
    const replay = post(`/api/threads/${thread}/what-if`, body)
    const pulses = await pulsesDuring(replay)
    const outcome = (await (await replay).json()) as { replay?: { steps: number } }
    expect(outcome.replay?.steps).toBe(301)
    expect(pulses).toBeGreaterThan(20)
  })

  it('[GW83] turns away more replays than a caller may have, and ends those that nobody waits for', async () => {
    const thread = await talk(conversation(300, 900))
    const path = `/api/threads/${thread}/what-if`
    const body = { from: 'start', policy: { expiry: { tools: patterns } } }
    const leaving = new AbortController()
    const two = [post(path, body, leaving.signal), post(path, body, leaving.signal)]
    const left = Promise.allSettled(two)
    let refused = await post(path, body)
    // Both may still be on their way.
    while (refused.status === 200) refused = await post(path, body)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('1')
    leaving.abort()
    await left
    let again = await post(path, body)
    while (again.status === 429) again = await post(path, body)
    expect(again.status).toBe(200)
  })

  it('[GW83] outlives replays and views of a thread that is large for its heap', async () => {
    const thread = await talk(conversation(2400, 4000))
    const path = `/api/threads/${thread}/what-if`
    const policy = { expiry: { tools: patterns } }
    const asked = ['start', 'start', 'now', 'now', 'start'].map((from) =>
      post(path, { from, policy }).then(async (response) => {
        await response.arrayBuffer()
        return response.status
      }),
    )
    expect(await pulsesDuring(Promise.all(asked))).toBeGreaterThan(0)
    for (const status of await Promise.all(asked)) expect([200, 413, 429, 503]).toContain(status)
    expect(child.exitCode).toBeNull()
  })

  it('[GW83] outlives many previews of a thread that is large for its heap', async () => {
    const messages = conversation(1200, 10_000)
    const session = { 'x-session-id': 'large' }
    const send = (path: string, list: readonly Message[]) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        headers: session,
        body: JSON.stringify({ model: 'm', messages: list }),
      })
    const first = await send('/v1/chat/completions', messages)
    expect(first.status).toBe(200)
    await first.arrayBuffer()
    // Each is small, and would copy all of the thread.
    const asked = Array.from({ length: 120 }, (_, n) =>
      send('/v1/preview', [...messages.slice(0, 3), { role: 'user', content: `And ${n}?` }]).then(
        async (response) => {
          await response.arrayBuffer()
          return response.status
        },
      ),
    )
    expect(await pulsesDuring(Promise.all(asked))).toBeGreaterThan(0)
    const statuses = await Promise.all(asked)
    for (const status of statuses) expect([200, 429, 503]).toContain(status)
    expect(statuses).toContain(200)
    expect(child.exitCode).toBeNull()
  })
})
