import { describe, expect, it } from 'vitest'
import { project } from '../project.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'

type Lifetime = { newer: number } | { turns: number } | { steps: number }
const part = (text: string, lifetime?: Lifetime) => ({
  type: 'text',
  text,
  ...(lifetime === undefined ? {} : { lifetime }),
})
const answer = { role: 'assistant', content: 'answer' }
const open = () =>
  openThread({ id: 't', store: memoryStore(), policy: { retention: {} }, now: () => 1 })
type Shown = { role: string; content: string | { text: string }[] }
const first = async (thread: Awaited<ReturnType<typeof open>>): Promise<string> => {
  const { messages } = await thread.view<Shown>()
  const content = messages[0]?.content ?? ''
  return typeof content === 'string' ? content : content.map(({ text }) => text).join(' ')
}

describe('ages (document 000)', () => {
  it('[N5] at every age 0..N each block is where its number says; the header goes with the longest', async () => {
    const thread = await open()
    await thread.append({
      role: 'user',
      content: [
        part('own'),
        part('header', { newer: 3 }),
        part('one', { newer: 1 }),
        part('three', { newer: 3 }),
        part('', { newer: 2 }),
      ],
    })
    const seen = [await first(thread)]
    for (let n = 1; n <= 4; n++) {
      await thread.append([
        answer,
        { role: 'user', content: [part(`q${n}`), part('x', { newer: 9 })] },
      ])
      seen.push(await first(thread))
    }
    expect(seen).toEqual([
      'own header one three ',
      'own header one three ',
      'own header three ',
      'own header three',
      'own',
    ])
  })

  it('[N5] looking twice changes nothing, and a message whose every block is gone leaves', async () => {
    const thread = await open()
    await thread.append({
      role: 'user',
      origin: 'plugin',
      content: [part('screen', { newer: 1 })],
    })
    for (let n = 0; n < 3; n++) {
      await thread.append([
        { role: 'user', content: [part(`q${n}`), part('y', { newer: 9 })] },
        answer,
      ])
    }
    const view = await thread.view<Shown>()
    expect(JSON.stringify(view.messages)).not.toContain('screen')
    expect(view.messages[0]?.role).toBe('user')
    const length = (await thread.log()).length
    expect((await thread.view()).messages).toEqual(view.messages)
    expect((await thread.log()).length).toBe(length)
  })

  it('[N4] messages that left the view still count, and what is shown now does not', async () => {
    const windowed = await openThread({
      id: 'w',
      store: memoryStore(),
      policy: { retention: {}, history: { maxMessages: 3 } },
      now: () => 1,
    })
    const bearing = (n: number) => ({
      role: 'user',
      content: [part(`q${n}`), part(`s${n}`, { newer: 2 })],
    })
    for (let n = 1; n <= 6; n++) await windowed.append([bearing(n), answer])
    await windowed.append(bearing(7))
    const { messages } = await windowed.view()
    const text = JSON.stringify(messages)
    expect(text).toContain('s7')
    expect(text).toContain('s6')
    expect(text).not.toContain('s4')
  })

  it('[N4] one look at the end shows what a look after each message shows', async () => {
    const messages = Array.from({ length: 6 }, (_, n) => [
      {
        role: 'user',
        content: [part(`q${n}`), part(`s${n}`, { newer: 1 }), part(`t${n}`, { steps: 2 })],
      },
      answer,
    ]).flat()
    const [stepwise, atOnce] = [await open(), await open()]
    for (const message of messages) {
      await stepwise.append(message)
      await stepwise.view()
    }
    await atOnce.append(messages)
    expect((await stepwise.view()).messages).toEqual((await atOnce.view()).messages)
  })

  it('[N5] a lifetime that is none is refused where it comes in', async () => {
    const thread = await open()
    for (const lifetime of [
      { newer: -1 },
      { turns: 1.5 },
      { steps: Number.NaN },
      { days: 1 },
      3,
      {},
    ]) {
      const message = { role: 'user', content: [{ type: 'text', text: 'x', lifetime }] }
      await expect(thread.append(message)).rejects.toMatchObject({
        code: expect.stringMatching(/^(invalid-input|not-json)$/),
      })
    }
    await expect(
      thread.append({ role: 'user', content: 'x', expiry: { after: 1, mode: 'soon' } }),
    ).rejects.toMatchObject({ code: 'invalid-input', path: 'messages[0].expiry.mode' })
  })

  it('[N5] assistant messages never fade, and their original content is replayed', () => {
    const native = [
      { role: 'user', content: 'q' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
          { type: 'text', text: 'answer', citations: null },
        ],
      },
      { role: 'user', content: 'again' },
    ]
    const { messages } = project(native, { retention: {} }, { format: 'anthropic' })
    expect(messages).toEqual(native)
  })
})
