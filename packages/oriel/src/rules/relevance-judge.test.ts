import { describe, expect, it, vi } from 'vitest'
import type { PolicyInput } from '../policy/schema.ts'
import { memoryStore } from '../stores/memory/index.ts'
import type { Store } from '../stores/store.ts'
import { call, result, said, user } from '../testing/chat.ts'
import type { ThreadEvent } from '../thread/events.ts'
import { openThread, type Thread } from '../thread/thread.ts'
import type { RelevanceJudge } from './relevance.ts'

const words = (topic: string): string => `${topic} is here and there. `.repeat(40)

/** Two results of two tools, then five steps about something else. */
const conversation = [
  user('Compare both.'),
  { ...call('a'), tool_calls: [named('a', 'forecast')] },
  result('a', words('weather')),
  { ...call('b'), tool_calls: [named('b', 'read_file')] },
  result('b', words('source')),
  ...Array.from({ length: 5 }, (_, step) => said(`Thinking about cooking, part ${step}.`)),
  user('And now?'),
]

function named(id: string, name: string): ReturnType<typeof call>['tool_calls'][number] {
  return { id, type: 'function', function: { name, arguments: '{}' } }
}

interface Setting {
  readonly relevance?: RelevanceJudge
  readonly policy?: PolicyInput
  readonly store?: Store
  readonly summarizeTimeoutMs?: number
  readonly now?: () => number
  readonly on?: (event: ThreadEvent) => void
}

function open({
  policy = { expiry: { relevance: {} } },
  store = memoryStore(),
  ...rest
}: Setting): Promise<Thread> {
  return openThread({ id: 't', store, policy, now: () => 1, ...rest })
}

/** The tools whose results are not shown whole. */
async function reduced(thread: Thread): Promise<readonly string[]> {
  const { messages } = await thread.view()
  const text = JSON.stringify(messages)
  return [
    ...(text.includes(words('weather')) ? [] : ['forecast']),
    ...(text.includes(words('source')) ? [] : ['read_file']),
  ]
}

describe('expiry.relevance by tool', () => {
  it.each<[string, object, readonly string[]]>([
    ['all tools', {}, ['forecast', 'read_file']],
    ['one tool by name', { tools: { forecast: {} } }, ['forecast']],
    ['tools by pattern', { tools: { 'read*': {} } }, ['read_file']],
    ['a threshold of its own', { tools: { '*': {}, forecast: { threshold: 0 } } }, ['read_file']],
    [
      'the common threshold for those without',
      { threshold: 0, tools: { '*': {}, forecast: { threshold: 0.3 } } },
      ['forecast'],
    ],
    ['no tool', { tools: {} }, []],
  ])('[RV1] judges %s', async (_, relevance, expected) => {
    const thread = await open({ policy: { expiry: { relevance } }, relevance: () => 0.1 })
    await thread.append(conversation)
    expect(await reduced(thread)).toEqual(expected)
  })

  it('[RV1] refuses a misspelt field with its path', async () => {
    const relevance = { tools: { read: { treshold: 1 } } }
    await expect(open({ policy: { expiry: { relevance } } as never })).rejects.toThrow(
      /expiry\.relevance\.tools\.read/,
    )
  })
})

describe('a judge that takes time', () => {
  it('[RV2] is waited for by a view of the schedule immediate, and decides', async () => {
    const relevance = vi.fn(async ({ tool }: { tool: string }) => (tool === 'forecast' ? 0 : 1))
    const thread = await open({ relevance })
    await thread.append(conversation)
    expect(await reduced(thread)).toEqual(['forecast'])
    const asked = relevance.mock.calls.length
    expect(await reduced(thread)).toEqual(['forecast'])
    expect(relevance).toHaveBeenCalledTimes(asked)
  })

  it('[RV2] works as a function that answers with a promise', async () => {
    const thread = await open({
      relevance: ({ tool }) => Promise.resolve(tool === 'forecast' ? 0 : 1),
    })
    await thread.append(conversation)
    expect(await reduced(thread)).toEqual(['forecast'])
  })

  const score = ({ tool }: { tool: string }): number => (tool === 'forecast' ? 0 : 1)
  const slow = async (judged: { tool: string }): Promise<number> => score(judged)
  it.each<[string, RelevanceJudge]>([
    ['a bound function', slow.bind(null)],
    ['a proxy', new Proxy(slow, {})],
    ['a plain function with a promise', (judged) => slow(judged)],
    [
      'a plain function with a thenable',
      ((judged: { tool: string }) => ({
        // biome-ignore lint/suspicious/noThenProperty: what a library's own promise looks like.
        then: (take: (answer: number) => void) => take(score(judged)),
      })) as unknown as RelevanceJudge,
    ],
    ['one that answers at once', score],
    [
      'one that answers now and then at once',
      (judged) => (judged.tool === 'forecast' ? 0 : slow(judged)),
    ],
  ])(
    '[RV2] %s decides alike, in each schedule, and never ends the process',
    async (_, relevance) => {
      for (const schedule of ['immediate', 'cache-aware'] as const) {
        let now = 1
        const policy = { expiry: { relevance: {} }, schedule }
        const thread = await open({ relevance, policy, now: () => now })
        await thread.append(conversation)
        await thread.view()
        await thread.settled()
        now += 86_400_000
        await thread.append([said('Still cooking.'), user('Go on.')])
        expect(await reduced(thread)).toEqual(['forecast'])
      }
    },
  )

  it('[RV2] the first answer of a plain function has the deadline of its view, and its signal', async () => {
    const signals: AbortSignal[] = []
    const relevance: RelevanceJudge = (_result, _recent, { signal }) => {
      signals.push(signal)
      return new Promise<number>(() => {})
    }
    const thread = await open({ relevance, summarizeTimeoutMs: 60 })
    await thread.append(conversation)
    await thread.view()
    await vi.waitFor(() => expect(signals.every(({ aborted }) => aborted)).toBe(true))
    expect(signals.length).toBeGreaterThan(0)
  })

  it('[RV2] many plain answers that reject at once are failures of jobs, nothing else', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', note)
    const events: ThreadEvent[] = []
    const thread = await open({
      relevance: () => Promise.reject(new Error('down')),
      on: (event) => void events.push(event),
    })
    const pairs = Array.from({ length: 20 }, (_, n) => [
      { ...call(`c${n}`), tool_calls: [named(`c${n}`, 'forecast')] },
      result(`c${n}`, words(`weather ${n}`)),
    ])
    await thread.append([...pairs.flat(), ...conversation])
    await thread.view()
    await thread.settled()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
    expect(events.some(({ type }) => type === 'job-failed')).toBe(true)
  })

  it('[RV2] never delays a view of the schedule cache-aware, and decides a later one', async () => {
    const gate = Promise.withResolvers<void>()
    const relevance = async ({ tool }: { tool: string }): Promise<number> => {
      await gate.promise
      return tool === 'forecast' ? 0 : 1
    }
    const policy = { expiry: { relevance: {} }, schedule: 'cache-aware' } as const
    let now = 1
    const thread = await open({ relevance, policy, now: () => now })
    await thread.append(conversation)
    expect(await reduced(thread)).toEqual([])
    gate.resolve()
    await vi.waitFor(async () => {
      // The provider's cache is gone by then: what is pending costs nothing more.
      now += 86_400_000
      await thread.append([said('Still cooking.'), user('Go on.')])
      expect(await reduced(thread)).toEqual(['forecast'])
    })
  })

  it('[RV2] keeps its answers in the log: nobody asks again, not even after reopening', async () => {
    const store = memoryStore()
    const relevance = vi.fn(async () => 1)
    const first = await open({ relevance, store })
    await first.append(conversation)
    const bytes = JSON.stringify((await first.view()).messages)
    expect(relevance).toHaveBeenCalled()
    const other = vi.fn(async () => 0)
    const second = await open({ relevance: other, store })
    expect(JSON.stringify((await second.view()).messages)).toBe(bytes)
    expect(other).not.toHaveBeenCalled()
  })

  it.each<[string, RelevanceJudge]>([
    ['rejects', () => Promise.reject(new Error('down'))],
    ['never answers', () => new Promise<number>(() => {})],
    ['answers no number', (async () => 'high') as unknown as RelevanceJudge],
  ])('[RV2] gives way to the score by shared words where it %s', async (_, relevance) => {
    const events: ThreadEvent[] = []
    const on = (event: ThreadEvent): void => void events.push(event)
    const judged = await open({ relevance, summarizeTimeoutMs: 60, on })
    const plain = await open({})
    for (const thread of [judged, plain]) await thread.append(conversation)
    const began = performance.now()
    // One that hangs is given up at the end of the first view's time, and scored in the next.
    await judged.view()
    expect(await reduced(judged)).toEqual(await reduced(plain))
    expect(performance.now() - began).toBeLessThan(5000)
    expect(events.some(({ type }) => type === 'job-failed')).toBe(true)
  })

  it('[RV2] is aborted by its signal when it takes too long, and a dry view asks nobody', async () => {
    const signals: AbortSignal[] = []
    const relevance: RelevanceJudge = async (_result, _recent, { signal }) => {
      signals.push(signal)
      return new Promise<number>(() => {})
    }
    const thread = await open({ relevance, summarizeTimeoutMs: 40 })
    await thread.append(conversation)
    await thread.view({ dryRun: true })
    expect(signals).toEqual([])
    await thread.view()
    await vi.waitFor(() => expect(signals.map(({ aborted }) => aborted)).not.toContain(false))
    expect(signals.length).toBeGreaterThan(0)
  })
})
