// Answers in several parts: a request whose history ends with the assistant's message asks for more of it.

import { describe, expect, it } from 'vitest'
import { validate } from '../../providers/registry.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread, type Thread, type ThreadOptions } from '../thread.ts'

type Fields = Readonly<Record<string, unknown>>

const format = 'anthropic'
const frame = { params: { thinking: { type: 'enabled', budget_tokens: 1024 } } }
const goingOn = { format, frame, isContinuing: true } as const

function user(text: string): Fields {
  return { role: 'user', content: [{ type: 'text', text }] }
}

function found(id: string, text: string): readonly Fields[] {
  return [
    { type: 'web_search_tool_result', tool_use_id: id, content: [] },
    { type: 'text', text },
  ]
}

/** A part that ends with a call whose result is in the next one. */
function begun(id: string): readonly Fields[] {
  return [
    { type: 'thinking', thinking: `About ${id}.`, signature: `signed ${id}` },
    { type: 'text', text: `Searching ${id}.` },
    { type: 'server_tool_use', id, name: 'web_search', input: {} },
  ]
}

function assistant(...parts: readonly (readonly Fields[])[]): Fields {
  return { role: 'assistant', content: parts.flat() }
}

function open(options: Partial<ThreadOptions> = {}): Promise<Thread> {
  return openThread({ id: 'thread', store: memoryStore(), ...options })
}

/** A question, and its answer in two parts. */
async function converse(thread: Thread, id: string, before: readonly Fields[]): Promise<Fields[]> {
  const asked = [...before, user(`What about ${id}?`)]
  await thread.request(asked, goingOn)
  await thread.append([assistant(begun(id))], { format, isPaused: true })
  await thread.request([...asked, assistant(begun(id))], goingOn)
  await thread.append([assistant(found(id, `Found ${id}.`))], { format })
  return [...asked, assistant(begun(id)), assistant(found(id, `Found ${id}.`))]
}

describe('an answer in parts', () => {
  it('[T42] is the last message while it goes on, and the request can be rebuilt', async () => {
    const thread = await open()
    const history = [user('Go.'), assistant(begun('s1'))]
    const { view } = await thread.request(history, goingOn)
    expect(view.messages).toEqual(history)
    expect(view.trace).toEqual([])
    expect(validate(format, { ...frame.params, messages: view.messages })).toEqual([])
    expect(await thread.requestAt(2)).toMatchObject({ exact: true, body: { messages: history } })
    // A view that nobody asks to continue still ends with the user's side.
    const other = await open()
    const plain = await other.request(history, { format, frame })
    expect(plain.view.messages).toEqual([user('Go.')])
  })

  it('[T42] is one message, found again however its parts are resent, also from a snapshot', async () => {
    const store = memoryStore()
    const thread = await open({ store, snapshotEvery: 1 })
    const history = await converse(thread, 's1', [])
    await thread.settled()
    const whole = assistant(begun('s1'), found('s1', 'Found s1.'))
    const next = user('Thanks.')
    for (const resent of [history.slice(1), [whole]]) {
      const again = await open({ store })
      const sent = [history[0], ...resent, next]
      const { isForked, view } = await again.request(sent, goingOn)
      expect(isForked).toBe(false)
      expect(view.messages).toEqual([history[0], whole, next])
    }
  })

  it('[T42] leaves a window as a whole, never one part without the other', async () => {
    for (let maxMessages = 1; maxMessages < 9; maxMessages++) {
      const thread = await open({ policy: { history: { policy: 'all', maxMessages } } })
      let history: readonly Fields[] = []
      for (const id of ['s1', 's2', 's3']) history = await converse(thread, id, history)
      const { view } = await thread.request([...history, user('End.')], goingOn)
      expect(validate(format, { ...frame.params, messages: view.messages })).toEqual([])
      const text = JSON.stringify(view.messages)
      for (const id of ['s1', 's2', 's3']) {
        expect(text.includes(`Searching ${id}.`), `${id} of ${maxMessages}`).toBe(
          text.includes(`Found ${id}.`),
        )
      }
    }
  })

  it('[T42] [M11] goes on as a record where what came before it no longer fits', async () => {
    const thread = await open()
    const history = await converse(thread, 's1', [])
    const long = [...history, user('Read this. '.repeat(400)), assistant(found('none', 'Read.'))]
    const asked = [...long, user('And now?'), assistant(begun('s2'))]
    const whole = (await thread.request(asked, goingOn)).view
    expect(whole.messages.at(-1)).toEqual(assistant(begun('s2')))
    const view = await thread.view({ format, frame, budget: whole.tokens.after - 200 })
    expect(validate(format, { ...frame.params, messages: view.messages })).toEqual([])
    expect(JSON.stringify(view.messages)).not.toContain('signed s2')
    expect(JSON.stringify(view.messages.at(-1))).toContain('Searching s2.')
  })

  it('[T42] does not end a turn: no checkpoint starts before it is whole', async () => {
    const policy = { compaction: { contextWindow: 0, maxTokens: 300, keepRecent: 1 } }
    const started: string[] = []
    const thread = await open({ policy, on: ({ type }) => started.push(type) })
    const long = assistant(found('x', 'A long answer. '.repeat(200)))
    await thread.append([user('One.'), long, user('Three.')], { format })
    await thread.append([assistant(begun('s1'))], { format, isPaused: true })
    expect(started).not.toContain('compaction-started')
    await thread.append([assistant(found('s1', 'Four.'))], { format })
    expect(started).toContain('compaction-started')
  })
})
