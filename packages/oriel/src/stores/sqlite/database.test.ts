import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DatabaseOptions } from './database.ts'
import { checkSqliteVersion, openForWriting, pragma } from './database.ts'
import { applicationId, migrations } from './schema.ts'

const options: DatabaseOptions = { busyTimeoutMs: 100, at: () => {} }
const latest = migrations.at(-1)?.version ?? 0
let directory = ''
let path = ''

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'oriel-database-'))
  path = join(directory, 'store.db')
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Opens, looks, closes. */
function inspect<T>(use: (database: DatabaseSync) => T, own: Partial<DatabaseOptions> = {}): T {
  const database = openForWriting(path, { ...options, ...own })
  try {
    return use(database)
  } finally {
    database.close()
  }
}

describe('a new file', () => {
  it('is set up for durability', () => {
    inspect((database) => {
      expect(pragma(database, 'journal_mode')).toBe('wal')
      expect(pragma(database, 'synchronous')).toBe(2)
      expect(pragma(database, 'mmap_size')).toBe(0)
      expect(pragma(database, 'application_id')).toBe(applicationId)
      expect(pragma(database, 'user_version')).toBe(latest)
    })
  })

  it('and its directory are private, even if the process makes everything public', () => {
    const previous = process.umask(0)
    try {
      path = join(directory, 'new', 'deeper', 'store.db')
      inspect((database) => {
        database.exec("insert into blobs (tenant, hash, content) values ('a', x'00', x'00')")
        for (const name of [path, `${path}-wal`, `${path}-shm`]) {
          expect(statSync(name).mode & 0o777).toBe(0o600)
        }
      })
      expect(statSync(join(directory, 'new', 'deeper')).mode & 0o777).toBe(0o700)
      expect(statSync(join(directory, 'new')).mode & 0o777).toBe(0o700)
    } finally {
      process.umask(previous)
    }
  })

  it('leaves the modes of what was there before alone', () => {
    inspect(() => {})
    chmodSync(path, 0o640)
    chmodSync(directory, 0o755)
    inspect(() => {})
    expect(statSync(path).mode & 0o777).toBe(0o640)
    expect(statSync(directory).mode & 0o777).toBe(0o755)
  })
})

it('a file whose creation was interrupted is opened as a new one', () => {
  const source = join(directory, 'source.db')
  const writer = new DatabaseSync(source)
  // A cache of one page makes SQLite write to the file before the commit. The journal that takes it back is then "hot".
  writer.exec('pragma cache_size = 1; create table t (x); drop table t')
  writer.exec('begin immediate; create table t (x)')
  writer.prepare('insert into t values (?)').run('x'.repeat(100_000))
  copyFileSync(source, path)
  copyFileSync(`${source}-journal`, `${path}-journal`)
  writer.exec('rollback')
  writer.close()
  expect(statSync(path).size).toBeGreaterThan(0)
  inspect((database) => expect(pragma(database, 'user_version')).toBe(latest))
  expect(existsSync(`${path}-journal`)).toBe(false)
})

describe('a file that is not ours', () => {
  const foreign = expect.objectContaining({
    code: 'storage-failed',
    message: expect.stringContaining('not a store of Oriel'),
  })

  it.each([
    ['text', 'just some text, long enough to be looked at as a page '.repeat(100)],
    ['one byte', 'x'],
    ['zeros', '\0'.repeat(8192)],
  ])('%s: is refused and untouched', (_, content) => {
    writeFileSync(path, content)
    expect(() => inspect(() => {})).toThrow(foreign)
    expect(readFileSync(path, 'utf8')).toBe(content)
  })

  it.each([
    'create table notes (text)',
    'pragma application_id = 7',
    'pragma user_version = 1; create table threads (id)',
  ])('a database of another program (%s) is refused and untouched', (sql) => {
    const other = new DatabaseSync(path)
    other.exec(`${sql}; create table if not exists other (id)`)
    other.close()
    const bytes = readFileSync(path)
    expect(() => inspect(() => {})).toThrow(foreign)
    expect(readFileSync(path).equals(bytes)).toBe(true)
  })

  it('an empty file becomes a store', () => {
    writeFileSync(path, '')
    expect(inspect((database) => pragma(database, 'user_version'))).toBe(latest)
  })

  it('a directory is refused', () => {
    mkdirSync(path)
    expect(() => inspect(() => {})).toThrow()
  })
})

describe('a schema of another version', () => {
  it.each([latest + 1, 999, 0, -1])('%i is refused, and the file is untouched', (found) => {
    inspect((database) => database.exec(`pragma user_version = ${found}`))
    const bytes = readFileSync(path)
    expect(() => inspect(() => {})).toThrow(
      expect.objectContaining({ code: 'schema-version', details: { found, supported: latest } }),
    )
    expect(readFileSync(path).equals(bytes)).toBe(true)
  })

  it('is noticed while it still is in the write-ahead log only', () => {
    const writer = openForWriting(path, options)
    writer.exec('pragma wal_autocheckpoint = 0; pragma user_version = 999')
    expect(() => inspect(() => {})).toThrow(expect.objectContaining({ code: 'schema-version' }))
    writer.close()
  })
})

describe('migrating', () => {
  const next = { version: latest + 1, sql: 'alter table threads add column title text' }
  const steps = [...migrations, next]

  beforeEach(() => {
    inspect((database) =>
      database.exec("insert into blobs (tenant, hash, content) values ('a', x'01', x'02')"),
    )
  })

  it('runs the missing steps, keeps the data and removes its backup', () => {
    inspect(
      (database) => {
        expect(pragma(database, 'user_version')).toBe(next.version)
        expect(database.prepare('select tenant from blobs').get()).toEqual({ tenant: 'a' })
        database.prepare('select title from threads').all()
      },
      { steps },
    )
    expect(existsSync(`${path}.bak-${latest}`)).toBe(false)
  })

  it('says why a step failed, also where SQLite has rolled back by itself', () => {
    const sql = 'rollback; create table threads (id)'
    const broken = [...steps, { version: next.version + 1, sql }]
    expect(() => inspect(() => {}, { steps: broken })).toThrow(/already exists/)
  })

  it('is all or nothing: a step that fails leaves the old schema and the backup', () => {
    const broken = [...steps, { version: next.version + 1, sql: 'create table threads (id)' }]
    expect(() => inspect(() => {}, { steps: broken })).toThrow(/already exists/)
    expect(existsSync(`${path}.bak-${latest}`)).toBe(true)
    inspect((database) => {
      expect(pragma(database, 'user_version')).toBe(latest)
      expect(() => database.prepare('select title from threads')).toThrow()
    })
  })

  it.each(['migrate:begin', 'migrate:before-commit', 'migrate:after-commit'])(
    'that stops at %s leaves the old schema or the new one',
    (point) => {
      const at = (passed: string): void => {
        if (passed === point) throw new Error('stopped')
      }
      expect(() => inspect(() => {}, { steps, at })).toThrow('stopped')
      const expected = point === 'migrate:after-commit' ? next.version : latest
      const probe = new DatabaseSync(path)
      expect(pragma(probe, 'user_version')).toBe(expected)
      expect(pragma(probe, 'integrity_check')).toBe('ok')
      probe.close()
      inspect((database) => expect(pragma(database, 'user_version')).toBe(next.version), { steps })
    },
  )
})

describe('the version of SQLite', () => {
  it.each(['3.51.3', '3.51.10', '3.52.0', '3.53.4', '4.0.0'])('%s is accepted', (version) => {
    expect(() => checkSqliteVersion(version)).not.toThrow()
  })

  it.each(['3.51.2', '3.50.9', '3.9.99', '2.99.99', '', 'unknown'])('%s is refused', (version) => {
    expect(() => checkSqliteVersion(version)).toThrow(
      expect.objectContaining({
        code: 'storage-failed',
        message: expect.stringContaining('Update Node.js'),
      }),
    )
  })
})
