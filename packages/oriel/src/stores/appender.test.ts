import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { OrielError } from '../core/log/errors.ts'
import { collect, messages, readAll } from '../testing/store-suite-data.ts'
import type { AppendBatch } from './backend.ts'
import { createStore } from './create-store.ts'
import { MemoryBackend } from './memory/backend.ts'
import { sqliteStore } from './sqlite/index.ts'
import type { Store, ThreadKey } from './store.ts'

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

const key = { tenant: 'acme', thread: 'a' }
let directory = ''
const stores: Store[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-appender-'))
})
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  rmSync(directory, { recursive: true })
})

/** Two stores on one file, as two processes have it. */
function openTwo(): [Store, Store] {
  const path = join(directory, 'store.db')
  const pair: [Store, Store] = [sqliteStore(path), sqliteStore(path)]
  stores.push(...pair)
  return pair
}

/** What goes wrong at the append of which number. */
type Faults = Readonly<
  Record<number, { readonly when: 'before' | 'after'; readonly error: unknown }>
>

/** A backend that writes down what it is given, and fails where it is told to: before it writes, or after. */
class Watched extends MemoryBackend {
  readonly batches: AppendBatch[] = []
  reads = 0
  readonly #faults: Faults

  constructor(faults: Faults = {}) {
    super()
    this.#faults = faults
  }

  override async append(batch: AppendBatch): Promise<boolean> {
    this.batches.push(batch)
    const fault = this.#faults[this.batches.length]
    if (fault?.when === 'before') throw fault.error
    const isWritten = await super.append(batch)
    if (fault?.when === 'after') throw fault.error
    return isWritten
  }

  override thread(of: ThreadKey): ReturnType<MemoryBackend['thread']> {
    this.reads += 1
    return super.thread(of)
  }
}

const full = new OrielError('storage-full', 'No space.')

interface Append {
  readonly to?: ThreadKey
  readonly expected: number
  readonly by?: string
}

/** What one append of one entry is answered with: the version, or the code of the refusal. */
async function append(store: Store, { to = key, expected, by = 'us' }: Append): Promise<unknown> {
  try {
    return (await store.append(to, messages(expected + 1, 1, by), expected)).version
  } catch (error) {
    return OrielError.is(error) ? error.code : error
  }
}

/** The length of a log whose chain holds. */
async function soundLength(store: Store, of: ThreadKey = key): Promise<number> {
  expect(await collect(store.verify(of))).toEqual([])
  return (await store.info(of))?.version ?? 0
}

describe('an append to a thread that this store wrote last', () => {
  it('[LB2] needs no read before it', async () => {
    const backend = new Watched()
    const store = createStore(backend)
    for (const expected of [0, 1, 2]) expect(await append(store, { expected })).toBe(expected + 1)
    expect(backend.reads).toBe(0)
    expect(backend.batches.map(({ before }) => before?.version)).toEqual([undefined, 1, 2])
  })

  it('[LB2] notices what another process appended', async () => {
    const [ours, theirs] = openTwo()
    expect(await append(ours, { expected: 0 })).toBe(1)
    expect(await append(theirs, { expected: 1, by: 'them' })).toBe(2)
    expect(await append(ours, { expected: 1 })).toBe('version-conflict')
    expect(await append(ours, { expected: 1, by: 'them' })).toBe(2)
    expect(await append(ours, { expected: 2 })).toBe(3)
    expect(await append(theirs, { expected: 2, by: 'them' })).toBe('version-conflict')
    expect(await soundLength(ours)).toBe(3)
  })

  it('[LB2] notices that another process began the thread first', async () => {
    const [ours, theirs] = openTwo()
    expect(await append(theirs, { expected: 0, by: 'them' })).toBe(1)
    expect(await append(ours, { expected: 0 })).toBe('version-conflict')
    expect(await append(ours, { expected: 0, by: 'them' })).toBe(1)
    expect(await soundLength(ours)).toBe(1)
  })

  it.each(['another', 'this'])('[LB2] notices that %s process erased it', async (who) => {
    const [ours, theirs] = openTwo()
    await append(ours, { expected: 0 })
    await (who === 'this' ? ours : theirs).erase(key)
    for (const expected of [0, 1, 2]) expect(await append(ours, { expected })).toBe('not-found')
    expect(await soundLength(ours)).toBe(0)
  })

  it('[LB2] does not take for written what was not', async () => {
    const store = createStore(new Watched({ 2: { when: 'before', error: full } }))
    await append(store, { expected: 0 })
    expect(await append(store, { expected: 1 })).toBe('storage-full')
    expect(await append(store, { expected: 2 })).toBe('version-conflict')
    expect(await append(store, { expected: 1, by: 'else' })).toBe(2)
    expect(await soundLength(store)).toBe(2)
  })

  it('[LB2] finds what was written although the backend failed', async () => {
    const store = createStore(new Watched({ 2: { when: 'after', error: new Error('lost') } }))
    await append(store, { expected: 0 })
    expect(await append(store, { expected: 1 })).toBe('storage-failed')
    expect(await append(store, { expected: 1, by: 'else' })).toBe('version-conflict')
    expect(await append(store, { expected: 1 })).toBe(2)
    expect(await soundLength(store)).toBe(2)
  })

  it('[LB2] keeps threads of one name apart that belong to two tenants', async () => {
    const [store] = openTwo()
    const other = { tenant: 'other', thread: 'a' }
    for (const expected of [0, 1, 2]) {
      expect(await append(store, { expected })).toBe(expected + 1)
      expect(await append(store, { to: other, expected })).toBe(expected + 1)
    }
    expect([await soundLength(store), await soundLength(store, other)]).toEqual([3, 3])
  })
})

describe('appends to one thread that are made at once', () => {
  const five = (store: Store): Promise<unknown>[] =>
    [0, 1, 2, 3, 4].map((expected) => append(store, { expected }))

  it('[LB2] are one batch, and each is answered by itself', async () => {
    const backend = new Watched()
    const store = createStore(backend)
    expect(await Promise.all(five(store))).toEqual([1, 2, 3, 4, 5])
    expect(backend.batches.map(({ rows }) => rows.length)).toEqual([5])
    expect(await readAll(store, key)).toEqual(messages(1, 5, 'us'))
  })

  it('[LB2] are tried one by one where one of them may not fit', async () => {
    const backend = new Watched({
      1: { when: 'before', error: full },
      4: { when: 'before', error: full },
    })
    const store = createStore(backend)
    const answers = await Promise.all(five(store))
    expect(answers).toEqual([1, 2, 'storage-full', 'version-conflict', 'version-conflict'])
    expect(await soundLength(store)).toBe(2)
  })

  it('[LB2] come before an erasure and a snapshot that were asked for after them', async () => {
    const store = createStore(new Watched())
    const appends = five(store)
    const snapshot = store.saveSnapshot(key, { version: 5, format: 1, value: {} })
    expect(await Promise.all([...appends, snapshot])).toEqual([1, 2, 3, 4, 5, undefined])
    const more = append(store, { expected: 5 })
    const erasing = store.erase(key)
    expect(await more).toBe(6)
    await erasing
    expect(await store.info(key)).toBeUndefined()
  })
})
