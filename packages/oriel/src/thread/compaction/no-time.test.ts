// A cache-aware view does not wait for a summary, and is never longer than what the model can read.

import { describe, expect, it } from 'vitest'
import type { EditEntry } from '../../core/log/entry.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import type { ThreadEvent } from '../events.ts'
import type { Summarize } from '../summaries/answer.ts'
import { openThread, type Thread } from '../thread.ts'

const limit = 5500
const policy = {
  compaction: { contextWindow: 6000, reserveTokens: 500 },
  schedule: 'cache-aware',
} as const
const noTime = 'there was no room left to go on until a summary came'
const step = (n: number, size = 12) => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `c${n}`, type: 'function', function: { name: 'look', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: `c${n}`, content: `${n} ${'some words here '.repeat(size)}` },
]
const sectioned = [
  ...['## Goal', 'Late.', '## Constraints & Preferences', '(none)', '## Progress', 'Much.'],
  ...['## Key Decisions', '(none)', '## Next Steps', 'Go on.', '## Critical Context', '(none)'],
].join('\n')

interface Opened {
  readonly thread: Thread
  readonly of: (type: ThreadEvent['type']) => readonly ThreadEvent[]
  readonly answers: ((text: string) => void)[]
}

/** With a summarizer that answers when it is told to, or never. */
const open = async (): Promise<Opened> => {
  const events: ThreadEvent[] = []
  const answers: ((text: string) => void)[] = []
  const summarize: Summarize = () => new Promise((resolve) => answers.push(resolve))
  const thread = await openThread({
    id: 't',
    store: memoryStore(),
    now: () => 1000,
    policy,
    summarize,
    on: (event) => events.push(event),
  })
  await add(thread, [{ role: 'user', content: 'go' }])
  return { thread, of: (type) => events.filter((event) => event.type === type), answers }
}
const add = (thread: Thread, messages: readonly object[]) =>
  thread.append(messages, { format: 'openai-chat' })
const checkpoints = async (thread: Thread) =>
  (await thread.log()).filter(
    (entry): entry is EditEntry => entry.type === 'edit' && entry.rule === 'compaction',
  )
/** Continues step by step until `isEnough`. Answers the tokens of each view. */
const talk = async (thread: Thread, isEnough: (n: number) => boolean): Promise<number[]> => {
  const sizes: number[] = []
  for (let n = 0; !isEnough(n); n++) {
    await add(thread, step(n))
    sizes.push((await thread.view()).tokens.after)
  }
  return sizes
}

describe('while a summary is on its way', () => {
  it('[M14] views go on as long as the model can read them, then the digest stands alone', async () => {
    const { thread, of } = await open()
    const sizes = await talk(thread, (n) => of('compaction-ended').length > 0 || n > 300)
    const started = of('compaction-started')
    expect(started).toMatchObject([{ trigger: 'step' }])
    const before = started[0]?.tokens?.before ?? 0
    expect(sizes.filter((size) => size > before).length).toBeGreaterThan(2)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(limit)
    const [made, ...others] = await checkpoints(thread)
    expect(others).toEqual([])
    expect(made?.summary).toBeUndefined()
    expect(of('compaction-ended')).toMatchObject([
      {
        message: 'A checkpoint was made.',
        id: made?.id,
        trigger: 'step',
        tokensSaved: (made?.tokensBefore ?? 0) - (made?.tokensAfter ?? 0),
        tokens: { before, after: sizes.at(-1) },
        error: noTime,
      },
    ])
  })

  it('[M14] a summarizer that never answers leaves every view short, and is not waited for in the end', async () => {
    const { thread, of } = await open()
    const sizes = await talk(thread, (n) => n === 400)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(limit)
    const ended = of('compaction-ended')
    expect(ended.length).toBeGreaterThan(1)
    expect(await checkpoints(thread)).toHaveLength(ended.length)
    await add(thread, step(400, 1200))
    expect((await thread.view()).tokens.after).toBeLessThanOrEqual(limit)
    await thread.settled()
  })

  it('[M14] an answer that comes late changes nothing', async () => {
    const { thread, of, answers } = await open()
    await talk(thread, (n) => of('compaction-ended').length > 0 || n > 300)
    const made = await checkpoints(thread)
    const { messages } = await thread.view()
    for (const answer of answers) answer(sectioned)
    await thread.settled()
    expect(await checkpoints(thread)).toEqual(made)
    expect((await thread.view()).messages).toEqual(messages)
    expect(of('compaction-ended')).toHaveLength(1)
    expect(of('job-failed')).toEqual([])
  })

  it('[M14] one that is asked for tells what it saved although its summary was not waited for', async () => {
    const { thread, of } = await open()
    await talk(thread, (n) => n === 60)
    const compacting = thread.compact()
    await add(thread, step(60, 1200))
    await thread.view()
    const { tokensSaved } = await compacting
    expect(tokensSaved).toBe(of('compaction-ended')[0]?.tokensSaved)
    expect(of('compaction-ended')[0]).toMatchObject({ trigger: 'manual', error: noTime })
    await thread.settled()
  })

  it('[M14] no model is asked for a checkpoint that cannot wait', async () => {
    const { thread, of, answers } = await open()
    await talk(thread, (n) => n === 60)
    await add(thread, step(60, 1200))
    await thread.view()
    expect(of('compaction-ended')).toMatchObject([{ trigger: 'step', error: noTime }])
    expect(answers).toEqual([])
  })
})
