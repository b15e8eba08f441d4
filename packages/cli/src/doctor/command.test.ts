// `oriel doctor` as its users run it, on real files, sound and damaged.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openThread } from 'oriel'
import { describe, expect, it } from 'vitest'
import {
  type DoctorJson,
  examine as examineAt,
  filesIn,
  fill,
  flip,
  oriel,
  raw,
  rowOf,
  secret,
  temporaryFolder,
  withStore,
} from '../../test/keeping.ts'

const folder = temporaryFolder()
const path = (): string => folder.file('oriel.db')
const examine = (...words: string[]): ReturnType<typeof examineAt> =>
  examineAt(folder.path, ...words)

describe('a sound store', () => {
  it('gets exit code 0, and stays as it is', async () => {
    await fill(path())
    const before = filesIn(folder.path)
    const { code, stdout, stderr } = await oriel(['doctor', '--data', folder.path])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`oriel doctor  ${path()}\n`)
    expect(stdout).toMatch(/^ {2}threads {2}3$/m)
    expect(stdout).toMatch(/^ {2}entries {2}16$/m)
    expect(stdout).toContain('sound  every entry is there')
    expect(filesIn(folder.path)).toEqual(before)
    expect(readdirSync(folder.path)).toHaveLength(2)
  })

  it('is found by --store too, and looked at by tenant and thread', async () => {
    await fill(path())
    const words = ['doctor', '--store', path(), '--json']
    const counted = async (...more: string[]): Promise<unknown> =>
      (JSON.parse((await oriel([...words, ...more])).stdout) as DoctorJson).counts
    expect(await counted('--tenant', 'acme')).toMatchObject({ threads: 1, entries: 4 })
    expect(await counted('--thread', 'first', '--thread', 'third')).toMatchObject({ threads: 2 })
  })

  it('may hold erased threads, and threads that count tokens by a counter of their own', async () => {
    await fill(path())
    await withStore(path(), async (store) => {
      await store.erase({ tenant: 'default', thread: 'first' })
      const tokens = { name: 'letters', count: (text: string) => text.length }
      const thread = await openThread({ id: 'own', store, tokens })
      await thread.append({ role: 'user', content: 'Hello.' })
    })
    const { code, report } = await examine()
    expect(code).toBe(0)
    expect(report.counts).toEqual({ threads: 4, entries: 19, damaged: 0, erased: 1 })
  })

  it('names a thread as it was typed, also where it looks like a number', async () => {
    await withStore(path(), async (store) => {
      for (const id of ['007', '7', '1e3']) {
        const thread = await openThread({ id, store })
        await thread.append([
          { role: 'user', content: id },
          { role: 'user', content: id },
        ])
      }
    })
    flipUser('007')
    expect((await examine('--thread', '7')).code).toBe(0)
    expect((await examine('--thread=1e3')).code).toBe(0)
    expect((await examine('--thread', '007')).code).toBe(1)
  })
})

it('has no field in its JSON that the guide does not name', async () => {
  await fill(path())
  flip(path(), 'first', 3)
  const guide = readFileSync(join(import.meta.dirname, '../../../../docs/guides/keep.md'), 'utf8')
  const { report } = await examine()
  const fields = [report, report.settings, report.counts, report.problems[0]].flatMap((value) =>
    Object.keys(value ?? {}),
  )
  expect(fields.filter((field) => !guide.includes(`\`${field}\``))).toEqual([])
})

describe('a damaged thread', () => {
  it('is named by id and entry, and does not touch the others', async () => {
    await fill(path())
    flip(path(), 'second', 3)
    const { code, report } = await examine()
    expect(code).toBe(1)
    expect(report.counts).toEqual({ threads: 3, entries: 16, damaged: 1, erased: 0 })
    expect(report.problems).toEqual([
      {
        code: 'corrupt-entry',
        tenant: 'default',
        thread: 'second',
        seq: 3,
        message: 'The entry does not match its hash.',
        remedy: 'import a backup of it under another id, or what stands before',
        command: `oriel export --thread second --until 2 --out rescued.jsonl --store ${path()}`,
      },
    ])
    const { stdout } = await oriel(['doctor', '--data', folder.path])
    expect(stdout).toContain('1 problem  in 1 thread; all others can be used\n')
    expect(stdout).toContain('corrupt-entry  thread second, entry 3\n')
    expect(stdout).toContain('oriel export --thread second --until 2 --out rescued.jsonl --store')
    expect(stdout).not.toContain(secret)
    expect((await examine('--thread', 'first')).code).toBe(0)
  })

  it('may lack entries in the middle, or at its end', async () => {
    await fill(path())
    raw(path(), (database) => {
      database.exec(`delete from entries where ${rowOf('first', 4)}`)
      database.exec(`delete from entries where ${rowOf('second', 6)}`)
    })
    const { code, report } = await examine()
    expect(code).toBe(1)
    expect(report.problems).toMatchObject([
      { code: 'gap', thread: 'first', seq: 4 },
      { code: 'log-truncated', thread: 'second', seq: 6 },
    ])
  })

  it('may have a strange name, which does not steer the terminal or the shell', async () => {
    const id = "a'b\u001b[2J\u202eevil"
    await withStore(path(), async (store) => {
      const thread = await openThread({ id, tenant: 'x y', store })
      await thread.append([
        { role: 'user', content: secret },
        { role: 'user', content: secret },
      ])
    })
    flipUser(id)
    for (const words of [[], ['--json']]) {
      const { code, stdout } = await oriel(['doctor', '--data', folder.path, ...words])
      expect(code).toBe(1)
      expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    }
    const { report } = await examine()
    expect(report.problems[0]?.command).toContain(`--tenant 'x y' --thread 'a'\\''b`)
  })
})

describe('a file with damaged pages', () => {
  it('is reported, however much of it can still be read', async () => {
    await fill(path())
    const bytes = readFileSync(path())
    const found = new Set<number>()
    // One page after the other: tables and indexes alike. The first holds the schema.
    for (let page = 1; page < bytes.length / 4096; page++) {
      const damaged = Buffer.from(bytes)
      damaged.fill(0xa5, page * 4096 + 8, page * 4096 + 200)
      writeFileSync(path(), damaged)
      const { code, stdout, stderr } = await oriel(['doctor', '--data', folder.path])
      if (code !== 0) found.add(page)
      expect(stdout + stderr).not.toContain('this is a bug')
      expect(stdout + stderr).not.toContain(secret)
    }
    // Pages that no table uses yet hold nothing that could be lost.
    expect(found.size).toBeGreaterThan(5)
  })
})

describe('what cannot be looked at', () => {
  it.each([
    ['a missing file', () => {}, /there is no store at .*; name one with --data or --store/],
    ['an empty file', () => writeFileSync(path(), ''), /is not a store of Oriel/],
    ['a text', () => writeFileSync(path(), 'Hello.'.repeat(1000)), /is not a store of Oriel/],
    [
      'a database of another program',
      () => raw(path(), (database) => database.exec('create table t (x)')),
      /is not a store of Oriel/,
    ],
    [
      'a store of a later version',
      async () => {
        await fill(path())
        raw(path(), (database) => database.exec('pragma user_version = 999'))
      },
      /has schema 999; this version of Oriel knows/,
    ],
  ])('%s gets exit code 2 and stays as it is', async (_, make, message) => {
    await make()
    const before = existsSync(path()) ? readFileSync(path(), 'base64') : undefined
    const { code, stdout, stderr } = await oriel(['doctor', '--data', folder.path])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(message)
    expect(existsSync(path()) ? readFileSync(path(), 'base64') : undefined).toBe(before)
  })

  it.each([
    [['--data', 'a', '--store', 'b'], '--data and --store both name a store; give one of them.'],
    [['--store', 'mysql://host'], '--store takes the path of a SQLite file'],
    [['--tenant', 'a', '--tenant', 'b'], '--tenant takes one value; give it once.'],
    [['--thread', ''], '--thread must not be empty.'],
    [['--data'], '--data needs a value: --data <folder>'],
    [['somewhere'], "oriel doctor takes options only; got 'somewhere'."],
  ])('refuses %j', async (words, message) => {
    const { code, stderr } = await oriel(['doctor', ...words])
    expect(code).toBe(2)
    expect(stderr.startsWith(`oriel: ${message}`)).toBe(true)
  })

  it('refuses a thread that is not there', async () => {
    await fill(path())
    const { code, stderr } = await oriel(['doctor', '--data', folder.path, '--thread', 'x'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'oriel: there is no thread x; leave --thread out to check all.\n',
    })
  })
})

/** Changes a byte of the second message of a thread. */
function flipUser(thread: string): void {
  raw(path(), (database) => {
    database
      .prepare(
        `update entries set body = replace(body, '"user"', '"usex"')
         where seq = 3 and thread = (select id from threads where thread = ?)`,
      )
      .run(thread)
  })
}
