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

describe('results with parts that fade', () => {
  const shown = async (content: readonly object[], steps: number) => {
    const thread = await open()
    await thread.append([
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId: 'c', name: 'look', arguments: '{}' }],
      },
      { role: 'tool', content: [{ type: 'tool-result', callId: 'c', content }] },
    ])
    for (let step = 0; step < steps; step++) {
      await thread.view()
      await thread.append(answer)
    }
    return { thread, text: JSON.stringify((await thread.view({ format: 'anthropic' })).messages) }
  }
  const page = { type: 'text', text: 'the page in words' }

  it('[DB13] a picture inside a result leaves by its own lifetime, the words stay', async () => {
    const content = [page, { ...picture, lifetime: { steps: 1 } }, { ...picture, data: 'BBBB' }]
    expect((await shown(content, 0)).text).toContain('AAAA')
    const { text, thread } = await shown(content, 2)
    expect(text).not.toContain('AAAA')
    expect(text).toContain('BBBB')
    expect(text).toContain('the page in words')
    expect(text).toMatch(/\[1 part left out; expand e\w+\]/)
    const id = /expand (e\w+)/.exec(text)?.[1] ?? ''
    expect(await thread.expand(id)).toMatchObject({ media: [{ data: 'AAAA' }, { data: 'BBBB' }] })
    expect(JSON.stringify((await thread.log()).filter(({ type }) => type === 'edit'))).toContain(
      'its lifetime of 1 steps is over',
    )
  })

  it('[DB13] each part leaves at its time; the last one leaves a placeholder', async () => {
    const content = [
      { ...page, lifetime: { steps: 2 } },
      { type: 'text', text: 'hm', lifetime: { steps: 1 } },
    ]
    expect((await shown(content, 0)).text).toContain('"hm"')
    const first = (await shown(content, 1)).text
    expect(first).not.toContain('"hm"')
    expect(first).toContain('the page in words')
    const last = (await shown(content, 2)).text
    expect(last).not.toContain('the page in words')
    expect(last).toContain('tool_result')
  })

  it('[DB11] a short result fades too', async () => {
    const thread = await open()
    const content = [
      { type: 'tool-result', callId: 'c', content: 'ok it is', lifetime: { steps: 0 } },
    ]
    await thread.append([
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId: 'c', name: 'look', arguments: '{}' }],
      },
      { role: 'tool', content },
      answer,
    ])
    const { messages, trace } = await thread.view()
    expect(JSON.stringify(messages)).not.toContain('ok it is')
    expect(trace).toMatchObject([{ rule: 'retention', form: 'omitted' }])
  })
})

describe('events of what fades', () => {
  it('[DB14] a message that lost a block was compacted; only one that lost all was removed', async () => {
    const events: string[] = []
    const thread = await open({ on: ({ type }) => events.push(type) })
    const fading = { type: 'text', text: 'screen of the browser', lifetime: { newer: 0 } }
    const words = { type: 'text', text: 'question' }
    await thread.append([
      { role: 'user', content: [words, fading, fading] },
      { role: 'user', origin: 'host', content: [fading] },
      answer,
      { role: 'user', content: 'next' },
    ])
    await thread.view()
    expect(events.filter((type) => type !== 'message-added')).toEqual([
      'message-expired',
      'message-compacted',
      'message-removed',
      'epoch-applied',
    ])
  })
})
