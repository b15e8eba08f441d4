// A whole session of 9,500 turns, against a loop that sends everything each time: `npm run bench:session`.

import { join } from 'node:path'
import { turnOf } from './agent.ts'
import type { ChatMessage } from './conversations.ts'
import { fileSystemOf, withFolder } from './disk.ts'
import { mean } from './harness.ts'
import { memoryStore, openThread, project, type Store, sqliteStore } from './oriel.ts'
import {
  endProgress,
  figure,
  progress,
  type Row,
  ratio,
  readSettings,
  report,
  words,
} from './report.ts'
import { naiveLoop } from './tokens.ts'

const turns = 9500
/** What reads the whole conversation each time is run at every so-manieth turn only: in full it would take most of an hour. */
const sampledEvery = 95
/** Turns at the start and at the end whose mean is shown. */
const edge = 475
const window = { history: { policy: 'lastN', length: 10 } } as const

const settings = readSettings()
await withFolder(settings.directory, async (folder) => {
  const naive = await sampled('naive loop', (messages) => naiveLoop(messages))
  const stateless = await sampled('project, lastN 10', (messages) => project(messages, window))
  const inMemory = await played('thread on memoryStore', memoryStore())
  const onDisk = await played('thread on sqliteStore', sqliteStore(join(folder, 'session.db')))
  endProgress()
  const fastest = sumOf(inMemory)
  report(
    'session',
    [
      {
        title: `${words(turns)} turns, the time around the model calls`,
        rows: [
          rowOf('naive loop (sampled)', naive, fastest),
          rowOf('project, lastN 10 (sampled)', stateless, fastest),
          rowOf('thread on memoryStore, lastN 10', inMemory, fastest),
          rowOf('thread on sqliteStore, lastN 10', onDisk, fastest),
        ],
        notes: [
          `A turn: the user's message, one model call, the reply; ${words(turns * 2)} messages in the end.`,
          'Wall time. The naive loop copies and counts everything at every turn, and sends all of it.',
          `Sampled: measured at every ${sampledEvery}th turn; the total is ${sampledEvery} times the sum of these.`,
          `sqliteStore on ${fileSystemOf(folder)}: two durable writes a turn, the messages and the record of the request.`,
        ],
      },
    ],
    settings,
  )
})

/** Milliseconds of each turn, with the number of turns it stands for. */
interface Session {
  readonly times: readonly number[]
  readonly every: number
}

async function sampled(
  name: string,
  step: (messages: readonly ChatMessage[]) => unknown,
): Promise<Session> {
  const messages: ChatMessage[] = []
  const times: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    messages.push(...turnOf(turn, 0).flat())
    if (turn % sampledEvery !== 0) continue
    progress(`session: ${name}, turn ${turn} of ${turns}`)
    const start = performance.now()
    step(messages)
    times.push(performance.now() - start)
  }
  return { times, every: sampledEvery }
}

async function played(name: string, store: Store): Promise<Session> {
  const thread = await openThread({ store, policy: window })
  const times: number[] = []
  for (let turn = 0; turn < turns; turn++) {
    const added = turnOf(turn, 0).flat()
    progress(`session: ${name}, turn ${turn} of ${turns}`)
    const start = performance.now()
    await thread.append(added, { format: 'openai-chat' })
    await thread.view()
    times.push(performance.now() - start)
  }
  await store.close()
  return { times, every: 1 }
}

function sumOf({ times, every }: Session): number {
  return times.reduce((a, b) => a + b, 0) * every
}

function rowOf(name: string, session: Session, fastest: number): Row {
  const { times, every } = session
  const shown = Math.ceil(edge / every)
  return {
    contender: name,
    'seconds in all': figure(sumOf(session) / 1000),
    'against memoryStore': ratio(sumOf(session) / fastest),
    'ms a turn, first 5 %': figure(mean(times.slice(0, shown))),
    'ms a turn, last 5 %': figure(mean(times.slice(-shown))),
  }
}
