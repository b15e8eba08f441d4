import { describe, expect, it } from 'vitest'
import { memoryStore, openThread } from '../index.ts'
import {
  compositionAt,
  compositionOf,
  dollarsOf,
  listEdits,
  OverviewFold,
  ThreadNumbersFold,
  threadNumbers,
  timelineOf,
  viewBlocks,
} from './index.ts'

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

function usageOf(input: number, cached: number): object {
  return {
    prompt_tokens: input,
    completion_tokens: 10,
    prompt_tokens_details: { cached_tokens: cached },
  }
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

  it('[IN5] system text and tools count on both sides: a request without edits has the size of its log', async () => {
    const thread = await openThread({ id: 'whole', store: memoryStore(), policy: {} })
    const frame = {
      system: 'You help the engineers of a freight company.',
      tools: [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }],
    }
    for (const turn of [1, 2, 3]) {
      await thread.append([{ role: 'user', content: `Question ${turn}: ${long}` }])
      const view = await thread.view({ format: 'openai-chat', model: 'gpt-5', frame })
      // A cache that another thread has warmed, and a request that was sent twice.
      await thread.usage(usageOf(1000 * turn, turn === 1 ? 900 : 0), view.id)
      if (turn === 2) await thread.usage(usageOf(2000, 0), view.id)
      await thread.append([{ role: 'assistant', content: `Answer ${turn}.` }])
    }
    const entries = await thread.log()
    const { steps } = await timelineOf(entries)
    for (const { tokens } of steps) expect(tokens.view).toBe(tokens.log)
    const numbers = threadNumbers(entries)
    expect(numbers.sent.view).toBe(numbers.sent.log)
    expect(numbers.cost?.withoutOriel).toBe(numbers.cost?.dollars)
    const dollars = steps.reduce((sum, { cost }) => sum + (cost?.dollars ?? 0), 0)
    expect(numbers.cost?.dollars).toBeCloseTo(dollars, 12)
    expect(numbers).toMatchObject({ edits: 0, folds: 0, requests: 3 })
  })

  it('[IN6] savings are what everything in full would have cost, cached, from the first reduction on', async () => {
    const thread = await recorded('estimate')
    const entries = await thread.log()
    const { steps } = await timelineOf(entries)
    const first = steps.findIndex(({ tokens }) => tokens.view < tokens.log)
    expect(first).toBeGreaterThan(0)
    for (const { cost } of steps.slice(0, first)) expect(cost?.withoutOriel).toBe(cost?.dollars)
    for (const { cost } of steps.slice(first)) {
      expect(cost?.withoutOriel).toBeGreaterThan(cost?.dollars ?? 0)
    }
    const without = steps.reduce((sum, { cost }) => sum + (cost?.withoutOriel ?? 0), 0)
    expect(threadNumbers(entries).cost?.withoutOriel).toBeCloseTo(without, 12)
  })

  it('[IN7] the categories of a request add up to its tokens, recorded and computed alike', async () => {
    const thread = await recorded('estimate')
    const frame = { system: 'You help.', tools: [{ type: 'function', function: { name: 'read' } }] }
    const options = { format: 'openai-chat', model: 'gpt-5', frame } as const
    await thread.setPolicy({ compaction: { auto: false, keepRecent: 1, keepRecentTokens: 10 } })
    await thread.view(options)
    await thread.compact()
    const view = await thread.view(options)
    const composition = await compositionOf(thread)
    expect(composition.used).toBe(view.tokens.after)
    expect(composition.tokens.system).toBeGreaterThan(0)
    expect(composition.tokens.tools).toBeGreaterThan(0)
    expect(composition.tokens.summary).toBeGreaterThan(0)
    expect(composition.window).toBeGreaterThan(composition.used)
    const newest = (await thread.log()).findLast((entry) => entry.type === 'request')
    expect(newest?.type === 'request' && compositionAt(newest)).toEqual(composition)
    const { contents } = await thread.requestAt(newest?.type === 'request' ? newest.step : 0)
    expect(contents().reduce((sum, { tokens }) => sum + tokens, 0)).toBe(view.tokens.after)
  })

  it('[IN3] a model without a price has no cost, never a cost of 0', () => {
    const usage = { uncached: 10, cacheRead: 0, cacheWrite: 0, output: 1 }
    expect(dollarsOf(usage, 'a-model-that-nobody-sells')).toBeUndefined()
    expect(dollarsOf(usage, undefined)).toBeUndefined()
    expect(dollarsOf(usage, 'gpt-5')).toBeGreaterThan(0)
  })
})

describe('the sums over threads', () => {
  it('count the calls that have no price, also of threads where none has one', async () => {
    const sum = new OverviewFold()
    for (const models of [['gpt-5', 'nobody-knows-it'], ['nobody-knows-it']]) {
      const thread = await openThread({ id: models.join(), store: memoryStore() })
      const fold = new ThreadNumbersFold()
      for (const model of models) {
        await thread.append({ role: 'user', content: 'Hello.' })
        const view = await thread.view({ model })
        await thread.usage({ prompt_tokens: 50, completion_tokens: 5 }, view.id)
      }
      for await (const entry of thread.log()) fold.take(entry)
      sum.add(fold)
    }
    const { requests, cost } = sum.overview()
    expect(requests).toBe(3)
    expect(cost?.unpricedCalls).toBe(2)
    expect(cost?.dollars).toBeGreaterThan(0)
  })
})
