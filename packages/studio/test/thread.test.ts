import { openThread } from 'oriel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { talk } from '../../../scripts/sample-thread.ts'
import { runDemoTool } from '../../gateway/src/demo/tools.ts'
import { type Built, buildStudio, openStudio, type Studio, soon } from './studio.ts'

let built: Built
let studio: Studio
/** The sample thread: every rule of the demo's policy acts in it. */
let sample: string

beforeAll(async () => {
  built = await buildStudio()
  studio = await openStudio(built)
  sample = await talk({ url: studio.url, session: 'sample' })
}, 60_000)

afterAll(async () => {
  await studio.close()
  await built.close()
})

interface Listed {
  readonly id: string
  readonly entries: number
  readonly steps: number
}

describe('threads', () => {
  it('[ST4] are listed with their numbers, found by their text, and live', async () => {
    const page = await studio.open('/threads')
    const rows = page.locator('[data-thread]')
    await soon(() => rows.count()).toBe(1)
    expect(await rows.first().innerText()).toMatch(
      /What failed in the billing log\?[\s\S]*k[\s\S]*%[\s\S]*\$/,
    )
    await soon(() => page.locator('.headline').innerText()).toMatch(
      /^Your agents said [\d.]+k tokens\. The model read [\d.]+k\.$/,
    )
    await talk({ url: studio.url, session: 'second', questions: ['Show me the shipments table.'] })
    await soon(() => rows.count()).toBe(2)
    expect(await rows.first().innerText()).toContain('Show me the shipments table.')
    await page.getByRole('searchbox').fill('docs for tariffs')
    await soon(() => rows.count()).toBe(1)
    expect(page.url()).toContain('search=docs')
    await page.getByRole('region', { name: 'Messages found' }).getByRole('link').first().waitFor()
    await page.getByRole('searchbox').fill('nothing has this text')
    await page.getByText('No thread found.').waitFor()
    await page.getByRole('searchbox').fill('')
    await page.getByLabel('Order').selectOption('cost')
    await soon(() => rows.first().innerText()).toContain('What failed in the billing log?')
    const plain = '?historyPolicy=all'
    await talk({ url: studio.url, session: 'none', parameters: plain, questions: ['Hello?'] })
    await soon(() => rows.count()).toBe(3)
    await page.goto(`${studio.url}/threads?agent=demo`)
    await soon(() => rows.count()).toBe(2)
    expect(await page.getByLabel('Agent').inputValue()).toBe('demo')
  })
})

describe('the inspector', () => {
  it('[ST5] opens at the first change, with the reduced block beside its original and its tokens', async () => {
    // As tall as the list, so that all of its rows are in sight.
    const viewport = { width: 1280, height: 12_000 }
    const page = await studio.open(`/threads/${sample}?show=changed`, { viewport })
    const clipped = page.locator('[data-form=clipped]').last()
    await clipped.waitFor()
    expect(await clipped.innerText()).toMatch(/read_log[\s\S]*clipped[\s\S]*toolOutput/)
    const sides = clipped.locator('.beside > *')
    const [left, right] = [await sides.first().boundingBox(), await sides.last().boundingBox()]
    expect(left?.y).toBe(right?.y)
    expect(await page.locator('[data-part=summary]').innerText()).toMatch(/stands for \d+ messages/)
    expect(await page.locator('[data-form=full]').count()).toBe(0)
  })

  it('[ST5] shows a run of messages that are not sent as one row, and opens it', async () => {
    const viewport = { width: 1280, height: 12_000 }
    const page = await studio.open(`/threads/${sample}`, { viewport })
    const run = page.locator('[data-folded]').first()
    await run.waitFor()
    const count = await page.locator('[data-block]').count()
    await run.getByRole('button').click()
    await soon(() => page.locator('[data-block]').count()).toBeGreaterThan(count)
    await soon(() => page.locator('.is-inside').first().innerText()).toContain('Looking at')
    await run.getByRole('button').click()
    await soon(() => page.locator('[data-block]').count()).toBe(count)
  })

  it('[ST5] filters by category, tool, rule and text', async () => {
    const viewport = { width: 1280, height: 12_000 }
    const page = await studio.open(`/threads/${sample}`, { viewport })
    await page.locator('[data-category=results]').click()
    const rows = page.locator('.row')
    await soon(() => page.locator('[data-part]').count()).toBe(0)
    const roles = await rows.evaluateAll((all) => all.map((row) => row.className))
    expect(roles.every((name) => name.includes('role-tool'))).toBe(true)
    await page.getByRole('button', { name: /Remove the filter/ }).click()
    await page.locator('[data-part=system]').waitFor()
    await page.getByLabel('Tool or rule').selectOption('query_table')
    await soon(() => page.locator('.row-role').allInnerTexts()).toContain('query_table')
    await soon(() => page.locator('.row-role', { hasText: 'read_log' }).count()).toBe(0)
    await page.getByLabel('Tool or rule').selectOption('')
    await page.getByLabel('Find in this thread').fill('tariffs')
    await soon(() => page.locator('[data-block]', { hasText: 'tariffs' }).count()).toBeGreaterThan(
      0,
    )
    await soon(() => page.locator('[data-part]').count()).toBe(0)
  })

  it('[ST5] opens a reduced block beside the list, with its diff and its whole original', async () => {
    const page = await studio.open(`/threads/${sample}?of=toolOutput`)
    await page.locator('[data-form=clipped] .row-open').last().click()
    const drawer = page.getByRole('complementary', { name: 'Block' })
    const original = drawer.getByRole('region', { name: 'Original' }).locator('pre')
    const log = runDemoTool('read_log', '{"service":"billing"}')
    await soon(() => original.textContent()).toBe(log)
    expect(await drawer.locator('.diff-removed').count()).toBeGreaterThan(0)
    const list = await page.getByRole('region', { name: 'The log beside the view' }).boundingBox()
    const box = await drawer.boundingBox()
    expect((list?.x ?? 0) + (list?.width ?? 0)).toBeLessThanOrEqual(box?.x ?? 0)
  })

  it('[ST5] says what an action does before it is done, and shows the next request after', async () => {
    const page = await studio.open(`/threads/${sample}?of=toolOutput`)
    await page.locator('[data-form=clipped] .row-open').last().click()
    const drawer = page.getByRole('complementary', { name: 'Block' })
    const act = async (name: string): Promise<void> => {
      await drawer.getByRole('button', { name, exact: true }).click()
      await soon(() => drawer.locator('.effect').innerText()).toMatch(
        /Next request: [+−][\d.]+k? tokens \(.+\), \d+ blocks? shown otherwise|stays as it is/,
      )
      await drawer.getByRole('button', { name: `${name} now` }).click()
    }
    await act('Pin')
    await drawer.getByRole('button', { name: 'Unpin' }).waitFor()
    expect(page.url()).toContain('step=next')
    await soon(() => drawer.locator('h2').innerText()).toContain('full')
    await act('Unpin')
    await drawer.getByRole('button', { name: 'Pin', exact: true }).waitFor()
    await act('Exclude')
    await soon(() => drawer.locator('h2').innerText()).toContain('dropped')
    await act('Include')
    await soon(() => drawer.locator('h2').innerText()).toContain('clipped')
    await act('Undo')
    await page.goto(`${studio.url}/threads/${sample}?tab=edits`)
    await page.getByText('undone').first().waitFor()
  })

  it('[ST5] opens a block by a click anywhere on it', async () => {
    const page = await studio.open(`/threads/${sample}?of=toolOutput`)
    await page.locator('[data-form=clipped] .row-body').first().click()
    await page.getByRole('complementary', { name: 'Block' }).waitFor()
  })

  it('[ST4] tells threads apart that two callers named alike, and leaves the others to them', async () => {
    const ask = (question: string, headers: Record<string, string>): Promise<Response> =>
      fetch(`${studio.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-oriel-thread': 'main', ...headers },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: question }] }),
      })
    await (await ask('Mine.', {})).text()
    await (await ask('Theirs.', { authorization: 'Bearer another-caller' })).text()
    const page = await studio.open('/threads')
    await page.getByRole('link', { name: 'Theirs.' }).click()
    await page.getByRole('heading', { name: 'Theirs.' }).waitFor()
    expect(await page.getByRole('link', { name: 'Continue in chat' }).count()).toBe(0)
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await page.getByRole('link', { name: '1', exact: true }).click()
    await page.locator('[data-block]', { hasText: 'Theirs.' }).waitFor()
    await page.getByRole('button', { name: 'Erase' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Erase' }).click()
    await page.getByRole('link', { name: 'Mine.' }).click()
    await page.getByRole('link', { name: 'Continue in chat' }).waitFor()
    expect(page.url()).toBe(`${studio.url}/threads/main`)
  })

  it('[ST5] says so when a thread cannot be exported', async () => {
    const page = await studio.open(`/threads/${sample}`)
    const error = { code: 'storage-failed', message: 'The store is away.' }
    await page.route('**/export', (route) => route.fulfill({ status: 503, json: { error } }))
    await page.getByRole('button', { name: 'Export' }).click()
    await page.getByRole('alert').getByText('The store is away.').waitFor()
    expect(studio.problems).toEqual([])
  })

  it('[ST5] says where a fork came from', async () => {
    const questions = ['Show me the shipments table.', 'Which files does customs have?']
    await talk({ url: studio.url, session: 'forked', questions })
    const edited = ['Show me the shipments table.', 'Run the checks of dispatch.']
    const fork = await talk({ url: studio.url, session: 'forked', questions: edited })
    const page = await studio.open(`/threads/${fork}`)
    await page.getByRole('link', { name: /^forked from / }).waitFor()
  })

  it('[ST6] goes through the steps: what was sent, what changed and why, and the request itself', async () => {
    const permissions = ['clipboard-read', 'clipboard-write']
    const page = await studio.open(`/threads/${sample}`, { permissions })
    const { steps } = await studio.ask<Listed>(`/api/threads/${sample}`)
    await page.getByText(`step ${steps} of ${steps}`).waitFor()
    await page.getByRole('button', { name: 'Step before' }).click()
    await page.getByText(`step ${steps - 1} of ${steps}`).waitFor()
    expect(page.url()).toContain(`step=${steps - 1}`)
    const { change } = await firstChange(steps)
    await page.getByRole('textbox', { name: 'Step' }).fill(String(change))
    await page.keyboard.press('Enter')
    const cause = page.locator('[data-cause=edit]')
    await cause.waitFor()
    expect(await cause.innerText()).toMatch(
      /differs from step \d+ from message \d+ on: by an edit \(\w+: /,
    )
    await page.locator('[data-since=first-changed]').first().waitFor()
    await page.getByRole('button', { name: 'Show request', exact: true }).click()
    await page.getByRole('region', { name: `Request of step ${change}` }).waitFor()
    await page.getByRole('button', { name: 'Copy request' }).click()
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as object
    const { body } = await studio.ask<{ body: object }>(`/api/threads/${sample}/requests/${change}`)
    expect(copied).toEqual(body)
    await page.getByRole('button', { name: 'Next request' }).focus()
    await page.keyboard.press(']')
    await page.getByText(`step ${change + 1} of ${steps}`).waitFor()
    expect(await page.locator('.tick').count()).toBeGreaterThan(0)
  })

  it('[ST6] says once that there is no such step', async () => {
    const page = await studio.open(`/threads/${sample}?step=9999`)
    await page.getByRole('alert').first().waitFor()
    await soon(() => page.getByText('Loading').count()).toBe(0)
    expect(await page.getByRole('alert').allInnerTexts()).toEqual([
      expect.stringContaining('No request was made at step 9999'),
    ])
  })

  /** A step whose request did not only extend the one before, by an edit. */
  async function firstChange(steps: number): Promise<{ change: number }> {
    for (let step = 2; step <= steps; step++) {
      const { change } = await studio.ask<{ change?: { cause: string; rule: string } }>(
        `/api/threads/${sample}/requests/${step}`,
      )
      if (change?.cause === 'edit' && change.rule !== 'compaction') return { change: step }
    }
    throw new Error('No edit changed an old message.')
  }
})

describe('the timeline', () => {
  it('[ST7] draws tokens, cost and cache, lists what happened, and goes to the step that is chosen', async () => {
    const page = await studio.open(`/threads/${sample}?tab=timeline`)
    await soon(() => page.locator('.chart canvas').count()).toBe(3)
    const text = await page.locator('.timeline').innerText()
    expect(text).toMatch(/Spent\s*\$0\.\d+/)
    expect(text).toMatch(/cache break, by an edit: [\d.]+k? tokens, \$/)
    expect(text).toContain('fold')
    const chart = page.locator('[data-chart="Tokens per request"] .u-over')
    await chart.hover({ position: { x: 200, y: 60 } })
    const tooltip = page.locator('[data-chart="Tokens per request"] .tooltip')
    await soon(() => tooltip.innerText()).toMatch(/Step \d+[\s\S]*Results/)
    await chart.click({ position: { x: 200, y: 60 } })
    await page.getByText(/^step \d+ of \d+$/).waitFor()
    expect(page.url()).toMatch(/step=\d+/)
  })
})

describe('what if', () => {
  it('[ST8] shows another policy on the thread, changes nothing, and copies it as a template', async () => {
    const path = `/threads/${sample}?tab=what-if`
    const page = await studio.open(path, { permissions: ['clipboard-read', 'clipboard-write'] })
    const { entries } = await studio.ask<Listed>(`/api/threads/${sample}`)
    await page.getByRole('combobox', { name: 'Start from a preset' }).selectOption('history-window')
    await page.getByRole('row', { name: /^Input cost of all \d+ steps/ }).waitFor()
    await page.locator('[data-part=history] input[type=checkbox]:checked').waitFor()
    // The form acts at once.
    await page.locator('[data-field="history.length"]').fill('1')
    await soon(() => page.getByRole('row', { name: /^Messages in it/ }).innerText()).toMatch(
      /\t9\b/,
    )
    expect(await page.getByRole('row', { name: /^Facts in sight, of \d+/ }).count()).toBe(1)
    await page.getByRole('button', { name: 'JSON' }).click()
    expect(await page.getByRole('textbox').inputValue()).toContain('"history"')
    await page.getByText(/would look different/).waitFor()
    await page.getByRole('textbox').fill('{"history": {"policy": "lastN", "length": 1}}')
    await page.getByRole('button', { name: 'Try it' }).click()
    await soon(() => page.getByRole('row', { name: /^Messages in it/ }).innerText()).toMatch(
      /\t9\b/,
    )
    await page.getByRole('button', { name: 'Copy as agent template' }).click()
    await page.getByRole('button', { name: /^Copied/ }).waitFor()
    const copied: unknown = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))
    expect(copied).toEqual({
      name: 'my-agent',
      model: 'oriel-demo',
      chatSettings: { historyPolicy: 'lastN', historyLength: 1 },
      policy: { history: { policy: 'lastN', length: 1 } },
    })
    expect((await studio.ask<Listed>(`/api/threads/${sample}`)).entries).toBe(entries)
    await page.getByRole('textbox').fill('{"history": {"polcy": 1}}')
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText("unknown key 'polcy'").waitFor()
    await page.getByRole('textbox').fill('{"history": {"policy": "lastN", "length": 3}}')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('button', { name: 'Apply now' }).click()
    await page.getByText('Applied from the next request on.').waitFor()
    const { policy } = await studio.ask<{ policy: object }>(`/api/threads/${sample}`)
    expect(policy).toMatchObject({ history: { policy: 'lastN', length: 3 } })
  })
})

describe('ten thousand messages', () => {
  it('[ST9] scroll smoothly, with only the rows in sight in the page', async () => {
    const id = 'long'
    const thread = await openThread({ id, tenant: 'local', store: studio.store, policy: {} })
    const messages = Array.from({ length: 10_000 }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `Message ${index + 1}. ${'It says something. '.repeat(index % 40)}`,
    }))
    await thread.append(messages)
    const page = await studio.open('/threads')
    const session = await page.context().newCDPSession(page)
    await session.send('Network.enable')
    let bytes = 0
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto(`${studio.url}/threads/${id}`)
    await page.getByText('Message 10000.').first().waitFor()
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(2 ** 20)
    const list = page.getByRole('region', { name: 'The log beside the view' })
    await session.send('Performance.enable', { timeDomain: 'threadTicks' })
    const workMs = async (): Promise<number> => {
      const { metrics } = await session.send('Performance.getMetrics')
      return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000
    }
    const before = await workMs()
    const frames = await list.evaluate(scrollThrough)
    // The page's own work for one frame, whatever else the machine does.
    expect((await workMs()) - before).toBeLessThan(frames * 16)
    expect(await page.locator('.virtual-row').count()).toBeLessThan(80)
    await list.evaluate((box) => {
      box.scrollTop = 0
    })
    await page.getByText('Message 1.', { exact: true }).first().waitFor()
  })
})

/** Scrolls up in big steps, one a frame, and returns how many frames it took. Runs in the page. */
async function scrollThrough(box: Element): Promise<number> {
  const steps = 60
  for (let step = 0; step < steps; step++) {
    box.scrollTop -= 300
    await new Promise((resolve) => requestAnimationFrame(resolve))
  }
  return steps
}
