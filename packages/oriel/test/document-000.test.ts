// Document 000 through the public surface, with default settings: content that plugins add, and how long it stays.

import { describe, expect, it } from 'vitest'
import {
  type Contribution,
  memoryStore,
  openThread,
  type Plugin,
  type ThreadOptions,
} from '../src/index.ts'

const answer = { role: 'assistant', content: 'answer' }
const picture = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
const open = (options: Partial<ThreadOptions> = {}) =>
  openThread({ id: 't', store: memoryStore(), now: () => 1, ...options })
const saving = (saveToChatHistory: number | boolean, isSilent = () => false): Plugin => ({
  name: 'browser',
  message: (): Contribution[] =>
    isSilent() ? [] : [{ displayOnCurrentMessage: false, saveToChatHistory, content: [picture] }],
})
const pictures = (messages: readonly unknown[]): number =>
  JSON.stringify(messages).split('image_url":').length - 1

describe('lifetimes without settings', () => {
  it('[DB1] a plugin that saves for 2 keeps two pictures in each request, under no policy', async () => {
    const thread = await open({ plugins: [saving(2)] })
    const counts: number[] = []
    for (let n = 1; n <= 5; n++) {
      await thread.append({ role: 'user', content: `question ${n}` })
      counts.push(pictures((await thread.view()).messages))
      await thread.append(answer)
    }
    expect(counts).toEqual([0, 1, 2, 2, 2])
  })

  it('[DB1] the preset recommended lets pictures fade, when that pays', async () => {
    const thread = await open({ plugins: [saving(2)], policy: 'recommended' })
    for (let n = 1; n <= 30; n++) {
      await thread.append({ role: 'user', content: `question ${n}` })
      await thread.view()
      await thread.append(answer)
    }
    expect(pictures((await thread.view()).messages)).toBeLessThan(15)
  })

  it('[DB1] requests with content that fades are rebuilt as they were sent', async () => {
    const thread = await open({ plugins: [saving(1)], policy: 'recommended' })
    for (let n = 1; n <= 8; n++) {
      await thread.append({ role: 'user', content: `question ${n}` })
      await thread.view()
      await thread.append(answer)
    }
    for (let step = 1; step <= 8; step++) {
      expect((await thread.requestAt(step)).exact).toBe(true)
    }
  })

  it('[DB2] a picture leaves although its plugin fell silent', async () => {
    let turn = 0
    const thread = await open({ plugins: [saving(2, () => turn > 1)] })
    const counts: number[] = []
    for (turn = 1; turn <= 5; turn++) {
      await thread.append({ role: 'user', content: `question ${turn}` })
      counts.push(pictures((await thread.view()).messages))
      await thread.append(answer)
    }
    expect(counts).toEqual([0, 1, 1, 0, 0])
  })

  it("[DB1] a message's own expiry acts under no policy, and `disable` stops it", async () => {
    const expiry = { after: 1, mode: 'compact', length: 40 }
    const messages = [
      { role: 'user', content: 'go' },
      { role: 'user', origin: 'host', content: 'a long note '.repeat(40), expiry },
      answer,
      answer,
      answer,
    ]
    const shown = async (options: Partial<ThreadOptions>) => {
      const thread = await open(options)
      await thread.append(messages)
      return JSON.stringify((await thread.view()).messages)
    }
    expect(await shown({})).toContain('[Compacted: showing first')
    expect(await shown({ policy: { expiry: { disable: true } } })).not.toContain('[Compacted')
  })
})
