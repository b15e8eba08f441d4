// Pictures for the README: `npm run screenshots` talks to the demo agent in a real browser and writes docs/images.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createGateway, readAgents, serveGateway } from '@oriel/gateway'
import { talk } from '../../../scripts/sample-thread.ts'
import { launchChromium } from './chromium.ts'

const root = join(import.meta.dirname, '../../..')
const images = join(root, 'docs/images')
const gatewayFolder = join(root, 'packages/gateway')

const gateway = createGateway({
  agents: readAgents(join(gatewayFolder, 'agents')),
  studio: join(gatewayFolder, 'dist/studio'),
})
const server = await serveGateway(gateway, { port: 0, host: '127.0.0.1' })
const browser = await launchChromium()
const { questions } = (await (await fetch(`${server.url}/api/agents/demo`)).json()) as {
  questions: readonly string[]
}
try {
  mkdirSync(images, { recursive: true })
  const viewport = { width: 1280, height: 760 }
  const page = await browser.newPage({ viewport, colorScheme: 'light' })

  await page.goto(`${server.url}/chat?agent=demo&historyPolicy=lastN&historyLength=2&debug=true`)
  const field = page.getByRole('textbox', { name: 'Message' })
  for (const [index, question] of questions.slice(0, 4).entries()) {
    await field.fill(question)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.waitForFunction(
      (count) =>
        document.querySelectorAll('.message-user').length === count &&
        document.querySelector('[role=log]')?.getAttribute('aria-busy') === 'false',
      index + 1,
    )
  }
  const gone = page.locator('.message.is-dropped').last()
  await gone.waitFor()
  await gone.evaluate((message) => message.scrollIntoView({ block: 'start' }))
  await page.locator('.spinner').waitFor({ state: 'detached' })
  await page.screenshot({ path: join(images, 'chat.png') })

  const sample = await talk({ url: server.url, session: 'sample' })
  await page.goto(`${server.url}/threads/${sample}?step=${await stepWithEdits(sample)}`)
  await page.locator('[data-since=first-changed]').waitFor()
  await page.locator('.spinner').waitFor({ state: 'detached' })
  await page.screenshot({ path: join(images, 'inspector.png') })

  await page.goto(`${server.url}/threads/${sample}?tab=timeline`)
  await page.locator('.chart canvas').last().waitFor()
  await page.screenshot({ path: join(images, 'timeline.png') })
} finally {
  await browser.close()
  await server.close()
}

/** The first step at which an edit other than a checkpoint changed something old: there is most to see. */
async function stepWithEdits(thread: string): Promise<number> {
  const { steps } = (await (
    await fetch(`${server.url}/api/threads/${thread}/timeline`)
  ).json()) as {
    steps: { step: number; compaction?: boolean; cacheBreak?: object; epoch?: object }[]
  }
  const found = steps.find((one) => one.epoch !== undefined && one.step > 6 && !one.compaction)
  return found?.step ?? 1
}
