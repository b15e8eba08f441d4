// A whole session of 9,500 turns, compared with a loop that sends everything each time: `npm run
// bench:session`.

import { join } from 'node:path'
import { turnOf } from './agent.ts'
import type { ChatMessage } from './conversations.ts'
import { fileSystemOf, withFolder } from './disk.ts'
import { mean, now } from './harness.ts'
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
/**
 * Contenders that read the whole conversation are sampled at every nth turn; in full they would
 * take most of an hour.
 */
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
  report(
    'session',
    [
      {
        title: `${words(turns)} turns: what happens around the model calls`,
        rows: [
          rowOf('naive loop (sampled)', naive, inMemory),
          rowOf('project, lastN 10 (sampled)', stateless, inMemory),
          rowOf('thread on memoryStore, lastN 10', inMemory, inMemory),
          rowOf('thread on sqliteStore, lastN 10', onDisk, inMemory),
        ],
        notes: [
          `A turn: the user's message, one model call, the reply; ${words(turns * 2)} messages in the end.`,
          'The naive loop copies and counts everything at every turn, and sends all of it.',
          `Sampled: measured at every ${sampledEvery}th turn; the total is ${sampledEvery} times the sum of these.`,
          `sqliteStore on ${fileSystemOf(folder)}: two durable writes a turn, the messages and the record of the request.`,
        ],
      },
    ],
    settings,
  )
})

/** Duration of each measured turn, and the number of turns it represents. */
interface Session {
  readonly turns: readonly { readonly cpuMs: number; readonly wallMs: number }[]
  readonly every: number
}

async function sampled(
  name: string,
  step: (messages: readonly ChatMessage[]) => unknown,
): Promise<Session> {
  const messages: ChatMessage[] = []
  const measured: Session['turns'][number][] = []
  for (let turn = 0; turn < turns; turn++) {
    messages.push(...turnOf(turn, 0).flat())
    if (turn % sampledEvery !== 0) continue
    progress(`session: ${name}, turn ${turn} of ${turns}`)
    measured.push(await measure(() => step(messages)))
  }
  return { turns: measured, every: sampledEvery }
}

async function played(name: string, store: Store): Promise<Session> {
  const thread = await openThread({ store, policy: window })
  const measured: Session['turns'][number][] = []
  for (let turn = 0; turn < turns; turn++) {
    const added = turnOf(turn, 0).flat()
    progress(`session: ${name}, turn ${turn} of ${turns}`)
    const step = async (): Promise<void> => {
      await thread.append(added, { format: 'openai-chat' })
      await thread.view()
    }
    measured.push(await measure(step))
  }
  await store.close()
  return { turns: measured, every: 1 }
}

async function measure(step: () => unknown): Promise<Session['turns'][number]> {
  const before = { cpu: now('cpu'), wall: now('wall') }
  await step()
  return { cpuMs: now('cpu') - before.cpu, wallMs: now('wall') - before.wall }
}

function rowOf(name: string, session: Session, least: Session): Row {
  const { turns: measured, every } = session
  const shown = Math.ceil(edge / every)
  const cpuTimes = measured.map(({ cpuMs }) => cpuMs)
  return {
    contender: name,
    'seconds of computing': figure(cpuSeconds(session)),
    'times memoryStore': ratio(cpuSeconds(session) / cpuSeconds(least)),
    'ms a turn, first 5 %': figure(mean(cpuTimes.slice(0, shown))),
    'ms a turn, last 5 %': figure(mean(cpuTimes.slice(-shown))),
    'seconds by the clock': figure(
      (measured.reduce((sum, { wallMs }) => sum + wallMs, 0) * every) / 1000,
    ),
  }
}

function cpuSeconds({ turns: measured, every }: Session): number {
  return (measured.reduce((sum, { cpuMs }) => sum + cpuMs, 0) * every) / 1000
}
