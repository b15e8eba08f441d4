import { describe, expect, it } from 'vitest'
import { memoryStore, openThread } from '../index.ts'
import { dollarsOf, listEdits, threadNumbers, timelineOf, viewBlocks } from './index.ts'

const long = 'The build log has many lines, and most of them are the same. '.repeat(60)

/** Three turns with a tool, recorded requests and usage; the results expire after one step. */
async function recorded(tokens: 'estimate' | 'o200k') {
  const thread = await openThread({
    id: 'numbers',
    store: memoryStore(),
    tokens,
    policy: { expiry: { tools: { read: { after: 1, mode: 'remove' } } } },
  })
  for (const turn of [1, 2, 3]) {
    await thread.append([{ role: 'user', content: `Question ${turn}: what does the log say?` }])
    const view = await thread.view({ format: 'openai-chat', model: 'gpt-5' })
    await thread.usage({ prompt_tokens: 100 * turn, completion_tokens: 10 }, view.id)
    const id = `call_${turn}`
    await thread.append(
      [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: id, content: long },
        { role: 'assistant', content: `Answer ${turn}.` },
      ],
      { format: 'openai-chat' },
    )
  }
  return thread
}

describe('what a log says of its thread', () => {
  it.each(['estimate', 'o200k'] as const)(
    '[IN1] the summary and the end of the timeline agree, and count as the thread does: %s',
    async (tokens) => {
      const thread = await recorded(tokens)
      const view = await thread.view({ format: 'openai-chat' })
      const entries = await thread.log()
      const numbers = threadNumbers(entries)
      const { steps } = await timelineOf(entries)
      expect(steps.at(-1)?.tokens).toMatchObject(numbers.tokens)
      expect(numbers.tokens).toEqual({ log: view.tokens.before, view: view.tokens.after })
      const dollars = steps.reduce((sum, { cost }) => sum + (cost?.dollars ?? 0), 0)
      expect(numbers.cost?.dollars).toBeCloseTo(dollars, 12)
      expect(numbers).toMatchObject({
        title: 'Question 1: what does the log say?',
        messages: 12,
        turns: 3,
        steps: 6,
        model: 'gpt-5',
        usage: { uncached: 600, output: 30 },
      })
    },
  )

  it('[IN2] pins, exclusions and edits are those of the view, also beside expansions', async () => {
    const thread = await recorded('estimate')
    await thread.view({ format: 'openai-chat' })
    const [first] = (await thread.log()).filter(
      (entry) => entry.type === 'message' && entry.role === 'tool',
    )
    const target = String(first?.id)
    await thread.exclude(target)
    // Marks of another kind on the same message: it stays excluded.
    await thread.expand(target)
    await thread.pin(target)
    const view = await thread.view({ format: 'openai-chat', dryRun: true })
    const blocks = viewBlocks(await thread.log(), {
      trace: view.trace,
      format: 'openai-chat',
      messages: view.messages,
    })
    expect(blocks.find(({ message }) => message === target)).toMatchObject({
      isExcluded: true,
      isPinned: true,
    })
    const edits = listEdits(await thread.log())
    expect(edits.length).toBeGreaterThan(0)
    for (const { edit } of blocks) {
      if (edit !== undefined) expect(edits).toContainEqual(expect.objectContaining({ id: edit }))
    }
    const undone = edits[0]
    await thread.undo(String(undone?.id))
    const after = listEdits(await thread.log()).find(({ id }) => id === undone?.id)
    expect(after?.live).toBe(false)
  })

  it('[IN4] a fork names its parent and the position where it began', async () => {
    const thread = await recorded('estimate')
    const { seq } = (await thread.log()).findLast(({ type }) => type === 'message') ?? { seq: 0 }
    const fork = await thread.fork(seq)
    expect(threadNumbers(await fork.log()).forkedFrom).toEqual({ thread: 'numbers', at: seq })
    expect(threadNumbers(await thread.log()).forkedFrom).toBeUndefined()
  })

  it('[IN3] a model without a price has no cost, never a cost of 0', () => {
    const usage = { uncached: 10, cacheRead: 0, cacheWrite: 0, output: 1 }
    expect(dollarsOf(usage, 'a-model-that-nobody-sells')).toBeUndefined()
    expect(dollarsOf(usage, undefined)).toBeUndefined()
    expect(dollarsOf(usage, 'gpt-5')).toBeGreaterThan(0)
  })
})
