// Time to open a stored thread: part of `npm run bench:stores`.

import { join } from 'node:path'
import { conversationOf, turnOf } from './agent.ts'
import { RawTable } from './disk.ts'
import { race } from './harness.ts'
import { type Entry, memoryStore, openThread, type Store, sqliteStore } from './oriel.ts'
import { figure, progress, type Table, words } from './report.ts'

const smallThread = 2000
/** About 100,000 entries, edits and requests included. */
const largeThread = 62_000
/** Entries in one append while a thread is copied. */
const copiedAtOnce = 2000
const key = { tenant: 'bench', thread: 'opened' }
const opened = { id: key.thread, tenant: key.tenant }

/** Opens a short and a long thread in the folder, in several ways. */
export async function openingTable(folder: string): Promise<Table> {
  const small = await raceOpenings(folder, smallThread)
  const large = await raceOpenings(folder, largeThread)
  return {
    title: 'Opening a thread: milliseconds of computing',
    rows: small.timings.map(({ name, medianMs }, index) => ({
      contender: name,
      [`${words(smallThread)} messages`]: figure(medianMs),
      [`${words(largeThread)} messages`]: figure(large.timings[index]?.medianMs ?? Number.NaN),
    })),
    notes: [
      `Written with a view a step (lastN 10): ${words(small.version)} and ${words(large.version)} entries. The raw rows are the messages alone.`,
      'Opening reads the newest snapshot, the messages in view and the entries after the snapshot, not the whole log.',
      'Opening the file starts a worker; here it is started from TypeScript, which takes longer than in the published package.',
    ],
  }
}

async function raceOpenings(folder: string, size: number) {
  const path = join(folder, `opening-${size}.db`)
  await writeThread(path, size)
  const raw = new RawTable(join(folder, `raw-opening-${size}.db`))
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

/**
 * A thread with a view per step. Built in memory and copied, because the disk would take minutes.
 */
async function writeThread(path: string, size: number): Promise<void> {
  const played = memoryStore()
  const policy = { history: { policy: 'lastN', length: 10 } } as const
  const thread = await openThread({ ...opened, store: played, policy })
  let messages = 0
  for (let turn = 0; messages < size; turn++) {
    for (const step of turnOf(turn)) {
      await thread.append(step, { format: 'openai-chat' })
      await thread.view()
      messages += step.length
    }
    progress(`stores: playing ${messages} of ${size} messages`)
  }
  const store = sqliteStore(path)
  await copy(played, store)
  await store.close()
}

async function copy(from: Store, to: Store): Promise<void> {
  let batch: Entry[] = []
  let version = 0
  const flush = async (): Promise<void> => {
    if (batch.length > 0) ({ version } = await to.append(key, batch, version))
    batch = []
  }
  for await (const entry of from.read(key)) {
    batch.push(entry)
    if (batch.length === copiedAtOnce) await flush()
  }
  await flush()
  const snapshot = await from.loadSnapshot(key)
  if (snapshot !== undefined) await to.saveSnapshot(key, snapshot)
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
