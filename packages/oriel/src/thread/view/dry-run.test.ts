import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { presets } from '../../policy/presets.ts'
import type { PolicyInput } from '../../policy/schema.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread, type Thread } from '../thread.ts'
import type { View, ViewOptions } from './view.ts'

const schedules = ['immediate', 'cache-aware'] as const
const tight = { toolOutput: {}, toolResults: { max: 3 }, compaction: { maxTokens: 4000 } }
const policies: readonly (readonly [string, PolicyInput])[] = schedules.flatMap((schedule) =>
  Object.entries({
    ...presets,
    tight,
    windowed: { ...tight, history: { length: 2 }, memory: {} },
    counted: { compaction: { maxTokens: 0, maxMessages: 12, keepRecentTokens: 0 } },
  }).map(([name, preset]) => [`${name}, ${schedule}`, { ...preset, schedule }] as const),
)

const frame = { system: 'You read files. '.repeat(20) }
const viewOptions: ViewOptions = { frame, model: 'some-model' }

/** What happens between two views. */
interface Action {
  readonly calls: number
  readonly words: number
  readonly says: 'user' | 'answer' | 'nothing'
  readonly idleMs: number
  /** The provider's tokens for one of ours, where it says its numbers. */
  readonly measured: number | undefined
}

const actionOf = fc.record<Action>({
  calls: fc.integer({ min: 0, max: 6 }),
  words: fc.integer({ min: 1, max: 1200 }),
  says: fc.constantFrom('user', 'answer', 'nothing'),
  idleMs: fc.constantFrom(1000, 1000, 600_000),
  measured: fc.constantFrom(undefined, 0.8, 1.6),
})

/** A conversation that grows, and what a dry run showed of it before each view. */
class Conversation {
  readonly #thread: Thread
  readonly #clock: { now: number }
  #calls = 0

  private constructor(thread: Thread, clock: { now: number }) {
    this.#thread = thread
    this.#clock = clock
  }

  static async open(options: object): Promise<Conversation> {
    const clock = { now: 1000 }
    const base = { id: 't', store: memoryStore(), now: () => clock.now }
    const conversation = new Conversation(await openThread({ ...base, ...options }), clock)
    await conversation.#say('user', 'Find the token in all files.')
    return conversation
  }

  async go({ calls, words, says, idleMs, measured }: Action): Promise<void> {
    for (let call = 0; call < calls; call++) await this.#call(words)
    if (says === 'answer') await this.#say('assistant', 'Nothing there.')
    if (says !== 'nothing') await this.#say('user', `Go on with OPS-${this.#calls}, please.`)
    this.#clock.now += idleMs
    const { id, tokens } = await this.check()
    if (measured === undefined) return
    const input = Math.round(tokens.after * measured)
    await this.#thread.usage({ prompt_tokens: input, completion_tokens: 5 }, id)
  }

  /** The log is as it was, and the view is as the dry run had it. */
  async check(): Promise<View> {
    const before = await this.#thread.log()
    const dry = await this.#thread.view({ ...viewOptions, dryRun: true })
    expect(await this.#thread.log()).toEqual(before)
    const view = await this.#thread.view(viewOptions)
    expect(shownBy(dry)).toEqual(shownBy(view))
    return view
  }

  async #call(words: number): Promise<void> {
    const id = `call_${this.#calls++}`
    const input = `{"path":"src/${id}.ts"}`
    const call = { id, type: 'function', function: { name: 'read', arguments: input } }
    await this.#append({ role: 'assistant', content: null, tool_calls: [call] })
    const content = `const ${id} = 'x7-${id}'\n${'filler words '.repeat(words)}`
    await this.#append({ role: 'tool', tool_call_id: id, content })
  }

  #say(role: string, content: string): Promise<void> {
    return this.#append({ role, content })
  }

  async #append(message: object): Promise<void> {
    await this.#thread.append([message], { format: 'openai-chat' })
  }
}

function shownBy({ id, messages, system, trace, tokens }: View): object {
  // Only what was kept has edits in the log.
  const changes = trace.map(({ edit: _edit, ...change }) => change)
  return { id, messages, system, trace: changes, tokens }
}

const summary = ['Goal', 'Constraints', 'Progress', 'Decisions', 'Next steps', 'Critical context']
  .map((name) => `## ${name}\nSaid by the model.`)
  .join('\n')

/** A thread beyond the limit of its policy, of which no view was asked for yet. */
async function longThread(options: object): Promise<Thread> {
  const thread = await openThread({ id: 't', store: memoryStore(), now: () => 1000, ...options })
  const messages = Array.from({ length: 20 }, (_, index) => [
    { role: 'user', content: `Question ${index}. ${'Some words of it. '.repeat(80)}` },
    { role: 'assistant', content: `Answer ${index}.` },
  ])
  await thread.append([...messages.flat(), { role: 'user', content: 'Go on.' }])
  return thread
}

describe('a dry run', () => {
  test.each(policies)('[T2] shows what the view right after it shows: %s', async (_, policy) => {
    const conversations = fc.array(actionOf, { minLength: 4, maxLength: 10 })
    const run = async (actions: readonly Action[]): Promise<void> => {
      const conversation = await Conversation.open({ policy })
      for (const action of actions) await conversation.go(action)
    }
    await fc.assert(fc.asyncProperty(conversations, run), { numRuns: 10 })
  })

  test.each(schedules)('[T2] asks no model and tells nobody: %s', async (schedule) => {
    const asked: string[] = []
    const events: string[] = []
    const thread = await longThread({
      policy: { compaction: { maxTokens: 4000 }, schedule },
      summarize: async ({ kind }: { kind: string }) => {
        asked.push(kind)
        return summary
      },
      on: ({ type }: { type: string }) => events.push(type),
    })
    const told = events.length
    const { messages: dry } = await thread.view({ dryRun: true })
    await thread.settled()
    expect([asked, events.slice(told)]).toEqual([[], []])
    const { messages } = await thread.view()
    // The one schedule waits for the model; the other continues without a checkpoint, and so did the dry run.
    expect(dry).toHaveLength(messages.length)
    expect(JSON.stringify(messages).includes('Said by the model.')).toBe(schedule === 'immediate')
    expect(JSON.stringify(dry)).not.toContain('Said by the model.')
    expect(dry.length < 41).toBe(schedule === 'immediate')
  })

  test('[T2] [K5] shows what recovery would show', async () => {
    const thread = await longThread({ policy: {} })
    await thread.view()
    const error = { code: 'context_length_exceeded', message: 'too long' }
    const before = await thread.log()
    const dry = await thread.recover(error, { dryRun: true })
    expect(await thread.log()).toEqual(before)
    expect(shownBy(dry)).toEqual(shownBy(await thread.recover(error)))
  })
})
