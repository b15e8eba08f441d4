// What one more step costs in a conversation that grows: `npm run bench:steps`.

import { trimMessages } from '@langchain/core/messages'
import { pruneMessages } from 'ai'
import { conversationOf, turnOf } from './agent.ts'
import type { ChatMessage } from './conversations.ts'
import { type Contender, race, type Timing } from './harness.ts'
import { memoryStore, openThread, project, resolveCounter, type Store } from './oriel.ts'
import { toAiSdk } from './peers/ai-sdk.ts'
import { countCharacters, createCounter, toLangchain } from './peers/langchain.ts'
import { endProgress, ms, progress, type Row, ratio, readSettings, report } from './report.ts'
import { chatTokens } from './tokens.ts'

const sizes = [100, 1000, 10_000]
/** Only the thread is asked to go on to this length: the others read everything at every step. */
const longest = 100_000
const baseSize = 1000
const budget = 32_000
const window = { history: { policy: 'lastN', length: 10 } } as const

/** A contender at one size, with the name of its row. */
interface Sized extends Contender {
  readonly row: string
  readonly size: number
}

/** What a thread does to its store in one step. */
interface Work {
  readonly size: number
  readonly entriesRead: number
  readonly entriesWritten: number
  readonly messagesShown: number
}

const settings = readSettings()
const threads: Awaited<ReturnType<typeof growingThread>>[] = []
for (const size of [...sizes, longest]) threads.push(await growingThread(size))
const contenders: Sized[] = [
  ...sizes.flatMap(statelessContenders),
  ...threads.map(({ contender }) => contender),
]
const timings = await race(contenders, {
  rounds: 40,
  maxMs: 8000,
  onRound: (done, of) => progress(`steps: round ${done} of ${of}`),
})
endProgress()
const work = threads.map(({ workPerStep }) => workPerStep())
report(
  'steps',
  [
    {
      title: 'Milliseconds per step, by messages so far',
      rows: rowsOf(timings, (own) => ms(own.medianMs)),
      notes: [
        'Median; contenders and sizes take turns in every round. A step is what happens before one model call.',
        'Oriel thread: append the new messages and view them, on memoryStore, mean over the 4 steps of a turn.',
        'The others get the whole conversation in their own classes, converted before the clock starts.',
        '"trimMessages, estimate" counts with our counter and remembers each message: see peers/langchain.ts.',
        'The naive loop and pruneMessages do not fit a budget: they do less.',
      ],
    },
    {
      title: `Times the cost of a step at ${baseSize.toLocaleString('en-US')} messages`,
      rows: rowsOf(timings, (own, base) => ratio(own.medianMs / base.medianMs)),
    },
    {
      title: 'What the thread asks of its store per step',
      rows: work.map(({ size, entriesRead, entriesWritten, messagesShown }) => ({
        'messages so far': size.toLocaleString('en-US'),
        'entries read': ms(entriesRead),
        'entries written': ms(entriesWritten),
        'messages shown': ms(messagesShown),
      })),
    },
  ],
  settings,
)

function statelessContenders(size: number): readonly Sized[] {
  const messages = conversationOf(size)
  const langchain = toLangchain(messages)
  const aiSdk = toAiSdk(messages)
  const counter = resolveCounter('estimate')
  const trim = { maxTokens: budget, strategy: 'last', includeSystem: true } as const
  const runs: Readonly<Record<string, () => unknown>> = {
    'project, lastN 10': () => project(messages, window),
    'project, 32k tokens': () => project(messages, undefined, { budget }),
    'naive loop': () => naiveLoop(messages),
    'trimMessages, chars/4': () =>
      trimMessages(langchain, { ...trim, tokenCounter: countCharacters }),
    'trimMessages, estimate': () =>
      trimMessages(langchain, {
        ...trim,
        tokenCounter: createCounter((index) => chatTokens(counter, messages[index] as ChatMessage)),
      }),
    pruneMessages: () =>
      pruneMessages({ messages: aiSdk, reasoning: 'all', toolCalls: 'before-last-2-messages' }),
  }
  return Object.entries(runs).map(([row, run]) => ({ name: `${row} ${size}`, row, size, run }))
}

/** What a loop without any library does: send a copy of everything, and know how large it is. */
function naiveLoop(messages: readonly ChatMessage[]): number {
  const counter = resolveCounter('estimate')
  const body = JSON.parse(JSON.stringify(messages)) as readonly ChatMessage[]
  return body.reduce((sum, message) => sum + chatTokens(counter, message), 0)
}

/** A thread that has come to `size` messages by whole turns with a view each, and goes on by a turn per run. */
async function growingThread(size: number) {
  const counts = { read: 0, written: 0, shown: 0, steps: 0 }
  const store = countingStore(memoryStore(), counts)
  const thread = await openThread({ store, policy: window })
  let turn = 0
  for (let messages = 0; messages < size; turn++) {
    const steps = turnOf(turn)
    await thread.append(steps.flat(), { format: 'openai-chat' })
    await thread.view()
    messages += steps.flat().length
    if (turn % 500 === 0) progress(`steps: thread of ${messages} of ${size} messages`)
  }
  Object.assign(counts, { read: 0, written: 0 })
  const run = async (): Promise<void> => {
    for (const step of turnOf(turn)) {
      await thread.append(step, { format: 'openai-chat' })
      const { messages } = await thread.view()
      counts.shown += messages.length
      counts.steps += 1
    }
    turn += 1
  }
  const row = 'thread, lastN 10'
  const contender: Sized = { name: `${row} ${size}`, row, size, steps: turnOf(0).length, run }
  const workPerStep = (): Work => ({
    size,
    entriesRead: counts.read / counts.steps,
    entriesWritten: counts.written / counts.steps,
    messagesShown: counts.shown / counts.steps,
  })
  return { contender, workPerStep }
}

/** The same store, counting the entries that go in and come out. */
function countingStore(store: Store, counts: { read: number; written: number }): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'append') {
        const append: Store['append'] = (key, entries, expected) => {
          counts.written += entries.length
          return target.append(key, entries, expected)
        }
        return append
      }
      if (name === 'read') {
        const read: Store['read'] = async function* (key, options) {
          for await (const entry of target.read(key, options)) {
            counts.read += 1
            yield entry
          }
        }
        return read
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function rowsOf(
  all: readonly Timing[],
  cell: (own: Timing, base: Timing) => string,
): readonly Row[] {
  const rows = [...new Set(contenders.map(({ row }) => row))]
  const find = (row: string, size: number): Timing | undefined =>
    all.find(({ name }) => name === `${row} ${size}`)
  return rows.map((row) => {
    const base = find(row, baseSize) as Timing
    const cells = [...sizes, longest].map((size) => {
      const own = find(row, size)
      return [size.toLocaleString('en-US'), own === undefined ? '-' : cell(own, base)]
    })
    return { contender: row, ...Object.fromEntries(cells) }
  })
}
