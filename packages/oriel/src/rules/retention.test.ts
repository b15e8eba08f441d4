import { describe, expect, it } from 'vitest'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'

const open = () =>
  openThread({ id: 't', store: memoryStore(), policy: { retention: {} }, now: () => 1 })
type Lifetime = { newer: number } | { turns: number } | { steps: number }
const saying = (n: number, lifetime?: Lifetime) => ({
  role: 'user',
  content: [
    { type: 'text', text: `question ${n}` },
    ...(lifetime === undefined ? [] : [{ type: 'text', text: `screen ${n}`, lifetime }]),
  ],
})
const texts = async (thread: Awaited<ReturnType<typeof open>>): Promise<string> => {
  const { messages } = await thread.view<{ role: string; content: string | { text: string }[] }>()
  return messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) =>
      typeof content === 'string' ? content : content.map(({ text }) => text).join(' + '),
    )
    .join(' | ')
}

describe('blocks that fade (document 000)', () => {
  it('[N1] a lifetime of 2 newer messages: shown now, and in the two that follow', async () => {
    const thread = await open()
    const seen: string[] = []
    for (let n = 1; n <= 4; n++) {
      await thread.append([saying(n, { newer: 2 })])
      seen.push(await texts(thread))
      await thread.append([{ role: 'assistant', content: `answer ${n}` }])
    }
    expect(seen[2]).toBe('question 1 + screen 1 | question 2 + screen 2 | question 3 + screen 3')
    expect(seen[3]).toBe(
      'question 1 | question 2 + screen 2 | question 3 + screen 3 | question 4 + screen 4',
    )
  })

  it("[N1] every user's own message ages the others, and so do the results of a step; answers do not", async () => {
    const thread = await open()
    const seen: boolean[] = []
    await thread.append(saying(1, { newer: 2 }))
    for (let n = 2; n <= 5; n++) {
      const callId = `c${n}`
      await thread.append([
        { role: 'assistant', content: [{ type: 'tool-call', callId, name: 't', arguments: '{}' }] },
        { role: 'tool', content: [{ type: 'tool-result', callId, content: 'ok' }] },
        { role: 'assistant', content: 'a' },
        saying(n),
      ])
      seen.push((await texts(thread)).includes('screen 1'))
    }
    expect(seen).toEqual([true, false, false, false])
  })

  /** A question with what a plugin saved: in the newest message too, that fades. */
  const screen = (lifetime: { newer: number }) => ({
    role: 'user',
    content: [
      { type: 'text', text: 'question' },
      { type: 'text', text: 'screen 1', plugin: 'browser', lifetime },
    ],
  })

  it('[N1] in a loop of tool steps each step ages by one, however many results and additions it has', async () => {
    const seenWith = async (resultsOfStep: number, isPluginBusy: boolean): Promise<boolean[]> => {
      const thread = await open()
      const seen: boolean[] = []
      await thread.append(screen({ newer: 2 }))
      for (let step = 1; step <= 4; step++) {
        const ids = Array.from({ length: resultsOfStep }, (_, n) => `c${step}${n}`)
        await thread.append({
          role: 'assistant',
          content: ids.map((callId) => ({ type: 'tool-call', callId, name: 't', arguments: '{}' })),
        })
        for (const callId of ids) {
          await thread.append({
            role: 'tool',
            content: [{ type: 'tool-result', callId, content: 'ok' }],
          })
        }
        const addition = { type: 'text', text: 'page', plugin: 'browser', lifetime: { newer: 9 } }
        if (isPluginBusy)
          await thread.append({ role: 'user', origin: 'plugin', content: [addition] })
        seen.push((await texts(thread)).includes('screen 1'))
      }
      return seen
    }
    for (const results of [1, 3]) {
      for (const isBusy of [false, true]) {
        expect(await seenWith(results, isBusy)).toEqual([true, true, false, false])
      }
    }
  })

  it('[N1] a thread that is opened again in the middle of a step counts its results once', async () => {
    const store = memoryStore()
    const openAgain = () => openThread({ id: 't', store, snapshotEvery: 1, now: () => 1 })
    const results = ['a', 'b', 'c']
    let thread = await openAgain()
    await thread.append(screen({ newer: 1 }))
    await thread.append({
      role: 'assistant',
      content: results.map((callId) => ({ type: 'tool-call', callId, name: 't', arguments: '{}' })),
    })
    for (const callId of results) {
      await thread.append({
        role: 'tool',
        content: [{ type: 'tool-result', callId, content: 'ok' }],
      })
      await thread.settled()
      thread = await openAgain()
    }
    expect(JSON.stringify((await thread.view()).messages)).toContain('screen 1')
    await thread.append({ role: 'assistant', content: 'done' })
    expect(JSON.stringify((await thread.view()).messages)).not.toContain('screen 1')
  })

  it('[N2] lifetimes by turns and by steps', async () => {
    const thread = await open()
    await thread.append([saying(1, { turns: 1 }), { role: 'assistant', content: 'a' }])
    await thread.append([saying(2, { steps: 1 }), { role: 'assistant', content: 'b' }])
    expect(await texts(thread)).toBe('question 1 + screen 1 | question 2 + screen 2')
    await thread.append([saying(3), { role: 'assistant', content: 'c' }])
    expect(await texts(thread)).toBe('question 1 | question 2 | question 3')
  })

  it('[N3] a result that fades leaves a placeholder, so that its call stays answered', async () => {
    const thread = await open()
    const content = 'a long screen '.repeat(60)
    await thread.append([
      saying(1),
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId: 'c', name: 'look', arguments: '{}' }],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', callId: 'c', content, lifetime: { steps: 0 } }],
      },
      { role: 'assistant', content: 'seen' },
      saying(2),
    ])
    const { messages, trace } = await thread.view<{ role: string; content: string }>()
    expect(messages.find(({ role }) => role === 'tool')?.content).toMatch(/^\[Omitted: /)
    expect(trace).toMatchObject([{ rule: 'retention', form: 'omitted', canExpand: true }])
  })
})
