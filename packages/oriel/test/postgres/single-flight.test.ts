// Several processes, here several stores, on one thread: a summary is made once, whoever makes it.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { startPostgres } from '../../../../scripts/postgres.ts'
import type { Policy } from '../../src/policy/schema.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import type { Store } from '../../src/stores/store.ts'
import type { Summarize } from '../../src/thread/summaries/answer.ts'
import { openThread, type Thread } from '../../src/thread/thread.ts'

const server = await startPostgres()
const opened: Store[] = []

afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()))
  await server.close()
})

const policy: Policy = {
  compaction: { maxTokens: 600, maxMessages: 12, keepRecent: 2, keepRecentTokens: 100 },
}

/** A summary with every section that is asked for. */
function summaryOf(text: string): string {
  const titles = [
    'Goal',
    'Constraints & Preferences',
    'Progress',
    'Key Decisions',
    'Next Steps',
    'Critical Context',
  ]
  return titles.map((title) => `## ${title}\n${text}`).join('\n')
}

const turns = Array.from({ length: 16 }, (_, turn) => [
  { role: 'user', content: `question ${turn} ${'about things '.repeat(20)}` },
  { role: 'assistant', content: `answer ${turn} ${'with words '.repeat(20)}` },
]).flat()

function newSchema(): string {
  return `f_${randomBytes(6).toString('hex')}`
}

async function threadsOn(summarize: Summarize, count: number): Promise<Thread[]> {
  const schema = newSchema()
  const stores = Array.from({ length: count }, () =>
    postgresStore(server.url, { schema, timeoutMs: 30_000 }),
  )
  opened.push(...stores)
  const threads: Thread[] = []
  for (const store of stores) threads.push(await openThread({ store, id: 't', policy, summarize }))
  await threads[0]?.append(turns)
  return threads
}

it('[PG6] two processes that reach the limit at once ask the model once, and show the same', async () => {
  let calls = 0
  const threads = await threadsOn(async () => {
    calls += 1
    await new Promise((resolve) => setTimeout(resolve, 150))
    return summaryOf('THE SUMMARY OF THE MODEL')
  }, 3)
  const views = await Promise.all(threads.map((thread) => thread.view()))
  expect(calls).toBe(1)
  const texts = views.map((view) => JSON.stringify(view.messages))
  expect(texts[0]).toContain('THE SUMMARY OF THE MODEL')
  expect(new Set(texts).size).toBe(1)
})

it('[PG6] a process that ends gives back what it was about to do', async () => {
  const options = { schema: newSchema(), timeoutMs: 30_000 }
  const [ending, other] = [postgresStore(server.url, options), postgresStore(server.url, options)]
  opened.push(other)
  const key = { tenant: 'default', thread: 't' }
  const lease = { name: 'summarize', ttlMs: 45_000 }
  expect(await ending.lease?.(key, lease)).toBeDefined()
  expect(await other.lease?.(key, lease)).toBeUndefined()
  await ending.close()
  expect(await other.lease?.(key, lease)).toBeDefined()
})

it('[PG6] a process that is killed keeps nobody waiting for long', async () => {
  const schema = newSchema()
  const store = postgresStore(server.url, { schema, timeoutMs: 30_000 })
  opened.push(store)
  const written = { POLICY: JSON.stringify(policy), MESSAGES: JSON.stringify(turns) }
  const holder = spawn(process.execPath, [join(import.meta.dirname, 'lease-holder.ts')], {
    env: { ...process.env, DATABASE: server.url, SCHEMA: schema, ...written },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await once(holder.stdout, 'data')
    holder.kill('SIGKILL')
    const killedAt = performance.now()
    const summarize = async (): Promise<string> => summaryOf('THE SUMMARY OF THE OTHER')
    const view = await (await openThread({ store, id: 't', policy, summarize })).view()
    expect(JSON.stringify(view.messages)).toContain('THE SUMMARY OF THE OTHER')
    expect(performance.now() - killedAt).toBeLessThan(15_000)
  } finally {
    holder.kill('SIGKILL')
  }
}, 60_000)

it('[PG6] one whose model fails does not keep the other from asking', async () => {
  let calls = 0
  const threads = await threadsOn(async () => {
    calls += 1
    const own = calls
    await new Promise((resolve) => setTimeout(resolve, 100))
    if (own === 1) throw new Error('overloaded')
    return summaryOf('THE SECOND SUMMARY')
  }, 2)
  const views = await Promise.all(threads.map((thread) => thread.view()))
  expect(calls).toBeGreaterThanOrEqual(1)
  expect(calls).toBeLessThanOrEqual(2)
  // Whoever is second reads what the first one wrote, or writes it: one checkpoint is live, and both show it.
  const again = await Promise.all(threads.map((thread) => thread.view()))
  expect(new Set(again.map((view) => JSON.stringify(view.messages))).size).toBe(1)
  expect(views.every((view) => view.messages.length < 32)).toBe(true)
})
