// Answers in several parts: the provider paused (`pause_turn`), or the client began the answer. The history then ends with the assistant.

import type { JsonObject } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from './dialect.ts'
import { logOf, post } from './faults/raw-client.ts'
import { openGateway, type Target, type TargetOptions } from './target.ts'
import { type Action, reply, type Texts } from './upstream/action.ts'

let target: Target | undefined
afterEach(() => target?.close())

async function open(options: TargetOptions): Promise<Target> {
  target = await openGateway(options)
  return target
}

const { user, results } = dialects.anthropic
const tools = [
  { type: 'web_search_20250305', name: 'web_search' },
  { name: 'look', description: 'Looks.', input_schema: { type: 'object' } },
]
const view = 'A long view. '.repeat(200)
const thinking = { type: 'enabled', budget_tokens: 1024 }

/** A search of the provider's own: its call, and what it found. */
function search(id: string): readonly JsonObject[] {
  const found = {
    type: 'web_search_result',
    title: 'Tides',
    url: 'https://a',
    encrypted_content: id,
  }
  return [
    { type: 'server_tool_use', id: `srvtoolu_${id}`, name: 'web_search', input: { query: id } },
    { type: 'web_search_tool_result', tool_use_id: `srvtoolu_${id}`, content: [found] },
  ]
}

/** An answer that the provider pauses behind its own tools. */
function paused(said: Texts, ...blocks: readonly JsonObject[]): Action {
  const alter = (body: JsonObject): JsonObject => ({
    ...body,
    content: [...(body.content as readonly JsonObject[]), ...blocks],
    stop_reason: 'pause_turn',
  })
  return { ...reply(said), alter } as Action
}

interface Told {
  readonly thread: string | null
  readonly isManaged: boolean
  readonly content: readonly JsonObject[]
}

async function ask(
  url: string,
  messages: readonly unknown[],
  more: Readonly<Record<string, unknown>> = { thinking, tools },
): Promise<Told> {
  const body = { model: 'claude-demo', max_tokens: 4000, messages, ...more }
  const response = await post(url, 'anthropic', { body: JSON.stringify(body) })
  const whole = (await response.json()) as { readonly content: readonly JsonObject[] }
  expect(response.status, JSON.stringify(whole)).toBe(200)
  return {
    thread: response.headers.get('x-oriel-thread'),
    isManaged: response.headers.get('x-oriel-managed') !== 'false',
    content: whole.content,
  }
}

function assistant(...contents: readonly (readonly JsonObject[])[]): JsonObject {
  return { role: 'assistant', content: contents.flat() }
}

/** What each call says, request by request. */
function script(...actions: readonly Action[]): TargetOptions['answer'] {
  return ({ index }) => actions[index] ?? reply({ reasoning: 'Hm.', text: 'Nothing more.' })
}

const shapes = {
  'as they came': (...parts: readonly (readonly JsonObject[])[]) =>
    parts.map((part) => assistant(part)),
  'as one message': (...parts: readonly (readonly JsonObject[])[]) => [assistant(...parts)],
}

describe.each(Object.entries(shapes))(
  'the parts of a paused answer, resent %s',
  (_name, resend) => {
    it('[GW78] are one message to the provider, unchanged, in the thread that they came from', async () => {
      const { url, upstream } = await open({
        answer: script(
          paused({ reasoning: 'First.', text: 'Searching.' }, ...search('one')),
          paused({ reasoning: 'Second.' }, ...search('two')),
          reply({ reasoning: 'Third.', text: 'High at noon.' }),
        ),
      })
      const question = user('When is the tide high?')
      const one = await ask(url, [question])
      const two = await ask(url, [question, ...resend(one.content)])
      const three = await ask(url, [question, ...resend(one.content, two.content)])
      const parts = [one.content, two.content, three.content]
      const next = await ask(url, [question, ...resend(...parts), user('And low?')])
      expect([one, two, three, next].map(({ isManaged }) => isManaged)).not.toContain(false)
      expect(new Set([one, two, three, next].map(({ thread }) => thread)).size).toBe(1)
      expect(upstream.breaches).toEqual([])
      expect(upstream.requests.map(({ body }) => body.messages)).toEqual([
        [question],
        [question, assistant(one.content)],
        [question, assistant(one.content, two.content)],
        [question, assistant(...parts), user('And low?')],
      ])
      const log = await logOf(url, next.thread as string)
      const said = log.flatMap((entry) =>
        entry.type === 'message' && entry.role === 'assistant' ? [entry] : [],
      )
      expect(said).toHaveLength(4)
    })

    it('[GW78] hold while earlier results are due to be shortened, and a tool loop goes on behind them', async () => {
      const { url, upstream } = await open({
        gateway: { policy: { toolResults: { strategy: 'dropAll', cutoff: 0 } } },
        answer: script(
          reply({ reasoning: 'Zero.', calls: [['look', '{}']] }),
          paused({ reasoning: 'First.' }, ...search('one')),
          reply({ reasoning: 'Second.', text: 'Looking.', calls: [['look', '{"at":2}']] }),
          reply({ reasoning: 'Third.', text: 'Done.' }),
        ),
      })
      const answered = (content: readonly JsonObject[], text: string): readonly unknown[] => {
        const [call] = dialects.anthropic.read({ content }).calls
        return call === undefined ? [] : results([{ call, text }])
      }
      const history: unknown[] = [user('Look around.')]
      const first = await ask(url, history)
      history.push(assistant(first.content), ...answered(first.content, view))
      const one = await ask(url, history)
      const two = await ask(url, [...history, ...resend(one.content)])
      history.push(...resend(one.content, two.content), ...answered(two.content, 'Gulls.'))
      const three = await ask(url, history)
      history.push(assistant(three.content), user('Thanks. More?'))
      const next = await ask(url, history)
      expect(upstream.breaches).toEqual([])
      expect(new Set([first, one, two, three, next].map(({ thread }) => thread)).size).toBe(1)
      expect(JSON.stringify(upstream.requests[2]?.body)).toContain(view)
      expect(JSON.stringify(upstream.requests[4]?.body)).not.toContain(view)
    })
  },
)

describe('an answer that the client began', () => {
  const plain = {}

  it.each(['joined', 'alone', 'apart'])(
    '[GW79] stays last, and its thread is found when it comes back %s',
    async (shape) => {
      const { url, upstream } = await open({
        isRefusing: false,
        answer: script(reply({ text: '"blue"}' }), reply({ text: 'Gladly.' })),
      })
      const question = user('Name a colour as JSON.')
      const begun = { role: 'assistant', content: '{"colour": ' }
      const trimmed = { ...begun, content: '{"colour":' }
      const one = await ask(url, [question, trimmed], plain)
      expect(one.isManaged).toBe(true)
      expect(upstream.requests[0]?.body.messages).toEqual([question, trimmed])
      const resent = {
        joined: [{ role: 'assistant', content: '{"colour":"blue"}' }],
        alone: [assistant(one.content)],
        apart: [trimmed, assistant(one.content)],
      }[shape as 'joined']
      const two = await ask(url, [question, ...resent, user('Thanks.')], plain)
      const log = await logOf(url, one.thread as string)
      const [fork] = log.flatMap((entry) =>
        entry.type === 'setting' && entry.name.startsWith('fork/') ? [entry.name.slice(5)] : [],
      )
      expect(two.thread).toBe(shape === 'alone' ? fork : one.thread)
      const said = JSON.stringify(upstream.requests[1]?.body.messages)
      expect(said.match(/blue/g)).toHaveLength(1)
      if (shape === 'joined') {
        expect(upstream.requests[1]?.body.messages).toEqual([question, ...resent, user('Thanks.')])
      }
    },
  )

  it('[GW79] that was asked for and failed is no part of what is said instead', async () => {
    const { url, upstream } = await open({
      isRefusing: false,
      answer: script({ type: 'error', status: 529 }, reply({ text: 'Blue.' })),
    })
    const question = user('Name a colour.')
    const begun = assistant([{ type: 'text', text: 'I like' }])
    const body = { model: 'claude-demo', max_tokens: 40, messages: [question, begun] }
    const failed = await post(url, 'anthropic', { body: JSON.stringify(body) })
    expect(failed.status).toBe(529)
    const said = await ask(url, [question], plain)
    expect(said.content).toMatchObject([{ text: 'Blue.' }])
    expect(upstream.requests[1]?.body.messages).toEqual([question])
  })

  it('[GW59] a history that ends with calls passes through: the provider says what is wrong with it', async () => {
    const { url, upstream } = await open({ answer: script() })
    const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
    const body = { model: 'm', max_tokens: 9, tools, messages: [user('Look.'), assistant([call])] }
    const response = await post(url, 'anthropic', { body: JSON.stringify(body) })
    expect(response.status).toBe(400)
    expect(response.headers.get('x-oriel-managed')).toBe('false')
    expect(upstream.requests[0]?.body.messages).toEqual(body.messages)
  })
})
