import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../core/log/json.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread, type Thread } from '../thread.ts'

const page = 'a row with some words in it\n'.repeat(30)
const compaction = { auto: false, keepRecent: 2, keepRecentTokens: 100 }
const policy = { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 }, compaction } as const
const thinking = (count: number): JsonObject => ({
  type: 'thinking',
  thinking: `Thought ${count}.`,
  signature: `signed ${count}`,
})

/** One turn: a question, a call with its result, an answer, each viewed as an agent does. */
async function turn(thread: Thread, count: number): Promise<void> {
  const call = { type: 'tool_use', id: `call_${count}`, name: 'read', input: {} }
  const result = { type: 'tool_result', tool_use_id: `call_${count}`, content: page }
  const messages = [
    { role: 'user', content: `Question ${count}?` },
    { role: 'assistant', content: [thinking(2 * count), call] },
    { role: 'user', content: [result] },
    { role: 'assistant', content: [thinking(2 * count + 1), { type: 'text', text: 'Done.' }] },
  ]
  for (const message of messages) {
    if (message.role === 'assistant') await thread.view({ format: 'anthropic' })
    await thread.append(message, { format: 'anthropic' })
  }
}

async function thoughtsOf(thread: Thread): Promise<readonly string[]> {
  await thread.append({ role: 'user', content: 'So?' }, { format: 'anthropic' })
  const { messages } = await thread.view({ format: 'anthropic', dryRun: true })
  return [...JSON.stringify(messages).matchAll(/"signed (\d+)"/g)].map(([, count]) => String(count))
}

async function firstEpoch(thread: Thread): Promise<string> {
  const edit = (await thread.log()).find((entry) => entry.type === 'edit')
  return edit?.type === 'edit' ? edit.epoch : ''
}

/** Undoes the oldest epoch, and tells which thoughts were shown before and are shown after it. */
async function undoOldest(thread: Thread): Promise<readonly (readonly string[])[]> {
  const epoch = await firstEpoch(thread)
  const fork = await thread.fork((await thread.log()).at(-1)?.seq ?? 0)
  const before = await thoughtsOf(fork)
  await thread.undo(epoch)
  return [before, await thoughtsOf(thread)]
}

describe('reasoning behind an edit that is undone', () => {
  it('[T4] [M11] stays where a checkpoint had covered the edit before', async () => {
    const thread = await openThread({ store: memoryStore(), policy })
    for (const count of [0, 1, 2]) await turn(thread, count)
    expect((await thread.compact()).tokensSaved).toBeGreaterThan(0)
    await thread.setPolicy({})
    await turn(thread, 3)
    const thoughts = ['6', '7']
    expect(await undoOldest(thread)).toEqual([thoughts, thoughts])
  })

  it('[T4] [M11] stays where another edit of the block had taken its place before', async () => {
    const expiry = { tools: { '*': { after: 0, mode: 'compact', length: 300 } } } as const
    const thread = await openThread({ store: memoryStore(), policy: { expiry } })
    for (const count of [0, 1]) await turn(thread, count)
    await thread.setPolicy({ toolResults: { strategy: 'dropAll', cutoff: 0 } })
    await turn(thread, 2)
    await thread.setPolicy({})
    await turn(thread, 3)
    const [before, after] = await undoOldest(thread)
    expect(before).toContain('7')
    expect(after).toEqual(before)
  })

  it('[T4] [M11] leaves where the edit was in sight until then', async () => {
    const thread = await openThread({ store: memoryStore(), policy })
    for (const count of [0, 1, 2]) await turn(thread, count)
    await thread.setPolicy({})
    await turn(thread, 3)
    const [before, after] = await undoOldest(thread)
    expect(before).toContain('7')
    expect(after).toEqual([])
  })
})
