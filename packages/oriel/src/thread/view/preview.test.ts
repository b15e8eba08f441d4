import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { presets } from '../../policy/presets.ts'
import type { PolicyInput } from '../../policy/schema.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import type { Store } from '../../stores/store.ts'
import { openThread } from '../thread.ts'
import type { View } from './view.ts'

const tight = { toolOutput: {}, toolResults: { max: 2 }, compaction: { maxTokens: 3000 } }
const policies: readonly PolicyInput[] = [
  ...Object.values(presets),
  tight,
  { ...tight, history: { length: 2 }, memory: {}, schedule: 'cache-aware' },
  { compaction: { maxTokens: 0, maxMessages: 8, keepRecentTokens: 0 } },
]

/** What a client does before it asks again. */
interface Action {
  /** Tool steps that it adds. */
  readonly calls: number
  readonly words: number
  /** Messages that it removes from the end first: then it continues in a fork. */
  readonly back: number
  readonly policy: number
  /** Whether another process takes over. */
  readonly isReopened: boolean
  readonly measured: number | undefined
}

const actionOf = fc.record<Action>({
  calls: fc.integer({ min: 0, max: 4 }),
  words: fc.integer({ min: 1, max: 600 }),
  back: fc.constantFrom(0, 0, 0, 1, 2, 5),
  policy: fc.nat({ max: policies.length - 1 }),
  isReopened: fc.boolean(),
  measured: fc.constantFrom(undefined, 0.8, 1.6),
})

async function logOf(store: Store): Promise<readonly unknown[]> {
  const all: unknown[] = []
  for (const { thread } of await store.list('default', { limit: 1000 })) {
    for await (const entry of store.read({ tenant: 'default', thread })) all.push(entry)
  }
  return all
}

function shownBy({ id, messages, system, trace, tokens }: View): object {
  // Only what was kept has edits in the log.
  const changes = trace.map(({ edit: _edit, ...change }) => change)
  return { id, messages, system, trace: changes, tokens }
}

const frame = { system: 'You read files.' }

const runs = Number(process.env.ORIEL_RUNS ?? 1)

describe('a preview', { timeout: 60_000 * runs }, () => {
  test('[T43] shows what the request right after it shows, and writes nothing', async () => {
    const run = async (actions: readonly Action[], snapshotEvery: number): Promise<void> => {
      const store = memoryStore()
      const clock = { now: 1000 }
      const open = () =>
        openThread({ id: 't', store, now: () => clock.now, snapshotEvery, policy: {} })
      let thread = await open()
      let messages: object[] = [{ role: 'user', content: 'Find it.' }]
      let count = 0
      for (const { calls, words, back, policy, isReopened, measured } of actions) {
        if (isReopened) thread = await open()
        if (back > 0) messages = messages.slice(0, Math.max(1, messages.length - back))
        for (let call = 0; call < calls; call++) {
          const id = `call_${count++}`
          const asked = { name: 'read', arguments: `{"path":"src/${id}.ts"}` }
          const content = `const ${id} = 'x7'\n${'filler words '.repeat(words)}`
          messages.push(
            { role: 'assistant', tool_calls: [{ id, type: 'function', function: asked }] },
            { role: 'tool', tool_call_id: id, content },
          )
        }
        messages.push({ role: 'user', content: `Go on with ${count++}.` })
        clock.now += 1000
        const threadPolicy = policies[policy] as PolicyInput
        const options = { format: 'openai-chat', model: 'm', frame, threadPolicy } as const
        const before = await logOf(store)
        const dry = await thread.preview(messages, options)
        expect(await logOf(store)).toEqual(before)
        const sent = await thread.request(messages, options)
        expect(shownBy(dry.view)).toEqual(shownBy(sent.view))
        expect(dry.behind > 0).toBe(sent.isForked)
        expect(dry.matched).toBe(sent.matched)
        const answer = { role: 'assistant', content: `Answer ${count}.` }
        const { tokens, id: view } = sent.view
        const sample = { prompt_tokens: Math.round(tokens.after * (measured ?? 1)) }
        const usage = measured === undefined ? {} : { usage: { sample, view } }
        await thread.append([answer], { format: 'openai-chat', ...usage })
        messages.push(answer)
      }
    }
    const actions = fc.array(actionOf, { minLength: 2, maxLength: 7 })
    const every = fc.constantFrom(0, 1, 3, 256)
    await fc.assert(fc.asyncProperty(actions, every, run), {
      numRuns: 60 * runs,
    })
  })

  test('[T43] asks no model: what would wait for one is shown as if it had failed', async () => {
    const asked: string[] = []
    const summarize = async ({ kind }: { kind: string }): Promise<string> => {
      asked.push(kind)
      throw new Error('It failed.')
    }
    const row = { after: 0, mode: 'compact', compact: 'summary', length: 50 } as const
    const thread = await openThread({ id: 't', store: memoryStore(), summarize })
    const call = (id: string) => ({
      id,
      type: 'function',
      function: { name: 'r', arguments: '{}' },
    })
    const messages = ['a', 'b'].flatMap((id) => [
      { role: 'user', content: 'Read.' },
      { role: 'assistant', tool_calls: [call(id)] },
      { role: 'tool', tool_call_id: id, content: 'Some words. '.repeat(100) },
      { role: 'assistant', content: 'Done.' },
    ])
    const options = { threadPolicy: { expiry: { tools: { r: row } } } }
    const history = [...messages, { role: 'user', content: 'And?' }]
    const dry = await thread.preview(history, options)
    expect(asked).toEqual([])
    const { view } = await thread.request(history, options)
    expect(asked.length).toBeGreaterThan(0)
    expect(dry.view.messages).toEqual(view.messages)
  })
})
