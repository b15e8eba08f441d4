// Every page without findings of axe, at both widths, in light and dark; and what axe cannot see.

import axe from 'axe-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { talk } from '../../../scripts/sample-thread.ts'
import { type Built, buildStudio, openStudio, type Studio, soon } from './studio.ts'

let built: Built
let studio: Studio
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

describe('every page', () => {
  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)(
    '[ST15] has no findings of axe at %i pixels in %s',
    async (width, colorScheme) => {
      const page = await studio.open('/threads', { viewport: { width, height: 900 }, colorScheme })
      const found: string[] = []
      for (const path of [
        '/threads',
        '/settings',
        `/chat?agent=demo&debug=true&thread=${sample}`,
        `/threads/${sample}`,
        `/threads/${sample}?of=toolOutput`,
        `/threads/${sample}?tab=timeline`,
        `/threads/${sample}?tab=edits`,
        `/threads/${sample}?tab=what-if`,
      ]) {
        await page.goto(`${studio.url}${path}`)
        await page.locator('main > *').first().waitFor()
        await soon(() => page.locator('.spinner, progress').count()).toBe(0)
        await page.evaluate(axe.source)
        const { violations } = await page.evaluate(() =>
          (window as unknown as { axe: typeof axe }).axe.run(document),
        )
        for (const { id, nodes } of violations) {
          found.push(
            `${path}: ${id}: ${nodes[0]?.html.slice(0, 160)} ${nodes[0]?.failureSummary ?? ''}`,
          )
        }
      }
      expect(found).toEqual([])
    },
    120_000,
  )

  it('[ST15] moves between tabs with the arrow keys, and stands still where motion is not wanted', async () => {
    const page = await studio.open(`/threads/${sample}`, { reducedMotion: 'reduce' })
    await page.getByRole('tab', { name: 'Inspector' }).focus()
    await page.keyboard.press('ArrowRight')
    await soon(() => page.getByRole('tab', { selected: true }).innerText()).toBe('Timeline')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Timeline')
    const animation = await page.evaluate(() => {
      const spinner = document.createElement('span')
      spinner.className = 'spinner'
      document.body.append(spinner)
      return getComputedStyle(spinner).animationName
    })
    expect(animation).toBe('none')
  })

  it('[ST15] leaves the arrow keys to the list', async () => {
    const page = await studio.open(`/threads/${sample}`)
    const list = page.getByRole('region', { name: 'The log beside the view' })
    await page.locator('[data-block]').first().waitFor()
    await list.focus()
    const before = await list.evaluate((box) => box.scrollTop)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowUp')
    await soon(() => list.evaluate((box) => box.scrollTop)).toBe(before)
    expect(await page.getByRole('complementary', { name: 'Block' }).count()).toBe(0)
  })
})

describe('a newcomer', () => {
  it('[ST16] has five answers within two clicks from the list', async () => {
    const page = await studio.open('/threads')
    const row = page.locator(`[data-thread="${sample}"]`)
    // What did it cost? On the list.
    expect(await row.locator('[data-label=Cost]').innerText()).toMatch(/^\$\d/)
    // When and why did the cache break? One click on the cost.
    await row.locator('[data-label=Cost] a').click()
    await page
      .getByText(/cache break, by an edit: /)
      .first()
      .waitFor()
    // What did the model see at a step? The thread, then the step.
    await page.goto(`${studio.url}/threads`)
    await row.getByRole('link').first().click()
    // Why is this block gone? It says so at once.
    expect(await page.locator('[data-folded]').first().innerText()).toMatch(
      /Not sent[\s\S]*compaction/,
    )
    await page.getByRole('button', { name: 'Step before' }).click()
    await page.getByText(/^step \d+ of \d+$/).waitFor()
    await page.locator('[data-part=system]').waitFor()
    // What would another policy do? The thread, then Policy.
    await page.goto(`${studio.url}/threads`)
    await row.getByRole('link').first().click()
    await page.getByRole('tab', { name: 'Policy' }).click()
    await page.getByRole('row', { name: /^Input cost of all \d+ steps/ }).waitFor()
  })
})
