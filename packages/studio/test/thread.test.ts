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
      /What failed in the billing log\?[\s\S]*KB[\s\S]*k/,
    )
    await talk({ url: studio.url, session: 'second', questions: ['Show me the shipments table.'] })
    await soon(() => rows.count()).toBe(2)
    expect(await rows.first().innerText()).toContain('Show me the shipments table.')
    await page.getByRole('searchbox').fill('docs for tariffs')
    await soon(() => rows.count()).toBe(1)
    expect(page.url()).toContain('search=docs')
    await page.getByRole('searchbox').fill('nothing has this text')
    await page.getByText('Nothing found.').waitFor()
  })
})

describe('the inspector', () => {
  it('[ST5] shows the log beside the view: form, rule, reason and tokens of each block', async () => {
    // As tall as the list, so that all of its rows are in sight.
    const viewport = { width: 1280, height: 12_000 }
    const page = await studio.open(`/threads/${sample}?show=changed`, { viewport })
    const clipped = page.locator('[data-form=clipped]').last()
    await clipped.waitFor()
    const [log, view] = [clipped.locator('.cell-log'), clipped.locator('.cell-view')]
    expect(await view.innerText()).toMatch(/clipped[\s\S]*toolOutput[\s\S]*longer than the limits/)
    expect(await view.innerText()).toMatch(/[\dk] → \d+ tokens/)
    const [left, right] = [await log.boundingBox(), await view.boundingBox()]
    expect(left?.y).toBe(right?.y)
    expect(left?.height).toBe(right?.height)
    await page.getByText('checkpoint', { exact: true }).first().waitFor()
  })

  it('[ST5] opens a reduced block to its whole original, and undoes, pins and excludes it', async () => {
    const page = await studio.open(`/threads/${sample}?show=changed`)
    await page.locator('[data-form=clipped] .row-open').last().click()
    const drawer = page.getByRole('complementary', { name: 'Block' })
    const original = drawer.getByRole('region', { name: 'Original' }).locator('pre')
    const table = runDemoTool('query_table', '{"table":"shipments"}')
    await soon(() => original.textContent()).toBe(table)
    await drawer.getByRole('button', { name: 'Expand' }).click()
    await drawer.getByText('Expanded').waitFor()
    await drawer.getByRole('button', { name: 'Pin' }).click()
    await drawer.getByRole('button', { name: 'Unpin' }).waitFor()
    await page.locator('.why .tag', { hasText: 'pinned' }).waitFor()
    await drawer.getByRole('button', { name: 'Unpin' }).click()
    await drawer.getByRole('button', { name: 'Pin', exact: true }).waitFor()
    await drawer.getByRole('button', { name: 'Exclude' }).click()
    await soon(() => drawer.locator('h2').innerText()).toContain('dropped')
    await drawer.getByRole('button', { name: 'Include' }).click()
    await soon(() => drawer.locator('h2').innerText()).toContain('clipped')
    await drawer.getByRole('button', { name: 'Undo' }).click()
    await drawer.waitFor({ state: 'detached' }).catch(() => undefined)
    await page.goto(`${studio.url}/threads/${sample}?tab=edits`)
    await page.getByText('undone').waitFor()
  })

  it('[ST5] opens a block by a click anywhere on it', async () => {
    const page = await studio.open(`/threads/${sample}?show=changed`)
    await page.locator('[data-form=dropped] .cell-log').first().click()
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
    await page.getByRole('button', { name: 'Erase for good' }).click()
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

  it('[ST6] goes through the steps: what was sent, the difference, the first change and its cause', async () => {
    const page = await studio.open(`/threads/${sample}`)
    const { steps } = await studio.ask<Listed>(`/api/threads/${sample}`)
    await page.getByText('now', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Step before' }).click()
    await page.getByText(`step ${steps} of ${steps}`).waitFor()
    expect(page.url()).toContain(`step=${steps}`)
    const { change } = await firstChange(steps)
    await page.goto(`${studio.url}/threads/${sample}?step=${change}`)
    const cause = page.locator('[data-cause]')
    await cause.waitFor()
    expect(await cause.innerText()).toMatch(/first change at message \d+: edit \(\w+: /)
    const marked = page.locator('[data-since=first-changed]')
    await marked.waitFor()
    expect(await page.locator('[data-since=first-changed]').count()).toBe(1)
    await page.getByText('Rebuilt byte for byte.').waitFor()
    await page.getByText('Messages', { exact: true }).click()
    await page.getByRole('region', { name: `Step ${change}` }).waitFor()
    await page.keyboard.press(']')
    await page.getByText(`step ${change + 1} of ${steps}`).waitFor()
  })

  it('[ST6] says once that there is no such step', async () => {
    const page = await studio.open(`/threads/${sample}?step=9999`)
    await page.getByRole('alert').first().waitFor()
    await soon(() => page.getByText('Loading').count()).toBe(0)
    expect(await page.getByRole('alert').allInnerTexts()).toEqual([
      expect.stringContaining('That did not work'),
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
    expect(text).toMatch(/without Oriel \(−\d+%\)/)
    expect(text).toContain('cache break: edit')
    expect(text).toContain('compaction')
    const chart = page.locator('[data-chart="Tokens per step"] .u-over')
    await chart.hover({ position: { x: 200, y: 60 } })
    const legend = page.locator('[data-chart="Tokens per step"] .u-legend')
    await soon(() => legend.innerText()).toMatch(/Step\s*\d+/)
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
    await page.getByRole('row', { name: /^Cost of that input/ }).waitFor()
    await page.getByText(/blocks would look different/).waitFor()
    await page.getByRole('textbox').fill('{"history": {"policy": "lastN", "length": 1}}')
    await page.getByRole('button', { name: 'Try it' }).click()
    await soon(() => page.getByRole('row', { name: /^Messages in the view/ }).innerText()).toMatch(
      /\t[34]\b/,
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
    const page = await studio.open(`/threads/${id}`)
    await page.getByText('Message 10000.').first().waitFor()
    const list = page.getByRole('region', { name: 'The log beside the view' })
    const session = await page.context().newCDPSession(page)
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
