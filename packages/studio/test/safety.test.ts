import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { openThread } from 'oriel'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { talk } from '../../../scripts/sample-thread.ts'
import { hostileTexts } from './hostile-texts.ts'
import { type Built, buildStudio, openStudio, type StudioOptions, say, soon } from './studio.ts'

let built: Built

beforeAll(async () => {
  built = await buildStudio()
}, 60_000)

afterAll(async () => {
  await built.close()
})

async function studio(options: StudioOptions = {}) {
  const opened = await openStudio(built, options)
  onTestFinished(() => opened.close())
  return opened
}

describe('content', () => {
  it('[ST10] is text wherever it stands: nothing of it runs, loads or becomes an element', async () => {
    const { open, store, url, problems } = await studio()
    const thread = await openThread({
      id: 'hostile',
      tenant: 'local',
      store,
      policy: 'turn-expiry',
    })
    for (const [index, text] of hostileTexts.entries()) {
      const call = { type: 'tool-call', callId: `c${index}`, name: text, arguments: text }
      const result = {
        type: 'tool-result',
        callId: `c${index}`,
        name: text,
        content: text.repeat(9),
      }
      await thread.append([
        { role: 'user', content: text, kind: text.slice(0, 60) },
        { role: 'assistant', content: [{ type: 'text', text }, { type: 'reasoning', text }, call] },
        { role: 'tool', content: [{ ...result, isError: index % 2 === 0 }], tool: text },
      ])
    }
    await thread.view({ format: 'openai-chat', model: hostileTexts[0] as string })
    // As tall as a list of all of it, so that every row exists.
    const viewport = { width: 1280, height: 30_000 }
    const page = await open('/threads/hostile', { viewport })
    await page.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => {
        console.error(`blocked: ${event.violatedDirective} ${event.blockedURI}`)
      })
    })
    const paths = [
      '?tab=inspector',
      '?step=1',
      '?tab=edits',
      '?tab=timeline',
      '?tab=what-if&policy=placeholders',
    ]
    for (const path of paths) await visit(page, `${url}/threads/hostile${path}`)
    for (const path of ['/threads', '/chat?agent=demo&debug=true&thread=hostile'])
      await visit(page, `${url}${path}`)
    const value = encodeURIComponent(hostileTexts[1] as string)
    for (const path of [
      `/threads?search=${value}`,
      `/chat?agent=${value}&thread=${value}&debug=true&historyPolicy=${value}`,
      `/threads/hostile?step=${value}&block=${value}&tab=${value}`,
    ]) {
      await visit(page, `${url}${path}`)
    }
    expect(problems).toEqual([])
  }, 120_000)

  it('[ST10] of errors is text too, also where an upstream wrote it', async () => {
    const text = hostileTexts[0] as string
    const fetch = async (): Promise<Response> =>
      Response.json({ error: { message: text, type: text, code: text } }, { status: 400 })
    const upstreams = [{ name: 'bad', baseUrl: 'http://bad.invalid', fetch }]
    const { open, problems } = await studio({ upstreams })
    const page = await open('/chat?agent=demo')
    await say(page, text)
    await page.getByRole('alert').getByText(text).waitFor()
    await clean(page)
    expect(problems).toEqual([])
  })
})

/** Opens a page, lets it settle, and sees that content made no element and ran nothing. */
async function visit(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await page.locator('main > *').first().waitFor()
  await soon(() => page.locator('.spinner').count()).toBe(0)
  await clean(page)
}

async function clean(page: Page): Promise<void> {
  const found = await page.evaluate(() => {
    const allowed = 'script[src^="/assets/"], link[href^="/assets/"]'
    const risky =
      'script, iframe, object, embed, img, svg, style, link, base, meta[http-equiv], video, audio, math'
    const elements = [...document.querySelectorAll(risky)].filter((one) => !one.matches(allowed))
    const links = [...document.querySelectorAll('a')].filter(
      ({ href }) => !href.startsWith(location.origin) && !href.startsWith('blob:'),
    )
    const handlers = [...document.querySelectorAll('*')].filter((one) =>
      one.getAttributeNames().some((name) => name.startsWith('on')),
    )
    return [...elements, ...links, ...handlers].map((one) => one.outerHTML.slice(0, 200))
  })
  expect(found).toEqual([])
  expect(await page.evaluate(() => '__oriel_ran' in window)).toBe(false)
}

describe('the page', () => {
  it('[ST11] comes with a policy that allows nothing but its own files', async () => {
    const { url, open, problems } = await studio()
    for (const path of ['/', '/chat', '/threads', '/threads/x']) {
      const { headers } = await fetch(`${url}${path}`)
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      )
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('access-control-allow-origin')).toBe(null)
    }
    const page = await open('/chat?agent=demo&debug=true')
    const blocked = await page.evaluate(async () => {
      const events: string[] = []
      addEventListener('securitypolicyviolation', (event) => events.push(event.violatedDirective))
      const script = document.createElement('script')
      script.textContent = 'window.__oriel_ran = true'
      document.body.append(script)
      await new Promise((resolve) => setTimeout(resolve, 50))
      return { events, ran: '__oriel_ran' in window }
    })
    expect(blocked).toEqual({ events: ['script-src-elem'], ran: false })
    expect(problems.filter((problem) => !problem.includes('Content Security Policy'))).toEqual([])
  })

  it('[ST11] is refused to other hosts and other origins', async () => {
    const { url } = await studio()
    const { port } = new URL(url)
    const hosts = ['evil.com', 'localhost.evil.com', '127.0.0.1.nip.io', `evil.com:${port}`, '']
    for (const host of hosts) expect(await statusOf(Number(port), [`Host: ${host}`])).not.toBe(200)
    const own = `Host: 127.0.0.1:${port}`
    expect(await statusOf(Number(port), [own])).toBe(200)
    expect([400, 403]).toContain(await statusOf(Number(port), [own, 'Host: evil.com']))
    for (const origin of ['null', 'http://evil.com', `http://localhost.evil.com:${port}`]) {
      expect(await statusOf(Number(port), [own, `Origin: ${origin}`])).toBe(403)
    }
    expect(await statusOf(Number(port), [own, 'Sec-Fetch-Site: cross-site'])).toBe(403)
    const preflight = await fetch(`${url}/api/threads`, { method: 'OPTIONS' })
    expect(preflight.headers.get('access-control-allow-origin')).toBe(null)
  })

  it('[ST11] asks for the key where there is one, keeps it in the tab, and sends it in a header', async () => {
    const keys = [{ name: 'me', key: 'a-long-enough-key-for-tests' }]
    const { open, url } = await studio({ keys })
    const page = await open('/threads')
    await page.getByLabel('This gateway needs a key.').fill('wrong')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('The key in this tab was refused.').waitFor()
    // Letters that no header can carry: asked for again too.
    await page.getByLabel('This gateway needs a key.').fill('a-long-enough-key-for-tests\u2026')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.reload()
    await page.getByText('The key in this tab was refused.').waitFor()
    await page.getByLabel('This gateway needs a key.').fill('a-long-enough-key-for-tests')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('No threads yet.').waitFor()
    expect(page.url()).toBe(`${url}/threads`)
    expect(await page.context().cookies()).toEqual([])
    expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('a-long-enough')
    expect((await fetch(`${url}/api/threads`)).status).toBe(401)
    expect((await fetch(`${url}/api/events`)).status).toBe(401)
  })

  it('[ST3] says that there is no such page where an address is cut', async () => {
    const { open, problems } = await studio()
    const page = await open('/threads/%E0%A4%A')
    await page.getByText('There is no such page.').waitFor()
    expect(problems).toEqual([])
  })

  it('[ST12] comes compressed, its files and its answers', async () => {
    const { url } = await studio()
    const page = await (await fetch(url)).text()
    const [script = ''] = /\/assets\/[^"]+\.js/.exec(page) ?? []
    for (const path of [script, '/api/openapi.json']) {
      const response = await fetch(`${url}${path}`, { headers: { 'accept-encoding': 'gzip' } })
      expect(response.headers.get('content-encoding'), path).toBe('gzip')
      const plain = await fetch(`${url}${path}`, { headers: { 'accept-encoding': 'identity' } })
      expect(plain.headers.get('content-encoding'), path).toBe(null)
      expect(await response.text()).toBe(await plain.text())
    }
  })

  it('[ST12] is small', () => {
    const bytes = readdirSync(built.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce(
        (sum, { parentPath, name }) => sum + gzipSync(readFileSync(join(parentPath, name))).length,
        0,
      )
    expect(bytes).toBeLessThan(150 * 1024)
  })

  it('[ST12] is readable at both widths, in light and dark, and everything in it has a name', async () => {
    const { open, url, problems } = await studio()
    const id = await talk({ url, session: 'looks', questions: ['Show me the shipments table.'] })
    const paths = [
      '/threads',
      '/memory?user=ann',
      `/chat?agent=demo&debug=true&thread=${id}`,
      ...['inspector', 'timeline', 'edits', 'what-if&policy=recommended'].map(
        (tab) => `/threads/${id}?tab=${tab}`,
      ),
      '/nowhere',
    ]
    const papers = new Set<string>()
    for (const [width, colorScheme] of [
      [1280, 'light'],
      [390, 'dark'],
    ] as const) {
      const page = await open('/threads', { viewport: { width, height: 800 }, colorScheme })
      for (const path of paths.slice(0, -1)) {
        await visit(page, `${url}${path}`)
        expect(await page.evaluate(widthOf), `${path} at ${width}`).toBeLessThanOrEqual(width)
        expect(await page.evaluate(namelessOf), path).toEqual([])
      }
      papers.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor))
    }
    expect(papers.size).toBe(2)
    expect(problems).toEqual([])
  })

  it('[ST12] works with the keyboard alone', async () => {
    const { open, url } = await studio()
    const id = await talk({ url, session: 'keys', questions: ['Show me the shipments table.'] })
    const page = await open('/chat?agent=demo')
    await page.getByRole('heading').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await page.locator('[data-thread]').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.locator('[data-block]').first().waitFor()
    expect(page.url()).toContain(`/threads/${id}`)
    await page.keyboard.press('j')
    await page.getByRole('complementary', { name: 'Block' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('complementary', { name: 'Block' }).waitFor({ state: 'detached' })
    await page.getByText(/^step \d+ of \d+$/).waitFor()
    await page.keyboard.press(']')
    await page.getByText(/^after \d+$/).waitFor()
    // Also with the focus on a slider.
    await page.getByRole('slider').focus()
    await page.keyboard.press('[')
    await page.getByText(/^step \d+ of \d+$/).waitFor()
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('g')
    await page.keyboard.press('c')
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    await page.keyboard.press('/')
    await soon(() => page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA')
  })
})

function widthOf(): number {
  return document.documentElement.scrollWidth
}

/** Things to press or fill in without a name. Runs in the page. */
function namelessOf(): string[] {
  const controls = document.querySelectorAll<HTMLElement>(
    'button, a[href], input, select, textarea, [role=img]',
  )
  return [...controls]
    .filter((one) => {
      const labels = 'labels' in one ? [...(one.labels as NodeListOf<HTMLElement>)] : []
      const names = [
        one.ariaLabel,
        one.textContent,
        one.title,
        ...labels.map(({ innerText }) => innerText),
      ]
      const isField = /INPUT|SELECT|TEXTAREA/.test(one.tagName)
      return !names.some((name, index) => (name ?? '').trim() !== '' && !(isField && index === 1))
    })
    .map((one) => one.outerHTML.slice(0, 120))
}

/** The status of a plain request with exactly these headers. */
async function statusOf(port: number, headers: readonly string[]): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET /api/info HTTP/1.1\r\n${headers.join('\r\n')}\r\nConnection: close\r\n\r\n`)
  let text = ''
  socket.setEncoding('utf8').on('data', (data: string) => {
    text += data
  })
  await once(socket, 'close')
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)
}
