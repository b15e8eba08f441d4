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
import { project } from '../project.ts'
import { sha256 } from '../sha256.ts'
import { memoryStore } from '../stores/memory.ts'
import type { ThreadEvent } from './events.ts'
import { openThread } from './thread.ts'

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
})
