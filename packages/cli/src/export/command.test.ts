// `oriel export` as its users run it.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { canonicalJson, type Json } from 'oriel'
import { describe, expect, it } from 'vitest'
import {
  entriesOf,
  examine,
  filesIn,
  fill,
  flip,
  oriel,
  raw,
  rowOf,
  secret,
  temporaryFolder,
  tornStore,
  withStore,
} from '../../test/keeping.ts'

const folder = temporaryFolder()
const path = (): string => folder.file('oriel.db')

type Fields = Readonly<Record<string, unknown>>

function linesOf(text: string): readonly Fields[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Fields)
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const run = (...words: string[]): ReturnType<typeof oriel> =>
  oriel(['export', '--data', folder.path, ...words])

describe('oriel export', () => {
  it('writes a header, every entry with its hash, and a closing line', async () => {
    await fill(path())
    const { code, stdout, stderr } = await run('--thread', 'third')
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'oriel export: 1 thread, 4 entries\n' })
    const [header, ...rest] = linesOf(stdout)
    const end = rest.pop()
    const key = { tenant: 'acme', thread: 'third' }
    const entries = await withStore(path(), (store) => entriesOf(store, key))
    const hashes = entries.map((entry) => sha256(canonicalJson(entry as unknown as Json)))
    expect(rest).toEqual(
      entries.map((entry, index) => ({ seq: index + 1, hash: hashes[index], entry })),
    )
    const head = sha256(`["acme","third"]\n${hashes.map((hash) => `${hash}\n`).join('')}`)
    expect(header).toEqual({ oriel: 'export', version: 1, ...key, entries: 4, head })
    const before = stdout.slice(0, stdout.lastIndexOf('{"oriel":"end"'))
    expect(end).toEqual({ oriel: 'end', threads: 1, entries: 4, hash: sha256(before) })
  })

  it('exports all threads of all tenants, or those that are chosen', async () => {
    await fill(path())
    const names = async (...words: string[]): Promise<unknown[]> =>
      linesOf((await run(...words)).stdout)
        .filter(({ oriel }) => oriel === 'export')
        .map(({ thread }) => thread)
    expect(await names()).toEqual(['first', 'second', 'third'])
    expect(await names('--tenant', 'default')).toEqual(['first', 'second'])
    expect(await names('--thread', 'third', '--thread', 'first')).toEqual(['first', 'third'])
  })

  it('leaves the store as it is', async () => {
    await fill(path())
    const before = filesIn(folder.path)
    expect((await run()).code).toBe(0)
    expect(filesIn(folder.path)).toEqual(before)
    expect(readdirSync(folder.path)).toHaveLength(2)
  })

  it('writes a file that only its owner may read, and replaces an older one', async () => {
    await fill(path())
    const out = folder.file('backup.jsonl')
    writeFileSync(out, 'old', { mode: 0o644 })
    const { code, stdout, stderr } = await run('--out', out)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(`oriel export: 3 threads, 16 entries to ${out}\n`)
    expect(readFileSync(out, 'utf8')).toBe((await run('--out', '-')).stdout)
    if (process.platform !== 'win32') expect(statSync(out).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder.path).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('writes nothing when it fails', async () => {
    await fill(path())
    const out = folder.file('backup.jsonl')
    writeFileSync(out, 'old')
    const { code, stderr } = await run('--out', out, '--thread', 'x')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'oriel: there is no thread x; leave --thread out to export all.\n',
    })
    expect(readFileSync(out, 'utf8')).toBe('old')
    const missing = folder.file('no/such/folder.jsonl')
    const refused = await run('--out', missing)
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain(`--out: ${missing} cannot be written`)
    // A folder cannot be replaced by a file: the work was done, and nothing of it is left behind.
    expect((await run('--out', folder.path)).code).toBe(2)
    expect(readdirSync(folder.path).filter((name) => name.includes('.tmp'))).toEqual([])
  })

  it('refuses to make a store where there is none', async () => {
    const { code, stderr } = await run()
    expect(code).toBe(2)
    expect(stderr).toContain('there is no store at')
    expect(existsSync(path())).toBe(false)
  })

  it.each([
    [['--until', '3'], '--until is about one thread; name it with --thread.'],
    [
      ['--thread', 'a', '--until', 'x'],
      "--until must be the seq of an entry, a whole number above 0; got 'x'.",
    ],
    [
      ['--thread', 'a', '--until', '0'],
      "--until must be the seq of an entry, a whole number above 0; got '0'.",
    ],
  ])('refuses %j', async (words, message) => {
    expect(await run(...words)).toEqual({ code: 2, stdout: '', stderr: `oriel: ${message}\n` })
  })

  it('leaves erased threads out', async () => {
    await fill(path())
    await withStore(path(), (store) => store.erase({ tenant: 'default', thread: 'first' }))
    const { code, stdout } = await run()
    expect(code).toBe(0)
    expect(linesOf(stdout).at(-1)).toMatchObject({ oriel: 'end', threads: 2, entries: 10 })
    expect((await run('--thread', 'first')).code).toBe(2)
  })
})

describe('a damaged thread', () => {
  it.each([
    ['a changed entry', () => flip(path(), 'second', 3), 3],
    [
      'a missing entry',
      () => raw(path(), (db) => db.exec(`delete from entries where ${rowOf('second', 4)}`)),
      4,
    ],
    [
      'a missing end',
      () => raw(path(), (db) => db.exec(`delete from entries where ${rowOf('second', 6)}`)),
      6,
    ],
  ])('with %s is left out whole, and named; the others are there', async (_, damage, seq) => {
    await fill(path())
    damage()
    const { code, stdout, stderr } = await run()
    expect(code).toBe(1)
    expect(linesOf(stdout).filter(({ oriel }) => oriel === 'export')).toMatchObject([
      { thread: 'first' },
      { thread: 'third' },
    ])
    expect(linesOf(stdout).at(-1)).toMatchObject({ threads: 2, entries: 10 })
    expect(stderr).toContain(
      `oriel export: thread second is damaged at entry ${seq} and was left out; what is before it: oriel export --thread second --until ${seq - 1} --store ${path()}\n`,
    )
    expect(stderr).not.toContain(secret)
    const rescued = await run('--thread', 'second', '--until', String(seq - 1))
    expect(rescued.code).toBe(0)
    expect(linesOf(rescued.stdout)).toHaveLength(seq - 1 + 2)
  })
})

describe('a store that does not open', () => {
  it('because it lost its end is exported as far as it goes, and stays as it is', async () => {
    await tornStore(path())
    const before = filesIn(folder.path)
    const { code, stdout, stderr } = await run()
    expect(code).toBe(1)
    expect(stderr).toContain('oriel export: the store is damaged; what can be read is exported.')
    expect(linesOf(stdout)[0]).toMatchObject({ thread: 'torn', entries: 5 })
    expect(linesOf(stdout).at(-1)).toMatchObject({ oriel: 'end', threads: 1, entries: 5 })
    expect(filesIn(folder.path)).toEqual(before)
  })

  it('because its file was cut short is exported as far as it can be read, and says what is missing', async () => {
    await fill(path())
    const whole = readFileSync(path())
    const names = ['first', 'second', 'third']
    const outcomes = new Set<number>()
    for (let pages = whole.length / 4096 - 1; pages > 0; pages--) {
      writeFileSync(path(), whole.subarray(0, pages * 4096))
      const out = folder.file('rescued.jsonl')
      const { code, stderr } = await run('--out', out)
      expect({ pages, code }).toEqual({ pages, code: 1 })
      const lines = linesOf(readFileSync(out, 'utf8'))
      const exported = lines.filter(({ oriel }) => oriel === 'export').map(({ thread }) => thread)
      expect(lines.at(-1)).toMatchObject({ oriel: 'end', threads: exported.length })
      const isListed = !stderr.includes('The list of threads')
      const missing = names.filter((name) => !exported.includes(name))
      if (isListed) for (const name of missing) expect(stderr).toContain(`thread ${name}`)
      outcomes.add(exported.length)
      expect((await examine(folder.path)).code).toBe(1)
    }
    // Sometimes a part is left, sometimes nothing.
    expect(outcomes.size).toBeGreaterThan(1)
  })

  it('because nothing can be written there is read all the same, by doctor too', async (test) => {
    await fill(path())
    const other = mkdtempSync(join(tmpdir(), 'oriel-mount-'))
    const mount = (...words: string[]): number | null => spawnSync('mount', words).status
    try {
      const isMounted =
        mount('--bind', folder.path, other) === 0 && mount('-o', 'remount,ro,bind', other) === 0
      if (!isMounted) test.skip('this user may not mount anything')
      const { code, stdout, stderr } = await oriel(['export', '--data', other])
      expect({ code, stderr }).toEqual({ code: 0, stderr: 'oriel export: 3 threads, 16 entries\n' })
      expect(stdout).toBe((await run()).stdout)
      const { report } = await examine(other)
      expect(report).toMatchObject({ isSound: true, counts: { threads: 3, entries: 16 } })
    } finally {
      spawnSync('umount', [other])
      rmSync(other, { recursive: true })
    }
  })

  it('because of a damaged page is exported around the damage', async () => {
    await fill(path())
    const page = raw(
      path(),
      (database) =>
        database.prepare("select max(pageno) as n from dbstat where name = 'entries'").get()?.n,
    )
    const bytes = readFileSync(path())
    bytes.fill(0xa5, (Number(page) - 1) * 4096 + 8, (Number(page) - 1) * 4096 + 200)
    writeFileSync(path(), bytes)
    const { code, stdout, stderr } = await run()
    expect(code).toBe(1)
    expect(linesOf(stdout).filter(({ oriel }) => oriel === 'export')).toMatchObject([
      { thread: 'first' },
      { thread: 'second' },
    ])
    expect(stderr).toContain('thread third of tenant acme is damaged at entry ')
    const { report } = await examine(folder.path)
    expect(report.problems.map((problem) => problem.thread)).toContain('third')
    expect(report.counts).toMatchObject({ threads: 3, damaged: 1 })
  })
})

describe('standard output', () => {
  /** A pipe that has room for one line at a time. */
  class Pipe extends EventEmitter {
    readonly lines: string[] = []
    destroyed = false

    write(line: string): boolean {
      this.lines.push(line)
      return false
    }
  }

  it('is not written to faster than it is read', async () => {
    await fill(path())
    const pipe = new Pipe()
    let written = 0
    const ended = oriel(['export', '--data', folder.path], { stdout: pipe })
    while (!pipe.lines.at(-1)?.startsWith('{"oriel":"end"')) {
      while (pipe.listenerCount('drain') === 0) await new Promise(setImmediate)
      written += 1
      expect(pipe.lines).toHaveLength(written)
      pipe.emit('drain')
    }
    expect((await ended).code).toBe(0)
    expect(pipe.listenerCount('close')).toBe(0)
  })

  it('may be closed by a reader that has seen enough', async () => {
    await fill(path())
    const pipe = new Pipe()
    const ended = oriel(['export', '--data', folder.path], { stdout: pipe })
    while (pipe.listenerCount('drain') === 0) await new Promise(setImmediate)
    pipe.destroyed = true
    pipe.emit('close')
    expect((await ended).code).toBe(0)
    expect(pipe.lines).toHaveLength(1)
  })
})

it('shows its progress when it takes longer than a second', async () => {
  await fill(path())
  let shown = ''
  let ms = 0
  const stderr = Object.assign(new EventEmitter(), {
    isTTY: true,
    columns: 80,
    write: (text: string) => {
      shown += text
      return true
    },
  })
  // The clock stands at the start, then jumps.
  const now = (): number => ms
  const stdout = {
    write: () => {
      ms = 5000
    },
  }
  expect((await oriel(['export', '--data', folder.path], { stderr, stdout, now })).code).toBe(0)
  expect(shown).toContain('%')
})
