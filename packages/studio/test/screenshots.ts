// Pictures for README and guides: `npm run screenshots` talks to the demo agent in a real browser and writes docs/images: each page once, and a
// tour of six stills. It prints how fast the start page is painted and how much its layout shifts.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createGateway, readAgents, serveGateway } from '@oriel/gateway'
import type { Page } from 'playwright-core'
import { talk } from '../../../scripts/sample-thread.ts'
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
  const shoot = (name: string): Promise<unknown> =>
    page.screenshot({ path: join(images, `${name}.png`) })

  await show('/threads', '[data-thread]')
  process.stdout.write(`${await paintOf(page)}\n`)
  await shoot('start')
  await show(`/threads/${sample}`, '[data-folded]')
  await shoot('inspector')
  await show(`/threads/${sample}?of=toolOutput`, '[data-form=clipped]')
  await page.locator('[data-form=clipped] .row-open').last().click()
  await page.locator('.diff').waitFor()
  await shoot('block')
  await show(`/threads/${sample}?tab=timeline`, '.chart canvas')
  await page
    .locator('[data-chart="Tokens per request"] .u-over')
    .hover({ position: { x: 600, y: 80 } })
  await shoot('timeline')
  await show(`/threads/${sample}?tab=what-if`, '.compare')
  await shoot('policy')
  await show(`/chat?agent=demo&debug=true&thread=${sample}`, '.message-tool .form')
  await shoot('chat')
  if (values.looks !== undefined) await takeLooks(values.looks, sample)
} finally {
  await browser.close()
  await server.close()
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
