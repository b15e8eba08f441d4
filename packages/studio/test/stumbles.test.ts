// What newcomers once stumbled over, each with the row of the audit that found it (G1 to G14); those that have a test of their own elsewhere
// are not repeated: G1 to G4 are in numbers.test.ts, G6 in scale.test.ts, G7 in chat.test.ts, G11 in accessibility.test.ts.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { memoryStore, openThread } from 'oriel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { talk } from '../../../scripts/sample-thread.ts'
import { type Built, buildStudio, openStudio, type Studio, soon } from './studio.ts'

let built: Built
let studio: Studio
let sample: string

beforeAll(async () => {
  built = await buildStudio()
  studio = await openStudio(built)
  sample = await talk({ url: studio.url, session: 'stumbles' })
}, 120_000)

afterAll(async () => {
  await studio.close()
  await built.close()
})

const key = { tenant: 'local' }

describe('what newcomers stumbled over', () => {
  it('[ST5] G5: undoing an edit in the list says its effect first, and then what came of it', async () => {
    const id = await talk({
      url: studio.url,
      session: 'undone',
      questions: ['What failed in the billing log?', 'Are there errors in the tracking log?'],
    })
    const page = await studio.open(`/threads/${id}?tab=edits`)
    const edit = page.locator('[data-edit]', { hasText: 'toolOutput' }).first()
    const name = String(await edit.getAttribute('data-edit'))
    const { entries } = await studio.ask<{ entries: number }>(`/api/threads/${id}`)
    await edit.getByRole('button', { name: 'Undo' }).click()
    await page
      .getByText(/^Takes back this edit of entry \d+.* Next request: [+−].* tokens/)
      .waitFor()
    expect((await studio.ask<{ entries: number }>(`/api/threads/${id}`)).entries).toBe(entries)
    await page.getByRole('button', { name: 'Undo now' }).click()
    await page.getByText('Undone.').waitFor()
    await soon(() => page.locator(`[data-edit="${name}"]`).innerText()).toContain('undone')
    await page.getByRole('link', { name: 'Show the next request' }).click()
    await page.getByText('This is what would be sent now.').waitFor()
  })

  it('[ST4] G5: what was imported is in the list, and its next request says what Oriel adds to it', async () => {
    const thread = await openThread({ ...key, id: 'imported', store: studio.store })
    const call = { type: 'tool-call', callId: 'c1', name: 'read', arguments: '{"path":"a.ts"}' }
    await thread.append([
      { role: 'user', content: 'Read it.' },
      { role: 'assistant', content: [call] },
      { role: 'user', content: 'Well?' },
    ])
    const page = await studio.open('/threads')
    // A model has read nothing of it, and nothing is claimed to have been spent.
    const row = page.locator('[data-thread=imported]')
    expect(await row.locator('[data-label=Cost]').innerText()).toBe('–')
    await row.getByRole('link').first().click()
    const added = page.locator('[data-part=summary]')
    await added.waitFor()
    expect(await added.innerText()).toMatch(/^result[\s\S]*the log has no result of this call/)
    // It is a result, not a summary: there is none.
    expect(await page.locator('[data-category=summary]').count()).toBe(0)
    expect(await page.locator('[data-category=results]').count()).toBe(1)
    await page.getByText('path: a.ts').waitFor()
    // A thread that was never sent shows the same bar on every tab.
    const used = await page.locator('[data-context-used]').getAttribute('data-context-used')
    await page.getByRole('tab', { name: 'Timeline' }).click()
    await page.getByText('Nothing was sent yet.').waitFor()
    const bar = page.locator('[data-context-used]')
    expect(await bar.getAttribute('data-context-used')).toBe(used)
  })

  it('[ST8] G8: a preset is written as its settings, and no column of the comparison is lost', async () => {
    const page = await studio.open(`/threads/${sample}?tab=what-if&edit=json`)
    await page.getByRole('columnheader', { name: 'Now' }).waitFor()
    expect(await page.getByRole('textbox').inputValue()).toContain('"toolOutput"')
    const cost = page.getByRole('row', { name: /^Input cost of all \d+ steps/ })
    expect((await cost.innerText()).match(/\$/g)).toHaveLength(3)
    // The usual policy costs less than sending everything.
    expect(await cost.locator('.better').count()).toBe(1)
  })

  it('[ST5] G9: both sides of a clipped result begin where they differ; errors, tools and pictures are marked', async () => {
    const store = memoryStore()
    const own = await openStudio(built, { store })
    const policy = { toolOutput: { maxLines: 20 } }
    const thread = await openThread({ ...key, id: 'clipped', store, policy })
    const lines = Array.from({ length: 60 }, (_, at) => `\u001b[31mline ${at}\u001b[0m`).join('\n')
    const call = (callId: string) => ({ type: 'tool-call', callId, name: 'bash', arguments: '{}' })
    const data =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
    const picture = { type: 'image', mediaType: 'image/png', data }
    const result = { type: 'tool-result' }
    await thread.append([
      { role: 'user', content: [{ type: 'text', text: 'Run **it**.' }, picture] },
      { role: 'assistant', content: [call('a'), call('b')] },
      { role: 'tool', content: [{ ...result, callId: 'a', content: lines }] },
      { role: 'tool', content: [{ ...result, callId: 'b', content: 'no', isError: true }] },
      { role: 'assistant', content: '## Done\n- **one** in `a.ts`' },
      { role: 'user', content: 'And?' },
    ])
    await thread.view({ format: 'openai-chat', model: 'gpt-5' })
    const page = await own.open('/threads/clipped')
    const clipped = page.locator('[data-form=clipped]')
    await soon(() => clipped.innerText()).toMatch(/Log, after \d+ equal lines[\s\S]*View, after/)
    const sides = await clipped.locator('.beside > *').allInnerTexts()
    expect(sides[0]).not.toContain('line 0\n')
    expect(withoutHeading(sides[0])).not.toBe(withoutHeading(sides[1]))
    expect(sides.join('')).not.toContain('\u001b')
    expect(await clipped.locator('.row-role').innerText()).toBe('bash')
    expect(await page.locator('.tag', { hasText: /^error$/ }).count()).toBe(1)
    expect(await page.locator('img.thumbnail').count()).toBe(1)
    const said = page.locator('.row.role-assistant', { hasText: 'Done' })
    expect(await said.locator('.preview').innerText()).toBe('Done\n• one in a.ts')
    expect(await said.locator('.preview b').allInnerTexts()).toEqual(['Done', 'one'])
    // The drawer stands beside the list, never over it.
    await clipped.click()
    const drawer = page.getByRole('complementary', { name: 'Block' })
    await drawer.locator('.diff').waitFor()
    const [list, beside] = await Promise.all([
      page.getByRole('region', { name: 'The log beside the view' }).boundingBox(),
      drawer.boundingBox(),
    ])
    expect((list?.x ?? 0) + (list?.width ?? 0)).toBeLessThanOrEqual((beside?.x ?? 0) + 1)
    expect(own.problems).toEqual([])
    await own.close()
  })

  it('[ST3] G10: the story of the demo ends with a lookup of something folded, and goes on in the chat', async () => {
    const { expansions, folds } = await studio.ask<{ expansions: number; folds: number }>(
      `/api/threads/${sample}`,
    )
    expect(expansions).toBeGreaterThan(0)
    expect(folds).toBeGreaterThan(0)
    const page = await studio.open(`/threads/${sample}`)
    await page.getByRole('link', { name: 'Continue in chat' }).click()
    await page.locator('.message-tool', { hasText: 'expand_message' }).first().waitFor()
    expect(await page.getByText('No agent is set up.').count()).toBe(0)
  })

  it('[ST7] G12: each chart has its legend with it, and the timeline zooms in and out', async () => {
    const page = await studio.open(`/threads/${sample}?tab=timeline`)
    await soon(() => page.locator('.chart canvas').count()).toBe(3)
    expect(await page.locator('figure.chart .chart-legend').count()).toBe(3)
    expect(await page.locator('[data-tile="Cache breaks"]').innerText()).toMatch(/\$[\d.]+ lost/)
    const plot = page.locator('[data-chart="Tokens per request"] .u-over')
    const box = await plot.boundingBox()
    const at = (share: number): [number, number] => [
      (box?.x ?? 0) + share * (box?.width ?? 0),
      (box?.y ?? 0) + 60,
    ]
    const picture = (): Promise<string> =>
      page
        .locator('[data-chart="Tokens per request"] canvas')
        .evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL())
    await page.mouse.move(1, 1)
    const whole = await picture()
    await page.mouse.move(...at(0.3))
    await page.mouse.down()
    await page.mouse.move(...at(0.6), { steps: 5 })
    await page.mouse.up()
    expect(page.url()).toContain('tab=timeline')
    await soon(picture).not.toBe(whole)
  })

  it('[ST12] G13: no page uses words that only its makers understand', async () => {
    const page = await studio.open('/threads')
    const paths = [
      '/threads',
      '/memory',
      '/settings',
      `/chat?agent=demo&debug=true&thread=${sample}`,
      ...['', '?tab=timeline', '?tab=edits', '?tab=what-if'].map(
        (tab) => `/threads/${sample}${tab}`,
      ),
      `/threads/${sample}?step=2`,
    ]
    const refused =
      /\d t\b|reached its limit|Rebuilt byte|did not work|For good\?|\(-0\s?%\)|\b-\d+\s?%|undefined|NaN|\[object/
    for (const path of paths) {
      await page.goto(`${studio.url}${path}`)
      await page.locator('main > *').first().waitFor()
      await expect
        .poll(() => page.locator('.spinner, progress').count(), { timeout: 90_000 })
        .toBe(0)
      expect((await page.locator('main').innerText()).match(refused)?.[0], path).toBeUndefined()
    }
  }, 240_000)

  it('[ST13] G14: a wrong variable stops the start with one line', async () => {
    const root = join(import.meta.dirname, '../../..')
    const child = spawn(
      process.execPath,
      ['scripts/start.ts', '--port', '0', '--data', built.folder],
      {
        cwd: root,
        env: { ...process.env, ORIEL_HISTORY_LENGTH: 'many' },
      },
    )
    let told = ''
    child.stderr.on('data', (chunk: Buffer) => {
      told += String(chunk)
    })
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect(code).toBe(1)
    expect(told.trim().split('\n')).toHaveLength(1)
    expect(told).toContain('ORIEL_HISTORY_LENGTH')
  }, 120_000)
})

function withoutHeading(text = ''): string {
  return text.split('\n').slice(1).join('\n')
}
