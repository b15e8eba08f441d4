// A person who watches an agent at work: reads far up while it continues, loses the gateway, uses the keyboard.

import { createGateway, serveGateway } from '@oriel/gateway'
import { memoryStore, openThread, type Thread } from 'oriel'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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

const open = (id: string): Promise<Thread> =>
  openThread({ id, tenant: 'local', store: studio.store, policy: {} })

function questions(count: number): { readonly role: string; readonly content: string }[] {
  return Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `Message ${index + 1}.`,
  }))
}

const listOf = (page: Page) => page.getByRole('region', { name: 'The log beside the view' })
const placeOf = (page: Page): Promise<number> => listOf(page).evaluate((box) => box.scrollTop)
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => document.activeElement?.textContent ?? '')

describe('the log beside the view', () => {
  it('[ST5] follows the newest message, and stays where somebody reads', async () => {
    const thread = await open('growing')
    await thread.append(questions(200))
    const page = await studio.open('/threads/growing')
    await page.getByText('Message 200.').first().waitFor()
    await thread.append({ role: 'user', content: 'The newest.' })
    await page.getByText('The newest.').first().waitFor()
    await listOf(page).hover()
    await page.mouse.wheel(0, -3000)
    await soon(() => page.getByText('Message 200.').count()).toBe(0)
    const before = await placeOf(page)
    await thread.append({ role: 'assistant', content: 'Another one.' })
    await page.getByText('202 messages').waitFor()
    await soon(() => placeOf(page)).toBe(before)
  })

  it('[ST5] stays where it is when a block is closed, and so does the focus', async () => {
    const thread = await open('closing')
    await thread.append(questions(200))
    const page = await studio.open('/threads/closing')
    await page.getByText('Message 200.').first().waitFor()
    await listOf(page).hover()
    await page.mouse.wheel(0, -3000)
    await soon(() => page.getByText('Message 200.').count()).toBe(0)
    const row = page.locator('.row-open').nth(8)
    const name = await row.textContent()
    await row.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('complementary', { name: 'Block' }).waitFor()
    const before = await placeOf(page)
    await page.keyboard.press('Escape')
    await page.getByRole('complementary', { name: 'Block' }).waitFor({ state: 'detached' })
    expect(await placeOf(page)).toBe(before)
    expect(await focused(page)).toBe(name)
  })

  it('[ST5] gives what was said its own direction, and names pictures', async () => {
    const thread = await open('said')
    const content = [
      { type: 'text', text: 'يمكنك إرجاعه خلال 14 يومًا.' },
      { type: 'image', mediaType: 'image/png', data: 'A'.repeat(104) },
      { type: 'image', url: 'https://example.com/a.png' },
    ]
    await thread.append({ role: 'user', content })
    const page = await studio.open('/threads/said')
    const said = page.locator('.row .preview')
    await soon(() => said.first().innerText()).toContain('14')
    expect(await said.first().evaluate(endsLeft)).toBe(true)
    expect(await said.nth(1).locator('img').getAttribute('alt')).toBe('[image image/png 78 bytes]')
    // A picture elsewhere is never loaded.
    expect(await said.nth(2).innerText()).toBe('[image https://example.com/a.png]')
    const result = [
      { type: 'tool-result', callId: 'c', isError: true, content: '\u001b[31mred\u001b[0m' },
    ]
    const call = [{ type: 'tool-call', callId: 'c', name: 'look', arguments: '{}' }]
    await thread.append([
      { role: 'assistant', content: call },
      { role: 'tool', content: result },
    ])
    const failed = page.locator('.row', { hasText: 'error' })
    await soon(() => failed.innerText()).toMatch(/look[\s\S]*error[\s\S]*red/)
    expect(await failed.innerText()).not.toContain('[31m')
  })
})

/** Whether the last character stands left of the first one. Runs in the page. */
function endsLeft(element: Element): boolean {
  const text = element.firstChild as Text
  const leftOf = (index: number): number => {
    const range = document.createRange()
    range.setStart(text, index)
    range.setEnd(text, index + 1)
    return range.getBoundingClientRect().left
  }
  return leftOf(text.length - 1) < leftOf(0)
}

describe('a timeline', () => {
  it('[ST7] of hundreds of epochs still shows its lines', async () => {
    const policy = { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } } as const
    const { store } = studio
    const thread = await openThread({ id: 'epochs', tenant: 'local', store, policy })
    await thread.append({ role: 'user', content: 'Read all of it.' })
    for (let step = 0; step < 300; step++) {
      const call = { type: 'tool-call', callId: `c${step}`, name: 'read', arguments: '{}' }
      const result = { type: 'tool-result', callId: `c${step}`, content: 'words '.repeat(50) }
      await thread.append([
        { role: 'assistant', content: [call] },
        { role: 'tool', content: [result] },
      ])
      await thread.view({ format: 'openai-chat' })
    }
    const page = await studio.open('/threads/epochs?tab=timeline')
    const canvas = page.locator('.chart canvas').first()
    await canvas.waitFor()
    await soon(() => canvas.evaluate(inkOf)).toBeGreaterThan(0)
    // Areas are filled; marks of every step, drawn in full, would cover all of it.
    expect(await canvas.evaluate(inkOf)).toBeLessThan(0.4)
  })
})

/** The share of a canvas that is drawn on. Runs in the page. */
function inkOf(element: Element): number {
  const canvas = element as HTMLCanvasElement
  const { data } = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height) ?? {}
  return data === undefined
    ? 0
    : data.filter((value, at) => at % 4 === 3 && value > 0).length / (data.length / 4)
}

describe('a page that loses the gateway', () => {
  it('[ST4] says so, and shows what happened meanwhile when it is back', async () => {
    const store = memoryStore()
    const serve = (port: number) =>
      serveGateway(createGateway({ store, studio: built.folder }), { port, host: '127.0.0.1' })
    const thread = await openThread({ id: 'left', tenant: 'local', store, policy: {} })
    await thread.append({ role: 'user', content: 'Before.' })
    const first = await serve(0)
    const page = await built.browser.newPage()
    await page.goto(`${first.url}/threads/left`)
    await page.getByText('Before.').first().waitFor()
    await first.close()
    const notice = page.getByText('Not live: the gateway does not answer.')
    await notice.waitFor()
    await page.getByText('Before.').first().waitFor()
    await thread.append({ role: 'assistant', content: 'Meanwhile.' })
    const second = await serve(Number(new URL(first.url).port))
    await page.getByText('Meanwhile.').first().waitFor()
    await notice.waitFor({ state: 'detached' })
    await page.close()
    await second.close()
  })
})

describe('the keyboard', () => {
  it('[ST12] goes through the list, in sight, and Enter does what has the focus', async () => {
    for (let index = 0; index < 60; index++) {
      await (await open(`many-${index}`)).append({ role: 'user', content: `Thread ${index}.` })
    }
    const page = await studio.open('/threads')
    const rows = page.locator('[data-thread]')
    await rows.nth(49).waitFor()
    for (let index = 0; index < 30; index++) await page.keyboard.press('j')
    const row = page.locator('[data-thread]:focus-within')
    const idAt = (index: number) => rows.nth(index).getAttribute('data-thread')
    expect(await row.getAttribute('data-thread')).toBe(await idAt(29))
    const box = await row.boundingBox()
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(720)
    const title = await rows.nth(28).locator('a').innerText()
    await page.keyboard.press('k')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: title }).waitFor()
    expect(await page.title()).toBe(`${title} · Oriel`)
    await page.goBack()
    await page.getByRole('link', { name: 'New chat' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    expect(await page.title()).toBe('Chat · Oriel')
  })

  it('[ST4] a list stays where it is when it grows, and when somebody comes back to it', async () => {
    const page = await studio.open('/threads?search=Thread')
    const rows = page.locator('[data-thread]')
    await soon(() => rows.count()).toBe(50)
    await page.getByRole('button', { name: 'Show more' }).click()
    await soon(() => rows.count()).toBe(60)
    const place = () => page.locator('main').evaluate((main) => main.scrollTop)
    const before = await place()
    expect(before).toBeGreaterThan(500)
    await rows.nth(45).locator('a').click()
    await page.locator('.thread-head .id').click()
    const selection = await page.evaluate(() => getSelection()?.toString())
    expect(page.url()).toContain(`/threads/${selection}`)
    await page.getByRole('tab', { name: 'Edits' }).click()
    await page.goBack()
    await page.goBack()
    await soon(() => rows.count()).toBe(60)
    await soon(place).toBe(before)
  })

  it('[ST12] comes to the safe answer when a thread is to be erased, and back', async () => {
    await (await open('kept')).append({ role: 'user', content: 'Keep me.' })
    const page = await studio.open('/threads/kept')
    await page.getByRole('button', { name: 'Erase' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('alertdialog').waitFor()
    await soon(() => focused(page)).toBe('Keep')
    await page.keyboard.press('Enter')
    await soon(() => focused(page)).toBe('Erase')
  })
})
