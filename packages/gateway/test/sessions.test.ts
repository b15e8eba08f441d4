// Which thread a call belongs to, for clients that say it in different ways or not at all.

import { memoryStore, type Store } from 'oriel'
import { describe, expect, it } from 'vitest'
import { createGateway, type Gateway } from '../src/index.ts'

type Message = Record<string, unknown>

interface Client {
  ask(
    messages: readonly Message[],
    headers?: Record<string, string>,
    fields?: object,
  ): Promise<{ thread: string; message: Message }>
  readonly gateway: Gateway
}

let answers = 0

/** Answers every call with another text, or with a call of the tool where the newest words ask for it. */
function open(store: Store = memoryStore()): Client {
  const upstream = {
    name: 'u',
    baseUrl: 'http://upstream.invalid',
    async fetch(request: Request): Promise<Response> {
      const { messages } = (await request.json()) as { messages: { content: unknown }[] }
      answers += 1
      const isSame = String(messages.at(-1)?.content).startsWith('same')
      const content = isSame ? 'The same answer.' : `Answer ${answers}.`
      const isCall = String(messages.at(-1)?.content).includes('call')
      const call = {
        id: `call_${answers}xyz`,
        type: 'function',
        function: { name: 'f', arguments: '{}' },
      }
      const message = {
        role: 'assistant',
        content: isCall ? null : content,
        ...(isCall ? { tool_calls: [call] } : {}),
      }
      return Response.json({ choices: [{ index: 0, message, finish_reason: 'stop' }] })
    },
  }
  const gateway = createGateway({ store, upstreams: [upstream] })
  return {
    gateway,
    async ask(messages, headers = {}, fields = {}) {
      const response = await gateway.fetch(
        new Request('http://localhost/v1/chat/completions', {
          method: 'POST',
          headers: { authorization: 'Bearer me', ...headers },
          body: JSON.stringify({ model: 'm', messages, ...fields }),
        }),
      )
      const { choices } = (await response.json()) as { choices: { message: Message }[] }
      const thread = response.headers.get('x-oriel-thread') ?? ''
      return { thread, message: choices[0]?.message as Message }
    },
  }
}

const user = (content: string): Message => ({ role: 'user', content })

describe('without any name', () => {
  it('[GW6] a resent history goes on in its thread, also after a restart', async () => {
    const store = memoryStore()
    const { ask, gateway } = open(store)
    const first = await ask([user('Hello')])
    const history = [user('Hello'), first.message, user('And?')]
    const second = await ask(history)
    expect(second.thread).toBe(first.thread)
    await gateway.settled()
    const again = open(store)
    const third = await again.ask([...history, second.message, user('More?')])
    expect(third.thread).toBe(first.thread)
  })

  it('[GW6] the same opening words are not the same conversation', async () => {
    const { ask } = open()
    const [one, two] = await Promise.all([ask([user('Hello')]), ask([user('Hello')])])
    expect(one.thread).not.toBe(two.thread)
    const next = await Promise.all([
      ask([user('Hello'), one.message, user('And?')]),
      ask([user('Hello'), two.message, user('And?')]),
    ])
    expect(next.map(({ thread }) => thread)).toEqual([one.thread, two.thread])
  })

  it('[GW6] an edited history becomes a fork, and both go on', async () => {
    const { ask } = open()
    const first = await ask([user('Hello, call')])
    const result = {
      role: 'tool',
      tool_call_id: (first.message.tool_calls as { id: string }[])[0]?.id,
      content: 'r',
    }
    const base = [user('Hello, call'), first.message, result]
    const a = await ask(base)
    const b = await ask([...base, a.message, user('One')])
    const c = await ask([...base, a.message, user('Another')])
    expect(b.thread).toBe(a.thread)
    expect(c.thread).not.toBe(a.thread)
    const d = await ask([...base, a.message, user('Another'), c.message, user('More')])
    const e = await ask([...base, a.message, user('One'), b.message, user('More')])
    expect([d.thread, e.thread]).toEqual([c.thread, b.thread])
  })

  it('[GW6] a marked repetition appends nothing', async () => {
    const { ask, gateway } = open()
    const first = await ask([user('Hello')])
    const again = await ask([user('Hello')], { 'x-stainless-retry-count': '1' })
    await gateway.settled()
    const response = await gateway.fetch(
      new Request('http://localhost/api/threads', { headers: { authorization: 'Bearer me' } }),
    )
    const { threads } = (await response.json()) as { threads: { id: string; messages: number }[] }
    // The second answer cannot stand behind the first: it has a branch of its own.
    expect(threads.map(({ messages }) => messages)).toEqual([2, 2])
    expect(threads.map(({ id }) => id)).toContain(first.thread)
    expect(again.thread).toBeDefined()
  })
})

describe('with a name', () => {
  it('[GW6] every way of naming a session finds it again, from the most explicit on', async () => {
    const { ask } = open()
    const ways: [Record<string, string>, object][] = [
      [{ 'x-session-id': 's' }, {}],
      [{}, { session_id: 's' }],
      [{}, { metadata: { session_id: 's' } }],
      [{ 'x-claude-code-session-id': 's' }, {}],
      [{ 'session-id': 's' }, {}],
      [{ session_id: 's' }, {}],
      [{ 'x-session-affinity': 's' }, {}],
    ]
    const threads = new Set<string>()
    for (const [headers, fields] of ways) {
      const first = await ask([user('Hello')], headers, fields)
      // Rewritten from the start, as agents do when they compact: still the same family, on a branch.
      const second = await ask([user('Hello'), first.message, user('And?')], headers, fields)
      expect(second.thread).toBe(first.thread)
      threads.add(first.thread)
    }
    expect(threads.size).toBe(ways.length)
    const named = await ask([user('Hello')], { 'x-oriel-thread': 'mine', 'x-session-id': 's' })
    expect(named.thread).toBe('mine')
    const wrong = await open().gateway.fetch(
      new Request('http://localhost/v1/chat/completions', {
        method: 'POST',
        headers: { 'x-oriel-thread': 'a b' },
        body: JSON.stringify({ model: 'm', messages: [user('Hello')] }),
      }),
    )
    expect(wrong.status).toBe(400)
  })

  it('[GW6] sub-agents and side calls of one session do not mix', async () => {
    const { ask, gateway } = open()
    const session = { 'x-session-id': 's' }
    const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }]
    const main = [{ role: 'system', content: 'Main' }, user('Build it')]
    const side = [{ role: 'system', content: 'Title' }, user('Build it')]
    const one = await ask(main, session, { tools })
    const title = await ask(side, session)
    const two = await ask([...main, one.message, user('Go on')], session, { tools })
    const sub = await ask([{ role: 'system', content: 'Sub' }, user('Look for x')], session, {
      tools,
    })
    expect(title.thread).not.toBe(one.thread)
    expect(two.thread).toBe(one.thread)
    expect(sub.thread).not.toBe(one.thread)
    await gateway.settled()
    const response = await gateway.fetch(
      new Request(`http://localhost/api/threads/${one.thread}/export`, {
        headers: { authorization: 'Bearer me' },
      }),
    )
    const text = await response.text()
    expect(text).not.toContain('Look for x')
    expect(text).not.toContain(String(title.message.content))
  })

  it('[GW6] a cache key that many conversations share joins none of them', async () => {
    const { ask } = open()
    const fields = { prompt_cache_key: 'the-app' }
    const one = await ask([user('same')], {}, fields)
    const two = await ask([user('same')], {}, fields)
    expect(two.thread).not.toBe(one.thread)
  })

  it('[GW6] calls at the same time on one thread lose nothing and double nothing', async () => {
    const { ask, gateway } = open()
    const session = { 'x-oriel-thread': 'busy' }
    const first = await ask([user('Hello')], session)
    const history = [user('Hello'), first.message]
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, index) => ask([...history, user(`Way ${index}`)], session)),
    )
    await gateway.settled()
    const logs = await Promise.all(
      all.map(async ({ thread }) => {
        const response = await gateway.fetch(
          new Request(`http://localhost/api/threads/${thread}/export`, {
            headers: { authorization: 'Bearer me' },
          }),
        )
        return (await response.text())
          .split('\n')
          .filter((line) => line.includes('"type":"message"'))
      }),
    )
    expect(new Set(all.map(({ thread }) => thread)).size).toBe(8)
    logs.forEach((lines, index) => {
      expect(lines).toHaveLength(4)
      expect(lines.join('')).toContain(`Way ${index}`)
      expect(lines.at(-1)).toContain(String(all[index]?.message.content))
    })
  })
})
