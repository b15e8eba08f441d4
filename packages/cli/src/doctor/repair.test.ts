// What `oriel doctor --repair` does, and that it does nothing else.

import { chmodSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { openThread } from 'oriel'
import { describe, expect, it } from 'vitest'
import {
  examine as examineAt,
  filesIn,
  fill,
  oriel,
  raw,
  temporaryFolder,
  tornStore,
  withStore,
} from '../../test/keeping.ts'

const folder = temporaryFolder()
const path = (): string => folder.file('oriel.db')
const examine = (...words: string[]): ReturnType<typeof examineAt> =>
  examineAt(folder.path, ...words)

describe('a log that lost its end', () => {
  const tear = (): Promise<void> => tornStore(path())

  const own = (): Record<string, string> =>
    Object.fromEntries(
      Object.entries(filesIn(folder.path)).filter(([name]) => name.startsWith('oriel.db')),
    )

  it('is noticed, and nothing is touched unless a repair is asked for and confirmed', async () => {
    await tear()
    const before = own()
    const { code, report } = await examine()
    expect(code).toBe(1)
    expect(report.problems).toMatchObject([
      { code: 'log-truncated', command: `oriel doctor --repair --store ${path()}` },
    ])
    // What is left can be read, and is looked at.
    expect(report.counts).toMatchObject({ threads: 1, entries: 5, damaged: 0 })
    expect(own()).toEqual(before)
    for (const input of ['n\n', '', 'maybe\n']) {
      const { code, stderr } = await oriel(['doctor', '--data', folder.path, '--repair'], { input })
      expect(code).toBe(1)
      expect(stderr).toMatch(/take what is left as the whole log.*Go on\? \[y\/N\] $/s)
    }
    expect(own()).toEqual(before)
  })

  it.each([
    ['confirmed', [], 'y\n'],
    ['ordered', ['--yes'], ''],
  ])('is repaired when that is %s, after a copy of everything', async (_, words, input) => {
    await tear()
    const before = own()
    const repair = ['doctor', '--data', folder.path, '--repair', ...words]
    const { code, stdout } = await oriel(repair, { input })
    expect(stdout).toContain('repaired  What is left is now the whole log.')
    expect(code).toBe(0)
    const copies = Object.entries(own()).filter(([name]) => name.includes('.bak-'))
    const renamed = copies.map(([name, bytes]) => [name.replace(/\.bak-\d{8}T\d{6}Z/, ''), bytes])
    expect(Object.fromEntries(renamed)).toEqual(before)
    for (const [name] of copies) expect(statSync(folder.file(name)).mode & 0o777).toBe(0o600)
    expect((await examine()).code).toBe(0)
    await withStore(path(), async (store) => {
      const thread = await openThread({ id: 'torn', store })
      expect(await thread.append({ role: 'user', content: 'On we go.' })).toHaveLength(1)
    })
  })

  it('has nothing to repair where nothing is wrong', async () => {
    await fill(path())
    const before = filesIn(folder.path)
    const { code, stderr } = await oriel(['doctor', '--data', folder.path, '--repair'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(filesIn(folder.path)).toEqual(before)
  })
})

describe.skipIf(process.platform === 'win32')('files that others may read', () => {
  it('are a problem, and are made private on request', async () => {
    await fill(path())
    chmodSync(path(), 0o644)
    chmodSync(`${path()}-high-water`, 0o620)
    const { code, report } = await examine()
    expect(code).toBe(1)
    expect(report.problems).toMatchObject([{ code: 'file-mode' }])
    const repaired = await oriel(['doctor', '--data', folder.path, '--repair', '--yes'])
    expect(repaired.code).toBe(0)
    for (const name of readdirSync(folder.path)) {
      expect(statSync(folder.file(name)).mode & 0o777).toBe(0o600)
    }
    expect(readdirSync(folder.path).some((name) => name.includes('.bak'))).toBe(false)
  })
})

it('says when another program changed the journal mode', async () => {
  await fill(path())
  raw(path(), (database) => database.exec('pragma journal_mode = delete'))
  const { code, report } = await examine()
  expect(code).toBe(1)
  expect(report.problems).toMatchObject([{ code: 'settings' }])
  expect((await examine()).code).toBe(0)
})

it('a folder that everybody may write to, and a link in place of the database, are problems', async () => {
  await fill(path())
  chmodSync(folder.path, 0o777)
  const open = await examine()
  expect(open.code).toBe(1)
  expect(open.report.problems).toMatchObject([
    { code: 'file-mode', command: expect.stringContaining('chmod 700') },
  ])
  chmodSync(folder.path, 0o700)
  const link = folder.file('link.db')
  symlinkSync(path(), link)
  const { code, stdout } = await oriel(['doctor', '--store', link, '--json'])
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({ problems: [{ code: 'file-link' }] })
})

it('a mark without its database says what to remove or to put back', async () => {
  await fill(path())
  rmSync(path())
  const message = await withStore(path(), (store) => store.list('default')).then(
    () => 'opened',
    (error: Error) => error.message,
  )
  expect(message).toContain(`If you removed the database on purpose, remove ${path()}-high-water`)
  const { report } = await examine()
  expect(report.problems).toMatchObject([{ code: 'log-truncated', message }])
  rmSync(path())
  rmSync(`${path()}-high-water`)
  expect(await withStore(path(), (store) => store.list('default'))).toEqual([])
})
