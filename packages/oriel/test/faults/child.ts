// A process that writes and says what was acknowledged, one line each, only after the store said so:
// `ack <thread> <seq> <hash of the entry>`, `erased <thread>`, `error <code>`. The parent injects faults and compares.
//
// Arguments: path, seed, mode. Modes: `append` writes to three threads at once until it is killed or has made 400 appends;
// `steady` makes 20 appends one after the other; `soon` makes some that need not be durable at once, says `soon` for each, and `synced` when they are; `race` makes 60 appends to one thread against other processes; `same` appends
// what every process with this seed appends; `erase` fills a thread, erases it and begins another; `talk` is in talk.ts. The path is a
// file of SQLite, or `postgres://...` with the schema behind a #.

import { hash } from 'node:crypto'
import type { Entry, EntryId } from '../../src/core/log/entry.ts'
import { OrielError } from '../../src/core/log/errors.ts'
import { createStore } from '../../src/stores/create-store.ts'
import { SqliteBackend } from '../../src/stores/sqlite/backend.ts'
import type { AppendResult, Store, ThreadKey } from '../../src/stores/store.ts'
import { canaryOf } from './canary.ts'
import { at, writes } from './fault.ts'
import { isAddress, openRemote } from './place.ts'
import { createRandom, integer } from './random.ts'
import { talk } from './talk.ts'

const [, , path = '', seedText = '1', mode = 'append'] = process.argv
const random = createRandom(Number(seedText))
const store: Store = isAddress(path)
  ? openRemote(path)
  : createStore(
      new SqliteBackend({
        path,
        busyTimeoutMs: 20_000,
        maxQueueBytes: 1_000_000,
        maxQueueCount: 100,
        truncated: 'refuse',
        writes,
        at,
        worker: new URL('./fault-worker.ts', import.meta.url),
      }),
    )

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

function createEntry(seq: number, text: string): Entry {
  return {
    type: 'x-fault',
    id: `e${seq}` as EntryId,
    seq,
    at: seq,
    value: { text, by: process.pid },
  }
}

/** Mostly short, sometimes large enough to live in a blob, then often the same as before. */
function createText(): string {
  const kind = random()
  if (kind < 0.1) return `shared ${integer(random, [1, 3])} `.repeat(900)
  return `${random()} `.repeat(kind < 0.2 ? integer(random, [200, 600]) : integer(random, [1, 40]))
}

/** Appends until it works: after an unknown outcome the same entries again, after a conflict what follows now. */
async function append(key: ThreadKey, count: number, known: number): Promise<number> {
  const texts = Array.from({ length: count }, createText)
  let version = known
  for (;;) {
    const entries = texts.map((text, index) => createEntry(version + 1 + index, text))
    try {
      const result = await store.append(key, entries, version)
      acknowledge(key, entries)
      return result.version
    } catch (error) {
      if (!OrielError.is(error)) throw error
      say(`error ${error.code}`)
      if (error.code === 'version-conflict') {
        await retry(async () => {
          version = (await store.info(key))?.version ?? 0
        })
      } else if (error.code !== 'storage-failed') throw error
    }
  }
}

function acknowledge(key: ThreadKey, entries: readonly Entry[]): void {
  for (const entry of entries)
    say(`ack ${key.thread} ${entry.seq} ${hash('sha256', JSON.stringify(entry))}`)
}

async function write(thread: string, appends: number, most: number): Promise<void> {
  const key = { tenant: 'acme', thread }
  let version = 0
  await retry(async () => {
    version = (await store.info(key))?.version ?? 0
  })
  for (let made = 0; made < appends; made++) {
    version = await append(key, integer(random, [1, most]), version)
    const snapshot = { version, format: 1, value: { version } }
    if (random() < 0.05) await retry(() => store.saveSnapshot(key, snapshot))
    const blob = Buffer.from(createText())
    if (random() < 0.05) await retry(() => store.putBlob('acme', blob))
  }
}

/** Does again what failed with an open outcome: all of it may be repeated. */
async function retry(action: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await action()
      return
    } catch (error) {
      if (!OrielError.is(error, 'storage-failed')) throw error
      say(`error ${error.code}`)
    }
  }
}

async function writeSame(): Promise<void> {
  const key = { tenant: 'acme', thread: 'same' }
  for (let version = 0; version < 40; version += 2) {
    const entries = [1, 2].map((step) => createEntry(version + step, `the same ${version + step}`))
    const equal = entries.map((entry) => ({ ...entry, value: seedText })) as unknown as Entry[]
    const result: AppendResult = await store.append(key, equal, version)
    say(`head ${result.version} ${result.head}`)
  }
}

/** Appends that the disk may have later, one of which an append that is durable at once follows. */
async function writeSoon(): Promise<void> {
  const key = { tenant: 'acme', thread: 'soon' }
  let version = 0
  const next = (): readonly Entry[] => [createEntry(version + 1, `soon ${version}`)]
  const soon = async (): Promise<void> => {
    const result = await store.append(key, next(), version, { durable: 'soon' })
    version = result.version
    say(`soon ${version}`)
  }
  for (let made = 0; made < 5; made++) await soon()
  await new Promise((resolve) => setTimeout(resolve, 1500))
  say('synced')
  await soon()
  const entries = next()
  await store.append(key, entries, version)
  acknowledge(key, entries)
}

async function writeAndErase(): Promise<void> {
  for (let turn = 0; turn < 6; turn++) {
    const key = { tenant: 'acme', thread: `erase-${process.pid}-${turn}` }
    const canary = canaryOf(key.thread)
    const texts = [canary, `${canary} `.repeat(900)]
    const entries = texts.map((text, index) => createEntry(index + 1, text))
    await retry(() => store.append(key, entries, 0))
    acknowledge(key, entries)
    await retry(() => store.erase(key))
    say(`erased ${key.thread}`)
  }
}

say('ready')
if (mode === 'append') await Promise.all(['a', 'b', 'c'].map((thread) => write(thread, 400, 4)))
else if (mode === 'steady') await write('a', 20, 1)
else if (mode === 'soon') await writeSoon()
else if (mode === 'race') await write('race', 60, 2)
else if (mode === 'same') await writeSame()
else if (mode === 'erase') await writeAndErase()
else if (mode === 'talk') await talk(store, say)
await store.close()
say('closed')
