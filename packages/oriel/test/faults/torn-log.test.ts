// A damaged write-ahead log or database file: everything acknowledged is there, or the damage is reported. Never silence.

import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Entry, EntryId } from '../../src/core/log/entry.ts'
import { OrielError } from '../../src/core/log/errors.ts'
import { openForReading } from '../../src/stores/sqlite/database.ts'
import { readError, storageError } from '../../src/stores/sqlite/errors.ts'
import { SqliteReader } from '../../src/stores/sqlite/read.ts'
import type { Operation } from '../../src/stores/sqlite/writer-connection.ts'
import { WriterConnection } from '../../src/stores/sqlite/writer-connection.ts'
import { batchOf } from '../batch.ts'
import { withDirectory } from './harness.ts'
import { choose, createRandom, integer, seed } from './random.ts'

const threads = ['a', 'b', 'c']
const appends = 60

/** What every thread must hold, in order. */
type Logs = ReadonlyMap<string, readonly Entry[]>
type Damage = (bytes: Buffer, random: () => number) => Buffer

const damages: Readonly<Record<string, Damage>> = {
  'cut off': (bytes, random) => bytes.subarray(0, integer(random, [0, bytes.length - 1])),
  'with a bit flipped': (bytes, random) => {
    const damaged = Buffer.from(bytes)
    const at = integer(random, [0, bytes.length - 1])
    damaged[at] = (damaged[at] ?? 0) ^ (1 << integer(random, [0, 7]))
    return damaged
  },
  'with 512 bytes of zeros': (bytes, random) => {
    const damaged = Buffer.from(bytes)
    const at = integer(random, [0, bytes.length - 1])
    return damaged.fill(0, at, Math.min(at + 512, bytes.length))
  },
}

/** Writes logs, and leaves the files as a crash would: some of it in the database, the rest in the write-ahead log. */
function writeLogs(path: string, random: () => number): { logs: Logs; session: WriterConnection } {
  const session = new WriterConnection({ path, busyTimeoutMs: 1000, truncated: 'refuse' })
  const logs = new Map<string, Entry[]>(threads.map((thread) => [thread, []]))
  for (let made = 0; made < appends; made++) {
    if (made === appends / 3) checkpoint(session, path)
    const thread = choose(random, threads)
    const log = logs.get(thread) ?? []
    const size = choose(random, [10, 300, 3000, 9000])
    const seq = log.length + 1
    const value = `${thread} ${made} `.repeat(size / 10)
    const entry: Entry = { type: 'x-fault', id: `e${seq}` as EntryId, seq, at: seq, value }
    log.push(entry)
    const key = { tenant: 'acme', thread }
    const append: Operation = {
      type: 'append',
      batch: batchOf(key, log, seq - 1, { now: made }),
    }
    expect(session.execute([append])).toEqual([{ ok: true, value: true }])
  }
  return { logs, session }
}

function checkpoint(session: WriterConnection, path: string): void {
  session.close()
  session.open()
  expect(existsSync(path)).toBe(true)
}

/** Opens a damaged copy and reads everything: 'whole', the code of the error that was reported, or what was lost in silence. */
function examine(path: string, logs: Logs): string {
  const session = new WriterConnection({ path, busyTimeoutMs: 1000, truncated: 'refuse' })
  try {
    session.open()
  } catch (error) {
    return storageError(error).code
  }
  const reader = new SqliteReader(openForReading(path, 1000))
  try {
    for (const [thread, log] of logs) {
      const state = reader.thread({ tenant: 'acme', thread })
      for (let next = 1; next <= log.length; ) {
        if (state === undefined || state.version < log.length) {
          return hasComplaints(session) ? 'found by the check' : `silently lost: ${thread} ${next}`
        }
        const page = reader.entries(state, next, log.length)
        page.forEach((entry, index) => {
          if (JSON.stringify(entry) !== JSON.stringify(log[next - 1 + index])) {
            throw new Error(`silently changed: ${thread} ${entry.seq}`)
          }
        })
        next += page.length
      }
    }
    return 'whole'
  } catch (error) {
    const isTyped = OrielError.is(error) || (error as { errcode?: number }).errcode !== undefined
    return isTyped ? readError(error).code : String(error)
  } finally {
    reader.close()
    session.close()
  }
}

/** Whether SQLite's own check, which `verify` runs, finds the file damaged. */
function hasComplaints(session: WriterConnection): boolean {
  const [outcome] = session.execute([{ type: 'check' }])
  return outcome?.ok !== true || !isDeepStrictEqual(outcome.value, [])
}

const reported = [
  'whole',
  'log-truncated',
  'corrupt-entry',
  'storage-failed',
  'isolation',
  'schema-version',
]

describe(`damage (ORIEL_SEED=${seed})`, () => {
  const files = [
    { file: '-wal', copies: 25 },
    { file: '', copies: 25 },
    { file: '-high-water', copies: 8 },
  ]

  it.each(files.flatMap((one) => Object.keys(damages).map((how) => ({ ...one, how }))))(
    'store.db$file $how: whole or reported, never silent',
    ({ file, copies, how }) =>
      withDirectory(async (directory) => {
        const random = createRandom(seed)
        const path = join(directory, 'store.db')
        const { logs, session } = writeLogs(path, random)
        const outcomes = Array.from({ length: copies }, (_, copy) => {
          const target = join(directory, `copy-${copy}`)
          mkdirSync(target)
          for (const end of ['', '-wal', '-high-water']) {
            copyFileSync(`${path}${end}`, join(target, `store.db${end}`))
          }
          const damaged = join(target, `store.db${file}`)
          writeFileSync(damaged, damages[how]?.(readFileSync(damaged), random) ?? '')
          return examine(join(target, 'store.db'), logs)
        })
        session.close()
        // A database page has no checksum: a damaged index can hide a thread from a lookup, and only the check finds it.
        const allowed = file === '' ? [...reported, 'found by the check'] : reported
        expect(outcomes.filter((outcome) => !allowed.includes(outcome))).toEqual([])
        // Most places of the write-ahead log matter, so that most damage must have been seen.
        if (file === '-wal') expect(outcomes).toContain('log-truncated')
        if (file === '-high-water') expect(new Set(outcomes)).toEqual(new Set(['whole']))
      }),
  )
})
