// Cost of one more step in a growing conversation: `npm run bench:steps`.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { trimMessages } from '@langchain/core/messages'
import { pruneMessages } from 'ai'
import { conversationOf, type Step, turnOf } from './agent.ts'
import type { ChatMessage } from './conversations.ts'
import { type Contender, type RaceOptions, race, type Timing } from './harness.ts'
import {
  memoryStore,
  openThread,
  type PolicyInput,
  presets,
  project,
  resolveCounter,
  type Store,
} from './oriel.ts'
import { toAiSdk } from './peers/ai-sdk.ts'
import { countCharacters, createCounter, toLangchain } from './peers/langchain.ts'
import { logLines } from './plot.ts'
import {
  endProgress,
  type Figure,
  figure,
  progress,
  type Row,
  ratio,
  readSettings,
  report,
  words,
} from './report.ts'
import { chatTokens, naiveLoop } from './tokens.ts'

const sizes = [100, 1000, 10_000]
/** Lengths of the threads under each preset. */
const threadSizes = [1000, 10_000, 100_000]
const baseSize = 1000
const budget = 32_000
/** Calls in one timed run: the clock itself takes a part of a millisecond. */
const callsPerRun = 5
const messagesPerCall = 4
const presetNames = Object.keys(presets) as (keyof typeof presets)[]
const window = { history: { policy: 'lastN', length: 10 } } as const

/** A contender at one size, with the name of its row. */
interface Sized extends Contender {
  readonly row: string
  readonly size: number
}

/** What a contender took at one size. */
type Measured = Timing & Pick<Sized, 'row' | 'size'>

interface GrowingThread {
  readonly contender: Sized
  /** Store operations of the thread so far, as the cells of a row. */
  workPerStep(): Row
}

const ways: readonly Way[] = [
  { row: 'thread, lastN 10', policy: window, budget: undefined },
  { row: 'thread, 32k tokens', policy: undefined, budget },
  { row: 'thread, recommended', policy: 'recommended', budget: undefined },
]

/** While a thread grows, turns between two views. */
const turnsPerView = 64

const settings = readSettings()
const timings = await raceAll()
const { threadTimings, work } = await racePresets()
endProgress()
report(
  'steps',
  [
    {
      title: 'Milliseconds of computing per step, by messages so far',
      rows: rowsOf(timings, sizes, (own) => figure(own.medianMs)),
      notes: [
        'Medians of CPU time; contenders and sizes take turns in every round. A step is what happens before one model call.',
        'Threads append the new messages and view the conversation, on memoryStore. With a window: the mean of the 4 steps of a turn.',
        'The others get their list again with 4 new messages, in their own classes, and each answers as it documents; project continues from its last call.',
        '"trimMessages, estimate" counts with our counter, and remembers each message: see peers/langchain.ts.',
        'The naive loop copies and counts everything and leaves nothing out. pruneMessages knows no budget and counts nothing.',
      ],
    },
    {
      title: 'Times the cost of the same at 1,000 messages',
      rows: rowsOf(timings, sizes, (own, base) => ratio(own.medianMs / base.medianMs)),
    },
    {
      title:
        'Threads under every preset, up to 100,000 messages: milliseconds of computing per step',
      rows: rowsOf(threadTimings, threadSizes, (own) => figure(own.medianMs)),
      notes: [
        'The lengths of one preset take turns in every round. While a thread grows to its length it is viewed at every 64th turn.',
        `"${words(budget)} tokens": with that budget. Without one, no policy, plugin-retention and turn-expiry show the whole log: a view then costs its own size.`,
        'Under recommended, a longer conversation is given a larger window, up to a bound: more is shown.',
      ],
    },
    {
      title: 'Times the cost of the same preset at 1,000 messages',
      rows: rowsOf(threadTimings, threadSizes, (own, base) => ratio(own.medianMs / base.medianMs)),
    },
    {
      title: 'Means, with checkpoints and snapshots',
      rows: rowsOf(threadTimings, threadSizes, (own) => figure(own.meanMs)),
    },
    { title: 'What the thread asks of its store per step', rows: work },
  ],
  settings,
  plotOf([...timings, ...threadTimings.filter(({ size }) => size > 10_000)]),
)

/** Writes the plot, and answers the line that shows it. */
function plotOf(all: readonly Measured[]): string {
  if (!settings.write) return ''
  const names = [...new Set(all.map(({ row }) => row))]
  const lines = names.map((name) => ({
    name,
    isOurs: name.startsWith('project') || name.startsWith('thread'),
    points: all
      .filter(({ row }) => row === name)
      .map(({ size, medianMs }) => [size, Math.max(medianMs, 0.001)] as const),
  }))
  const svg = logLines(lines, {
    title: 'Cost of one more call, by the length of the conversation',
    xLabel: 'messages so far',
    yLabel: 'milliseconds of computing',
  })
  const images = join(import.meta.dirname, '../../../docs/images')
  mkdirSync(images, { recursive: true })
  writeFileSync(join(images, 'cost-against-length.svg'), svg)
  return '![Cost against length](images/cost-against-length.svg)\n\n'
}

async function raceAll() {
  const contenders: Sized[] = []
  for (const size of sizes) {
    contenders.push(...statelessContenders(size))
    for (const way of ways) contenders.push((await growingThread(size, way)).contender)
  }
  // Short lists need many calls until the engine has made fast what they run.
  return raceSized(contenders, { rounds: 30, warmUps: 10 })
}

/** Each preset is raced alone, because a heap with 100,000 messages slows down others. */
async function racePresets() {
  const threadTimings: Measured[] = []
  const work: Row[] = []
  for (const preset of [undefined, ...presetNames]) {
    for (const tokens of [undefined, budget]) {
      const name = `thread, ${preset ?? 'no policy'}${tokens === undefined ? '' : `, ${words(tokens)} tokens`}`
      const way = { row: name, policy: preset, budget: tokens }
      const threads: GrowingThread[] = []
      for (const size of threadSizes) threads.push(await growingThread(size, way))
      threadTimings.push(...(await raceSized(threads.map(({ contender }) => contender))))
      work.push(...threads.map((thread) => thread.workPerStep()))
    }
  }
  return { threadTimings, work }
}

async function raceSized(
  contenders: readonly Sized[],
  { rounds = 15, warmUps = 3 }: Pick<RaceOptions, 'rounds' | 'warmUps'> = {},
) {
  const results = await race(contenders, {
    rounds,
    warmUps,
    clock: 'cpu',
    onRound: (done, of) => progress(`steps: round ${done} of ${of}`),
  })
  // Without what was run: a thread of 100,000 messages takes hundreds of megabytes.
  return contenders.map(
    ({ row, size }, index): Measured => ({
      ...{ row, size },
      ...(results[index] as Timing),
    }),
  )
}

/** A conversation that a loop keeps itself, in the classes of each contender. */
interface GrowingList {
  readonly messages: ChatMessage[]
  readonly langchain: ReturnType<typeof toLangchain>
  readonly aiSdk: ReturnType<typeof toAiSdk>
}

/** Contenders that get the whole list again with a few new messages, as a loop does before each model call. Each has a list of its own. */
function statelessContenders(size: number): readonly Sized[] {
  const counter = resolveCounter('estimate')
  const trim = { maxTokens: budget, strategy: 'last', includeSystem: true } as const
  const keepRecent = { toolResults: { strategy: 'keepRecent', max: 10 } } as const
  const calls: Readonly<Record<string, (list: GrowingList) => unknown>> = {
    'project, keepRecent 10': ({ messages }) => project(messages, keepRecent),
    'project, lastN 10': ({ messages }) => project(messages, window),
    'project, 32k tokens': ({ messages }) => project(messages, undefined, { budget }),
    'project, recommended': ({ messages }) => project(messages, 'recommended'),
    'naive loop': ({ messages }) => naiveLoop(messages),
    'trimMessages, chars/4': ({ langchain }) =>
      trimMessages(langchain, { ...trim, tokenCounter: countCharacters }),
    'trimMessages, estimate': ({ langchain, messages }) =>
      trimMessages(langchain, {
        ...trim,
        tokenCounter: createCounter((index) => chatTokens(counter, messages[index] as ChatMessage)),
      }),
    pruneMessages: ({ aiSdk }) =>
      pruneMessages({ messages: aiSdk, reasoning: 'all', toolCalls: 'before-last-2-messages' }),
  }
  // It counts the whole list again for every message that it leaves out: minutes at this length.
  const isTooSlow = (row: string): boolean => row === 'trimMessages, estimate' && size > baseSize
  const contenders = Object.entries(calls).filter(([row]) => !isTooSlow(row))
  return contenders.map(([row, call]) => {
    const whole = conversationOf(size + 40 * callsPerRun * messagesPerCall)
    const list: GrowingList = { messages: [], langchain: [], aiSdk: [] }
    const grow = (to: number): void => {
      const added = whole.slice(list.messages.length, to)
      list.langchain.push(...toLangchain(added, list.messages.length))
      list.messages.push(...added)
      if (row === 'pruneMessages')
        list.aiSdk.splice(0, list.aiSdk.length, ...toAiSdk(list.messages))
    }
    grow(size)
    const run = async (): Promise<void> => {
      for (let done = 0; done < callsPerRun; done++) {
        // Its classes are not made inside the clock.
        if (row !== 'pruneMessages') grow(list.messages.length + messagesPerCall)
        await call(list)
      }
    }
    return { name: row, row, size, steps: callsPerRun, run }
  })
}

/** How a thread is viewed, with the name of its row. */
interface Way {
  readonly row: string
  readonly policy: PolicyInput | undefined
  readonly budget: number | undefined
}

/** A thread grown to `size` messages in whole turns, which continues by a turn per run. */
async function growingThread(
  size: number,
  { row, policy, budget: tokens }: Way,
): Promise<GrowingThread> {
  const counts = { read: 0, written: 0, shown: 0, steps: 0 }
  const store = countingStore(memoryStore(), counts)
  const thread = await openThread({ store, ...(policy === undefined ? {} : { policy }) })
  // A window moves once a turn, and that must be in every run.
  const steps = turnOf(0).length
  const look = () => thread.view(tokens === undefined ? {} : { budget: tokens })
  let turn = 0
  for (let messages = 0; messages < size; turn++) {
    const added = turnOf(turn).flat()
    await thread.append(added, { format: 'openai-chat' })
    messages += added.length
    // What leaves a window leaves with a view; the last ones are those of every step.
    if (turn % turnsPerView === 0 || messages >= size - turnsPerView) await look()
    progress(`steps: ${row}, ${messages} of ${size} messages`)
  }
  Object.assign(counts, { read: 0, written: 0 })
  const waiting: Step[] = []
  const run = async (): Promise<void> => {
    for (let done = 0; done < steps; done++) {
      if (waiting.length === 0) waiting.push(...turnOf(turn++))
      await thread.append(waiting.shift() as Step, { format: 'openai-chat' })
      counts.shown += (await look()).messages.length
      counts.steps += 1
    }
  }
  const workPerStep = (): Row => ({
    contender: row,
    'messages so far': words(size),
    'entries read': figure(counts.read / counts.steps),
    'entries written': figure(counts.written / counts.steps),
    'messages shown': figure(counts.shown / counts.steps),
  })
  return { contender: { name: row, row, size, steps, run }, workPerStep }
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
  all: readonly Measured[],
  columns: readonly number[],
  cell: (own: Timing, base: Timing) => Figure,
): readonly Row[] {
  const rows = [...new Set(all.map(({ row }) => row))]
  return rows.map((row) => {
    const find = (size: number) => all.find((one) => one.row === row && one.size === size)
    const base = find(baseSize) as Timing
    const cells = columns.map((size) => {
      const own = find(size)
      return [`at ${words(size)}`, own === undefined ? '-' : cell(own, base)]
    })
    return { contender: row, ...Object.fromEntries(cells) }
  })
}
