// A full disk, a failing fsync, and the proof that what is acknowledged was synced.

import { execFile, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import { systemProgram } from '../../../../scripts/system-program.ts'
import type { Entry, EntryId } from '../../src/core/log/entry.ts'
import { OrielError } from '../../src/core/log/errors.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import type { Store } from '../../src/stores/store.ts'
import { createAcknowledged, runChild, violations, withDirectory } from './harness.ts'
import { seed } from './random.ts'

const key = { tenant: 'acme', thread: 'full' }
const entryAt = (seq: number): Entry => ({
  type: 'x-fault',
  id: `e${seq}` as EntryId,
  seq,
  at: seq,
  value: `${seq} ${'x'.repeat(seq % 3 === 0 ? 20_000 : 2000)}`,
})

/** Whether a command can be run here, and if not, why. */
function reasonAgainst(command: string, ...args: string[]): string | undefined {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  return status === 0 ? undefined : `${command}: ${error?.message ?? stderr.trim()}`
}

/** A small disk of its own. Gives the reason instead when this user may not mount one. */
async function withSmallDisk(
  use: (directory: string) => Promise<void>,
): Promise<string | undefined> {
  return withDirectory(async (directory) => {
    const reason = reasonAgainst('mount', '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', directory)
    if (reason !== undefined) return reason
    try {
      await use(directory)
    } finally {
      spawnSync('umount', ['--lazy', directory])
    }
    return undefined
  })
}

/** Appends one entry after the other until the store refuses; gives back how many were acknowledged, and the refusal. */
async function fill(store: Store, from: number): Promise<{ version: number; code: string }> {
  for (let version = from; ; version++) {
    try {
      await store.append(key, [entryAt(version + 1)], version)
    } catch (error) {
      return { version, code: OrielError.is(error) ? error.code : String(error) }
    }
  }
}

async function readSeqs(store: Store): Promise<number[]> {
  const seqs: number[] = []
  for await (const entry of store.read(key)) {
    expect(entry).toEqual(entryAt(entry.seq))
    seqs.push(entry.seq)
  }
  return seqs
}

describe(`a full disk (ORIEL_SEED=${seed})`, () => {
  it('is a typed error; nothing is half written, and it goes on when there is space', async (test) => {
    const reason = await withSmallDisk(async (directory) => {
      const path = join(directory, 'store.db')
      const store = sqliteStore(path)
      const { version, code } = await fill(store, 0)
      expect(code).toBe('storage-full')
      expect(version).toBeGreaterThan(20)
      // Full means full: still refused, still readable.
      expect(await fill(store, version)).toMatchObject({ code: 'storage-full' })
      const seqs = await readSeqs(store)
      expect(seqs).toEqual(seqs.map((_, index) => index + 1))
      expect(seqs.length).toBeGreaterThanOrEqual(version)
      spawnSync('mount', ['-o', 'remount,size=8m', directory])
      expect((await store.append(key, [entryAt(seqs.length + 1)], seqs.length)).version).toBe(
        seqs.length + 1,
      )
      await store.close()
      const reopened = sqliteStore(path)
      expect((await readSeqs(reopened)).length).toBe(seqs.length + 1)
      for await (const problem of reopened.verify()) expect(problem).toBeUndefined()
      await reopened.close()
    })
    if (reason !== undefined) test.skip(`no disk of its own: ${reason}`)
  })

  it('does not keep a store from being opened, read and closed', async (test) => {
    const reason = await withSmallDisk(async (directory) => {
      const path = join(directory, 'store.db')
      const first = sqliteStore(path)
      const { version } = await fill(first, 0)
      await first.close()
      const store = sqliteStore(path)
      expect((await readSeqs(store)).length).toBeGreaterThanOrEqual(version)
      await store.close()
    })
    if (reason !== undefined) test.skip(`no disk of its own: ${reason}`)
  })
})

describe(`a failing fsync (ORIEL_SEED=${seed})`, () => {
  systemProgram('strace')
  const noStrace = reasonAgainst('strace', '-qq', '-e', 'trace=none', 'true')

  // Without strace, sqlite-session.test.ts still fails the commit by a hook.
  beforeEach((test) => {
    if (noStrace !== undefined) test.skip(noStrace)
  })

  it('loses nothing that was acknowledged, and says so to the writer', () =>
    withDirectory(async (directory) => {
      const path = join(directory, 'store.db')
      const acknowledged = createAcknowledged()
      // Each thread counts by itself: first the calling thread fails, which the worker makes good, then the worker.
      const inject = 'inject=fdatasync,fsync:error=EIO:when=8+9'
      const wrapper = [
        'strace',
        '-f',
        '-qq',
        '-o',
        '/dev/null',
        '-e',
        'trace=fdatasync,fsync',
        '-e',
        inject,
      ]
      const end = await runChild({ path, seed, mode: 'steady', wrapper }, acknowledged)
      expect(end).toMatchObject({ status: 0, errors: '' })
      expect(end.lines).toContain('error storage-failed')
      expect(acknowledged.threads.get('a')?.size).toBe(20)
      expect(await violations(path, acknowledged)).toEqual([])
    }))

  it('every acknowledged append was synced before it was acknowledged', () =>
    withDirectory(async (directory) => {
      const trace = await traced(directory, 'steady')
      expect(saidWhileDirty(trace, 'ack ')).toEqual({ said: 20, dirty: 0 })
    }))

  it('an append that is durable soon does not wait; the next one that does, or the second that follows, makes it so', () =>
    withDirectory(async (directory) => {
      const trace = await traced(directory, 'soon')
      const waiting = saidWhileDirty(trace, 'soon ')
      expect(waiting.said).toBe(6)
      expect(waiting.dirty).toBeGreaterThan(0)
      expect(saidWhileDirty(trace, 'synced')).toEqual({ said: 1, dirty: 0 })
      expect(saidWhileDirty(trace, 'ack ')).toEqual({ said: 1, dirty: 0 })
    }))
})

const syncs = 1
const writes = 2
const opens = 4
const truncations = 8
const closes = 16

interface FailingDisk {
  readonly name: string
  readonly kinds: number
  readonly errno: keyof typeof constants.errno
  /** After the first failure every so many calls fail too; 0 for none. */
  readonly step: number
  readonly writer: 'auto' | 'worker'
  /** Only every so many calls are tried, from one that the seed chooses. */
  readonly stride: number
}

/** Of the calls that are to fail, one in so many does: another one for each seed. ORIEL_RUNS=15 makes each of them fail. */
const sparse = Math.max(1, Math.ceil(15 / Number(process.env.ORIEL_RUNS ?? 1)))

const failingDisks: readonly FailingDisk[] = [
  { name: 'one fsync', kinds: syncs, errno: 'EIO', step: 0, writer: 'auto', stride: 1 },
  {
    name: 'one fsync of the worker',
    kinds: syncs,
    errno: 'EIO',
    step: 0,
    writer: 'worker',
    stride: 1,
  },
  { name: 'every third fsync', kinds: syncs, errno: 'EIO', step: 3, writer: 'auto', stride: 1 },
  {
    name: 'every fsync from one on',
    kinds: syncs,
    errno: 'EIO',
    step: 1,
    writer: 'auto',
    stride: 3,
  },
  { name: 'one write', kinds: writes, errno: 'ENOSPC', step: 0, writer: 'auto', stride: 7 },
  {
    name: 'every write from one on',
    kinds: writes,
    errno: 'ENOSPC',
    step: 1,
    writer: 'worker',
    stride: 9,
  },
  {
    name: 'every change from one on',
    kinds: syncs | writes | opens | truncations,
    errno: 'EROFS',
    step: 1,
    writer: 'auto',
    stride: 9,
  },
  { name: 'one open', kinds: opens, errno: 'EMFILE', step: 0, writer: 'auto', stride: 1 },
  { name: 'one close', kinds: closes, errno: 'EIO', step: 0, writer: 'auto', stride: 1 },
]

describe(`a disk that fails at any call (ORIEL_SEED=${seed})`, () => {
  const compiler = systemProgram('gcc', { names: ['cc', 'gcc'] })
  beforeEach((test) => {
    if (compiler === undefined) test.skip('there is no C compiler')
  })

  it.each(failingDisks)(
    '[SQ1] $name fails with $errno: typed errors, nothing acknowledged is lost, the process lives, and it goes on',
    (disk) =>
      withDirectory(async (directory) => {
        const { runs, problems, errors } = await failAtEveryCall(directory, disk)
        expect({ problems, errors }).toEqual({ problems: [], errors: '' })
        // At least one run met the failure, and the last one none.
        expect(runs).toBeGreaterThan(1)
      }),
    300_000,
  )
})

interface FailingRun {
  readonly calls: number
  readonly problems?: readonly string[]
  readonly uncaught?: string
}

async function failAtEveryCall(
  directory: string,
  { kinds, errno, step, writer, stride }: FailingDisk,
): Promise<{ runs: number; problems: FailingRun[]; errors: string }> {
  const library = join(directory, 'failing-disk.so')
  const source = fileURLToPath(new URL('./failing-disk.c', import.meta.url))
  const built = spawnSync(String(systemProgram('gcc', { names: ['cc', 'gcc'] })), [
    '-shared',
    '-fPIC',
    '-o',
    library,
    source,
    '-ldl',
  ])
  expect(String(built.stderr)).toBe('')
  const control = join(directory, 'control')
  writeFileSync(control, new Uint8Array(20))
  const under = join(directory, 'disk')
  mkdirSync(under)
  const child = fileURLToPath(new URL('./failing-disk-child.ts', import.meta.url))
  const between = stride * sparse
  const first = 1 + (seed % between)
  const numbers = [kinds, constants.errno[errno], step, writer, first, between].map(String)
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [child, under, ...numbers],
    {
      env: {
        ...process.env,
        LD_PRELOAD: library,
        ORIEL_DISK: control,
        ORIEL_DISK_UNDER: `${under}/`,
      },
    },
  )
  const runs = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as FailingRun)
  const problems = runs.filter((run) => run.uncaught !== undefined || run.problems?.length !== 0)
  return { runs: runs.length, problems, errors: stderr }
}

describe(`files that are removed or replaced while they are in use (ORIEL_SEED=${seed})`, () => {
  const remove = (file: string): void => rmSync(file)
  const replace = (file: string): void => {
    copyFileSync(file, `${file}.copy`)
    renameSync(`${file}.copy`, file)
  }
  const cases = [
    { ending: '-wal', name: 'removed', change: remove, writer: 'auto' },
    { ending: '-wal', name: 'removed', change: remove, writer: 'worker' },
    { ending: '-wal', name: 'replaced', change: replace, writer: 'auto' },
    { ending: '-shm', name: 'removed', change: remove, writer: 'auto' },
  ] as const

  it.each(cases)(
    '[SQ2] $ending $name (writer: $writer): nothing more is acknowledged, and nothing that was is lost after a kill',
    ({ ending, change, writer }) =>
      withDirectory(async (directory) => {
        const path = join(directory, 'store.db')
        const acknowledged = createAcknowledged()
        const end = await runChild(
          {
            path,
            seed,
            mode: 'append',
            writes: writer,
            killAt: 'error storage-failed',
            // It asks again and again for what failed: no answer may come from what it can still read.
            killAtCount: 20,
            onLine: (line) => {
              if (line.startsWith('ack a 30 ')) change(`${path}${ending}`)
            },
          },
          acknowledged,
        )
        const refused = end.lines.slice(end.lines.indexOf('error storage-failed'))
        expect(new Set(refused)).toEqual(new Set(['error storage-failed']))
        expect(refused.length).toBeGreaterThanOrEqual(20)
        expect(end.signal).toBe('SIGKILL')
        expect(await violations(path, acknowledged)).toEqual([])
      }),
  )
})

/** What a child that ends well asks of the disk and says, call by call. */
async function traced(directory: string, mode: 'steady' | 'soon'): Promise<string> {
  const path = join(directory, 'store.db')
  const trace = join(directory, 'trace')
  const calls = 'trace=pwrite64,write,fdatasync,fsync'
  const wrapper = ['strace', '-f', '-qq', '-y', '-s', '16', '-o', trace, '-e', calls]
  const end = await runChild({ path, seed, mode, wrapper }, createAcknowledged())
  expect(end).toMatchObject({ status: 0, errors: '' })
  return readFileSync(trace, 'utf8')
}

/** Counts lines that were said, and those said while the write-ahead log had writes that no sync had covered. */
function saidWhileDirty(trace: string, start: string): { said: number; dirty: number } {
  let isDirty = false
  let said = 0
  let dirty = 0
  /** Threads whose sync another thread interrupted: it ends on a line of its own, which names no file. */
  const syncing = new Set<string>()
  for (const line of trace.split('\n')) {
    const [thread = ''] = line.split(' ', 1)
    const isSync = /(fdatasync|fsync)\(\d+<[^>]*-wal>/.test(line)
    if (/pwrite64\(\d+<[^>]*-wal>/.test(line)) {
      isDirty = true
      // A sync that began before this write need not cover it.
      syncing.clear()
    } else if (isSync && line.includes('<unfinished')) syncing.add(thread)
    else if (isSync && / = 0$/.test(line)) isDirty = false
    else if (/<\.\.\. (fdatasync|fsync) resumed>.* = 0$/.test(line) && syncing.delete(thread))
      isDirty = false
    else if (/write\(1<[^>]*>, "/.test(line) && line.includes(`, "${start}`)) {
      said++
      if (isDirty) dirty++
    }
  }
  return { said, dirty }
}
