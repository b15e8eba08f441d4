// A long thread in the page: what is sent and what is read, counted. Times are in the bench (`bench:studio`).

import { memoryStore, openThread, type Thread } from 'oriel'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Built, buildStudio, openStudio, type Studio, soon } from './studio.ts'

let built: Built
let studio: Studio
let thread: Thread
/** Seqs of the entries that were read. */
const reads: number[] = []

beforeAll(async () => {
  built = await buildStudio()
  const store = memoryStore()
  thread = await openThread({
    id: 'long',
    tenant: 'local',
    store,
    policy: { toolResults: { strategy: 'keepRecent', max: 4, cutoff: 0 } },
  })
  await thread.append({ role: 'user', content: 'Read all of it.' })
  for (let step = 0; step < 400; step++) await work(step)
  await thread.settled()
  const read = store.read.bind(store)
  store.read = async function* (...asked) {
    for await (const entry of read(...asked)) {
      if (asked[0].thread === 'long') reads.push(entry.seq)
      yield entry
    }
  }
  studio = await openStudio(built, { store })
}, 120_000)

afterAll(async () => {
  await studio.close()
  await built.close()
})

async function work(step: number): Promise<void> {
  const view = await thread.view({ format: 'openai-chat', model: 'gpt-5' })
  await thread.usage({ prompt_tokens: view.tokens.after, completion_tokens: 5 }, view.id)
  const call = { type: 'tool-call', callId: `c${step}`, name: 'read', arguments: '{}' }
  const content = `Part ${step}. ${'Some words of the file. '.repeat(20)}`
  await thread.append([
    { role: 'assistant', content: [call] },
    { role: 'tool', content: [{ type: 'tool-result', callId: `c${step}`, content }] },
  ])
}

/** Bytes of the API's answers, by what was asked. */
function watchBytes(page: Page): Map<string, number> {
  const bytes = new Map<string, number>()
  page.on('response', async (response) => {
    const { pathname } = new URL(response.url())
    if (!pathname.startsWith('/api/threads/long')) return
    const body = await response.body().catch(() => Buffer.alloc(0))
    const name = pathname.split('/').at(-1) ?? ''
    bytes.set(name, (bytes.get(name) ?? 0) + body.length)
  })
  return bytes
}

describe('a long thread', () => {
  it('[ST9] is read once for all parts of its page, and a change loads differences', async () => {
    const page = await studio.open('/settings')
    const bytes = watchBytes(page)
    reads.length = 0
    await page.goto(`${studio.url}/threads/long`)
    await page.locator('[data-form=omitted]').first().waitFor()
    const { entries } = await studio.ask<{ entries: number }>('/api/threads/long')
    // The rows in sight load their originals beside it.
    expect(reads.length).toBeLessThan(1.5 * entries)
    await soon(() => bytes.get('outline') ?? 0).toBeGreaterThan(50_000)
    const whole = new Map(bytes)
    bytes.clear()
    reads.length = 0
    await work(400)
    await page.getByText('step 401 of 401').waitFor()
    await soon(() => bytes.get('timeline') ?? 0).toBeGreaterThan(0)
    await soon(() => bytes.get('outline') ?? 0).toBeGreaterThan(0)
    expect(bytes.get('outline')).toBeLessThan((whole.get('outline') ?? 0) / 20)
    expect(bytes.get('timeline')).toBeLessThan((whole.get('timeline') ?? 0) / 20)
    expect(reads.length).toBeLessThan(entries / 2)
    // What differs joins to the whole: the page has the rows that a new page gets.
    const fresh = await studio.open('/threads/long')
    await fresh.getByText('step 401 of 401').waitFor()
    const count = (one: Page) => one.locator('.virtual-row').last().getAttribute('aria-setsize')
    await soon(() => count(page)).toBe(await count(fresh))
    expect(studio.problems).toEqual([])
  })

  it('[ST9] goes to any step without reading the log again', async () => {
    const page = await studio.open('/threads/long')
    await page.locator('[data-form=omitted]').first().waitFor()
    reads.length = 0
    await page.getByRole('textbox', { name: 'Step' }).fill('200')
    await page.keyboard.press('Enter')
    await page.locator('[data-step="200"]').waitFor()
    await page.locator('[data-form=omitted]').first().waitFor()
    const { entries } = await studio.ask<{ entries: number }>('/api/threads/long')
    expect(reads.length).toBeLessThan(entries / 2)
  })

  it('[ST9] shows its edits page by page', async () => {
    const page = await studio.open('/threads/long?tab=edits')
    await soon(() => page.locator('[data-edit]').count()).toBe(100)
    await page.getByRole('button', { name: /^Show more/ }).click()
    await soon(() => page.locator('[data-edit]').count()).toBe(200)
  })

  it('[ST8] is replayed with progress, and the replay can be stopped', async () => {
    const page = await studio.open('/threads/long?tab=what-if')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByRole('progressbar', { name: 'Replay' }).waitFor()
    await soon(() => page.getByText(/three policies: [1-9]\d?%/).count()).toBe(1)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Stopped.').waitFor()
    expect(await page.locator('.compare').count()).toBe(0)
  })
})
