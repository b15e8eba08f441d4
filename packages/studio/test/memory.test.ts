// Lasting instructions in the page: listed, put into other words, erased.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Built, buildStudio, openStudio, type Studio, soon } from './studio.ts'

let built: Built
let studio: Studio

beforeAll(async () => {
  built = await buildStudio()
  studio = await openStudio(built, { memory: true })
  await say('From now on, in all our chats, always answer in French.', 'a')
}, 60_000)

afterAll(async () => {
  await studio.close()
  await built.close()
})

async function say(content: string, session: string): Promise<void> {
  const answer = await fetch(`${studio.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-id': session, 'x-oriel-user': 'ann' },
    body: JSON.stringify({ model: 'oriel-demo', messages: [{ role: 'user', content }] }),
  })
  expect(answer.status).toBe(200)
}

const instructions = () =>
  studio.ask<{ instructions: readonly { text: string }[] }>('/api/memory?user=ann')

describe('the memory page', () => {
  it('[ST17] asks whose instructions, lists them with where they were said, edits and erases them', async () => {
    const page = await studio.open('/memory')
    await page.getByText('Whose instructions?').waitFor()
    await page.getByLabel('User').fill('nobody')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing is remembered here.').waitFor()
    await page.getByLabel('User').fill('ann')
    await page.getByRole('button', { name: 'Show' }).click()
    const row = page.locator('[data-instruction]')
    await soon(() => row.count()).toBe(1)
    expect(page.url()).toContain('user=ann')
    expect(await row.innerText()).toContain('always answer in French')
    await row.getByRole('button', { name: 'Edit' }).click()
    await row.getByRole('textbox', { name: 'Instruction' }).fill('Answer in Dutch.')
    await row.getByRole('button', { name: 'Save' }).click()
    await row.getByText('edited').waitFor()
    expect((await instructions()).instructions[0]?.text).toBe('Answer in Dutch.')
    await say('Hello?', 'b')
    expect(JSON.stringify(studio.sent.at(-1))).toContain('Answer in Dutch.')
    // It says what erasing does, and erases only then.
    await row.getByRole('button', { name: 'Erase' }).click()
    await page.getByText('New threads are no longer told.').waitFor()
    expect((await instructions()).instructions).toHaveLength(1)
    await row.getByRole('button', { name: 'Keep' }).click()
    await row.getByRole('link', { name: 'Where it was said' }).click()
    await page.getByRole('complementary', { name: 'Block' }).waitFor()
    await page.goBack()
    await row.getByRole('button', { name: 'Erase' }).click()
    await row.getByRole('button', { name: 'Erase now' }).click()
    await page.getByText('Nothing is remembered here.').waitFor()
    expect((await instructions()).instructions).toEqual([])
    expect(studio.problems).toEqual([])
  })
})
