import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { UnvisitedSeqs } from '../core/state/edits.ts'
import { memoryStore, openThread, type PolicyInput, type Store, type Thread } from '../index.ts'
import { conversationOf, policyPartsArbitrary } from '../testing/index.ts'
import { contentsIn } from '../thread/view/view.ts'
import { LogInspector, listEdits, threadNumbers, timelineOf } from './index.ts'
import { outlineOf } from './outline.ts'

const key = { tenant: 'default', thread: 'inspected' }

async function open(store: Store, policy: PolicyInput, snapshotEvery = 4): Promise<Thread> {
  return openThread({ id: key.thread, tenant: key.tenant, store, policy, snapshotEvery })
}

async function inspected(store: Store): Promise<LogInspector> {
  const log = new LogInspector({ store, key })
  await log.refresh()
  return log
}

/** A store that counts the entries it hands out. */
function counting(store: Store): { readonly store: Store; readonly reads: number[] } {
  const reads: number[] = []
  const read = store.read.bind(store)
  store.read = async function* (...asked) {
    for await (const entry of read(...asked)) {
      reads.push(entry.seq)
      yield entry
    }
  }
  return { store, reads }
}

const folding: PolicyInput = {
  compaction: { contextWindow: 1200, reserveTokens: 400, keepRecentTokens: 200, keepRecent: 1 },
  memory: {},
}

/** A step with a call, its result and a recorded request. */
async function step(thread: Thread, number: number): Promise<void> {
  const view = await thread.view({ format: 'openai-chat', model: 'gpt-5' })
  await thread.usage({ prompt_tokens: view.tokens.after, completion_tokens: 5 }, view.id)
  const id = `call_${number}`
  const content = `Part ${number}: ${'words of the file '.repeat(40)}`
  await thread.append(
    [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: id, content },
      { role: 'assistant', content: `Read ${number}.` },
      { role: 'user', content: `And part ${number + 1}?` },
    ],
    { format: 'openai-chat' },
  )
}

async function folded(store: Store, steps: number): Promise<Thread> {
  const thread = await open(store, folding)
  await thread.append({ role: 'user', content: 'Read part 0.' })
  for (let number = 0; number < steps; number++) await step(thread, number)
  await thread.settled()
  return thread
}

/** What is inspected is what folding the whole log anew says. */
async function expectAsFromScratch(thread: Thread, log: LogInspector): Promise<void> {
  const entries = await thread.log()
  expect(log.version).toBe(entries.length)
  expect(log.numbers()).toEqual(threadNumbers(entries))
  expect(log.policy()).toEqual(thread.policy)
  const timeline = await timelineOf(entries)
  expect(log.timeline()).toEqual(timeline)
  const listed = listEdits(entries).toReversed()
  const { edits, count } = log.edits({ limit: 1000 })
  expect(count).toBe(listed.length)
  expect(edits.map(({ id, state }) => [id, state !== 'undone'])).toEqual(
    listed.map(({ id, live }) => [id, live]),
  )
  for (const { step } of timeline.steps) {
    const { contents, parts: _, before, ...whole } = await thread.requestAt(step)
    const { rows, context, previousStep, contents: parts, ...request } = await log.requestAt(step)
    expect(request).toEqual(whole)
    expect(parts).toEqual(contents())
    expect(previousStep).toBe(before?.step)
    const past = entries.slice(0, whole.request.seq - 1)
    const { trace } = whole
    const fresh = outlineOf(past, { contents: contents(), trace, before: before?.contents() })
    expect(rows).toEqual(fresh)
    const opened = (all: typeof rows) => all.map((row) => (row.type === 'folded' ? row.rows : []))
    expect(opened(rows)).toEqual(opened(fresh))
    if (context !== undefined) expect(context.used).toBe(whole.request.details?.tokens)
  }
}

describe('a log that is inspected', () => {
  it('[IN8] says at every step what the whole log says, folded, undone and pinned', async () => {
    const store = memoryStore()
    const thread = await folded(store, 20)
    const log = await inspected(store)
    expect(log.numbers().folds).toBeGreaterThan(2)
    await expectAsFromScratch(thread, log)
    const [newest] = log.edits().edits
    await thread.undo(String(newest?.id))
    const message = log.entries.find((entry) => entry.type === 'message' && entry.role === 'tool')
    await thread.pin(String(message?.id))
    await step(thread, 20)
    await log.refresh()
    await expectAsFromScratch(thread, log)
    await expectAsFromScratch(thread, await inspected(store))
  })

  it('[IN11] makes rows in slices: while it pauses the log may grow, and the rows are of one state', async () => {
    const store = memoryStore()
    const thread = await folded(store, 40)
    const log = await inspected(store)
    const view = await thread.view({ format: 'openai-chat', dryRun: true })
    const shown = { contents: [...contentsIn(view)], trace: view.trace }
    const whole = await log.outline(shown)
    let pauses = 0
    const sliced = await log.outline(shown, async () => {
      pauses += 1
    })
    expect(pauses).toBeGreaterThan(1)
    expect(sliced).toEqual(whole)
    const first = log.entries.find((entry) => entry.type === 'message')
    await thread.pin(String(first?.id))
    let left = pauses
    const grown = await log.outline(shown, async () => {
      left -= 1
      if (left === 0) await log.refresh()
    })
    expect(grown).toEqual(await log.outline(shown))
    expect(grown).not.toEqual(whole)
  })

  it('[IN8] holds for every conversation and policy', async () => {
    await fc.assert(
      fc.asyncProperty(
        conversationOf('openai-chat'),
        policyPartsArbitrary(),
        fc.integer({ min: 0, max: 6 }),
        async (messages, policy, snapshotEvery) => {
          const store = memoryStore()
          const thread = await open(store, policy, snapshotEvery)
          const log = new LogInspector({ store, key })
          for (const [index, message] of messages.entries()) {
            await thread.append([message], { format: 'openai-chat' })
            await thread.view({ format: 'openai-chat' }).catch(() => undefined)
            // Some of it is there from the beginning, the rest comes while somebody looks.
            if (index >= messages.length / 2) await log.refresh()
          }
          await thread.settled()
          await log.refresh()
          await expectAsFromScratch(thread, log)
        },
      ),
      { numRuns: 25 },
    )
  }, 60_000)

  it('[IN9] is read once, then only what came since; replaced checkpoints are not read', async () => {
    const { store, reads } = counting(memoryStore())
    const thread = await folded(store, 20)
    const { folds } = threadNumbers(await thread.log())
    reads.length = 0
    const log = await inspected(store)
    expect(new Set(reads).size).toBe(reads.length)
    const unread = log.version - reads.length
    expect(unread).toBeGreaterThan(0)
    expect(unread).toBeLessThan(folds)
    const before = log.version
    await step(thread, 20)
    reads.length = 0
    await log.refresh()
    expect(reads).toEqual(Array.from({ length: log.version - before }, (_, at) => before + 1 + at))
    // A request reads the two checkpoints that it and the one before it showed, at most.
    for (const { step: number } of log.timeline().steps) {
      reads.length = 0
      await log.requestAt(number)
      expect(reads.length).toBeLessThanOrEqual(2)
    }
  })

  it('[IN9] names the steps that changed since a version, and no others', async () => {
    const store = memoryStore()
    const thread = await folded(store, 6)
    const log = await inspected(store)
    const before = log.timeline().steps
    expect(log.timeline({ since: log.version }).steps).toEqual([])
    const { version } = log
    await step(thread, 6)
    await log.refresh()
    const changed = log.timeline({ since: version }).steps
    expect(changed).toHaveLength(1)
    const numbers = new Set(changed.map((one) => one.step))
    expect([...before.filter((one) => !numbers.has(one.step)), ...changed]).toEqual(
      log.timeline().steps,
    )
  })

  it('[IN9] pages of edits join to all of them', async () => {
    const store = memoryStore()
    await folded(store, 20)
    const log = await inspected(store)
    const pages = []
    for (let before: number | undefined = Infinity; before !== undefined; ) {
      const page = log.edits({ before, limit: 2 })
      expect(page.edits.length).toBeLessThanOrEqual(2)
      pages.push(...page.edits)
      before = page.next
    }
    expect(pages).toEqual(log.edits({ limit: 1000 }).edits)
    expect(JSON.stringify(pages)).not.toContain('words of the file')
  })

  it('[IN10] visits what checkpoints cover once, however many cover it', async () => {
    const work = async (steps: number): Promise<readonly [visits: number, messages: number]> => {
      const store = memoryStore()
      await folded(store, steps)
      const log = await inspected(store)
      const { newestStep = 0 } = log
      const { rows } = await log.requestAt(newestStep)
      const covered = rows.reduce((sum, row) => sum + (row.type === 'folded' ? row.blocks : 0), 0)
      return [log.visits - covered, log.numbers().messages]
    }
    const [few, fewer] = await work(10)
    const [many, more] = await work(40)
    expect(many / few).toBeLessThan((2 * more) / fewer)
  })
})

describe('ranges of edits', () => {
  it('[IN10] hand out every seq once, to the first edit that covers it', () => {
    const range = fc
      .tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 15 }))
      .map(([from, more]) => [from, from + more] as const)
    fc.assert(
      fc.property(fc.array(fc.array(range, { maxLength: 4 }), { maxLength: 8 }), (edits) => {
        const unvisited = new UnvisitedSeqs()
        const seen = new Set<number>()
        for (const ranges of edits) {
          const fresh = new Set<number>()
          for (const [from, to] of ranges) {
            for (let seq = from; seq <= to; seq++) if (!seen.has(seq)) fresh.add(seq)
          }
          const taken = unvisited.take({ target: { ranges } })
          expect(new Set(taken)).toEqual(fresh)
          expect(taken.length).toBe(fresh.size)
          for (const seq of fresh) seen.add(seq)
        }
      }),
    )
  })
})
