// Conversations with a name, by OpenAI's own client: made here, kept here, managed here.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, serveGateway } from '@oriel/gateway'
import OpenAI from 'openai'
import { type JsonObject, sqliteStore } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { readTool } from './expansion/story.ts'
import { post } from './faults/raw-client.ts'
import { openGateway, type Target, type TargetOptions } from './target.ts'
import { type Action, reply } from './upstream/action.ts'
import type { Asked } from './upstream/upstream.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(options: Partial<TargetOptions> = {}): Promise<Target> {
  const target = await openGateway({ answer: counting, ...options })
  closing.push(() => target.close())
  return target
}

const counting = ({ index }: Asked): Action => reply({ text: `Answer ${index}.` })
const tools = [{ type: 'function' as const, ...readTool, strict: false }]

type Params = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'model'>

function clientOf(url: string, apiKey = 'k'): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
}

/** Asks whole or streamed; every event that repeats the conversation must name it. */
function asking(client: OpenAI, isStream: boolean) {
  return async (more: Params): Promise<OpenAI.Responses.Response> => {
    const params = { model: 'gpt-demo', tools, ...more }
    if (!isStream) return client.responses.create(params)
    const seen = new Set<string | undefined>()
    const stream = client.responses.stream({ ...params, stream: true })
    for await (const event of stream) {
      if ('response' in event) seen.add(event.response.conversation?.id)
    }
    const { conversation } = more
    expect([...seen]).toEqual([typeof conversation === 'string' ? conversation : conversation?.id])
    return stream.finalResponse()
  }
}

/** The words of items, in their order. */
function wordsOf(items: unknown): readonly string[] {
  if (typeof items === 'string') return [`user: ${items}`]
  return (items as readonly JsonObject[]).map(({ type, role, content, output, name }) => {
    if (type === 'function_call') return `call ${name}`
    if (type === 'function_call_output') return `result ${output}`
    const text = typeof content === 'string' ? content : (content as { text: string }[])?.[0]?.text
    return `${role}: ${text}`
  })
}

function sentIn(target: Target, at = -1): readonly string[] {
  return wordsOf(target.upstream.requests.at(at)?.body.input)
}

async function itemsOf(client: OpenAI, id: string): Promise<readonly string[]> {
  const items: unknown[] = []
  for await (const item of client.conversations.items.list(id, { order: 'asc', limit: 2 }))
    items.push(item)
  return wordsOf(items)
}

async function threadsOf(target: Target): Promise<readonly { id: string }[]> {
  const headers = { authorization: 'Bearer k' }
  const answer = await fetch(`${target.url}/api/threads`, { headers })
  return ((await answer.json()) as { threads: { id: string }[] }).threads
}

describe.each([false, true])('conversation, streamed: %s', (isStream) => {
  it('[KC7] the upstream gets the whole conversation and no name, the client its own', async () => {
    const target = await open()
    const client = clientOf(target.url)
    const ask = asking(client, isStream)
    const { id } = await client.conversations.create()
    const first = await ask({ input: 'One', conversation: id })
    const second = await ask({ input: 'Two', conversation: { id } })
    const third = await ask({ input: [{ role: 'user', content: 'Three' }], conversation: id })
    expect([first, second, third].map((one) => one.conversation)).toEqual([{ id }, { id }, { id }])
    expect(sentIn(target)).toEqual([
      ...['user: One', 'assistant: Answer 0.', 'user: Two', 'assistant: Answer 1.', 'user: Three'],
    ])
    const { requests, others, breaches } = target.upstream
    expect(requests.filter(({ body }) => 'conversation' in body)).toEqual([])
    expect([others, breaches]).toEqual([[], []])
    expect(await threadsOf(target)).toHaveLength(1)
    expect(await itemsOf(client, id)).toEqual([
      ...['user: One', 'assistant: Answer 0.', 'user: Two', 'assistant: Answer 1.'],
      ...['user: Three', 'assistant: Answer 2.'],
    ])
  })

  it('[KC7] results of calls are sent alone, and the policy holds', async () => {
    const target = await open({
      gateway: { policy: { history: { length: 2 } } },
      answer: (asked) => (asked.index === 0 ? reply({ calls: [['read', '{}']] }) : counting(asked)),
    })
    const client = clientOf(target.url)
    const ask = asking(client, isStream)
    const { id } = await client.conversations.create()
    const first = await ask({ input: 'Read.', conversation: id })
    expect(await itemsOf(client, id)).toEqual(['user: Read.', 'call read'])
    const call = first.output.find((item) => item.type === 'function_call')
    const result = { type: 'function_call_output' as const, call_id: call?.call_id ?? '' }
    await ask({ input: [{ ...result, output: 'Tea.' }], conversation: id })
    expect(sentIn(target)).toEqual(['user: Read.', 'call read', 'result Tea.'])
    await ask({ input: 'Two', conversation: id })
    await ask({ input: 'Three', conversation: id })
    expect(sentIn(target)).toEqual(['user: Two', 'assistant: Answer 2.', 'user: Three'])
    expect(await itemsOf(client, id)).toEqual([
      ...['user: Read.', 'call read', 'result Tea.', 'assistant: Answer 1.'],
      ...['user: Two', 'assistant: Answer 2.', 'user: Three', 'assistant: Answer 3.'],
    ])
    expect(target.upstream.breaches).toEqual([])
  })

  it('[KC7] what got no answer is not in it, first or later', async () => {
    let isFailing = true
    const target = await open({
      answer: (asked) => (isFailing ? { type: 'error', status: 500 } : counting(asked)),
    })
    const client = clientOf(target.url)
    const ask = asking(client, isStream)
    const { id } = await client.conversations.create()
    await expect(ask({ input: 'Lost', conversation: id })).rejects.toThrow()
    isFailing = false
    await ask({ input: 'One', conversation: id })
    expect(sentIn(target)).toEqual(['user: One'])
    isFailing = true
    await expect(ask({ input: 'Lost too', conversation: id })).rejects.toThrow()
    isFailing = false
    await ask({ input: 'Two', conversation: id })
    expect(sentIn(target)).toEqual(['user: One', 'assistant: Answer 1.', 'user: Two'])
  })

  it('[KC7] lookups of the model are hidden rounds in it', async () => {
    const target = await open({
      gateway: { expand: true },
      answer: (asked) =>
        asked.index === 0 ? reply({ calls: [['expand_message', '{"id":"e0"}']] }) : counting(asked),
    })
    const client = clientOf(target.url)
    const ask = asking(client, isStream)
    const { id } = await client.conversations.create()
    const first = await ask({ input: 'One', conversation: id })
    expect(first.output_text).toBe('Answer 1.')
    await ask({ input: 'Two', conversation: id })
    expect(sentIn(target)).toEqual([
      ...['user: One', 'call expand_message', expect.stringContaining('result Not expanded')],
      ...['assistant: Answer 1.', 'user: Two'],
    ])
    expect(await itemsOf(client, id)).toEqual([
      ...['user: One', 'assistant: Answer 1.', 'user: Two', 'assistant: Answer 2.'],
    ])
  })

  it('[KC8] items that are added are in the next request, also one without input', async () => {
    const target = await open()
    const client = clientOf(target.url)
    const ask = asking(client, isStream)
    const user = (content: string) => ({ type: 'message' as const, role: 'user' as const, content })
    const { id } = await client.conversations.create({ items: [user('Begun')] })
    await ask({ conversation: id })
    expect(sentIn(target)).toEqual(['user: Begun'])
    const added = await client.conversations.items.create(id, { items: [user('Added')] })
    expect(wordsOf(added.data)).toEqual(['user: Added'])
    await ask({ input: 'Two', conversation: id })
    expect(sentIn(target)).toEqual([
      ...['user: Begun', 'assistant: Answer 0.', 'user: Added', 'user: Two'],
    ])
    expect(target.upstream.breaches).toEqual([])
  })
})

describe('the routes of conversations', () => {
  it('[KC8] make, read, change and delete one; its thread stays', async () => {
    const target = await open({ gateway: { now: () => 5000 } })
    const client = clientOf(target.url)
    const made = await client.conversations.create({ metadata: { topic: 'tea' } })
    const id = expect.stringMatching(/^conv_[0-9a-f]{48}$/)
    expect(made).toEqual({ id, object: 'conversation', created_at: 5, metadata: { topic: 'tea' } })
    expect(await client.conversations.retrieve(made.id)).toEqual(made)
    const changed = await client.conversations.update(made.id, { metadata: { topic: 'cups' } })
    expect(changed).toEqual({ ...made, metadata: { topic: 'cups' } })
    await asking(client, false)({ input: 'One', conversation: made.id })
    expect(await client.conversations.retrieve(made.id)).toEqual(changed)
    expect(await client.conversations.delete(made.id)).toEqual({
      ...{ id: made.id, object: 'conversation.deleted', deleted: true },
    })
    expect(await threadsOf(target)).toHaveLength(1)
    expect(target.upstream.others).toEqual([])
  })

  it('[KC8] an item is read by its id, and one that is removed is not sent again', async () => {
    const target = await open()
    const client = clientOf(target.url)
    const ask = asking(client, false)
    const { id } = await client.conversations.create()
    await ask({ input: 'One', conversation: id })
    await ask({ input: 'Two', conversation: id })
    const { data } = await client.conversations.items.list(id)
    expect(wordsOf(data)).toEqual([
      ...['assistant: Answer 1.', 'user: Two', 'assistant: Answer 0.', 'user: One'],
    ])
    const where = { conversation_id: id }
    const item = data[1]?.id ?? ''
    expect(await client.conversations.items.retrieve(item, where)).toEqual(data[1])
    await client.conversations.items.delete(item, where)
    expect(await itemsOf(client, id)).toEqual([
      ...['user: One', 'assistant: Answer 0.', 'assistant: Answer 1.'],
    ])
    await ask({ input: 'Three', conversation: id })
    expect(sentIn(target)).not.toContain('user: Two')
    expect(sentIn(target)).toContain('user: Three')
    await expect(client.conversations.items.retrieve('msg_x', where)).rejects.toThrow(/not found/)
  })

  it.each([
    ['items that are none', { items: 'x' }],
    ['more items than one call takes', { items: Array(21).fill({ role: 'user', content: 'x' }) }],
    ['metadata that is too long', { metadata: { a: 'x'.repeat(513) } }],
  ])('[KC8] %s are refused', async (_, body) => {
    const target = await open()
    const client = clientOf(target.url)
    await expect(client.conversations.create(body as object)).rejects.toMatchObject({ status: 400 })
  })

  it('[KC8] with both references the request is refused, as the provider does', async () => {
    const target = await open()
    const client = clientOf(target.url)
    const ask = asking(client, false)
    const { id } = await client.conversations.create()
    const first = await ask({ input: 'One', conversation: id })
    const both = { input: 'Two', conversation: id, previous_response_id: first.id }
    await expect(ask(both)).rejects.toThrow(/Mutually exclusive/)
  })
})

describe('conversations of others', () => {
  it('[KC9] one that was not made here passes unmanaged, with the reason', async () => {
    const target = await open({ isRefusing: false })
    const { id } = await clientOf(target.url).conversations.create()
    const asked: readonly (readonly [string, string])[] = [
      ['conv_unknown', 'Bearer k'],
      [id, 'Bearer another'],
    ]
    for (const [conversation, authorization] of asked) {
      for (const value of [conversation, { id: conversation }]) {
        const body = JSON.stringify({ model: 'm', input: 'Two', conversation: value })
        const headers = { authorization }
        const answer = await post(target.url, 'openai-responses', { body, headers })
        await answer.text()
        expect(answer.headers.get('x-oriel-managed')).toBe('false')
        expect(answer.headers.get('x-oriel-unmanaged')).toBe('unknown-conversation')
        expect(target.upstream.requests.at(-1)?.raw.toString()).toBe(body)
      }
    }
    expect(await threadsOf(target)).toEqual([])
  })

  it.each([
    ['GET', '/conv_1', undefined],
    ['POST', '/conv_1', '{ "metadata" : {} }'],
    ['DELETE', '/conv_1', undefined],
    ['GET', '/conv_1/items?limit=3', undefined],
    ['POST', '/conv_1/items', '{ "items":[] }'],
    ['GET', '/conv_1/items/msg_1', undefined],
    ['DELETE', '/conv_1/items/msg_1', undefined],
  ])('[KC9] %s %s of the upstream passes as it is', async (method, path, body) => {
    const target = await open()
    const headers = { authorization: 'Bearer k' }
    await fetch(`${target.url}/v1/conversations${path}`, {
      ...{ method, headers },
      ...(body === undefined ? {} : { body }),
    })
    const [call] = target.upstream.others
    expect(`${call?.method} ${call?.path}${call?.query}`).toBe(`${method} /v1/conversations${path}`)
    expect(call?.raw.toString()).toBe(body ?? '')
  })

  it('[KC9] without management, the upstream makes them', async () => {
    const target = await open({ gateway: { management: false } })
    const method = 'POST'
    await fetch(`${target.url}/v1/conversations`, { method, body: '{ }' })
    expect(target.upstream.others.map(({ raw }) => raw.toString())).toEqual(['{ }'])
  })

  it('[KC9] one whose thread was erased is not found, and nobody is asked', async () => {
    const target = await open()
    const client = clientOf(target.url)
    const ask = asking(client, false)
    const { id } = await client.conversations.create()
    await ask({ input: 'One', conversation: id })
    const [thread] = await threadsOf(target)
    const headers = { authorization: 'Bearer k' }
    await fetch(`${target.url}/api/threads/${thread?.id}`, { method: 'DELETE', headers })
    await expect(ask({ input: 'Two', conversation: id })).rejects.toMatchObject({ status: 404 })
    await expect(itemsOf(client, id)).rejects.toMatchObject({ status: 404 })
    expect(target.upstream.requests).toHaveLength(1)
  })
})

it('[KC7] two processes take turns in one conversation', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-conversation-'))
  closing.push(async () => rmSync(folder, { recursive: true, force: true }))
  const first = sqliteStore(join(folder, 'a.db'))
  const target = await open({ gateway: { store: first } })
  const store = sqliteStore(join(folder, 'a.db'))
  const upstreams = [{ name: 'test', baseUrl: target.upstream.url }]
  const gateway = createGateway({ store, upstreams })
  const server = await serveGateway(gateway, { port: 0 })
  closing.push(async () => {
    await server.close()
    await gateway.close()
    await store.close()
    await first.close()
  })
  const [here, there] = [clientOf(target.url), clientOf(server.url)]
  const { id } = await here.conversations.create()
  await asking(here, false)({ input: 'One', conversation: id })
  await asking(there, true)({ input: 'Two', conversation: id })
  await asking(here, true)({ input: 'Three', conversation: id })
  expect(sentIn(target)).toEqual([
    ...['user: One', 'assistant: Answer 0.', 'user: Two', 'assistant: Answer 1.', 'user: Three'],
  ])
  const item = { type: 'message' as const, role: 'user' as const, content: 'Added' }
  await there.conversations.items.create(id, { items: [item] })
  await here.conversations.items.create(id, { items: [item] })
  expect((await itemsOf(here, id)).slice(-3)).toEqual([
    ...['assistant: Answer 2.', 'user: Added', 'user: Added'],
  ])
  expect(await threadsOf(target)).toHaveLength(1)
})

it('[KC7] requests at the same time are branches, and it goes on with the one that ended last', async () => {
  const held = Promise.withResolvers<void>()
  const target = await open({
    answer: async (asked) => {
      if (wordsOf(asked.body.input).at(-1) === 'user: Slow') await held.promise
      return counting(asked)
    },
  })
  const client = clientOf(target.url)
  const ask = asking(client, false)
  const { id } = await client.conversations.create()
  await ask({ input: 'One', conversation: id })
  const slow = ask({ input: 'Slow', conversation: id })
  await target.upstream.arrived(2)
  await ask({ input: 'Quick', conversation: id })
  held.resolve()
  await slow
  await ask({ input: 'Next', conversation: id })
  expect(sentIn(target)).toEqual([
    ...['user: One', 'assistant: Answer 0.', 'user: Slow', 'assistant: Answer 1.', 'user: Next'],
  ])
  expect(target.upstream.breaches).toEqual([])
})
