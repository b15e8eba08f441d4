import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../thread.ts'
import type { ReadMessage } from './reading.ts'

async function all(messages: AsyncIterable<ReadMessage>): Promise<readonly ReadMessage[]> {
  const list: ReadMessage[] = []
  for await (const message of messages) list.push(message)
  return list
}

describe('reading a thread', () => {
  it('[GM2] gives messages in order, in their original words, for any range', async () => {
    const thread = await openThread({
      store: memoryStore(),
      policy: { toolResults: { strategy: 'dropAll', cutoff: 0 } },
    })
    const call = { type: 'tool-call', callId: 'c', name: 'look', arguments: '{"at":"sky"}' }
    await thread.append([
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [{ type: 'text', text: 'I will.' }, call] },
      {
        role: 'tool',
        tool: 'look',
        content: [{ type: 'tool-result', callId: 'c', content: 'blue' }],
      },
      { role: 'assistant', content: 'It is blue.' },
      { role: 'user', content: 'Again.' },
    ])
    await thread.view()
    const messages = await all(thread.read())
    expect(messages.map(({ role, tool, text }) => [role, tool, text])).toEqual([
      ['user', undefined, 'Look.'],
      ['assistant', undefined, 'I will.\n{"at":"sky"}'],
      ['tool', 'look', 'blue'],
      ['assistant', undefined, 'It is blue.'],
      ['user', undefined, 'Again.'],
    ])
    const [, second, third] = messages
    const some = await all(thread.read({ from: second?.seq ?? 0, to: third?.seq ?? 0 }))
    expect(some).toEqual([second, third])
  })

  it('[GM2] leaves out messages and blocks that no model may see', async () => {
    const thread = await openThread({ store: memoryStore() })
    const audience = { now: false, later: false, person: true }
    await thread.append([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'A' },
          { type: 'text', text: 'B', audience },
        ],
      },
      { role: 'system', origin: 'host', content: 'C', audience },
      { role: 'assistant', content: 'D' },
    ])
    const texts = (await all(thread.read())).map(({ text }) => text)
    expect(texts).toEqual(['A', 'D'])
  })
})
