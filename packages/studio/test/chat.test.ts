import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  answered,
  type Built,
  buildStudio,
  fact,
  openStudio,
  type StudioOptions,
  say,
  soon,
  sourceOf,
} from './studio.ts'

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

/** An agent without tools and rules of its own: a turn is a question and an answer. */
const plain = {
  demo: {
    title: 'Plain',
    model: 'oriel-demo',
    system: 'You answer.',
    chatSettings: { historyPolicy: 'lastN', historyLength: 20 },
  },
}

const questions = ['Show the table.', 'Search the wiki.', 'List the files.', 'Check billing.']

describe('the chat', () => {
  it.each([
    ['historyPolicy=all', 8, 'all'],
    ['historyPolicy=lastN&historyLength=2', 4, 'lastN'],
    ['historyPolicy=lastN&historyLength=0', 2, 'lastN'],
    ['historyPolicy=none', 2, 'none'],
    ['', 8, 'lastN'],
  ])(
    '[ST1] sends with ?agent=demo&%s, at the fourth question, %i messages',
    async (query, count, policy) => {
      const { open, lastRoles, problems } = await studio({ agents: plain })
      const page = await open(`/chat?agent=demo&${query}&debug=true`)
      for (const question of questions) await say(page, question)
      expect(lastRoles()).toHaveLength(count)
      await soon(() => fact(page, 'In the view')).toBe(String(count))
      expect(await fact(page, 'Messages')).toBe('8')
      expect(await fact(page, 'Policy')).toBe(policy)
      expect(await sourceOf(page, 'Policy')).toBe(query === '' ? 'agent' : 'URL')
      expect(problems).toEqual([])
    },
  )

  it('[ST2] shows the environment over the address, field by field, and sends accordingly', async () => {
    const env = { NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH: '0' }
    const { open, lastRoles } = await studio({ agents: plain, env })
    const page = await open('/chat?agent=demo&historyPolicy=lastN&historyLength=5&debug=true')
    for (const question of questions.slice(0, 2)) await say(page, question)
    expect(lastRoles()).toHaveLength(2)
    expect([await fact(page, 'Length'), await sourceOf(page, 'Length')]).toEqual([
      '0',
      'environment',
    ])
    expect([await fact(page, 'Policy'), await sourceOf(page, 'Policy')]).toEqual(['lastN', 'URL'])
  })

  it('[ST2] ignores a wrong value in the address, with a warning on the page', async () => {
    const { open } = await studio({ agents: plain })
    const page = await open('/chat?agent=demo&historyPolicy=foo&historyLength=-1&debug=true')
    await page.getByText('historyPolicy').first().waitFor()
    expect([await fact(page, 'Policy'), await sourceOf(page, 'Policy')]).toEqual(['lastN', 'agent'])
    expect([await fact(page, 'Length'), await sourceOf(page, 'Length')]).toEqual(['20', 'agent'])
  })

  it('[ST3] runs tools, shows forms and numbers, and can be resumed by its address', async () => {
    const { open, sent, ask, problems } = await studio()
    const page = await open('/chat?agent=demo&debug=true')
    await page.getByRole('button', { name: 'What failed in the billing log?' }).click()
    await answered(page, 1)
    await say(page, 'Run the checks of dispatch.')
    const results = page.locator('.message-tool')
    await soon(() => results.count()).toBe(5)
    await results.first().locator('summary').click()
    expect(await results.first().locator('pre').textContent()).toContain('billing-0 INFO')
    await soon(() => page.locator('.message-tool .form-clipped').count()).toBeGreaterThan(0)
    await soon(() => fact(page, 'Step')).toBe(String(sent.length))
    expect(await fact(page, 'Last edits')).toMatch(/^step \d+, \d+ edits/)
    expect(Number.parseFloat(await fact(page, 'Tokens in the view'))).toBeGreaterThan(0)
    const text = await page.getByRole('log').innerText()
    await page.reload()
    await soon(() => results.count()).toBe(5)
    await say(page, 'Show me the shipments table.')
    expect(page.url()).toContain('thread=')
    expect((await ask<{ threads: [] }>('/api/threads')).threads).toHaveLength(1)
    expect(text).toContain('About "What failed in the billing log?"')
    expect(problems).toEqual([])
  })

  it('[ST3] streams, stops when told to, and goes on in the same thread', async () => {
    const { open, sent, ask, lastRoles, problems } = await studio({ agents: plain, delayMs: 15 })
    const page = await open('/chat?agent=demo&debug=true')
    await page.getByRole('textbox', { name: 'Message' }).fill('Show the table.')
    await page.getByRole('button', { name: 'Send' }).click()
    const answer = page.getByRole('article', { name: 'assistant' })
    await soon(async () => (await answer.innerText()).length).toBeGreaterThan(20)
    const early = (await answer.innerText()).length
    await soon(async () => (await answer.innerText()).length).toBeGreaterThan(early)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('stopped; not a part of the history').waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('And now?')
    await page.getByRole('button', { name: 'Send' }).click()
    await soon(() => sent.length).toBe(2)
    expect(lastRoles()).toEqual(['system', 'user', 'user'])
    await page.getByRole('button', { name: 'Stop' }).click()
    expect((await ask<{ threads: [] }>('/api/threads')).threads).toHaveLength(1)
    expect(problems).toEqual([])
  })

  it('[ST3] says in words what went wrong, and lets one try again', async () => {
    const { open } = await studio({ agents: plain, limits: { bodyBytes: 5000 } })
    const page = await open('/chat?agent=demo')
    await say(page, 'x'.repeat(6000))
    await page
      .getByRole('alert')
      .getByText(/too|limit|large/i)
      .waitFor()
    await page.goto(page.url().replace('agent=demo', 'agent=nobody'))
    await page.getByRole('alert').getByText('There is no such agent.').waitFor()
    await page.getByRole('button', { name: 'Try again' }).waitFor()
  })

  it('[ST3] keeps a message that could not be sent, and sends it again', async () => {
    const { open, sent } = await studio({ agents: plain })
    const page = await open('/chat?agent=demo')
    await page.route('**/v1/chat/completions**', (route) => route.abort())
    await say(page, 'Keep me.')
    await page.getByRole('alert').getByText('The gateway does not answer.').waitFor()
    expect(await page.locator('.message-user').innerText()).toBe('Keep me.')
    expect(sent).toHaveLength(0)
    await page.unroute('**/v1/chat/completions**')
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByRole('article', { name: 'assistant' }).waitFor()
    expect(await page.locator('.message-user').allInnerTexts()).toEqual(['Keep me.'])
    expect(sent).toHaveLength(1)
  })

  it('[ST3] follows an answer while it grows, until somebody scrolls up', async () => {
    const { open } = await studio()
    const page = await open('/chat?agent=demo', { viewport: { width: 900, height: 420 } })
    const list = page.getByRole('log')
    const isAtEnd = () =>
      list.evaluate((box) => box.scrollTop + box.clientHeight > box.scrollHeight - 60)
    for (const question of ['Any failures in the customs log?', 'Run the checks of dispatch.']) {
      await say(page, question)
      await soon(isAtEnd).toBe(true)
    }
    await list.hover()
    await page.mouse.wheel(0, -400)
    await soon(isAtEnd).toBe(false)
    await say(page, 'Show me the shipments table.')
    expect(await isAtEnd()).toBe(false)
  })

  it('[ST3] finds the agents that there are, and says so where there is none', async () => {
    const { demo: support } = plain
    const one = await studio({ agents: { support } })
    const page = await one.open('/threads')
    await page.getByRole('link', { name: 'Chat', exact: true }).click()
    await say(page, 'Show the table.')
    expect(one.sent).toHaveLength(1)
    const none = await studio({ agents: {} })
    const empty = await none.open('/threads')
    await empty.getByRole('link', { name: 'Chat', exact: true }).click()
    await empty.getByText('No agent is set up.').waitFor()
    expect(await empty.getByRole('alert').count()).toBe(0)
    expect([...one.problems, ...none.problems]).toEqual([])
  })

  it('[ST3] leaves an answer that is still being said when a new chat is begun', async () => {
    const { open } = await studio({ delayMs: 20 })
    const page = await open('/chat?agent=demo')
    await page.getByRole('textbox', { name: 'Message' }).fill('Show me the shipments table.')
    await page.locator('.composer button[type=submit]:enabled').click()
    await page.getByRole('link', { name: 'Inspect' }).waitFor()
    await page.getByRole('link', { name: 'New chat' }).click()
    await page.getByRole('button', { name: 'Send' }).waitFor()
    await page.waitForTimeout(1000)
    expect(await page.locator('.message-user').count()).toBe(0)
    expect(page.url()).not.toContain('thread=')
    await say(page, 'Which files does customs have?')
  })
})
