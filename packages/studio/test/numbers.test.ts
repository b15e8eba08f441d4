// One number, one value: what the pages show is what the library computes from the same log.

import { openThread } from 'oriel'
import { compositionOf, threadNumbers, timelineOf } from 'oriel/inspect'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { talk } from '../../../scripts/sample-thread.ts'
import { formatCount, formatDollars, formatPercent, formatTokens } from '../src/numbers.ts'
import { type Built, buildStudio, openStudio, type Studio, soon } from './studio.ts'

let built: Built
let studio: Studio

beforeAll(async () => {
  built = await buildStudio()
  studio = await openStudio(built)
}, 60_000)

afterAll(async () => {
  await studio.close()
  await built.close()
})

const threads: readonly (readonly [string, () => Promise<string>])[] = [
  [
    'with tools',
    () => talk({ url: studio.url, session: 'tools', questions: ['Run the checks of dispatch.'] }),
  ],
  [
    'without edits',
    () =>
      talk({
        url: studio.url,
        session: 'plain',
        parameters: '?historyPolicy=all&compactionAuto=false',
        questions: ['Hello?', 'And again?'],
      }),
  ],
  ['that was folded', () => talk({ url: studio.url, session: 'folded' })],
  [
    'with a policy from the URL',
    () =>
      talk({
        url: studio.url,
        session: 'url',
        parameters: '?agent=demo&historyPolicy=lastN&historyLength=2',
        questions: [
          'What failed in the billing log?',
          'Show me the shipments table.',
          'Which files does customs have?',
          'Run the checks of dispatch.',
          'Are there errors in the tracking log?',
        ],
      }),
  ],
  [
    'that was imported',
    async () => {
      const thread = await openThread({ id: 'imported', tenant: 'local', store: studio.store })
      await thread.append([
        { role: 'user', content: 'What is in the file?' },
        { role: 'assistant', content: 'Words.' },
        { role: 'user', content: 'How many?' },
      ])
      return 'imported'
    },
  ],
]

describe('the numbers of a thread', () => {
  it.each(threads)('[ST14] %s are those of the library, on every page', async (_, make) => {
    const id = await make()
    const thread = await openThread({ id, tenant: 'local', store: studio.store })
    const entries = await thread.log()
    const numbers = threadNumbers(entries)
    const { steps } = await timelineOf(entries)
    await checkList(id, numbers)
    const page = await studio.open(`/threads/${id}`, { viewport: { width: 1280, height: 12_000 } })
    await checkHead(page, numbers)
    const context = numbers.context ?? (await compositionOf(thread))
    await soon(() => numberIn(page, '[data-context-used]', 'data-context-used')).toBe(context.used)
    for (const [name, tokens] of Object.entries(context.tokens)) {
      if (tokens === 0) continue
      expect(await numberIn(page, `[data-category=${name}]`, 'data-tokens')).toBe(tokens)
    }
    // Every row is in sight: their sums are those of the request.
    const rows = page.locator('.row')
    const sum = (name: string): Promise<number> =>
      rows.evaluateAll(
        (all, attribute) =>
          all.reduce((total, row) => total + Number(row.getAttribute(attribute)), 0),
        name,
      )
    const log = numbers.requests === 0 ? context.used : numbers.tokens.log
    await soon(() => sum('data-tokens')).toBe(log)
    await soon(() => sum('data-shown')).toBe(context.used)
    await checkTimeline(id, numbers, steps.length)
    expect(studio.problems).toEqual([])
  })
})

type Numbers = ReturnType<typeof threadNumbers>

async function checkList(id: string, { tokens, cost, requests, messages }: Numbers): Promise<void> {
  const page = await studio.open('/threads')
  const row = page.locator(`[data-thread="${id}"]`)
  await row.waitFor()
  const cell = (label: string): Promise<string> =>
    row.locator(`[data-label="${label}"]`).innerText()
  expect(await cell('Messages')).toBe(formatCount(messages))
  expect(await cell('Log')).toBe(formatTokens(tokens.log))
  expect(await cell('View')).toBe(requests === 0 ? '–' : formatTokens(tokens.view))
  expect(await cell('Cost')).toBe(cost === undefined ? '–' : formatDollars(cost.dollars))
  expect(await cell('Saved')).toBe(savedText(cost))
  await page.close()
}

/** Nothing is claimed to be saved where nothing was reduced. */
function savedText(cost: Numbers['cost']): string {
  if (cost === undefined) return '–'
  const saved = cost.withoutOriel - cost.dollars
  if (saved === 0) return '$0'
  return `${formatPercent(Math.abs(saved) / cost.withoutOriel)}${saved > 0 ? '' : ' more'}`
}

async function checkHead(page: Page, { tokens, requests, cost }: Numbers): Promise<void> {
  const text = (selector: string): Promise<string> => page.locator(selector).innerText()
  await page.locator('[data-head-log]').waitFor()
  expect(await text('[data-head-log]')).toBe(`${formatTokens(tokens.log)} tokens in full`)
  if (requests > 0) {
    expect(await text('[data-head-view]')).toBe(`${formatTokens(tokens.view)} sent last`)
  } else expect(await page.locator('[data-head-view]').count()).toBe(0)
  if (cost === undefined) return
  expect(await text('[data-head-dollars]')).toBe(formatDollars(cost.dollars))
  const saved = cost.withoutOriel - cost.dollars
  expect(await page.locator('[data-head-saved]').count()).toBe(saved === 0 ? 0 : 1)
}

async function checkTimeline(id: string, numbers: Numbers, count: number): Promise<void> {
  const page = await studio.open(`/threads/${id}?tab=timeline`)
  if (count === 0) {
    await page.getByText('Nothing was sent yet.').waitFor()
    return
  }
  const tile = (name: string): Promise<string> =>
    page.locator(`[data-tile="${name}"] b`).innerText()
  await page.locator('[data-tile="Spent"]').waitFor()
  const { tokens, cost, breaks } = numbers
  expect(await tile('Newest request')).toBe(formatTokens(tokens.view))
  expect(await tile('Cache breaks')).toBe(formatCount(breaks.count))
  if (cost !== undefined) {
    expect(await tile('Spent')).toBe(formatDollars(cost.dollars))
    const paid = await page
      .locator('[data-step-dollars]')
      .evaluateAll((all) =>
        all.reduce((sum, one) => sum + Number(one.getAttribute('data-step-dollars')), 0),
      )
    expect(paid).toBeCloseTo(cost.dollars, 9)
  }
  await page.close()
}

async function numberIn(page: Page, selector: string, attribute: string): Promise<number> {
  return Number(await page.locator(selector).getAttribute(attribute))
}

describe('a thread whose policy is in the URL', () => {
  it('[ST14] has its edits in the log, and no cache break without a cause', async () => {
    const id = await talk({
      url: studio.url,
      session: 'explained',
      parameters: '?agent=demo&historyPolicy=lastN&historyLength=1',
      questions: [
        'What failed in the billing log?',
        'Show me the shipments table.',
        'Which files does customs have?',
      ],
    })
    const page = await studio.open(`/threads/${id}?tab=edits`)
    await page.locator('[data-edit]', { hasText: 'history' }).first().waitFor()
    const { breaks, edits } = await studio.ask<Numbers>(`/api/threads/${id}`)
    expect(edits).toBeGreaterThan(0)
    expect(breaks.causes).not.toHaveProperty('unknown')
    await page.goto(`${studio.url}/threads/${id}`)
    await page.locator('[data-folded]').first().waitFor()
    expect(await page.locator('[data-folded]').first().innerText()).toContain('history')
  })
})
