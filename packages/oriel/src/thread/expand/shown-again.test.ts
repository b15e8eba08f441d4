// What pins and expansions show again is there for every account of the view: trace, estimate, tokens saved, the limit of compaction.

import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import type { ThreadEvent } from '../events.ts'
import { openThread, type ThreadOptions } from '../thread.ts'

const output = (n: number) =>
  Array.from({ length: 60 }, (_, line) => `line ${line} of output ${n}`).join('\n')
const exchange = (n: number) => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `c${n}`, type: 'function', function: { name: 'look', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: `c${n}`, content: output(n) },
]
const keepRecent = { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } } as const

const open = async (options: Partial<ThreadOptions> = {}) => {
  const events: ThreadEvent[] = []
  const thread = await openThread({
    id: 't',
    store: memoryStore(),
    policy: keepRecent,
    now: () => 1,
    on: (event) => events.push(event),
    ...options,
  })
  const messages = [
    { role: 'user', content: 'go' },
    ...exchange(1),
    ...exchange(2),
    { role: 'assistant', content: 'done' },
  ]
  const entries = await thread.append(messages, { format: 'openai-chat' })
  return { thread, entries, events, view: await thread.view<{ content: unknown }>() }
}

describe('what is shown again', () => {
  it('[X7] a pinned result that was omitted is full in the trace, the estimate and what was saved', async () => {
    const { thread, entries, view } = await open()
    const [change] = view.trace
    expect(view.trace).toMatchObject([{ form: 'omitted' }])
    expect(thread.estimate()).toBe(view.tokens.after)
    expect(thread.tokensSaved).toBeGreaterThan(0)
    await thread.pin(change?.id ?? '')
    const pinned = await thread.view<{ content: unknown }>()
    expect(pinned.messages[2]?.content).toBe(output(1))
    expect(pinned.trace).toEqual([])
    expect(thread.estimate()).toBe(pinned.tokens.after)
    expect(thread.tokensSaved).toBe(0)
    await thread.pin(entries[2]?.id ?? '', { pinned: false })
    const again = await thread.view()
    expect(again.trace).toEqual(view.trace)
    expect(thread.estimate()).toBe(view.tokens.after)
  })

  it('[X7] a pinned message that was dropped is shown with its exchange, and the trace says nothing of it', async () => {
    const { thread, entries } = await open({ policy: { history: { length: 1 } } })
    await thread.append([{ role: 'user', content: 'and now?' }])
    const dropped = await thread.view()
    expect(dropped.trace).toHaveLength(6)
    await thread.pin(entries[2]?.id ?? '')
    const view = await thread.view<{ content: unknown }>()
    expect(view.messages.map(({ content }) => content)).toContain(output(1))
    // The user message that opens its turn comes along.
    const gone = dropped.trace.filter(({ index }) => index > 2)
    expect(view.trace.filter(({ rule }) => rule === 'history')).toEqual(gone)
    expect(thread.estimate()).toBe(view.tokens.after)
    expect(thread.tokensSaved).toBe(gone.reduce((sum, { tokensBefore }) => sum + tokensBefore, 0))
  })

  it.each([
    ['whole', {}],
    ['in part', { lines: [0, 30] as const }],
  ])('[X7] what is expanded in place, %s, counts as it is shown', async (_name, part) => {
    const { thread, view } = await open()
    const saved = thread.tokensSaved
    await thread.expand(view.trace[0]?.id ?? '', { inPlace: true, ...part })
    const expanded = await thread.view()
    expect(expanded.tokens.after).toBeGreaterThan(view.tokens.after)
    expect(thread.estimate()).toBe(expanded.tokens.after)
    expect(thread.tokensSaved).toBe(saved - (expanded.tokens.after - view.tokens.after))
    const [change] = expanded.trace
    if (change === undefined) return
    expect(change).toMatchObject({ rule: 'expand', form: 'clipped' })
    expect(change.tokensBefore - change.tokensAfter).toBe(thread.tokensSaved)
  })

  it('[X7] a checkpoint starts when what is shown reaches the limit, and its events count that', async () => {
    const { thread, view, events } = await open()
    const words = 'some words to fill it '.repeat(20)
    const turn = [
      { role: 'user', content: `question ${words}` },
      { role: 'assistant', content: `answer ${words}` },
    ]
    await thread.append(Array.from({ length: 6 }, () => turn).flat(), { format: 'openai-chat' })
    const before = await thread.view()
    await thread.pin(view.trace[0]?.id ?? '')
    const { tokens } = await thread.view()
    expect(tokens.after).toBeGreaterThan(before.tokens.after)
    await thread.setPolicy({ ...keepRecent, compaction: { maxTokens: tokens.after } })
    const after = await thread.view()
    const [started] = events.filter(({ type }) => type === 'compaction-started')
    const [ended] = events.filter(({ type }) => type === 'compaction-ended')
    expect(started?.tokens).toEqual({ before: tokens.after })
    expect(ended?.tokens).toEqual({ before: tokens.after, after: after.tokens.after })
  })
})
