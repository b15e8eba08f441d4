import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { messages } from '../../testing/store-suite-data.ts'
import { ChainWalk } from '../stored/chain.ts'
import { genesis, writeEntries } from '../stored/entry-form.ts'
import { HeadCache } from './head-cache.ts'
import { SqliteReader } from './read.ts'
import type { Operation } from './writer-connection.ts'
import { WriterConnection } from './writer-connection.ts'

const row = { id: 1, version: 2, head: genesis, salt: 'salt' }
const key = { tenant: 'acme', thread: 'a' }
let directory = ''
let path = ''
const sessions: WriterConnection[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-left-'))
  path = join(directory, 'store.db')
})
afterEach(() => {
  for (const session of sessions.splice(0)) session.close()
  rmSync(directory, { recursive: true })
})

/** A session that finds the disk full at its commits of these numbers. */
function open(...full: number[]): WriterConnection {
  let commits = 0
  const session = new WriterConnection(
    { path, busyTimeoutMs: 50, truncated: 'refuse' },
    (point) => {
      if (point !== 'before-commit' || !full.includes(++commits)) return
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
    },
  )
  sessions.push(session)
  return session
}

interface Append {
  readonly to?: { readonly tenant: string; readonly thread: string }
  readonly expected: number
  readonly by?: string
}

/** What one append of one entry is answered with: the version, or the code of the refusal. */
function append(session: WriterConnection, { to = key, expected, by = 'us' }: Append): unknown {
  const entries = writeEntries(messages(expected + 1, 1, by), expected)
  const input = { key: to, entries, expected, now: 1 }
  return answer(session, { type: 'append', input })
}

function answer(session: WriterConnection, operation: Operation): unknown {
  const [outcome] = session.execute([operation])
  if (outcome?.ok === false) return outcome.error.code
  return (outcome?.value as { version: number } | undefined)?.version
}

/** The length of a log whose chain holds. */
function soundLength(of = key): number {
  const reader = new SqliteReader(new DatabaseSync(path))
  try {
    const state = reader.thread(of)
    if (state === undefined) return 0
    const walk = new ChainWalk(of, state.salt)
    const links = reader.links(state, 1, state.version)
    expect(links.flatMap((link) => walk.check(link))).toEqual([])
    expect(walk.finish(state)).toEqual([])
    return state.version
  } finally {
    reader.close()
  }
}

describe('threads as they were left', () => {
  it('are found by both names, and may be forgotten', () => {
    const left = new HeadCache()
    left.leave(key, row)
    expect(left.find(key)).toBe(row)
    expect(left.find({ tenant: 'other', thread: 'a' })).toBeUndefined()
    left.forget(key)
    expect(left.find(key)).toBeUndefined()
  })

  it('are bounded: those left longest ago go first', () => {
    const left = new HeadCache()
    left.leave(key, row)
    for (let index = 0; index < 1999; index++) left.leave({ tenant: 'b', thread: `${index}` }, row)
    left.leave(key, row)
    left.leave({ tenant: 'b', thread: 'one more' }, row)
    expect(left.find(key)).toBe(row)
    expect(left.find({ tenant: 'b', thread: '0' })).toBeUndefined()
    expect(left.find({ tenant: 'b', thread: '1' })).toBe(row)
  })
})

describe('an append to a thread that this connection wrote last', () => {
  it('notices what another connection appended', () => {
    const [ours, theirs] = [open(), open()]
    expect(append(ours, { expected: 0 })).toBe(1)
    expect(append(theirs, { expected: 1, by: 'them' })).toBe(2)
    expect(append(ours, { expected: 1 })).toBe('version-conflict')
    expect(append(ours, { expected: 1, by: 'them' })).toBe(2)
    expect(append(ours, { expected: 2 })).toBe(3)
    expect(append(theirs, { expected: 2, by: 'them' })).toBe('version-conflict')
    expect(soundLength()).toBe(3)
  })

  it('notices that another connection began the thread first', () => {
    const [ours, theirs] = [open(), open()]
    expect(append(theirs, { expected: 0, by: 'them' })).toBe(1)
    expect(append(ours, { expected: 0 })).toBe('version-conflict')
    expect(append(ours, { expected: 0, by: 'them' })).toBe(1)
    expect(soundLength()).toBe(1)
  })

  it.each(['another', 'this'])('notices that %s connection erased it', (who) => {
    const [ours, theirs] = [open(), open()]
    append(ours, { expected: 0 })
    const eraser = who === 'this' ? ours : theirs
    expect(answer(eraser, { type: 'erase', key, now: 2 })).toBeUndefined()
    for (const expected of [0, 1, 2]) expect(append(ours, { expected })).toBe('not-found')
    // The entry that ends it.
    expect(soundLength()).toBe(2)
  })

  it('does not take for written what was rolled back', () => {
    const session = open(2)
    append(session, { expected: 0 })
    expect(append(session, { expected: 1 })).toBe('storage-full')
    expect(append(session, { expected: 2 })).toBe('version-conflict')
    expect(append(session, { expected: 1, by: 'else' })).toBe(2)
    expect(soundLength()).toBe(2)
  })

  it('does not take another thread for a new one that was rolled back', () => {
    const session = open(1)
    const other = { tenant: 'acme', thread: 'b' }
    expect(append(session, { expected: 0 })).toBe('storage-full')
    // It gets the number that the one before had.
    expect(append(session, { to: other, expected: 0 })).toBe(1)
    expect(append(session, { expected: 1 })).toBe('version-conflict')
    expect(append(session, { expected: 0 })).toBe(1)
    expect([soundLength(), soundLength(other)]).toEqual([1, 1])
  })

  it('keeps threads of one name apart that belong to two tenants', () => {
    const session = open()
    const other = { tenant: 'other', thread: 'a' }
    for (const expected of [0, 1, 2]) {
      expect(append(session, { expected })).toBe(expected + 1)
      expect(append(session, { to: other, expected })).toBe(expected + 1)
    }
    expect([soundLength(), soundLength(other)]).toEqual([3, 3])
  })
})
