// Every page without findings of axe, at both widths, in light and dark; and what axe cannot see.

import axe from 'axe-core'
import type { Locator } from 'playwright-core'
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
        '/memory?user=ann',
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
  /** The list, with the number of clicks since it was opened. */
  async function fromList() {
    const page = await studio.open('/threads')
    const row = page.locator(`[data-thread="${sample}"]`)
    await row.waitFor()
    let clicks = 0
    const click = async (what: Locator): Promise<void> => {
      clicks += 1
      expect(clicks).toBeLessThanOrEqual(2)
      await what.click()
    }
    return { page, row, click }
  }

  it('[ST16] sees what the model saw at a step', async () => {
    const { page, row, click } = await fromList()
    await click(row.getByRole('link').first())
    await click(page.getByRole('button', { name: 'Step before' }))
    await page.getByText(/^step \d+ of \d+$/).waitFor()
    await page.locator('[data-part=system]').waitFor()
  })

  it('[ST16] sees why a block is gone', async () => {
    const { page, row, click } = await fromList()
    await click(row.getByRole('link').first())
    const run = page.locator('[data-folded]').first()
    expect(await run.innerText()).toMatch(/Folded[\s\S]*compaction[\s\S]*limit/)
    await click(run.getByRole('button'))
    await page.locator('.row.is-inside').first().waitFor()
  })

  it('[ST16] sees what a thread cost', async () => {
    const { row } = await fromList()
    expect(await row.locator('[data-label=Cost]').innerText()).toMatch(/^\$\d/)
  })

  it('[ST16] sees when and why the cache broke', async () => {
    const { page, row, click } = await fromList()
    await click(row.locator('[data-label=Cost] a'))
    const found = page.locator('tr', { hasText: /cache break, by an edit: .* tokens, \$/ }).first()
    expect(await found.getByRole('link').innerText()).toMatch(/^\d+$/)
  })

  it('[ST16] sees what another policy would do', async () => {
    const { page, row, click } = await fromList()
    await click(row.getByRole('link').first())
    await click(page.getByRole('tab', { name: 'Policy' }))
    await page.getByRole('row', { name: /^Input cost of all \d+ steps/ }).waitFor()
  })
})
