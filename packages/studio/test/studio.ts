// A gateway with the studio as it is in the source, and a real browser that looks at it.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createGateway,
  type Gateway,
  type GatewayOptions,
  readAgents,
  serveGateway,
} from '@oriel/gateway'
import { type Json, type JsonObject, memoryStore, type Store } from 'oriel'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { build } from 'vite'
import { expect } from 'vitest'
import { createDemoUpstream } from '../../gateway/src/demo/demo-upstream.ts'
import { launchChromium } from './chromium.ts'

const root = join(import.meta.dirname, '../../..')

export interface Studio {
  readonly url: string
  readonly store: Store
  readonly gateway: Gateway
  /** Bodies that reached the upstream, in order. */
  readonly sent: readonly JsonObject[]
  /** Roles of the messages that reached the upstream last. */
  lastRoles(): readonly string[]
  /** What the gateway's own API answers. */
  ask<T = Json>(path: string): Promise<T>
  /** A page of its own. Whatever it does wrong is in `problems`. */
  open(path: string, options?: BrowserContextOptions): Promise<Page>
  /** Errors, blocked loads, dialogs, and requests to other hosts, of all pages. */
  readonly problems: readonly string[]
  close(): Promise<void>
}

export interface Built {
  readonly folder: string
  readonly browser: Browser
  close(): Promise<void>
}

/** Builds the page and starts the browser, once for a test file. */
export async function buildStudio(): Promise<Built> {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-studio-'))
  const [browser] = await Promise.all([
    launchChromium(),
    build({
      root: join(root, 'packages/studio'),
      logLevel: 'error',
      build: { outDir: folder, emptyOutDir: true },
    }),
  ])
  return {
    folder,
    browser,
    async close() {
      await browser.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface StudioOptions extends GatewayOptions {
  /** Pause between two pieces of an answer. @default 0 */
  readonly delayMs?: number
}

export async function openStudio(built: Built, options: StudioOptions = {}): Promise<Studio> {
  const { delayMs = 0, ...rest } = options
  const { store = memoryStore() } = options
  const sent: JsonObject[] = []
  const demo = createDemoUpstream({ eventDelayMs: delayMs })
  const gateway = createGateway({
    store,
    studio: built.folder,
    agents: readAgents(join(root, 'packages/gateway/agents')),
    upstreams: [
      {
        name: 'demo',
        baseUrl: 'http://demo.invalid',
        async fetch(request) {
          sent.push((await request.clone().json()) as JsonObject)
          return demo.fetch(request)
        },
      },
    ],
    ...rest,
  })
  const server = await serveGateway(gateway, { port: 0, host: '127.0.0.1' })
  const problems: string[] = []
  const pages: Page[] = []
  return {
    url: server.url,
    store,
    gateway,
    sent,
    problems,
    lastRoles: () => ((sent.at(-1) as Sent | undefined)?.messages ?? []).map(({ role }) => role),
    ask: async (path) => (await fetch(`${server.url}${path}`)).json() as never,
    async open(path, contextOptions) {
      const context = await built.browser.newContext(contextOptions)
      const page = await context.newPage()
      pages.push(page)
      watch(page, server.url, problems)
      await page.goto(`${server.url}${path}`)
      return page
    },
    async close() {
      await Promise.all(pages.map((page) => page.context().close()))
      await server.close()
    },
  }
}

interface Sent {
  readonly messages?: readonly { readonly role: string }[]
}

function watch(page: Page, url: string, problems: string[]): void {
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (message.type() !== 'error' || message.text().startsWith('Failed to load resource')) return
    problems.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    const address = request.url()
    if (!address.startsWith(`${url}/`) && !address.startsWith('blob:')) {
      problems.push(`request: ${address.slice(0, 200)}`)
    }
  })
}

/** Says something in the chat and waits until the answer, with all its steps, is there. */
export async function say(page: Page, text: string): Promise<void> {
  const before = await page.locator('.message-user').count()
  const field = page.getByRole('textbox', { name: 'Message' })
  await field.fill(text)
  // Not before the agent is there, and what was said before is answered.
  await page.locator('.composer button[type=submit]:enabled').waitFor()
  await field.press('Enter')
  await answered(page, before + 1)
}

/** Waits until so many questions have their answers. */
export async function answered(page: Page, questions: number): Promise<void> {
  await page.waitForFunction(
    (count) =>
      document.querySelectorAll('.message-user').length === count &&
      document.querySelector('[role=log]')?.getAttribute('aria-busy') === 'false',
    questions,
  )
}

/** What will hold soon: asked again and again, also on a busy machine. */
export function soon<T>(ask: () => Promise<T> | T) {
  return expect.poll(ask, { timeout: 20_000 })
}

/** A value of the debug panel, without its source. */
export async function fact(page: Page, name: string): Promise<string> {
  const cell = page.locator(`[data-fact="${name}"]`)
  return cell.evaluate((element) => element.firstChild?.textContent ?? '')
}

export async function sourceOf(page: Page, name: string): Promise<string> {
  return (await page.locator(`[data-fact="${name}"] .source`).textContent()) ?? ''
}
