// Embedded store compared with a minimal table of the same durability: `npm run bench:stores`.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { conversationOf, turnOf } from './agent.ts'
import { type ChatMessage, type Conversation, readCorpus } from './conversations.ts'
import { fileSystemOf, fsyncContender, RawTable, withFolder } from './disk.ts'
import { type Contender, race, type Timing } from './harness.ts'
import { openingTable } from './opening.ts'
import {
  decode,
  type Entry,
  openThread,
  type PolicyInput,
  prepare,
  resolveCounter,
  State,
  type Store,
  sqliteStore,
} from './oriel.ts'
import {
  count,
  endProgress,
  figure,
  progress,
  type Row,
  ratio,
  readSettings,
  report,
  type Table,
  words,
} from './report.ts'

const writers = 100
/** Appends in one timed run: enough that the clock's own cost does not matter. */
const appendsPerRun = 20
const appendRounds = 30
const tenant = 'bench'

const settings = readSettings()
await withFolder(settings.directory, async (folder) => {
  const tables = [await appendTable(folder), await openingTable(folder), await sizeTable(folder)]
  endProgress()
  report('stores', tables, settings)
})

async function appendTable(folder: string): Promise<Table> {
  const store = sqliteStore(join(folder, 'appends.db'))
  const raw = new RawTable(join(folder, 'raw.db'))
  const messages = conversationOf(1000)
  const texts = messages.map((message) => JSON.stringify(message))
  const entries = entriesOf(messages)
  const contenders: Contender[] = [
    fsyncContender(join(folder, 'fsync'), appendsPerRun),
    {
      name: 'raw insert, one after the other',
      steps: appendsPerRun,
      run: () => raw.insertEach(texts.slice(0, appendsPerRun)),
    },
    appender(store, entries, {
      name: 'sqliteStore, one after the other',
      threads: 1,
      each: appendsPerRun,
    }),
    {
      name: `raw insert, ${writers} a transaction`,
      steps: writers,
      run: () => raw.insertTogether(texts.slice(0, writers)),
    },
    appender(store, entries, {
      name: `sqliteStore, ${writers} writers at once`,
      threads: writers,
      each: 10,
    }),
  ]
  const timings = await race(contenders, {
    rounds: appendRounds,
    onRound: (done, of) => progress(`stores: appends, round ${done} of ${of}`),
  })
  await store.close()
  raw.close()
  return {
    title: `Durable appends on ${fileSystemOf(folder)}`,
    rows: timings.map((own) => appendRow(own, timings)),
    notes: [
      'One message of about 600 bytes an append. Both: node:sqlite, WAL, synchronous=FULL; resolved means that the disk has it.',
      'The store also hashes, chains and checks, and writes from a worker, so that the event loop never waits; a raw insert blocks it.',
      `${writers} writers: each appends to a thread of its own and waits for the answer before the next.`,
    ],
  }
}

function appendRow(own: Timing, all: readonly Timing[]): Row {
  const single = all.find(({ name }) => name.startsWith('raw insert, one')) as Timing
  return {
    contender: own.name,
    'ms each': figure(own.medianMs),
    'per second': count(1000 / own.medianMs),
    'against raw, one after the other': ratio(single.medianMs / own.medianMs),
  }
}

/** Appends the next entries to some threads at once, one entry at a time in each. */
function appender(
  store: Store,
  entries: readonly Entry[],
  { name, threads, each }: { name: string; threads: number; each: number },
): Contender {
  let version = 0
  const write = async (thread: string): Promise<void> => {
    for (let at = version; at < version + each; at++) {
      await store.append({ tenant, thread }, [entries[at] as Entry], at)
    }
  }
  return {
    name,
    steps: threads * each,
    async run() {
      await Promise.all(Array.from({ length: threads }, (_, index) => write(`${name} ${index}`)))
      version += each
    },
  }
}

async function sizeTable(folder: string): Promise<Table> {
  const { name, conversations } = readCorpus()
  const lists = conversations.map(({ messages }) => messages)
  const path = join(folder, 'size.db')
  const store = sqliteStore(path)
  for (const [index, messages] of lists.entries()) {
    progress(`stores: size, ${index} of ${lists.length} conversations`)
    const thread = await openThread({ id: `size-${index}`, tenant, store })
    await thread.append(messages, { format: 'openai-chat' })
  }
  await store.close()
  const raw = new RawTable(join(folder, 'raw-size.db'))
  raw.insertTogether(lists.flat().map((message) => JSON.stringify(message)))
  raw.close()
  const payload = bytesOf(lists.flat())
  const played = bytesOf(conversationOf(playedMessages))
  const steps = [...stepsOf(playedMessages)]
  for (const [policy, file] of Object.entries(playedFiles)) {
    await play(join(folder, file), policy, [steps])
  }
  const some = someOfEach(conversations)
  await play(
    join(folder, recordedFile),
    'recommended',
    some.map(({ messages }) => messages.map((message) => [message])),
  )
  const row = (what: string, file: string, bytes: number): Row => {
    const size = statSync(join(folder, file)).size
    return {
      contender: what,
      'payload bytes': count(bytes),
      'file bytes': count(size),
      'per payload byte': figure(size / bytes),
    }
  }
  return {
    title: 'Disk space',
    rows: [
      row(`raw rows: ${name}`, 'raw-size.db', payload),
      row(`sqliteStore: ${name}`, 'size.db', payload),
      ...Object.entries(playedFiles).map(([policy, file]) =>
        row(
          `sqliteStore: ${words(playedMessages)} messages, a view a step, ${policy}, indexed`,
          file,
          played,
        ),
      ),
      row(
        `sqliteStore: ${some.length} ${name}, a view a step, recommended, indexed`,
        recordedFile,
        bytesOf(some.flatMap(({ messages }) => messages)),
      ),
    ],
    notes: [
      'Payload: the messages as JSON in UTF-8. Files after closing, when the write log is empty.',
    ],
  }
}

const playedMessages = 2000
const playedFiles: Readonly<Record<string, string>> = {
  'history-window': 'played-window.db',
  recommended: 'played-recommended.db',
}

const recordedFile = 'played-recorded.db'
const ofEachSource = 6
const leastMessages = 20

/** The first conversations of each source that are long enough to be reduced. */
function someOfEach(conversations: readonly Conversation[]): readonly Conversation[] {
  const taken = new Map<string, number>()
  return conversations.filter(({ source = '', messages }) => {
    const count = taken.get(source) ?? 0
    if (count === ofEachSource || messages.length <= leastMessages) return false
    taken.set(source, count + 1)
    return true
  })
}

function* stepsOf(least: number): Generator<readonly ChatMessage[]> {
  let messages = 0
  for (let turn = 0; messages < least; turn++) {
    for (const step of turnOf(turn)) {
      yield step
      messages += step.length
    }
  }
}

/** A thread for each conversation, with a view at every step, in the file, with all of it in the search index. */
async function play(
  path: string,
  policy: string,
  conversations: readonly (readonly (readonly ChatMessage[])[])[],
): Promise<void> {
  const store = sqliteStore(path)
  for (const [index, steps] of conversations.entries()) {
    const id = `played-${index}`
    const thread = await openThread({ id, tenant, store, policy: policy as PolicyInput })
    for (const step of steps) {
      await thread.append(step, { format: 'openai-chat' })
      await thread.view()
    }
    progress(`stores: played ${index + 1} of ${conversations.length} conversations`)
    await thread.search('retry the total')
  }
  await store.close()
}

function bytesOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0)
}

function entriesOf(messages: readonly ChatMessage[]): readonly Entry[] {
  const state = new State({ counter: resolveCounter('estimate'), salt: tenant })
  const drafts = decode('openai-chat', messages).map(({ draft }) => draft)
  return prepare(state, drafts, 0)
}
