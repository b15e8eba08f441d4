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

  it("[N1] every user's own message ages the others, answers and results do not", async () => {
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
    expect(seen).toEqual([true, true, false, false])
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
