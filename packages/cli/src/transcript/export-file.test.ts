import { readFileSync } from 'node:fs'
import { openThread, type PolicyInput, type Thread } from 'oriel'
import { describe, expect, it } from 'vitest'
import { oriel, temporaryFolder, withStore } from '../../test/keeping.ts'
import type { Conversation } from './conversation.ts'
import { readTranscripts } from './read.ts'

const folder = temporaryFolder()
const page = 'A long page of text. '.repeat(100)
const tools = [{ name: 'read', input_schema: { type: 'object' } }]
/** By it a view shows none of the results that were answered. */
const policy: PolicyInput = { toolResults: { strategy: 'dropAll', cutoff: 0 } }

const anthropic = [
  { role: 'user', content: 'Read it.' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'read', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: page }] },
  { role: 'assistant', content: [{ type: 'text', text: 'It is long.' }] },
]
const chat = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hello.' },
  { role: 'assistant', content: 'Good morning.', refusal: null },
]

/** Writes threads, exports them, and gives the file. */
async function exported(use: (open: (id: string) => Promise<Thread>) => Promise<void>) {
  await withStore(folder.file('oriel.db'), (store) =>
    use((id) => openThread({ id, store, policy })),
  )
  const out = folder.file('threads.jsonl')
  const { code } = await oriel(['export', '--data', folder.path, '--out', out])
  expect(code).toBe(0)
  return out
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function read(file: string): Promise<readonly Conversation[]> {
  const found: Conversation[] = []
  const options = { stdin: nothing(), onNote: () => {} }
  for await (const one of readTranscripts([file], options)) found.push(one)
  return found
}

async function fill(open: (id: string) => Promise<Thread>): Promise<void> {
  const one = await open('one')
  await one.request([...anthropic, { role: 'user', content: 'So?' }], {
    format: 'anthropic',
    frame: { system: 'Be kind.', tools },
  })
  await (await open('silent')).append({
    role: 'system',
    content: 'A note.',
    audience: { now: false, later: false, person: true },
  })
  await (await open('two')).sync(chat, { format: 'openai-chat' })
}

describe('an export', () => {
  it('is read as what was said in each thread, in the format in which it came', async () => {
    const found = await read(await exported(fill))
    expect(found.map(({ id, detection, messages }) => [id, detection.format, messages])).toEqual([
      ['one', 'anthropic', [...anthropic, { role: 'user', content: 'So?' }]],
      ['two', 'openai-chat', chat],
    ])
    expect(found[0]?.frame).toEqual({ system: 'Be kind.', tools })
  })

  it('is inspected and simulated like any other transcript', async () => {
    const file = await exported(fill)
    const inspected = await oriel(['inspect', file, '--json'])
    expect(inspected.code).toBe(0)
    expect(JSON.parse(inspected.stdout)).toMatchObject({ totals: { conversations: 2 } })
    const simulated = await oriel(['simulate', file, '--json', '--workers', '1'])
    expect(simulated.code).toBe(0)
  })

  it('is read as far as it goes where it was cut off, and refused where it was changed', async () => {
    const text = readFileSync(await exported(fill), 'utf8')
    const behind = text.indexOf('{"oriel":"export"', 1)
    const cut = await oriel(['inspect', '-', '--json'], { input: text.slice(0, behind + 40) })
    expect(cut.code).toBe(0)
    expect(cut.stdout).toContain('the last one, is torn and was skipped')
    const changed = await oriel(['inspect', '-'], { input: text.replace('"seq":2', '"seq":"2"') })
    expect(changed.code).toBe(2)
    expect(changed.stderr).toContain('line 3 is not of an export')
  })
})
