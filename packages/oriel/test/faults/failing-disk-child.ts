// Runs one scenario again and again on a disk that fails, under the library of failing-disk.c: the first call fails in the first run, the
// second in the second, and so on, until a run meets no failure. Prints one line of JSON per run: what went wrong, nothing if all is well.
//
// Arguments: the directory, the kinds of calls (a bit mask), the errno, the step (which calls after the first failure
// fail too: every second one for 2, none for 0), who writes, the number of the first call to fail (counted round where there are fewer) and the
// stride to the next.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Entry, EntryId } from '../../src/core/log/entry.ts'
import { OrielError } from '../../src/core/log/errors.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import type { Store, WriteOptions } from '../../src/stores/store.ts'

const [, , directory = '', kinds = '1', errno = '5', step = '0', writes = 'auto'] = process.argv
const [, , , , , , , first = '1', stride = '1'] = process.argv
const control = process.env.ORIEL_DISK ?? ''
const disarmed = -(2 ** 31)
const key = { tenant: 'acme', thread: 'a' }
const gone = { tenant: 'acme', thread: 'gone' }

function arm(calls: number): void {
  const fields = [calls, Number(errno), Number(kinds), 0, Number(step)]
  writeFileSync(control, new Uint8Array(Int32Array.from(fields).buffer), { flag: 'r+' })
}

function failures(): number {
  return readFileSync(control).readInt32LE(12)
}

/** How many calls the scenario makes on a disk that works. */
async function countCalls(): Promise<number> {
  const many = 2 ** 30
  const folder = join(directory, 'counted')
  mkdirSync(folder)
  arm(many)
  const run = new Run()
  const store = openStore(join(folder, 'store.db'))
  await run.scenario(store)
  await store.close()
  const left = readFileSync(control).readInt32LE(0)
  arm(disarmed)
  rmSync(folder, { recursive: true })
  return many - left
}

function openStore(path: string): Store {
  return sqliteStore(path, { writes: writes === 'worker' ? 'worker' : 'auto' })
}

function entryAt(seq: number): Entry {
  const value = seq % 3 === 0 ? `large ${seq} `.repeat(600) : `small ${seq}`
  return { type: 'x-fault', id: `e${seq}` as EntryId, seq, at: seq, value }
}

class Run {
  readonly problems: string[] = []
  acknowledged = 0
  #version = 0
  isErased = false
  rejected = 0

  /** Whether an operation worked. A rejection must be a typed one. */
  async try(name: string, action: () => Promise<unknown>): Promise<boolean> {
    try {
      await action()
      return true
    } catch (error) {
      this.rejected++
      const isTyped = OrielError.is(error, 'storage-failed') || OrielError.is(error, 'storage-full')
      if (!isTyped) this.problems.push(`${name}: ${String(error)}`)
      return false
    }
  }

  /** Appends the next entry, three attempts. */
  async append(store: Store, options?: WriteOptions): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const next = this.#version + 1
      const isDone = await this.try(`append ${next}`, () =>
        store.append(key, [entryAt(next)], this.#version, options),
      )
      if (!isDone) continue
      this.#version = next
      if (options?.durable !== 'soon') this.acknowledged = next
      return
    }
  }

  async scenario(store: Store): Promise<void> {
    await this.try('first', () => store.append(gone, [entryAt(1), entryAt(2), entryAt(3)], 0))
    for (let made = 0; made < 4; made++) await this.append(store)
    await this.append(store, { durable: 'soon' })
    await this.append(store)
    const snapshot = { version: this.acknowledged, format: 1, value: {} }
    if (this.acknowledged > 0) await this.try('snapshot', () => store.saveSnapshot(key, snapshot))
    this.isErased = await this.try('erase', () => store.erase(gone))
    await this.append(store)
    await this.append(store, { durable: 'soon' })
  }

  /** A store that is opened on the files, or was open all the time, has everything that was acknowledged, and continues. */
  async check(store: Store): Promise<void> {
    const seqs: number[] = []
    for await (const entry of store.read(key)) {
      seqs.push(entry.seq)
      if (JSON.stringify(entry) !== JSON.stringify(entryAt(entry.seq)))
        this.problems.push(`entry ${entry.seq} differs`)
    }
    if (seqs.length < this.acknowledged)
      this.problems.push(`acknowledged ${this.acknowledged}, found ${seqs.length}`)
    if (this.isErased && (await store.info(gone)) !== undefined)
      this.problems.push('erased and still there')
    for await (const problem of store.verify()) this.problems.push(JSON.stringify(problem))
    const { version } = await store.append(key, [entryAt(seqs.length + 1)], seqs.length)
    this.acknowledged = version
    this.#version = version
  }
}

process.on('uncaughtException', (error) => {
  process.stdout.write(`${JSON.stringify({ uncaught: error.stack })}\n`)
  process.exit(1)
})

let runs = 0
// A first call that the scenario never makes would fail nothing. Two runs do not make the same calls: half is sure to be met.
const start = 1 + ((Number(first) - 1) % Math.max(1, Math.floor((await countCalls()) / 2)))
for (let calls = start, hasFailed = true; hasFailed; calls += Number(stride)) {
  const folder = join(directory, String(calls))
  mkdirSync(folder)
  const path = join(folder, 'store.db')
  const run = new Run()
  const store = openStore(path)
  arm(calls)
  await run.scenario(store)
  // The same object works when the disk does again; every second run closes it on the failing disk instead.
  const isRepaired = runs++ % 2 === 1
  if (isRepaired) {
    hasFailed = failures() > 0
    arm(disarmed)
    await run.check(store).catch((error) => run.problems.push(`check: ${String(error)}`))
    await run.try('close', () => store.close())
  } else {
    await run.try('close', () => store.close())
    hasFailed = failures() > 0
    arm(disarmed)
  }
  const again = sqliteStore(path)
  await run.check(again).catch((error) => run.problems.push(`check again: ${String(error)}`))
  await again.close()
  rmSync(folder, { recursive: true })
  const { problems, rejected } = run
  process.stdout.write(`${JSON.stringify({ calls, hasFailed, rejected, problems })}\n`)
}
