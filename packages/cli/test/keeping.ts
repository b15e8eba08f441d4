// What the tests of doctor, export and import share: a terminal that remembers, a folder that is removed, stores with threads.

import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Entry, openThread, type Store, sqliteStore, type ThreadKey } from 'oriel'
import { afterEach, beforeEach, expect } from 'vitest'
import { main, type Terminal } from '../src/index.ts'

// Every store starts a worker from the TypeScript sources; without a cache each would compile them again.
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'oriel-compile-cache')

export interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command as its users do. */
export async function oriel(
  words: readonly string[],
  world: Partial<Terminal> & { readonly input?: string } = {},
): Promise<Run> {
  let stdout = ''
  let stderr = ''
  const code = await main(['node', 'oriel', ...words], {
    stdin: streamOf(world.input ?? ''),
    stdout: {
      write: (text) => {
        stdout += text
      },
    },
    stderr: {
      write: (text) => {
        stderr += text
      },
    },
    env: {},
    now: () => 0,
    ...world,
  })
  return { code, stdout, stderr }
}

async function* streamOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

/** A new folder for each test, removed after it. */
export function temporaryFolder(): { readonly path: string; file(name: string): string } {
  const folder = {
    path: '',
    file: (name: string) => join(folder.path, name),
  }
  beforeEach(() => {
    folder.path = mkdtempSync(join(tmpdir(), 'oriel-keep-'))
  })
  afterEach(() => rmSync(folder.path, { recursive: true }))
  return folder
}

/** What no output may ever contain. */
export const secret = 'the launch code is 0000'

export async function withStore<T>(path: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = sqliteStore(path)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** Three threads of two tenants: 6, 6 and 4 entries, in this order in the file. */
export async function fill(path: string): Promise<void> {
  await withStore(path, async (store) => {
    for (const [tenant, id, turns] of [
      ['default', 'first', 2],
      ['default', 'second', 2],
      ['acme', 'third', 1],
    ] as const) {
      const thread = await openThread({ tenant, id, store })
      await thread.append({ role: 'system', content: 'Be brief.' })
      for (let turn = 1; turn <= turns; turn++) {
        await thread.append({ role: 'user', content: `${id}: ${secret}, ${turn}` })
        await thread.append({ role: 'assistant', content: 'Noted.' })
      }
    }
  })
}

export async function entriesOf(store: Store, key: ThreadKey): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of store.read(key)) entries.push(entry)
  return entries
}

/** Changes the file behind the store's back. */
export function raw<T>(path: string, use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(path)
  try {
    return use(database)
  } finally {
    database.close()
  }
}

/** The row of an entry, for use in a `where`. */
export function rowOf(thread: string, seq: number): string {
  return `thread = (select id from threads where thread = '${thread}') and seq = ${seq}`
}

/** Changes one character of an entry's text. */
export function flip(path: string, thread: string, seq: number): void {
  raw(path, (database) => {
    const change = `update entries set body = replace(body, 'launch', 'lunch!') where ${rowOf(thread, seq)}`
    if (database.prepare(change).run().changes !== 1) throw new Error('no such row')
  })
}

/** A store of one thread, as it is while a process uses it, its write-ahead log cut short: four of five messages are left. */
export async function tornStore(path: string): Promise<void> {
  const live = `${path}.live`
  const store = sqliteStore(live)
  const thread = await openThread({ id: 'torn', store })
  for (let count = 1; count <= 5; count++) {
    await thread.append({ role: 'user', content: `${secret} ${count}` })
  }
  for (const ending of ['', '-wal', '-high-water']) {
    copyFileSync(`${live}${ending}`, `${path}${ending}`)
  }
  await store.close()
  for (const ending of ['', '-high-water']) rmSync(`${live}${ending}`)
  truncateSync(`${path}-wal`, statSync(`${path}-wal`).size - 2000)
}

/** All files of a folder with their bytes, the shared memory of SQLite aside. */
export function filesIn(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder)
      .filter((name) => !name.endsWith('-shm'))
      .map((name) => [name, readFileSync(join(folder, name), 'base64')]),
  )
}

/** What `oriel doctor --json` prints, as far as tests look at it. */
export interface DoctorJson {
  readonly isSound: boolean
  readonly settings: object
  readonly counts: object
  readonly problems: readonly Record<string, unknown>[]
  readonly repairs: readonly string[]
}

/** Runs the doctor on the store of a folder, and sees that it tells no content. */
export async function examine(
  folder: string,
  ...words: string[]
): Promise<{ readonly code: number; readonly report: DoctorJson }> {
  const { code, stdout } = await oriel(['doctor', '--data', folder, '--json', ...words])
  expect(stdout).not.toContain(secret)
  return { code, report: JSON.parse(stdout) as DoctorJson }
}
