// Whatever happens to an export on its way, no thread is imported that differs from the one that was exported.

import { writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { type Entry, memoryStore, OrielError, openThread, type Store, type ThreadKey } from 'oriel'
import { describe, expect, it } from 'vitest'
import { entriesOf, temporaryFolder } from '../../test/keeping.ts'
import { entryHash, HeadHash, LinesHash, toLine } from '../export/lines.ts'
import { importExport } from './export-file.ts'
import type { Outcome } from './outcome.ts'
import { Source } from './source.ts'

const folder = temporaryFolder()

const keys: readonly ThreadKey[] = [
  { tenant: 'default', thread: 'one' },
  { tenant: 'acme', thread: 'two' },
]

/** The entries of two threads, and the export that holds both. */
async function makeExport(): Promise<{ logs: Map<string, Entry[]>; text: string }> {
  const store = memoryStore()
  const logs = new Map<string, Entry[]>()
  const lines: string[] = []
  const all = new LinesHash()
  const add = (line: string): void => {
    lines.push(line)
    all.add(line)
  }
  let count = 0
  for (const key of keys) {
    const thread = await openThread({ id: key.thread, tenant: key.tenant, store, now: () => 1 })
    await thread.append([
      { role: 'user', content: 'Hello?' },
      { role: 'assistant', content: 'Hello.' },
    ])
    const entries = await entriesOf(store, key)
    logs.set(JSON.stringify(key), entries)
    count += entries.length
    const head = new HeadHash(key)
    for (const entry of entries) head.add(entryHash(entry))
    const named = { oriel: 'export', version: 1, ...key } as const
    add(toLine({ ...named, entries: entries.length, head: head.digest() }))
    for (const entry of entries) add(toLine({ seq: entry.seq, hash: entryHash(entry), entry }))
  }
  lines.push(toLine({ oriel: 'end', threads: 2, entries: count, hash: all.digest() }))
  return { logs, text: `${lines.join('\n')}\n` }
}

async function importBytes(bytes: Uint8Array, store: Store): Promise<readonly Outcome[]> {
  const file = folder.file('export.jsonl')
  writeFileSync(file, bytes)
  const source = await Source.open(file, (async function* () {})())
  const settings = { file, path: '', isJson: false }
  return (await importExport(source, settings, { store, onBytes: () => {} })).outcomes
}

/** Every thread of a store is one of the exported ones, whole. */
async function expectOnlyWhole(store: Store, logs: ReadonlyMap<string, Entry[]>): Promise<number> {
  let count = 0
  for (const { tenant } of keys) {
    for (const { thread } of await store.list(tenant)) {
      const key = { tenant, thread }
      expect(await entriesOf(store, key)).toEqual(logs.get(JSON.stringify(key)))
      count += 1
    }
  }
  return count
}

describe('a file that was damaged on its way', () => {
  it('by one wrong byte gives whole threads or none', async () => {
    const { logs, text } = await makeExport()
    const bytes = Buffer.from(text)
    const place = fc.nat({ max: bytes.length - 1 })
    await fc.assert(
      fc.asyncProperty(place, fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const damaged = Buffer.from(bytes)
        damaged[at] = (damaged[at] as number) ^ change
        const store = memoryStore()
        await importBytes(damaged, store)
        await expectOnlyWhole(store, logs)
      }),
      { numRuns: 300 },
    )
  })

  it('by a cut at any place gives the threads before it', async () => {
    const { logs, text } = await makeExport()
    const bytes = Buffer.from(text)
    const second = text.indexOf('{"oriel":"export"', 1)
    const end = text.indexOf('{"oriel":"end"')
    for (let length = 0; length <= bytes.length; length += 7) {
      const store = memoryStore()
      await importBytes(bytes.subarray(0, length), store)
      const count = await expectOnlyWhole(store, logs)
      // The end of the last line may be missing.
      expect(count).toBe(length >= end - 1 ? 2 : length >= second - 1 ? 1 : 0)
    }
  })

  it('by lines that were lost, doubled or moved gives whole threads or none', async () => {
    const { logs, text } = await makeExport()
    const lines = text.trimEnd().split('\n')
    const picked = fc.array(fc.constantFrom(...lines), { maxLength: 2 * lines.length })
    await fc.assert(
      fc.asyncProperty(picked, async (some) => {
        const store = memoryStore()
        await importBytes(Buffer.from(some.join('\n')), store)
        await expectOnlyWhole(store, logs)
      }),
      { numRuns: 200 },
    )
  })
})

describe('a store that fails', () => {
  it('ends the import, and importing again completes it', async () => {
    const { logs, text } = await makeExport()
    const store = memoryStore()
    let appends = 0
    const failing: Store = Object.assign(Object.create(store) as Store, {
      append: (...input: Parameters<Store['append']>) => {
        appends += 1
        if (appends === 2) throw new OrielError('storage-full', 'The disk is full.')
        return store.append(...input)
      },
      info: (key: ThreadKey) => store.info(key),
      read: (key: ThreadKey, options?: object) => store.read(key, options),
    })
    await expect(importBytes(Buffer.from(text), failing)).rejects.toMatchObject({
      code: 'storage-full',
    })
    expect(await expectOnlyWhole(store, logs)).toBe(1)
    const outcomes = await importBytes(Buffer.from(text), store)
    expect(outcomes.map(({ type }) => type)).toEqual(['already there', 'imported'])
    expect(await expectOnlyWhole(store, logs)).toBe(2)
  })

  it('refuses a thread that another process writes to at the same time', async () => {
    const { text } = await makeExport()
    const store = memoryStore()
    const racing: Store = Object.assign(Object.create(store) as Store, {
      info: () => undefined,
      read: (key: ThreadKey, options?: object) => store.read(key, options),
      append: async (key: ThreadKey) => {
        throw new OrielError('version-conflict', `Thread ${key.thread} moved.`)
      },
    })
    expect(await importBytes(Buffer.from(text), racing)).toMatchObject([
      { type: 'refused', reason: 'another process is writing to it; try again' },
      { type: 'refused' },
    ])
  })
})
