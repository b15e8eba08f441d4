// `oriel import` of exports, as its users run it.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { openThread, type ThreadInfo } from 'oriel'
import { describe, expect, it } from 'vitest'
import {
  entriesOf,
  examine,
  filesIn,
  fill,
  oriel,
  raw,
  secret,
  temporaryFolder,
  withStore,
} from '../../test/keeping.ts'

const folder = temporaryFolder()
const from = (): string => folder.file('from.db')
const to = (): string => folder.file('to/oriel.db')
const backup = (): string => folder.file('backup.jsonl')

async function exportTo(file: string, store: string, ...words: string[]): Promise<void> {
  expect((await oriel(['export', '--store', store, '--out', file, ...words])).code).toBe(0)
}

const run = (...words: string[]): ReturnType<typeof oriel> =>
  oriel(['import', backup(), '--store', to(), ...words])

async function threadsOf(store: string): Promise<readonly ThreadInfo[]> {
  return withStore(store, async (opened) => [
    ...(await opened.list('default')),
    ...(await opened.list('acme')),
  ])
}

/** A thread with everything that a log can hold. */
async function fillRichly(path: string): Promise<void> {
  await withStore(path, async (store) => {
    const thread = await openThread({ id: 'rich', store, policy: { history: { length: 1 } } })
    const call = { type: 'tool-call', callId: 'c1', name: 'read', arguments: '{"a":1e2}' }
    await thread.append([
      { role: 'user', content: 'Read it.\u2028\ud800', meta: { zero: -0, __proto__: null } },
      { role: 'assistant', content: [call] },
      { role: 'tool', content: [{ type: 'tool-result', callId: 'c1', content: 'x'.repeat(9000) }] },
      { role: 'assistant', content: 'Done.' },
      { id: 'mine', role: 'user', content: secret },
    ])
    const view = await thread.view({ frame: { system: 'Be brief.' } })
    await thread.usage({ prompt_tokens: 10, completion_tokens: 1 }, view.id)
    await thread.pin('mine')
    await thread.fork(4)
    await thread.settled()
  })
}

describe('an export', () => {
  it('comes back as it was: exported again it is the same file', async () => {
    await fill(from())
    await fillRichly(from())
    await exportTo(backup(), from())
    const { code, stdout, stderr } = await run()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('imported  thread third of tenant acme, 4 entries\n')
    const again = folder.file('again.jsonl')
    await exportTo(again, to())
    expect(readFileSync(again, 'utf8')).toBe(readFileSync(backup(), 'utf8'))
    expect((await examine(folder.file('to'))).code).toBe(0)
    const views = [from(), to()].map((path) =>
      withStore(path, async (store) => (await openThread({ id: 'rich', store })).view()),
    )
    const [before, after] = await Promise.all(views)
    expect(after).toEqual(before)
  })

  it('imported twice changes nothing', async () => {
    await fill(from())
    await exportTo(backup(), from())
    expect((await run()).code).toBe(0)
    const before = filesIn(folder.file('to'))
    const { code, stdout } = await run()
    expect(code).toBe(0)
    expect(stdout).toContain('already there  thread first, 6 entries\n')
    expect(stdout).not.toContain('imported')
    expect(filesIn(folder.file('to'))).toEqual(before)
  })

  it('continues a thread of which the store has the beginning, and leaves a longer one alone', async () => {
    await fill(from())
    await exportTo(backup(), from(), '--thread', 'first', '--until', '3')
    expect((await run()).stdout).toContain('imported  thread first, 3 entries\n')
    await exportTo(backup(), from(), '--thread', 'first')
    expect((await run()).stdout).toContain('continued  thread first, 3 entries added to 3\n')
    await exportTo(backup(), from(), '--thread', 'first', '--until', '5')
    const { code, stdout } = await run()
    expect(code).toBe(0)
    expect(stdout).toContain('already there  thread first, 5 entries, and 1 newer ones\n')
    const key = { tenant: 'default', thread: 'first' }
    const [before, after] = await Promise.all(
      [from(), to()].map((path) => withStore(path, (store) => entriesOf(store, key))),
    )
    expect(after).toEqual(before)
  })

  it('is refused where the id has other content, and goes under another id or tenant', async () => {
    await fill(from())
    await exportTo(backup(), from(), '--thread', 'first')
    await withStore(to(), async (store) => {
      await (await openThread({ id: 'first', store })).append({ role: 'user', content: 'Other.' })
    })
    const before = await threadsOf(to())
    const refused = await run()
    expect(refused.code).toBe(1)
    expect(refused.stdout).toContain(
      'refused  thread first: the store has it with other content; import it under another id with --thread\n',
    )
    expect(await threadsOf(to())).toEqual(before)
    expect((await run('--thread', '007')).stdout).toContain('imported  thread 007, 6 entries\n')
    expect((await run('--tenant', 'acme')).stdout).toContain('thread first of tenant acme')
    expect((await examine(folder.file('to'))).code).toBe(0)
  })

  it('of an erased thread stays out, unless it gets another id', async () => {
    await fill(from())
    await exportTo(backup(), from(), '--thread', 'first')
    await withStore(from(), (store) => store.erase({ tenant: 'default', thread: 'first' }))
    const { code, stdout } = await oriel(['import', backup(), '--store', from()])
    expect(code).toBe(1)
    expect(stdout).toContain('refused  thread first: it was erased from this store')
  })

  it('comes from standard input too', async () => {
    await fill(from())
    const { stdout } = await oriel(['export', '--store', from()])
    const { code } = await oriel(['import', '-', '--store', to()], { input: stdout })
    expect(code).toBe(0)
    expect(await threadsOf(to())).toHaveLength(3)
  })

  it('may be several exports in one file', async () => {
    await fill(from())
    await exportTo(backup(), from(), '--thread', 'first')
    const one = readFileSync(backup(), 'utf8')
    await exportTo(backup(), from(), '--thread', 'third')
    writeFileSync(backup(), one + readFileSync(backup(), 'utf8'))
    expect((await run()).code).toBe(0)
    expect(await threadsOf(to())).toHaveLength(2)
  })
})

describe('a damaged export', () => {
  type Change = (lines: readonly string[]) => readonly string[]

  let whole: readonly string[] | undefined

  async function wholeExport(): Promise<readonly string[]> {
    await fill(from())
    await exportTo(backup(), from())
    return readFileSync(backup(), 'utf8').trimEnd().split('\n')
  }

  // Line 1 opens `first`, 8 opens `second`, 15 opens `third`, 20 closes the file.
  it.each<[string, Change, string, number]>([
    [
      'a torn last line',
      (lines) => [...lines.slice(0, 17), (lines[17] as string).slice(0, 50)],
      'refused  thread third of tenant acme: line 18, the last one, is torn\n',
      2,
    ],
    [
      'a missing end',
      (lines) => lines.slice(0, 17),
      'refused  thread third of tenant acme: it has 2 of 4 entries\n',
      2,
    ],
    ['no closing line', (lines) => lines.slice(0, 19), 'note  the closing line is missing', 3],
    [
      'a changed entry',
      (lines) => lines.with(10, (lines[10] as string).replace('launch', 'lunch!')),
      'refused  thread second: line 11: entry 3 does not match its hash\n',
      2,
    ],
    [
      'entries in another order',
      (lines) => lines.with(10, lines[11] as string).with(11, lines[10] as string),
      'refused  thread second: line 11 holds entry 4 where entry 3 must be\n',
      2,
    ],
    [
      'a doubled entry',
      (lines) => lines.toSpliced(10, 0, lines[10] as string),
      'refused  thread second: line 12 holds entry 3 where entry 4 must be\n',
      2,
    ],
    [
      'a missing thread',
      (lines) => lines.toSpliced(7, 7),
      'note  the closing line counts 3 threads and 16 entries; the file has 2 and 10\n',
      2,
    ],
    [
      'another name',
      (lines) => lines.with(7, (lines[7] as string).replace('second', 'other')),
      'refused  thread other: its entries do not match the hash of the header\n',
      2,
    ],
    [
      'a later version',
      (lines) => lines.with(7, (lines[7] as string).replace('"version":1', '"version":2')),
      'refused  thread second: it has version 2, this Oriel knows 1\n',
      2,
    ],
    [
      'a line of something else',
      (lines) => lines.toSpliced(9, 0, '{"role":"user"}'),
      'refused  thread second: line 10 is not a line of an export\n',
      2,
    ],
    [
      'a broken line',
      (lines) => lines.with(9, '{'),
      'refused  thread second: line 10 is not JSON\n',
      2,
    ],
    [
      'a nest without end',
      (lines) => lines.with(10, nested(lines[10] as string)),
      'refused  thread second: line 11: entry 3 does not match its hash\n',
      2,
    ],
  ])('with %s is imported as far as it is whole', async (_, change, message, count) => {
    whole ??= await wholeExport()
    writeFileSync(backup(), change(whole).join('\n'))
    const { code, stdout } = await run()
    expect(stdout).toContain(message)
    expect(stdout).not.toContain(secret)
    expect(code).toBe(1)
    const threads = raw(to(), (database) => database.prepare('select * from threads').all())
    expect(threads).toHaveLength(count)
  })

  function nested(line: string): string {
    return line.replace(/"entry":\{/, `"entry":{"x":${'['.repeat(20_000)}${']'.repeat(20_000)},`)
  }
})

describe('what cannot be imported', () => {
  it.each([
    [[], 'name the file to import, or - for standard input.'],
    [['a', 'b'], 'a: there is no such file; check the path.'],
    [['a', 'b', '--thread', 't'], '--thread names one thread, and these are 2 files; name one.'],
    [['no-such-file'], 'no-such-file: there is no such file; check the path.'],
    [['a', '--format', 'x'], "--format cannot be 'x'; allowed: openai-chat"],
  ])('refuses %j', async (words, message) => {
    const { code, stdout, stderr } = await oriel(['import', ...words, '--store', to()])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.startsWith(`oriel: ${message}`)).toBe(true)
    expect(existsSync(to())).toBe(false)
  })

  it('refuses one id for several threads', async () => {
    await fill(from())
    await exportTo(backup(), from())
    const { code, stderr } = await run('--thread', 'x')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'oriel: --thread names one thread; the file holds 3 threads.\n',
    })
    expect(existsSync(to())).toBe(false)
  })

  it('refuses a file without a conversation, and makes no store', async () => {
    writeFileSync(backup(), 'Hello.')
    expect((await run()).code).toBe(2)
    writeFileSync(backup(), '')
    expect((await run()).stderr).toContain('no conversation found')
    expect(existsSync(to())).toBe(false)
  })
})
