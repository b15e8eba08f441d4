// `oriel import` of histories in the providers' formats.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type FormatName, openThread } from 'oriel'
import { describe, expect, it } from 'vitest'
import { describeRecorded } from '../../../../scripts/recorded.ts'
import { examine, filesIn, oriel, secret, temporaryFolder, withStore } from '../../test/keeping.ts'

const folder = temporaryFolder()
const path = (): string => folder.file('oriel.db')

function fileOf(...values: readonly unknown[]): string {
  const file = folder.file('history.jsonl')
  writeFileSync(file, values.map((value) => `${JSON.stringify(value)}\n`).join(''))
  return file
}

const run = (file: string, ...words: string[]): ReturnType<typeof oriel> =>
  oriel(['import', file, '--data', folder.path, ...words])

function idsIn(stdout: string): string[] {
  return [...stdout.matchAll(/(?:imported|already there) {2}thread (\S+),/g)].map(
    ([, id]) => id as string,
  )
}

async function messagesIn(id: string, format: FormatName): Promise<unknown> {
  return withStore(path(), async (store) => {
    const thread = await openThread({ id, store })
    return (await thread.view({ format, dryRun: true })).messages
  })
}

const chat = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: secret },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'Nothing.' },
  { role: 'assistant', content: 'Nothing there.' },
  { role: 'user', content: 'Thanks.' },
]

const anthropic = [
  { role: 'user', content: secret },
  {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'c1', name: 'look', input: { deep: [1, null] } }],
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'Nothing.' }] },
]

const responses = [
  { role: 'user', content: secret },
  { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c1', output: 'Nothing.' },
]

describe('several files', () => {
  it('are imported one after the other, those of a folder too', async () => {
    const place = folder.file('sessions')
    mkdirSync(place)
    writeFileSync(join(place, 'a.json'), JSON.stringify(chat))
    writeFileSync(join(place, 'b.json'), JSON.stringify(anthropic))
    writeFileSync(join(place, 'notes.txt'), 'no transcript')
    const { code, stdout } = await run(place)
    expect(code).toBe(0)
    expect(idsIn(stdout)).toHaveLength(2)
    const { stdout: again } = await run(join(place, 'a.json'), join(place, 'b.json'), '--json')
    const { isComplete, files } = JSON.parse(again) as {
      readonly isComplete: boolean
      readonly files: readonly { readonly file: string }[]
    }
    expect({ isComplete, files: files.map(({ file }) => file) }).toEqual({
      isComplete: true,
      files: [join(place, 'a.json'), join(place, 'b.json')],
    })
  })
})

describe('a history', () => {
  it.each<[FormatName, object, readonly unknown[]]>([
    ['openai-chat', { messages: chat }, chat],
    ['anthropic', { messages: anthropic }, anthropic],
    ['openai-responses', { input: responses }, responses],
  ])('of %s becomes a thread that gives it back', async (format, body, messages) => {
    const file = fileOf(body)
    const { code, stdout, stderr } = await run(file)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [id = ''] = idsIn(stdout)
    expect(id).toMatch(/^h[0-9a-f]{32}$/)
    expect(stdout).toContain(`${messages.length} messages of conversation #1, ${format}\n`)
    expect(stdout).not.toContain(secret)
    expect(await messagesIn(id, format)).toEqual(messages)
    expect((await examine(folder.path)).code).toBe(0)
  })

  it('imported twice changes nothing, also after the thread has gone on', async () => {
    const file = fileOf({ messages: chat })
    const [id = ''] = idsIn((await run(file)).stdout)
    const before = filesIn(folder.path)
    const again = await run(file)
    expect(again.code).toBe(0)
    expect(again.stdout).toContain(`already there  thread ${id}, 6 messages of conversation #1`)
    expect(filesIn(folder.path)).toEqual(before)
    await withStore(path(), async (store) => {
      await (await openThread({ id, store })).append({ role: 'assistant', content: 'Welcome.' })
    })
    expect((await run(file)).stdout).toContain('already there')
  })

  it('has the id of its content, whatever the order of keys; another content has another', async () => {
    const [first, ...others] = chat
    const turned = [{ content: first?.content, role: first?.role }, ...others]
    const file = fileOf({ id: 'a', messages: chat }, { id: 'b', messages: turned }, [chat[1]])
    const { code, stdout } = await run(file)
    expect(code).toBe(0)
    const [one, same, other] = idsIn(stdout)
    expect(same).toBe(one)
    expect(other).not.toBe(one)
    expect(stdout).toContain('6 messages of conversation #1 (a), openai-chat\n')
    expect(stdout).toMatch(/already there .*conversation #2 \(b\)/)
  })

  it('goes under an id of choice, unless that has other content', async () => {
    const file = fileOf({ messages: chat })
    expect((await run(file, '--thread', '007')).stdout).toContain('imported  thread 007, 6')
    expect((await run(file, '--thread', '007')).stdout).toContain('already there  thread 007, 6')
    const other = await run(fileOf({ messages: anthropic }), '--thread', '007')
    expect(other.code).toBe(1)
    expect(other.stdout).toContain(
      'refused  conversation #1: the store has a thread of that id with other content',
    )
    const longer = [...chat, { role: 'assistant', content: 'Welcome.' }]
    expect((await run(fileOf({ messages: longer }), '--thread', '007')).code).toBe(1)
  })

  it('that is one of several takes no id', async () => {
    const { code, stderr } = await run(
      fileOf({ messages: chat }, { messages: anthropic }),
      '--thread',
      'x',
    )
    expect(code).toBe(2)
    expect(stderr).toContain('--thread names one thread; the file holds several conversations.')
    expect(existsSync(path())).toBe(false)
  })

  it('leaves its frame to the caller, and says so', async () => {
    const { code, stdout } = await run(fileOf({ system: secret, messages: anthropic }))
    expect(code).toBe(0)
    expect(stdout).toContain('note  system text and tools beside the messages were left out')
    expect(stdout).not.toContain(secret)
  })

  it('that cannot be read is refused, and the others are imported', async () => {
    const bad = { messages: [{ role: 'user', content: 7 }] }
    const { code, stdout } = await run(fileOf(bad, { messages: [] }, { messages: chat }))
    expect(code).toBe(1)
    expect(stdout).toContain('refused  conversation #1: ')
    expect(stdout).toContain('refused  conversation #2: it has no messages\n')
    expect(idsIn(stdout)).toHaveLength(1)
  })

  it('is never imported without its torn last line', async () => {
    const file = fileOf(...chat)
    writeFileSync(file, `${readFileSync(file, 'utf8')}{"role": "assist`)
    const { code, stdout } = await run(file)
    expect(code).toBe(1)
    expect(stdout).toContain('refused  conversation #1: its last line is torn')
    expect(stdout).toContain('line 7, the last one, is torn')
    expect(existsSync(path())).toBe(false)
  })

  it('is not affected by a torn line of another conversation', async () => {
    const file = fileOf({ messages: chat })
    writeFileSync(file, `${readFileSync(file, 'utf8')}{"messages": [{"role": "us`)
    const { code, stdout } = await run(file)
    expect(code).toBe(1)
    expect(idsIn(stdout)).toHaveLength(1)
    expect(stdout).toContain('line 2, the last one, is torn')
  })

  it('comes from standard input too', async () => {
    const text = JSON.stringify(chat)
    const { code, stdout } = await oriel(['import', '-', '--data', folder.path], { input: text })
    expect(code).toBe(0)
    expect(stdout).toContain('oriel import  standard input\n')
    expect(idsIn(stdout)).toEqual(idsIn((await run(fileOf(chat))).stdout))
  })
})

describeRecorded('recorded conversations', ({ files }) => {
  // One file of each set is enough: every conversation of it is imported and exported twice.
  it.each(
    files.filter(({ name }) => /pi-mono|-agent\.jsonl$/.test(name) && !name.includes('mini-swe')),
  )('become sound threads that survive an export: $name', async ({ path: file }) => {
    const { code, stdout } = await run(file)
    expect(code).toBe(0)
    const again = await run(file)
    expect(idsIn(again.stdout)).toEqual(idsIn(stdout))
    expect(again.stdout).not.toContain('imported')
    expect((await examine(folder.path)).code).toBe(0)
    const [one, two] = [folder.file('1.jsonl'), folder.file('2.jsonl')]
    const other = folder.file('other.db')
    expect((await oriel(['export', '--data', folder.path, '--out', one])).code).toBe(0)
    expect((await oriel(['import', one, '--store', other])).code).toBe(0)
    expect((await oriel(['export', '--store', other, '--out', two])).code).toBe(0)
    expect(readFileSync(two).equals(readFileSync(one))).toBe(true)
  })
})
