// Clients of the Responses that send only what is new: the gateway has the rest.

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

async function open(options: TargetOptions): Promise<Target> {
  const target = await openGateway(options)
  closing.push(() => target.close())
  return target
}

type Params = OpenAI.Responses.ResponseCreateParamsNonStreaming
const tools = [{ type: 'function' as const, ...readTool, strict: false }]

function asking(url: string, isStream: boolean, apiKey = 'k') {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
  return async (more: Omit<Params, 'model'>): Promise<OpenAI.Responses.Response> => {
    const params = { model: 'gpt-demo', tools, ...more }
    if (!isStream) return client.responses.create(params)
    const seen: unknown[] = []
    const stream = client.responses.stream({ ...params, stream: true })
    for await (const event of stream) {
      if ('response' in event) seen.push(event.response.previous_response_id)
    }
    expect(new Set(seen)).toEqual(new Set([more.previous_response_id ?? null]))
    return stream.finalResponse()
  }
}

const counting = ({ index }: Asked): Action => reply({ text: `Answer ${index}.` })

/** The words of a request, in its order. */
function wordsIn(asked: Asked | undefined): readonly string[] {
  const items = (asked?.body.input ?? []) as readonly JsonObject[]
  return items.map(({ type, role, content, output, name }) => {
    if (type === 'function_call') return `call ${name}`
    if (type === 'function_call_output') return `result ${output}`
    const text = typeof content === 'string' ? content : (content as { text: string }[])?.[0]?.text
    return `${role}: ${text}`
  })
}

describe.each([false, true])('previous_response_id, streamed: %s', (isStream) => {
  it('[KC1] the upstream gets the whole conversation, the client its own reference', async () => {
    const target = await open({ answer: counting })
    const ask = asking(target.url, isStream)
    const first = await ask({ input: 'One' })
    const second = await ask({ input: 'Two', previous_response_id: first.id })
    const third = await ask({
      input: [{ role: 'user', content: 'Three' }],
      previous_response_id: second.id,
      instructions: 'Be short.',
    })
    expect([second, third].map((one) => one.previous_response_id)).toEqual([first.id, second.id])
    const { requests, breaches } = target.upstream
    expect(breaches).toEqual([])
    expect(wordsIn(requests[2])).toEqual([
      ...['user: One', 'assistant: Answer 0.', 'user: Two', 'assistant: Answer 1.', 'user: Three'],
    ])
    expect(requests.map(({ body }) => body.previous_response_id)).toEqual([
      ...[undefined, undefined, undefined],
    ])
    expect(requests.map(({ body }) => body.instructions)).toEqual([
      ...[undefined, undefined, 'Be short.'],
    ])
  })

  it('[KC1] results of calls are sent alone, and reach the model behind their calls', async () => {
    const target = await open({
      answer: ({ index }) =>
        index === 0 ? reply({ calls: [['read', '{"id":"a"}']] }) : reply({ text: 'Read.' }),
    })
    const ask = asking(target.url, isStream)
    const first = await ask({ input: 'Read a.' })
    const call = first.output.find((item) => item.type === 'function_call')
    const output = { type: 'function_call_output' as const, call_id: call?.call_id ?? '' }
    const second = await ask({
      input: [{ ...output, output: 'Tea.' }],
      previous_response_id: first.id,
    })
    expect(second.output_text).toBe('Read.')
    expect(target.upstream.breaches).toEqual([])
    expect(wordsIn(target.upstream.requests[1])).toEqual([
      ...['user: Read a.', 'call read', 'result Tea.'],
    ])
  })

  it('[KC3] a request that failed and is sent again goes on in its thread', async () => {
    let isFailing = false
    const target = await open({
      answer: (asked) => (isFailing ? { type: 'error', status: 500 } : counting(asked)),
    })
    const ask = asking(target.url, isStream)
    const first = await ask({ input: 'One' })
    isFailing = true
    await expect(ask({ input: 'Two', previous_response_id: first.id })).rejects.toThrow()
    isFailing = false
    await ask({ input: 'Two', previous_response_id: first.id })
    await ask({ input: 'Other', previous_response_id: first.id })
    expect(wordsIn(target.upstream.requests[2])).toEqual([
      ...['user: One', 'assistant: Answer 0.', 'user: Two'],
    ])
    const headers = { authorization: 'Bearer k' }
    const answer = await fetch(`${target.url}/api/threads`, { headers })
    const { threads } = (await answer.json()) as { threads: readonly unknown[] }
    expect(threads).toHaveLength(2)
  })

  it('[KC2] the policy holds for such a conversation, and one thread shows all of it', async () => {
    const policy = { history: { length: 2 } }
    const target = await open({ answer: counting, gateway: { policy } })
    const ask = asking(target.url, isStream)
    let id: string | undefined
    for (const input of ['One', 'Two', 'Three', 'Four']) {
      id = (await ask({ input, ...(id && { previous_response_id: id }) })).id
    }
    const last = wordsIn(target.upstream.requests.at(-1))
    expect(last).toEqual(['user: Three', 'assistant: Answer 2.', 'user: Four'])
    const headers = { authorization: 'Bearer k' }
    const answer = await fetch(`${target.url}/api/threads`, { headers })
    const { threads } = (await answer.json()) as { threads: { id: string; messages: number }[] }
    expect(threads).toHaveLength(1)
    const log = await (
      await fetch(`${target.url}/api/threads/${threads[0]?.id}/log?limit=1000`, { headers })
    ).json()
    const roles = (log as { entries: { type: string; role?: string }[] }).entries
      .filter(({ type }) => type === 'message')
      .map(({ role }) => role)
    expect(roles).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
    ])
  })

  it('[KC3] another answer to the same one goes on beside it', async () => {
    const target = await open({ answer: counting })
    const ask = asking(target.url, isStream)
    const first = await ask({ input: 'One' })
    const second = await ask({ input: 'Two', previous_response_id: first.id })
    const other = await ask({ input: 'Other', previous_response_id: first.id })
    await ask({ input: 'Three', previous_response_id: second.id })
    await ask({ input: 'Further', previous_response_id: other.id })
    const { requests, breaches } = target.upstream
    expect(breaches).toEqual([])
    expect(wordsIn(requests[3])).toEqual([
      ...['user: One', 'assistant: Answer 0.', 'user: Two', 'assistant: Answer 1.', 'user: Three'],
    ])
    expect(wordsIn(requests[4])).toEqual([
      ...['user: One', 'assistant: Answer 0.', 'user: Other', 'assistant: Answer 2.'],
      'user: Further',
    ])
  })

  it('[GX12] it goes on from an answer of several rounds with all of them', async () => {
    const target = await open({
      gateway: { expand: true },
      answer: ({ index }) => {
        if (index === 0)
          return reply({
            calls: [
              ['expand_message', '{"id":"e0"}'],
              ['read', '{}'],
            ],
          })
        if (index === 1) return reply({ calls: [['expand_message', '{"id":"e0"}']] })
        return reply({ text: `Answer ${index}.` })
      },
    })
    const ask = asking(target.url, isStream)
    const first = await ask({ input: 'Hello' })
    const call = first.output.find((item) => item.type === 'function_call')
    const output = { type: 'function_call_output' as const, call_id: call?.call_id ?? '' }
    const second = await ask({
      input: [{ ...output, output: 'Tea.' }],
      previous_response_id: first.id,
    })
    expect(second.output_text).toBe('Answer 2.')
    await ask({ input: 'Go on.', previous_response_id: second.id })
    expect(target.upstream.breaches).toEqual([])
    const refused = expect.stringContaining('result Not expanded')
    expect(wordsIn(target.upstream.requests.at(-1))).toEqual([
      ...['user: Hello', 'call expand_message', 'call read', refused, 'result Tea.'],
      ...['call expand_message', refused, 'assistant: Answer 2.', 'user: Go on.'],
    ])
  })
})

describe('what the gateway does not know', () => {
  it('[KC4] passes unmanaged: unknown answers, those of others, and those that are not kept', async () => {
    const target = await open({ answer: counting, isRefusing: false })
    const ask = asking(target.url, false)
    const kept = await ask({ input: 'One' })
    const unkept = await ask({ input: 'One', store: false })
    const bodies = ['resp_unknown', unkept.id, kept.id].map((id) =>
      JSON.stringify({ model: 'm', input: 'Two', previous_response_id: id }),
    )
    for (const [at, body] of bodies.entries()) {
      const authorization = at === 2 ? 'Bearer another' : 'Bearer k'
      const answer = await post(target.url, 'openai-responses', {
        body,
        headers: { authorization },
      })
      expect(answer.headers.get('x-oriel-managed')).toBe('false')
      expect(answer.headers.get('x-oriel-unmanaged')).toBe('unknown-response')
      await answer.text()
      expect(target.upstream.requests.at(-1)?.raw.toString()).toBe(body)
    }
  })

  it('[KC4] passes unmanaged after the thread was erased', async () => {
    const target = await open({ answer: counting, isRefusing: false })
    const first = await asking(target.url, false)({ input: 'One' })
    const headers = { authorization: 'Bearer k' }
    const list = await fetch(`${target.url}/api/threads`, { headers })
    const { threads } = (await list.json()) as { threads: { id: string }[] }
    const method = 'DELETE'
    await fetch(`${target.url}/api/threads/${threads[0]?.id}`, { method, headers })
    const body = JSON.stringify({ model: 'm', input: 'Two', previous_response_id: first.id })
    const answer = await post(target.url, 'openai-responses', { body, headers })
    await answer.text()
    expect(target.upstream.requests.at(-1)?.raw.toString()).toBe(body)
  })
})

it('[KC5] another process goes on from an answer of this one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-chain-'))
  closing.push(async () => rmSync(folder, { recursive: true, force: true }))
  const first = sqliteStore(join(folder, 'a.db'))
  const target = await open({ answer: counting, gateway: { store: first } })
  const before = await asking(target.url, false)({ input: 'One' })
  const store = sqliteStore(join(folder, 'a.db'))
  const gateway = createGateway({
    store,
    upstreams: [{ name: 'test', baseUrl: target.upstream.url }],
  })
  const server = await serveGateway(gateway, { port: 0 })
  closing.push(async () => {
    await server.close()
    await gateway.close()
    await store.close()
    await first.close()
  })
  const after = await asking(server.url, true)({ input: 'Two', previous_response_id: before.id })
  expect(after.previous_response_id).toBe(before.id)
  expect(wordsIn(target.upstream.requests[1])).toEqual([
    ...['user: One', 'assistant: Answer 0.', 'user: Two'],
  ])
  // The first one has the thread open as it was: it continues behind what the other wrote, and forks nothing.
  await asking(target.url, false)({ input: 'Three', previous_response_id: after.id })
  const headers = { authorization: 'Bearer k' }
  const answer = await fetch(`${target.url}/api/threads`, { headers })
  const { threads } = (await answer.json()) as { threads: readonly unknown[] }
  expect(threads).toHaveLength(1)
})
