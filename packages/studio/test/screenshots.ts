// Pictures for README and guides: `npm run screenshots` talks to the demo agent in a real browser and writes docs/images: each page once, and
// all of them as a tour of a minute. It prints how fast the start page is painted and how much its layout shifts.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createGateway, readAgents, serveGateway } from '@oriel/gateway'
import type { Page } from 'playwright-core'
import { talk } from '../../../scripts/sample-thread.ts'
import { animatedPng } from './animated-png.ts'
import { launchChromium } from './chromium.ts'

const root = join(import.meta.dirname, '../../..')
const images = join(root, 'docs/images')
const gatewayFolder = join(root, 'packages/gateway')

/** `--looks <folder>`: every page at 1280 and 390 pixels, light and dark, to look at. */
const { values } = parseArgs({ options: { looks: { type: 'string' } } })

/** Threads beside the sample: their session, and what is asked. */
const others = [
  ['greeting', 'Hello?', 'And again?'],
  ['tariffs', 'Search the docs for tariffs.', 'Is there a wiki page about manifests?'],
  [
    'customs',
    'Any failures in the customs log?',
    'Which files does customs have?',
    'Run the checks of dispatch.',
  ],
  [
    'shipments',
    'Which shipments are delayed? Look at the table.',
    'Show me the code of the gateway service.',
  ],
] as const

const tourMs = 60_000

const gateway = createGateway({
  agents: readAgents(join(gatewayFolder, 'agents')),
  studio: join(gatewayFolder, 'dist/studio'),
})
const server = await serveGateway(gateway, { port: 0, host: '127.0.0.1' })
const browser = await launchChromium()
try {
  mkdirSync(images, { recursive: true })
  // A list of one thread shows little.
  for (const [session, ...questions] of others) await talk({ url: server.url, session, questions })
  const sample = await talk({ url: server.url, session: 'sample' })
  const page = await browser.newPage({
    viewport: { width: 1280, height: 760 },
    colorScheme: 'light',
  })
  const show = async (path: string, ready: string): Promise<void> => {
    await page.goto(`${server.url}${path}`)
    await page.locator(ready).first().waitFor()
    await page.locator('.spinner, progress').waitFor({ state: 'detached' })
  }
  const stills: Buffer[] = []
  /** A still of the tour; with a name, the page is a picture of its own too. */
  const shoot = async (question: string, name?: string): Promise<void> => {
    if (name !== undefined) await page.screenshot({ path: join(images, `${name}.png`) })
    stills.push(await stillOf(page, question))
  }

  await show('/threads', '[data-thread]')
  process.stdout.write(`${await paintOf(page)}\n`)
  await shoot('What did my agents cost, and what was saved?', 'start')
  await show(`/threads/${sample}`, '[data-folded]')
  await shoot('What did the model see, and what fills its window?', 'inspector')
  await page.locator('[data-folded] .row-open').first().click()
  await page.locator('.row.is-inside').first().waitFor()
  await shoot('Why is this block gone? A folded run opens.')
  await show(`/threads/${sample}?of=toolOutput`, '[data-form=clipped]')
  await page.locator('[data-form=clipped] .row-open').last().click()
  await page.locator('.diff').waitFor()
  await shoot('What was cut? The original stays, line by line.', 'block')
  await page.getByRole('button', { name: 'Pin', exact: true }).click()
  await page.getByRole('button', { name: 'Pin now' }).waitFor()
  await shoot('What would keeping it cost? It says so before it acts.')
  await show(`/threads/${sample}?tab=timeline`, '.chart canvas')
  await page
    .locator('[data-chart="Tokens per request"] .u-over')
    .hover({ position: { x: 600, y: 80 } })
  await shoot('What did each step cost, and when and why did the cache break?', 'timeline')
  await show(`/threads/${sample}?tab=what-if`, '.compare')
  await shoot('What would another policy do?', 'policy')
  await show(`/chat?agent=demo&debug=true&thread=${sample}`, '.message-tool .form')
  await shoot('Try it: the demo agent looks up what was folded.', 'chat')
  const delayMs = tourMs / stills.length
  writeFileSync(join(images, 'tour.png'), animatedPng(stills, { delayMs }))
  if (values.looks !== undefined) await takeLooks(values.looks, sample)
} finally {
  await browser.close()
  await server.close()
}

/** The page with a question under it. */
async function stillOf(page: Page, question: string): Promise<Buffer> {
  await page.evaluate((text) => {
    const caption = document.createElement('p')
    caption.id = 'caption'
    caption.textContent = text
    caption.style.cssText =
      'position:fixed;inset:auto 0 0 0;z-index:9;margin:0;padding:14px 24px;background:#1b1d29;color:#fff;font:600 20px/1.4 sans-serif'
    document.body.append(caption)
  }, question)
  const still = await page.screenshot()
  await page.evaluate(() => document.querySelector('#caption')?.remove())
  return still
}

async function takeLooks(folder: string, sample: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const pages = [
    ['start', '/threads', '[data-thread]'],
    ['inspector', `/threads/${sample}`, '[data-folded]'],
    ['timeline', `/threads/${sample}?tab=timeline`, '.chart canvas'],
    ['edits', `/threads/${sample}?tab=edits`, '[data-edit]'],
    ['policy', `/threads/${sample}?tab=what-if`, '.compare'],
    ['chat', `/chat?agent=demo&debug=true&thread=${sample}`, '.message-tool .form'],
    ['memory', '/memory', 'h1'],
    ['settings', '/settings', 'h1'],
  ] as const
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [1280, 390]) {
      const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme })
      for (const [name, path, ready] of pages) {
        await page.goto(`${server.url}${path}`)
        await page.locator(ready).first().waitFor()
        await page.locator('.spinner, progress').waitFor({ state: 'detached' })
        await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) })
      }
      await page.close()
    }
  }
}

/** First paint and layout shift of the page that is open. */
async function paintOf(page: Page): Promise<string> {
  const found = await page.evaluate(async () => {
    const shifts = await new Promise<number>((resolve) => {
      let sum = 0
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) sum += (entry as unknown as { value: number }).value
      }).observe({ type: 'layout-shift', buffered: true })
      setTimeout(() => resolve(sum), 200)
    })
    const [paint] = performance.getEntriesByName('first-contentful-paint')
    return { paint: Math.round(paint?.startTime ?? 0), shifts: Math.round(shifts * 1000) / 1000 }
  })
  return `Start page: first paint after ${found.paint} ms, layout shift ${found.shifts}`
}
