// Google's official client against the gateway, and against the same scripted provider without it.

import {
  ApiError,
  type Content,
  type FunctionCall,
  FunctionCallingConfigMode,
  type FunctionResponse,
  type GenerateContentResponse,
  GoogleGenAI,
} from '@google/genai'
import { decode, type PolicyInput } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { openDirect, openGateway, type Target, type TargetOptions } from './target.ts'
import { reply } from './upstream/action.ts'
import type { Asked } from './upstream/upstream.ts'

const model = 'gemini-2.5-flash'
const targets: Target[] = []
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()))
})

async function open(
  options: TargetOptions,
  opener: (options: TargetOptions) => Promise<Target> = openGateway,
): Promise<Target & { readonly client: GoogleGenAI }> {
  const target = await opener(options)
  targets.push(target)
  const retryOptions = { attempts: 1 }
  const httpOptions = { baseUrl: target.url, apiVersion: 'v1beta', retryOptions }
  return { ...target, client: new GoogleGenAI({ apiKey: 'test-key', httpOptions }) }
}

/** Runs the same with and without the gateway; both the client and the provider see the same. */
async function compare<T>(
  options: TargetOptions,
  run: (client: GoogleGenAI) => Promise<T>,
): Promise<{ readonly seen: T; readonly requests: readonly Asked[] }> {
  const direct = await open(options, openDirect)
  const expected = await run(direct.client)
  const through = await open(options)
  const seen = await run(through.client)
  expect(seen).toEqual(expected)
  expect(through.upstream.breaches).toEqual([])
  // What came in several pieces may be sent as one.
  const bodies = (target: Target) =>
    target.upstream.requests.map(({ path, query, body: { contents, ...body } }) => {
      const drafts = decode('gemini', contents as readonly unknown[])
      return { path, query, body, said: drafts.map(({ draft: { native: _, ...draft } }) => draft) }
    })
  expect(bodies(through)).toEqual(bodies(direct))
  return { seen, requests: through.upstream.requests }
}

function responseTo(call: FunctionCall | undefined, output: string): FunctionResponse {
  return { ...(call?.id && { id: call.id }), name: call?.name ?? '', response: { output } }
}

async function collect(
  stream: AsyncIterable<GenerateContentResponse>,
): Promise<readonly GenerateContentResponse[]> {
  const chunks: GenerateContentResponse[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}

const read = {
  name: 'read',
  description: 'Reads a document.',
  parametersJsonSchema: { type: 'object', properties: { id: { type: 'string' } } },
}
const tools = [{ functionDeclarations: [read] }]

describe('the same with and without the gateway', () => {
  const answer: TargetOptions['answer'] = ({ index }) => reply({ text: `Answer ${index} — ü` })

  it('[GW51] a chat of two turns', async () => {
    const { seen, requests } = await compare({ answer }, async (client) => {
      const chat = client.chats.create({ model, config: { systemInstruction: 'Be brief.' } })
      const texts: unknown[] = []
      for (const message of ['One?', 'Two?']) texts.push((await chat.sendMessage({ message })).text)
      return { texts, history: chat.getHistory() }
    })
    expect(seen.texts).toEqual(['Answer 0 — ü', 'Answer 1 — ü'])
    expect(requests.map(({ path }) => path)).toEqual([
      `/v1beta/models/${model}:generateContent`,
      `/v1beta/models/${model}:generateContent`,
    ])
    expect(requests[1]?.body.contents).toHaveLength(3)
    expect(requests[1]?.headers['x-goog-api-key']).toBe('test-key')
  })

  it('[GW51] [GC3] a streamed chat, which resends answers in the pieces that they came in', async () => {
    const long: TargetOptions['answer'] = ({ index }) =>
      reply({ text: `Answer ${index}: ${'some words of it '.repeat(8)}` })
    const { seen, requests } = await compare({ answer: long }, async (client) => {
      const chat = client.chats.create({ model })
      const texts: string[] = []
      for (const message of ['One?', 'Two?', 'Three?']) {
        let text = ''
        for await (const chunk of await chat.sendMessageStream({ message })) {
          text += chunk.text ?? ''
        }
        texts.push(text)
      }
      return { texts, history: chat.getHistory() }
    })
    expect(seen.texts[2]).toMatch(/^Answer 2: some words/)
    expect(requests[2]?.query).toBe('?alt=sse')
    // Several contents of the model for each answer.
    expect(seen.history.length).toBeGreaterThan(15)
  })

  it.each([
    ['whole', false],
    ['streamed', true],
  ])('[GW51] parallel tools and signed thoughts, %s', async (_mode, isStream) => {
    const script: TargetOptions['answer'] = ({ index }) =>
      index === 0
        ? reply({
            reasoning: 'Two documents.',
            text: 'Looking.',
            calls: [
              ['read', '{"id":"a"}'],
              ['read', '{"id":"b"}'],
            ],
          })
        : reply({ text: 'Both say x.' })
    const { seen, requests } = await compare({ answer: script }, async (client) => {
      const contents: Content[] = [{ role: 'user', parts: [{ text: 'What do they say?' }] }]
      for (let turn = 0; turn < 2; turn++) {
        const params = { model, contents, config: { tools } }
        const chunks = isStream
          ? await collect(await client.models.generateContentStream(params))
          : [await client.models.generateContent(params)]
        const calls = chunks.flatMap(({ functionCalls = [] }) => functionCalls)
        contents.push(...chunks.flatMap(({ candidates }) => candidates?.[0]?.content ?? []))
        const parts = calls.map(({ id, name }) => ({
          functionResponse: { ...(id && { id }), ...(name && { name }), response: { output: 'x' } },
        }))
        if (parts.length > 0) contents.push({ role: 'user', parts })
      }
      return contents
    })
    expect(JSON.stringify(seen)).toContain('thoughtSignature')
    expect(JSON.stringify(seen.at(-1))).toContain(isStream ? '' : 'Both say x.')
    expect(requests).toHaveLength(2)
  })

  it('[GW52] an error of the provider', async () => {
    const refuse: TargetOptions['answer'] = () => ({ type: 'error', status: 429 })
    const { seen } = await compare({ answer: refuse }, async (client) => {
      const error: unknown = await client.models
        .generateContent({ model, contents: 'Hi' })
        .catch((one: unknown) => one)
      if (!(error instanceof ApiError)) throw error
      return { status: error.status, message: error.message }
    })
    expect(seen).toMatchObject({
      status: 429,
      message: expect.stringContaining('"status":"RESOURCE_EXHAUSTED"'),
    })
  })

  it('[GW51] everything else, such as countTokens', async () => {
    const { client, upstream } = await open({ answer })
    await client.models.countTokens({ model, contents: 'Hi' })
    expect(upstream.requests).toEqual([])
    expect(upstream.others.map(({ path }) => path)).toEqual([`/v1beta/models/${model}:countTokens`])
  })
})

describe('a conversation that the gateway manages', () => {
  const policy = {
    toolResults: { strategy: 'keepRecent', max: 1, placeholder: 'informative', cutoff: 0 },
    schedule: 'immediate',
  } as const satisfies PolicyInput

  /** A loop with one call in each step; whether a stream or not, results are resent whole. */
  async function loop(client: GoogleGenAI, steps: number, isStream: boolean): Promise<void> {
    const chat = client.chats.create({ model, config: { tools } })
    let message: Parameters<typeof chat.sendMessage>[0]['message'] = 'Read them all.'
    for (let step = 0; step < steps; step++) {
      const chunks: readonly GenerateContentResponse[] = isStream
        ? await collect(await chat.sendMessageStream({ message }))
        : [await chat.sendMessage({ message })]
      const [call] = chunks.flatMap(({ functionCalls = [] }) => functionCalls)
      const output = `Document ${step}. ${'A line of it. '.repeat(120)}`
      message = [{ functionResponse: responseTo(call, output) }]
    }
  }
  const calls: TargetOptions['answer'] = ({ index }) =>
    reply({ text: `Step ${index}.`, calls: [['read', `{"id":"d${index}"}`]] })

  it.each([
    ['whole', false],
    ['streamed', true],
  ])('[GW51] sends less of old results, %s', async (_mode, isStream) => {
    const { client, upstream } = await open({ answer: calls, gateway: { policy } })
    await loop(client, 5, isStream)
    expect(upstream.breaches).toEqual([])
    const last = JSON.stringify(upstream.requests.at(-1)?.body)
    expect(last).toMatch(/\[Omitted: read result/)
    expect(last).toContain('Document 3.')
    expect(last).not.toMatch(/Document 0\. (A line of it\. ){9}/)
  })

  it('[GW51] makes a request smaller that the provider found too long', async () => {
    const { client, upstream } = await open({ answer: calls, window: 1500 })
    await loop(client, 5, false)
    const { requests, breaches } = upstream
    expect(breaches).toEqual([])
    expect(requests.some(({ isTooLong }) => isTooLong)).toBe(true)
    expect(requests.at(-1)?.isTooLong).toBe(false)
  })

  it.each([
    ['whole', false],
    ['streamed', true],
  ])('[GX1] answers calls to its own tool, %s', async (_mode, isStream) => {
    const answer: TargetOptions['answer'] = ({ index, body }) => {
      if (index < 3) return reply({ calls: [['read', `{"id":"d${index}"}`]] })
      const id = /; expand (\w+)\]/.exec(JSON.stringify(body))?.[1] ?? 'none'
      if (index === 3) {
        return reply({ text: 'Let me look.', calls: [['expand_message', `{"id":"${id}"}`]] })
      }
      return reply({ text: 'It says so.' })
    }
    const { client, upstream } = await open({ answer, gateway: { policy, expand: true } })
    const chat = client.chats.create({ model, config: { tools } })
    let message: Parameters<typeof chat.sendMessage>[0]['message'] = 'Read them all.'
    let said = ''
    for (let step = 0; step < 4; step++) {
      const chunks: readonly GenerateContentResponse[] = isStream
        ? await collect(await chat.sendMessageStream({ message }))
        : [await chat.sendMessage({ message })]
      said = chunks.map(({ text = '' }) => text).join('')
      const [call] = chunks.flatMap(({ functionCalls = [] }) => functionCalls)
      const output = `Document ${step}. ${'A line of it. '.repeat(120)}`
      if (call !== undefined) message = [{ functionResponse: responseTo(call, output) }]
    }
    expect(upstream.breaches).toEqual([])
    expect(said).toBe('Let me look.\n\nIt says so.')
    expect(JSON.stringify(chat.getHistory())).not.toContain('expand_message')
    const rounds = upstream.requests.map(({ body }) => JSON.stringify(body.contents))
    expect(rounds).toHaveLength(5)
    expect(rounds[4]).toContain('"functionResponse":{"id"')
    expect(rounds[4]).toContain('expand_message')
    // The conversation continues from what was said, the hidden round included.
    await chat.sendMessage({ message: 'Thanks.' })
    expect(upstream.breaches).toEqual([])
    expect(JSON.stringify(upstream.requests.at(-1)?.body.contents)).toContain('expand_message')
  })

  it('[GX5] offers no tool where functions cannot be called', async () => {
    const answer: TargetOptions['answer'] = () => reply({ text: '{}' })
    const { client, upstream } = await open({ answer, gateway: { expand: true } })
    const ask = (config: object) => client.models.generateContent({ model, contents: 'Hi', config })
    await ask({ responseMimeType: 'application/json' })
    await ask({ tools: [{ googleSearch: {} }] })
    await ask({
      tools,
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } },
    })
    for (const { body } of upstream.requests) {
      expect(JSON.stringify(body)).not.toContain('expand_message')
    }
  })

  it('[GW51] reads a stream that comes as one list of JSON', async () => {
    const chunk = (text: string, more: object = {}) => ({
      candidates: [{ content: { role: 'model', parts: [{ text }] }, ...more }],
    })
    const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 2 }
    const list = [chunk('Hel'), { ...chunk('lo', { finishReason: 'STOP' }), usageMetadata }]
    const headers = { 'content-type': 'application/json' }
    const raw = { type: 'raw', status: 200, headers, body: JSON.stringify(list) } as const
    const { url, upstream } = await open({ answer: () => raw })
    const contents: object[] = [{ role: 'user', parts: [{ text: 'Hi' }] }]
    const post = () =>
      fetch(`${url}/v1/models/${model}:streamGenerateContent`, {
        method: 'POST',
        body: JSON.stringify({ contents }),
      })
    const first = await post()
    expect(await first.json()).toEqual(list)
    contents.push({ role: 'model', parts: [{ text: 'Hello' }] })
    contents.push({ role: 'user', parts: [{ text: 'And?' }] })
    const second = await post()
    await second.text()
    expect(second.headers.get('x-oriel-thread')).toBe(first.headers.get('x-oriel-thread'))
    expect(upstream.breaches).toEqual([])
  })

  it("[GW51] refuses in Google's words", async () => {
    const { url } = await open({ answer: () => reply({ text: 'ok' }) })
    const response = await fetch(`${url}/v1beta/models/${model}:generateContent`, {
      method: 'POST',
      body: '{',
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.any(String) },
    })
  })
})
