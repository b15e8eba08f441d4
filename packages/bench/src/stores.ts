// What the embedded store costs beside the plainest table with the same durability: `npm run bench:stores`.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { conversationOf, turnOf } from './agent.ts'
import { type ChatMessage, readCorpus } from './conversations.ts'
import { fileSystemOf, fsyncContender, RawTable, withFolder } from './disk.ts'
import { type Contender, race, type Timing } from './harness.ts'
import {
  decode,
  type Entry,
  memoryStore,
  openThread,
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
const smallThread = 2000
const largeThread = 100_000
/** Entries in one append while a thread is copied. */
const copiedAtOnce = 2000
const tenant = 'bench'
const key = { tenant, thread: 'opened' }
const opened = { id: key.thread, tenant }

const settings = readSettings()
await withFolder(settings.directory, async (folder) => {
  const tables = [await appendTable(folder), await loadTable(folder), await sizeTable(folder)]
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

async function loadTable(folder: string): Promise<Table> {
  const small = await raceLoads(folder, smallThread)
  const large = await raceLoads(folder, largeThread)
  return {
    title: 'Opening a thread: milliseconds of computing',
    rows: small.timings.map(({ name, medianMs }, index) => ({
      contender: name,
      [`${words(smallThread)} messages`]: figure(medianMs),
      [`${words(largeThread)} messages`]: figure(large.timings[index]?.medianMs ?? Number.NaN),
    })),
    notes: [
      `Written with one view a turn (lastN 10): ${words(small.version)} and ${words(large.version)} entries. The raw rows are the messages alone.`,
      'Opening reads the newest snapshot, the messages in view and the entries after the snapshot; it does not read the log.',
      'Opening the file starts a worker; here it is started from TypeScript, which takes longer than in the published package.',
    ],
  }
}

async function raceLoads(folder: string, size: number) {
  const path = join(folder, `load-${size}.db`)
  await writeThread(path, size)
  const raw = new RawTable(join(folder, `raw-load-${size}.db`))
  raw.insertTogether(conversationOf(size).map((message) => JSON.stringify(message)))
  const store = sqliteStore(path)
  const timings = await race(
    [
      { name: 'raw rows, all parsed', run: () => raw.load() },
      { name: 'sqliteStore: read and verify the whole log', run: () => readAll(store) },
      { name: 'openThread', run: () => openThread({ ...opened, store }) },
      { name: 'openThread and view', run: () => openAndView(store) },
      {
        name: 'open the file, openThread and view',
        async run() {
          const own = sqliteStore(path)
          await openAndView(own)
          await own.close()
        },
      },
    ],
    {
      rounds: 20,
      clock: 'cpu',
      onRound: (done, of) => progress(`stores: opening, round ${done} of ${of}`),
    },
  )
  const { version = 0 } = (await store.info(key)) ?? {}
  await store.close()
  raw.close()
  return { timings, version }
}

/** A thread that had a view a turn. Played in memory and copied, entry by entry, since the disk would take minutes. */
async function writeThread(path: string, size: number): Promise<void> {
  const played = memoryStore()
  const policy = { history: { policy: 'lastN', length: 10 } } as const
  const thread = await openThread({ ...opened, store: played, policy })
  for (let turn = 0, messages = 0; messages < size; turn++) {
    const added = turnOf(turn).flat()
    await thread.append(added, { format: 'openai-chat' })
    await thread.view()
    messages += added.length
    progress(`stores: playing ${messages} of ${size} messages`)
  }
  const store = sqliteStore(path)
  let batch: Entry[] = []
  let version = 0
  const flush = async (): Promise<void> => {
    if (batch.length > 0) ({ version } = await store.append(key, batch, version))
    batch = []
  }
  for await (const entry of played.read(key)) {
    batch.push(entry)
    if (batch.length === copiedAtOnce) await flush()
  }
  await flush()
  const snapshot = await played.loadSnapshot(key)
  if (snapshot !== undefined) await store.saveSnapshot(key, snapshot)
  await store.close()
}

async function readAll(store: Store): Promise<number> {
  let entries = 0
  for await (const _entry of store.read(key)) entries += 1
  return entries
}

async function openAndView(store: Store): Promise<unknown> {
  const thread = await openThread({ ...opened, store })
  return thread.view({ dryRun: true })
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
  const stepwise = bytesOf(conversationOf(smallThread))
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
      row(
        `sqliteStore: ${words(smallThread)} messages, a view a turn`,
        `load-${smallThread}.db`,
        stepwise,
      ),
    ],
    notes: [
      'Payload: the messages as JSON in UTF-8. Files after closing, when the write log is empty.',
    ],
  }
}

function bytesOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0)
}

function entriesOf(messages: readonly ChatMessage[]): readonly Entry[] {
  const state = new State({ counter: resolveCounter('estimate'), salt: tenant })
  const drafts = decode('openai-chat', messages).map(({ draft }) => draft)
  return prepare(state, drafts, 0)
}
