import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OrielError } from 'oriel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Conversation } from './conversation.ts'
import { type Note, type ReadOptions, readTranscripts } from './read.ts'

const hello = { role: 'user', content: 'Hello.' }
const answer = { role: 'assistant', content: 'Good morning.' }

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oriel-read-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

async function* streamOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

interface Read {
  readonly conversations: readonly Conversation[]
  readonly notes: readonly Note[]
}

async function readText(text: string, options: Partial<ReadOptions> = {}): Promise<Read> {
  const notes: Note[] = []
  const conversations: Conversation[] = []
  const stdin = streamOf(text)
  const onNote = (note: Note): number => notes.push(note)
  for await (const one of readTranscripts(['-'], { stdin, onNote, ...options })) {
    conversations.push(one)
  }
  return { conversations, notes }
}

function linesOf(...values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('')
}

async function failureOf(text: string): Promise<OrielError> {
  const error: unknown = await readText(text).catch((cause: unknown) => cause)
  if (!OrielError.is(error)) throw new Error('expected an OrielError')
  return error
}

describe('one JSON value', () => {
  it.each([
    ['a bare list', [hello, answer]],
    ['a body of chat', { model: 'm', messages: [hello, answer] }],
    ['a body of Anthropic', { system: 'Be brief.', messages: [hello, answer] }],
    ['a body of Responses', { input: [hello, answer] }],
    ['a list of items', { items: [hello, answer] }],
    ['a request inside a log entry', { request: { messages: [hello, answer] }, status: 200 }],
    ['a line of a batch file', { custom_id: 'a', body: { messages: [hello, answer] } }],
  ])('reads %s, on one line or on many', async (_name, value) => {
    for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
      const { conversations, notes } = await readText(text)
      expect(conversations.map(({ messages }) => messages)).toEqual([[hello, answer]])
      expect(notes).toEqual([])
    }
  })

  it('reads a list of conversations, with their ids', async () => {
    const value = [{ id: 'a', messages: [hello] }, { id: 7, messages: [answer] }, { messages: [] }]
    const { conversations } = await readText(JSON.stringify(value))
    expect(conversations.map(({ id, number }) => [id, number])).toEqual([
      ['a', 1],
      ['7', 2],
      [undefined, 3],
    ])
  })

  it('reads the input of Responses that is one text', async () => {
    const { conversations } = await readText(JSON.stringify({ model: 'm', input: 'Hello.' }))
    expect(conversations[0]).toMatchObject({
      messages: [hello],
      detection: { format: 'openai-responses', certainty: 'certain' },
    })
  })

  it('keeps system text and tools as the frame, and the rest of the body', async () => {
    const tools = [{ name: 'f', input_schema: {} }]
    const body = { model: 'm', system: 'Be brief.', tools, messages: [hello] }
    const { conversations } = await readText(JSON.stringify(body))
    expect(conversations[0]).toMatchObject({
      frame: { system: 'Be brief.', tools },
      body: { model: 'm', system: 'Be brief.', tools },
    })
    const responses = { instructions: 'Be brief.', input: [hello], tools: [] }
    const { conversations: others } = await readText(JSON.stringify(responses))
    expect(others[0]?.frame).toEqual({ system: 'Be brief.' })
  })
})

describe('JSONL', () => {
  it('takes one message a line as one conversation', async () => {
    const { conversations } = await readText(linesOf(hello, answer, hello))
    expect(conversations.map(({ messages }) => messages)).toEqual([[hello, answer, hello]])
  })

  it('takes one conversation a line, and ignores blank lines', async () => {
    const text = `${linesOf({ id: 'a', messages: [hello] })}\n  \n${linesOf([answer])}`
    const { conversations } = await readText(text)
    expect(conversations.map(({ id, messages }) => [id, messages])).toEqual([
      ['a', [hello]],
      [undefined, [answer]],
    ])
  })

  it('unwraps the lines of session logs, joins the pieces of a message, and counts lines without one', async () => {
    const piece = (type: string): object => ({
      type: 'assistant',
      message: { id: 'msg_1', role: 'assistant', content: [{ type }] },
    })
    const { conversations, notes } = await readText(
      linesOf(
        { type: 'summary', title: 'A session' },
        { type: 'user', message: hello },
        piece('thinking'),
        piece('tool_use'),
        { type: 'response_item', payload: { type: 'function_call', call_id: 'a' } },
      ),
    )
    expect(conversations[0]?.messages).toEqual([
      hello,
      { id: 'msg_1', role: 'assistant', content: [{ type: 'thinking' }, { type: 'tool_use' }] },
      { type: 'function_call', call_id: 'a' },
    ])
    expect(notes).toEqual([{ file: 'standard input', text: '1 line holds no message' }])
  })

  it('takes a conversation without signs to be written like the one before it', async () => {
    const sure = { messages: [{ role: 'assistant', content: [{ type: 'tool_use' }] }] }
    const { conversations } = await readText(linesOf(sure, { messages: [hello] }))
    expect(conversations[1]?.detection).toMatchObject({ format: 'anthropic', certainty: 'assumed' })
  })

  it('skips a torn last line and says so', async () => {
    const { conversations, notes } = await readText(`${linesOf(hello, answer)}{"role":"us`)
    expect(conversations[0]?.messages).toEqual([hello, answer])
    expect(notes).toEqual([
      { file: 'standard input', text: 'line 3, the last one, is torn and was skipped' },
    ])
  })

  it('refuses a line in the middle that is not JSON, by its number and without its content', async () => {
    const error = await failureOf(`${linesOf(hello)}secret words\n${linesOf(answer)}`)
    expect(error.code).toBe('invalid-input')
    expect(error.message).toBe(
      'standard input: line 2 is not JSON; check that the file is JSON or JSONL.',
    )
  })
})

describe('what cannot be used', () => {
  it('names the place of a fault in a long JSON value, not its content', async () => {
    const error = await failureOf('{\n  "messages": [\n    secret\n  ]\n}')
    expect(error.message).toMatch(/^standard input: it is not JSON/)
    expect(error.message).not.toContain('secret')
  })

  it.each(['', '\n\n', '{}', '[]', '"text"', '[1, 2]', '{"role":1}', linesOf({ a: 1 }, { b: 2 })])(
    'says that there is no conversation in %j',
    async (text) => {
      const error = await failureOf(text)
      expect(error.message).toMatch(/^standard input: no conversation found; expected OpenAI chat/)
    },
  )

  it('says what to do about a file that is missing, or is a folder', async () => {
    const read = async (file: string): Promise<unknown> => {
      const options = { stdin: streamOf(''), onNote: () => {} }
      for await (const _ of readTranscripts([file], options)) return 'read'
      return undefined
    }
    const missing = join(folder, 'missing.json')
    await expect(read(missing)).rejects.toThrow(
      `${missing}: there is no such file; check the path.`,
    )
    await expect(read(folder)).rejects.toThrow(`${folder}: it is a folder; name the files in it.`)
  })
})

describe('several files', () => {
  it('numbers conversations through all of them, and counts every byte', async () => {
    const first = join(folder, 'first.jsonl')
    const second = join(folder, 'second.json')
    writeFileSync(first, linesOf({ messages: [hello] }, { messages: [answer] }))
    writeFileSync(second, JSON.stringify([hello]))
    let bytes = 0
    const seen: unknown[] = []
    const options: ReadOptions = {
      stdin: streamOf(''),
      onNote: () => {},
      onBytes: (count) => {
        bytes += count
      },
    }
    for await (const { number, file } of readTranscripts([first, second], options)) {
      seen.push([number, file])
    }
    expect(seen).toEqual([
      [1, first],
      [2, first],
      [3, second],
    ])
    expect(bytes).toBe(
      linesOf({ messages: [hello] }, { messages: [answer] }).length +
        JSON.stringify([hello]).length,
    )
  })

  it('uses the format it is told', async () => {
    const { conversations } = await readText(JSON.stringify([hello]), { format: 'anthropic' })
    expect(conversations[0]?.detection).toEqual({
      format: 'anthropic',
      certainty: 'told',
      evidence: [],
    })
  })
})
