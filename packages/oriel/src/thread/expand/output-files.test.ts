import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { project } from '../../project.ts'
import { sha256 } from '../../sha256.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { eraseOlderThan, eraseTenant, eraseThread } from '../erase.ts'
import type { ThreadEvent } from '../events.ts'
import { openThread } from '../thread.ts'

const large = Array.from({ length: 400 }, (_, n) => `line ${n} needle-${n}`).join('\n')
const messages = (content = large, id = '../../etc/passwd') => [
  { role: 'user', content: 'go' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name: '../../x', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: id, content },
]

describe('outputs as files', () => {
  let root = ''
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'oriel-outputs-'))
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  const run = async (directory: string, content = large) => {
    const events: ThreadEvent[] = []
    const thread = await openThread({
      id: 't',
      store: memoryStore(),
      policy: { toolOutput: { largeOutputThreshold: 1000, directory } },
      on: (event) => events.push(event),
    })
    await thread.append(messages(content), { format: 'openai-chat' })
    const view = await thread.view<{ content: string }>()
    const text = String(view.messages[2]?.content)
    const failures = events.filter(({ type }) => type === 'job-failed')
    return { thread, text, failures }
  }

  it('[B4] are named by their hash, readable by us alone, and named in the notice', async () => {
    const directory = join(root, 'a', 'outputs')
    const mask = process.umask(0)
    const { text, failures, thread } = await run(directory).finally(() => process.umask(mask))
    const path = join(directory, `${sha256(large)}.txt`)
    expect(failures).toEqual([])
    expect(text).toMatch(/^\[tool output too large: \d+ chars\]\nSaved to: /)
    expect(text.split('\n')[1]).toBe(`Saved to: ${path}`)
    expect(text).toContain(`SHA256: ${sha256(large)}`)
    expect(readFileSync(path, 'utf8')).toBe(large)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(readdirSync(directory)).toEqual([`${sha256(large)}.txt`])
    expect(await thread.view()).toMatchObject({ epoch: { applied: 0 } })
  })

  it('[B4] the same output is kept once', async () => {
    const directory = join(root, 'outputs')
    const first = await run(directory)
    const second = await run(directory)
    expect(second.failures).toEqual([])
    expect(second.text).toBe(first.text)
  })

  it('[B5] what was cut is read back by handle, by lines and by search, from the log', async () => {
    const { thread, text } = await run(join(root, 'outputs'))
    const id = /expand (e\w+),/.exec(text)?.[1] ?? ''
    expect(await thread.expand(id)).toEqual({ ok: true, text: large })
    expect(await thread.expand(id, { lines: [3, 4] })).toEqual({
      ok: true,
      text: 'line 3 needle-3\nline 4 needle-4',
    })
    expect(await thread.expand(id, { query: 'NEEDLE-399' })).toEqual({
      ok: true,
      text: '399: line 399 needle-399',
    })
    rmSync(root, { recursive: true, force: true })
    expect(await thread.expand(id)).toEqual({ ok: true, text: large })
  })

  it.runIf(process.getuid !== undefined).each([
    ['is open to others', (path: string) => mkdirSync(path) ?? chmodSync(path, 0o777)],
    ['is a link', (path: string) => mkdirSync(`${path}2`) ?? symlinkSync(`${path}2`, path)],
    ['is a file', (path: string) => writeFileSync(path, '')],
  ])(
    '[B6] nothing is written where the directory %s, and the notice says so',
    async (_name, make) => {
      const directory = join(root, 'outputs')
      make(directory)
      const { text, failures, thread } = await run(directory)
      expect(text).toMatch(/\nNot saved as a file \(.*\); the log has it\.\nSHA256: /)
      expect(failures).toHaveLength(1)
      const files = readdirSync(root, { recursive: true, withFileTypes: true })
      expect(files.filter((file) => file.name.endsWith('.txt'))).toEqual([])
      const id = /expand (e\w+),/.exec(text)?.[1] ?? ''
      expect(await thread.expand(id)).toEqual({ ok: true, text: large })
    },
  )

  it('[B4] a directory is made with its parents', async () => {
    const directory = join(root, 'a', 'b', 'outputs')
    const { failures } = await run(directory)
    expect(failures).toEqual([])
    expect(readdirSync(directory)).toEqual([`${sha256(large)}.txt`])
  })

  it.skipIf(!existsSync('/proc/self'))(
    '[B6] a place where nothing can be made does not hold up the view',
    async () => {
      const { text, failures } = await run('/proc/oriel/outputs')
      expect(text).toMatch(/\nNot saved as a file \(ENOENT\); the log has it\.\nSHA256: /)
      expect(failures).toHaveLength(1)
    },
  )

  it('[B6] a file that another made is neither overwritten nor followed', async () => {
    const directory = join(root, 'outputs')
    mkdirSync(directory, { mode: 0o700 })
    const victim = join(root, 'victim')
    writeFileSync(victim, 'mine')
    symlinkSync(victim, join(directory, `${sha256(large)}.txt`))
    const { text, failures } = await run(directory)
    expect(text).toMatch(/Not saved as a file/)
    expect(failures).toHaveLength(1)
    expect(readFileSync(victim, 'utf8')).toBe('mine')
  })

  it('[B4] a projection writes nothing and names no file', () => {
    const directory = join(root, 'outputs')
    const { messages: sent } = project(messages(), {
      toolOutput: { largeOutputThreshold: 1000, directory },
    })
    expect(sent[2]?.content).toMatch(/^\[tool output too large: \d+ chars\]\nSHA256: /)
    expect(readdirSync(root)).toEqual([])
  })

  it('[B7] go with the thread that they were written for, and with a tenant', async () => {
    const directory = join(root, 'outputs')
    const store = memoryStore()
    const own = { toolOutput: { largeOutputThreshold: 1000, directory } }
    const other = join(root, 'others')
    const once = { toolOutput: { largeOutputThreshold: 1000, directory: other } }
    const talk = async (id: string, name: string) => {
      const thread = await openThread({ id, store, policy: own })
      await thread.append(messages(`${name} ${large}`), { format: 'openai-chat' })
      // A request that is not kept, with another directory.
      await thread.view({ policy: once })
      await thread.view()
      return thread
    }
    const thread = await talk('t', 'first')
    await talk('u', 'second')
    writeFileSync(join(directory, `${'0'.repeat(64)}.txt`), 'not ours')
    const last = (await thread.log()).at(-1)?.seq ?? 0
    const fork = await thread.fork(last)
    await eraseThread({ store, id: fork.id })
    expect(readdirSync(directory)).toHaveLength(3)
    await eraseThread({ store, id: 't' })
    expect(readdirSync(other)).toEqual([`${sha256(`second ${large}`)}.txt`])
    const left = [`${'0'.repeat(64)}.txt`, `${sha256(`second ${large}`)}.txt`]
    expect(readdirSync(directory).sort()).toEqual(left.sort())
    await eraseTenant({ store, tenant: 'default' })
    expect(readdirSync(directory)).toEqual([`${'0'.repeat(64)}.txt`])
  })

  it('[B7] go with a thread that grew old, and with one that was written before files were noted', async () => {
    const directory = join(root, 'outputs')
    const { thread } = await run(directory)
    const store = memoryStore()
    const header = { tenant: 'default', thread: 'copy' }
    // As an earlier version wrote it: the notice alone names the file.
    const entries = (await thread.log()).filter(
      (entry) => !(entry.type === 'setting' && entry.name.startsWith('output-file/')),
    )
    const numbered = entries.map((entry, index) => ({ ...entry, seq: index + 1 }))
    await store.append(header, numbered, 0)
    expect(readdirSync(directory)).toHaveLength(1)
    await eraseOlderThan({ store, maxAgeMs: 0, now: () => Date.now() + 1000 })
    expect(readdirSync(directory)).toEqual([])
  })

  it('[B7] leave nothing behind when the thread is erased while they are written', async () => {
    for (let round = 0; round < 20; round++) {
      const directory = join(root, `outputs-${round}`)
      const store = memoryStore()
      const policy = { toolOutput: { largeOutputThreshold: 1000, directory } }
      const thread = await openThread({ id: 't', store, policy })
      await thread.append(messages(), { format: 'openai-chat' })
      const viewing = thread.view()
      for (let turn = 0; turn < round; turn++) await new Promise(setImmediate)
      await Promise.allSettled([eraseThread({ store, id: 't' }), viewing])
      expect(existsSync(directory) ? readdirSync(directory) : []).toEqual([])
    }
  })

  it('[B7] are found when a view writes them after the log was read for files', async () => {
    const directory = join(root, 'outputs')
    const store = memoryStore()
    const policy = { toolOutput: { largeOutputThreshold: 1000, directory } }
    const thread = await openThread({ id: 't', store, policy })
    await thread.append(messages(), { format: 'openai-chat' })
    let reads = 0
    const slow = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'read') return value.bind(target)
        return async function* (...given: Parameters<typeof store.read>) {
          yield* target.read(...given)
          reads += 1
          // The first reading looks for forks, the second for files.
          if (reads === 2) await thread.view()
        }
      },
    })
    await eraseThread({ store: slow, id: 't' })
    expect(reads).toBeGreaterThan(2)
    expect(readdirSync(directory)).toEqual([])
  })
})
