import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { batchOf, erasureOf } from '../../../test/batch.ts'
import type { Entry } from '../../core/log/entry.ts'
import { messageAt, messages } from '../../testing/store-suite-data.ts'
import type { Operation, Outcome, SessionSettings } from './writer-connection.ts'
import { WriterConnection } from './writer-connection.ts'

/** What SQLite throws when fsync fails, and when the disk is full. */
const failedSync = Object.assign(new Error('disk I/O error'), { errcode: 1034 })
const diskFull = Object.assign(new Error('database or disk is full'), { errcode: 13 })

let directory = ''
let settings: SessionSettings
let session: WriterConnection | undefined

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-session-'))
  settings = { path: join(directory, 'store.db'), busyTimeoutMs: 50, truncated: 'refuse' }
})
afterEach(() => {
  session?.close()
  rmSync(directory, { recursive: true })
})

/** A session that fails with the given error when it passes a point for the given time. */
function open(faults: Readonly<Record<string, { at: number; error: Error }>> = {}): {
  readonly session: WriterConnection
  readonly passed: string[]
} {
  const passed: string[] = []
  session = new WriterConnection(settings, (point) => {
    passed.push(point)
    const fault = faults[point]
    const times = passed.filter((other) => other === point).length
    if (fault !== undefined && times === fault.at) throw fault.error
  })
  return { session, passed }
}

function append(thread: string, expected: number, count = 1): Operation {
  const log = messages(1, expected + count, thread)
  return { type: 'append', batch: batchOf({ tenant: 'acme', thread }, log, expected) }
}

function codes(outcomes: readonly Outcome[]): string[] {
  return outcomes.map((outcome) => (outcome.ok ? 'ok' : outcome.error.code))
}

/** Reads or changes the file behind the session's back. */
function raw<T>(use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(settings.path)
  try {
    return use(database)
  } finally {
    database.close()
  }
}

const countEntries = (): unknown =>
  raw((db) => db.prepare('select count(*) as n from entries').get()?.n)

describe('group commit', () => {
  it('performs neighbours in one transaction and answers each by itself', () => {
    const { session, passed } = open()
    const outcomes = session.execute([
      append('a', 0),
      append('b', 5),
      append('a', 1),
      append('a', 1),
    ])
    const values = outcomes.map((outcome) => outcome.ok && outcome.value)
    expect(values).toEqual([true, false, true, false])
    expect(passed.filter((point) => point === 'begin').length).toBe(1)
    expect(countEntries()).toBe(2)
  })

  it('tries each alone when the group does not fit', () => {
    const { session, passed } = open({ 'before-commit': { at: 1, error: diskFull } })
    expect(codes(session.execute([append('a', 0), append('b', 0)]))).toEqual(['ok', 'ok'])
    expect(passed.filter((point) => point === 'begin').length).toBe(3)
    expect(session.generation).toBe(1)
  })

  it('says that the disk is full, writes nothing, and goes on when there is space', () => {
    const { session } = open({ 'before-commit': { at: 1, error: diskFull } })
    expect(codes(session.execute([append('a', 0)]))).toEqual(['storage-full'])
    expect(countEntries()).toBe(0)
    expect(codes(session.execute([append('a', 0)]))).toEqual(['ok'])
  })

  it('does not take another thread for a new one that was rolled back', () => {
    const { session } = open({ 'before-commit': { at: 1, error: diskFull } })
    const values = (operations: readonly Operation[]): unknown[] =>
      session.execute(operations).map((outcome) => outcome.ok && outcome.value)
    expect(codes(session.execute([append('a', 0)]))).toEqual(['storage-full'])
    // It gets the number that the one before had.
    expect(values([append('b', 0)])).toEqual([true])
    expect(values([append('a', 1), append('a', 0), append('a', 1), append('b', 1)])).toEqual([
      false,
      true,
      true,
      true,
    ])
    const counts = raw((db) => db.prepare('select thread, version from threads').all())
    expect(counts).toEqual([
      { thread: 'b', version: 2 },
      { thread: 'a', version: 2 },
    ])
    const rows = raw((db) => db.prepare('select thread, seq from entries order by id').all())
    expect(rows.map(({ thread, seq }) => [thread, seq])).toEqual([
      [1, 1],
      [2, 1],
      [2, 2],
      [1, 2],
    ])
  })

  it('gives up when another process keeps the lock, and goes on when it is free', () => {
    const { session } = open()
    session.open()
    const other = new DatabaseSync(settings.path)
    other.exec('begin immediate')
    expect(codes(session.execute([append('a', 0), append('b', 0)]))).toEqual([
      'storage-failed',
      'storage-failed',
    ])
    other.exec('rollback')
    other.close()
    expect(codes(session.execute([append('a', 0), append('b', 0)]))).toEqual(['ok', 'ok'])
    expect(session.generation).toBe(1)
  })
})

describe('after an I/O error on commit', () => {
  it.each(['before-commit', 'after-commit', 'before-acknowledge'])(
    'at %s nothing is acknowledged before the file was opened again',
    (point) => {
      const { session } = open({ [point]: { at: 2, error: failedSync } })
      expect(codes(session.execute([append('a', 0)]))).toEqual(['ok'])
      expect(codes(session.execute([append('a', 1), append('b', 0)]))).toEqual([
        'storage-failed',
        'storage-failed',
      ])
      expect(session.generation).toBe(1)
      // The outcome was open; the same append again is safe either way.
      expect(codes(session.execute([append('a', 1), append('b', 0)]))).toEqual(['ok', 'ok'])
      expect(session.generation).toBe(2)
      expect(countEntries()).toBe(3)
    },
  )

  it('copies the write-ahead log into the database, freshly synced, before it goes on', () => {
    const { session } = open({ 'after-commit': { at: 2, error: failedSync } })
    session.execute([append('a', 0)])
    const reader = new DatabaseSync(settings.path)
    reader.exec('begin; select * from threads')
    session.execute([append('a', 1)])
    // While somebody reads what was before, the log cannot be emptied, so nothing can be promised.
    expect(codes(session.execute([append('a', 1)]))).toEqual(['storage-failed'])
    reader.exec('commit')
    reader.close()
    expect(codes(session.execute([append('a', 1)]))).toEqual(['ok'])
  })

  it('refuses to go on while a thread that another connection left in doubt does not hold together', () => {
    const { session } = open()
    session.execute([append('a', 0, 3)])
    raw((db) => db.exec("update entries set body = replace(body, 'a 3', 'a X') where seq = 3"))
    expect(codes(session.execute([append('b', 0)]))).toEqual(['ok'])
    const doubt: Operation = { type: 'doubt', keys: [{ tenant: 'acme', thread: 'a' }] }
    expect(codes(session.execute([doubt, append('b', 1)]))).toEqual(['ok', 'storage-failed'])
    raw((db) => db.exec("update entries set body = replace(body, 'a X', 'a 3') where seq = 3"))
    expect(codes(session.execute([append('b', 1)]))).toEqual(['ok'])
    expect(session.generation).toBe(2)
  })

  it('refuses to go on while a thread in doubt does not hold together', () => {
    const { session } = open({ 'after-commit': { at: 2, error: failedSync } })
    session.execute([append('a', 0, 3)])
    session.execute([append('a', 3)])
    raw((db) => db.exec("update entries set body = replace(body, 'a 3', 'a X') where seq = 3"))
    expect(codes(session.execute([append('b', 0)]))).toEqual(['storage-failed'])
    expect(codes(session.execute([append('b', 0)]))).toEqual(['storage-failed'])
    raw((db) => db.exec("update entries set body = replace(body, 'a X', 'a 3') where seq = 3"))
    expect(codes(session.execute([append('b', 0)]))).toEqual(['ok'])
  })
})

describe('the high-water mark', () => {
  const dropTail = (): void =>
    raw((db) =>
      db.exec(
        'pragma foreign_keys = off; delete from entries where seq > 2; update threads set version = 2',
      ),
    )

  it('shows that acknowledged entries are missing', () => {
    open().session.execute([append('a', 0, 3)])
    session?.close()
    dropTail()
    expect(() => open().session.open()).toThrow(expect.objectContaining({ code: 'log-truncated' }))
  })

  it('shows it also when others were written in their place', () => {
    open().session.execute([append('a', 0, 3)])
    session?.close()
    dropTail()
    raw((db) =>
      db.exec(
        'insert into entries select 3, thread, 3, form, type, content, header, null, null, body, packed from entries where seq = 1',
      ),
    )
    expect(() => open().session.open()).toThrow(expect.objectContaining({ code: 'log-truncated' }))
  })

  it('starts anew when what is left is accepted', () => {
    open().session.execute([append('a', 0, 3)])
    session?.close()
    dropTail()
    settings = { ...settings, truncated: 'accept' }
    open().session.open()
    session?.close()
    settings = { ...settings, truncated: 'refuse' }
    expect(() => open().session.open()).not.toThrow()
  })

  it('is made when it is not there, as after copying the database alone', () => {
    open().session.execute([append('a', 0, 3)])
    session?.close()
    rmSync(`${settings.path}-high-water`)
    open().session.open()
    session?.close()
    dropTail()
    expect(() => open().session.open()).toThrow(expect.objectContaining({ code: 'log-truncated' }))
  })
})

describe('a file that is taken away while it is open', () => {
  it.each(['removed', 'replaced'])('%s: nothing more is acknowledged', (how) => {
    const { session } = open()
    session.execute([append('a', 0)])
    renameSync(settings.path, `${settings.path}.away`)
    if (how === 'replaced') raw((db) => db.exec('create table other (id)'))
    expect(codes(session.execute([append('a', 1)]))).toEqual(['storage-failed'])
    expect(codes(session.execute([append('a', 1)]))).toEqual(['storage-failed'])
  })

  it('what was committed without waiting for the disk cannot be made durable', () => {
    const { session } = open()
    session.execute([append('a', 0)])
    expect(codes(session.execute([{ type: 'sync' }]))).toEqual(['ok'])
    renameSync(settings.path, `${settings.path}.away`)
    expect(codes(session.execute([{ type: 'sync' }]))).toEqual(['storage-failed'])
  })

  it('with its whole folder: no other file takes its place, and it goes on when it is back', () => {
    const { session } = open()
    session.execute([append('a', 0)])
    renameSync(directory, `${directory}-away`)
    for (let turn = 0; turn < 3; turn++) {
      expect(codes(session.execute([append('a', 1)]))).toEqual(['storage-failed'])
    }
    expect(existsSync(directory)).toBe(false)
    renameSync(`${directory}-away`, directory)
    expect(codes(session.execute([append('a', 1)]))).toEqual(['ok'])
    expect(countEntries()).toBe(2)
  })
})

describe('erasing', () => {
  const canary = 'CANARY-e7k2'
  const canaries = (): string[] =>
    readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes(canary))

  const canaryLog = (): readonly Entry[] => {
    const texts = [canary, `${canary} `.repeat(50), `${canary} `.repeat(2000)]
    return texts.map((text, index) =>
      messageAt(index + 1, text, { externalId: `${canary}-${index}` }),
    )
  }

  const appendCanaries = (thread: string): Operation => ({
    type: 'append',
    batch: batchOf({ tenant: 'acme', thread }, canaryLog(), 0),
  })

  const snapshot = (thread: string): Operation => ({
    type: 'snapshot',
    key: { tenant: 'acme', thread },
    snapshot: { version: 1, format: 1, head: 'aa', hash: 'bb', text: `{"a":"${canary}"}` },
  })

  const putCanary: Operation = {
    type: 'blob',
    tenant: 'acme',
    blob: { hash: 'cc', content: new TextEncoder().encode(canary.repeat(9)) },
  }

  const erase = (thread: string): Operation => ({
    type: 'erase',
    erasure: erasureOf({ tenant: 'acme', thread }, canaryLog()),
  })

  it('leaves no trace of the content in any file', () => {
    const { session } = open()
    session.execute([append('other', 0, 50), appendCanaries('a'), snapshot('a')])
    session.execute([snapshot('a'), append('other', 50, 50)])
    expect(canaries()).not.toEqual([])
    expect(session.execute([erase('a')])).toEqual([{ ok: true, value: true }])
    expect(canaries()).toEqual([])
  })

  it('of a tenant leaves no trace either', () => {
    const { session } = open()
    session.execute([appendCanaries('a'), appendCanaries('b'), snapshot('a'), putCanary])
    const key = { tenant: 'acme', space: 'marks', name: canary }
    session.execute([{ type: 'value', change: { key, text: `"${canary}"` } }])
    const rest: Operation = { type: 'erase-tenant', tenant: 'acme' }
    expect(codes(session.execute([erase('a'), erase('b'), rest]))).toEqual(['ok', 'ok', 'ok'])
    expect(canaries()).toEqual([])
  })

  it('of a tenant that has only blobs leaves no trace either', () => {
    const { session: first } = open({
      'erase:before-rewrite': { at: 1, error: new Error('stopped') },
    })
    const eraseAll: Operation = { type: 'erase-tenant', tenant: 'acme' }
    first.execute([putCanary])
    expect(codes(first.execute([eraseAll]))).toEqual(['storage-failed'])
    // Nothing is left to delete, but the file still has to be rewritten.
    expect(codes(first.execute([eraseAll]))).toEqual(['ok'])
    expect(canaries()).toEqual([])
  })

  it('of several threads at once rewrites the file once', () => {
    const { session, passed } = open()
    session.execute([appendCanaries('a'), appendCanaries('b'), append('c', 0)])
    const outcomes = session.execute([erase('a'), erase('b'), erase('none'), append('c', 1)])
    expect(codes(outcomes)).toEqual(['ok', 'ok', 'ok', 'ok'])
    expect(passed.filter((point) => point === 'erase:before-rewrite').length).toBe(1)
    expect(canaries()).toEqual([])
  })

  it.each(['erase:before-rewrite', 'erase:after-rewrite', 'erase:before-confirm'])(
    'that stops at %s is finished when the file is opened again',
    (point) => {
      const { session: first } = open({ [point]: { at: 1, error: new Error('stopped') } })
      first.execute([append('other', 0, 50), appendCanaries('a')])
      expect(codes(first.execute([erase('a')]))).toEqual(['storage-failed'])
      first.close()
      open().session.open()
      expect(canaries()).toEqual([])
      expect(raw((db) => db.prepare('select * from erasures').all())).toEqual([])
    },
  )

  it('says that copies remain while another process reads, and finishes when it is asked again', () => {
    const { session } = open()
    session.execute([appendCanaries('a')])
    const reader = new DatabaseSync(settings.path)
    reader.exec('begin; select * from threads')
    const [outcome] = session.execute([erase('a')])
    expect(outcome).toMatchObject({ ok: false, error: { code: 'storage-failed' } })
    expect(outcome).toMatchObject({
      error: { message: expect.stringContaining('copies may remain') },
    })
    reader.exec('commit')
    reader.close()
    expect(codes(session.execute([{ type: 'scrub' }]))).toEqual(['ok'])
    expect(canaries()).toEqual([])
  })
})
