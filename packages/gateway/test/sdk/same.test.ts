// What the official SDKs see through the gateway is what they see without it.

import type { WireFormat } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { spokenFormats } from '../dialect.ts'
import { openDirect, openGateway, type Target, type TargetOptions } from '../target.ts'
import { type Action, type Delivery, reply } from '../upstream/action.ts'
import type { Asked } from '../upstream/upstream.ts'
import { type AskOptions, sdkClient } from './sdk-client.ts'
import { talk } from './talk.ts'

const targets: Target[] = []
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()))
})

const tools = ['read', 'search'].map((name) => ({
  name,
  description: `Tool ${name}.`,
  parameters: { type: 'object', properties: { id: { type: 'string' } } },
}))

const dot =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const pictures: Readonly<Record<WireFormat, readonly unknown[]>> = {
  'openai-chat': [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${dot}`, detail: 'low' } },
  ],
  'openai-responses': [
    { type: 'input_text', text: 'What is this?' },
    { type: 'input_image', detail: 'low', image_url: `data:image/png;base64,${dot}` },
  ],
  anthropic: [
    { type: 'text', text: 'What is this?' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: dot } },
  ],
  gemini: [{ text: 'What is this?' }, { inlineData: { mimeType: 'image/png', data: dot } }],
}
const thinking: Readonly<Record<WireFormat, Readonly<Record<string, unknown>>>> = {
  'openai-chat': { reasoning_effort: 'high' },
  'openai-responses': { reasoning: { effort: 'high', summary: 'auto' } },
  anthropic: { thinking: { type: 'enabled', budget_tokens: 1024 } },
  gemini: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
}

const cases = spokenFormats.flatMap((format) =>
  [false, true].map((isStream) => ({ format, isStream, mode: isStream ? 'streamed' : 'whole' })),
)

describe.each(cases)('$format $mode', ({ format, isStream }) => {
  it('[GW51] a plain conversation of two turns', async () => {
    const seen = await compare(
      { answer: ({ index }) => reply({ text: `Answer ${index} — ü` }) },
      (url) =>
        talk({ format, ask: sdkClient(format, { url }), questions: ['One?', 'Two?'], isStream }),
    )
    expect(seen.answers).toEqual(['Answer 0 — ü', 'Answer 1 — ü'])
  })

  it('[GW51] tools, parallel tools, thinking with signatures and a picture', async () => {
    const answer = scripted([
      reply({
        reasoning: 'I read both.',
        text: 'Reading.',
        calls: [
          ['read', '{"id": "a"}'],
          ['read', '{ "id":"b" }'],
        ],
      }),
      reply({ reasoning: 'Now search.', calls: [['search', '{"id":"ü\\u2028"}']] }),
      reply({ reasoning: 'Done.', text: 'Both are red.' }),
      reply({ reasoning: 'Again.', calls: [['search', '{}']] }),
      reply({ reasoning: 'Fine.', text: 'A dot.' }),
    ])
    const seen = await compare({ answer }, (url) =>
      talk({
        ...{ format, isStream, tools, ask: sdkClient(format, { url }), extra: thinking[format] },
        questions: ['Read a and b.', pictures[format]],
        runTool: (name, args) => `${name} ${args} says red\n`.repeat(20),
      }),
    )
    expect(seen.answers).toEqual(['Both are red.', 'A dot.'])
    expect(seen.upstream).toHaveLength(5)
  })

  it.each([400, 401, 403, 404, 409, 429, 500, 503, 529])('[GW52] error %i', async (status) => {
    const options = { answer: (): Action => ({ type: 'error', status }) }
    const seen = await compare(options, async (url) => {
      const ask = sdkClient(format, { url })
      return { answers: [await failure(ask([userOf(format, 'Hello')], { isStream }))], history: [] }
    })
    expect(seen.answers[0]).toMatchObject({ status })
  })

  it('[GW52] fields and headers that nobody here knows arrive on both sides', async () => {
    const extra = { strange_field: { deep: [1, null, 'ü'] }, user: 'u1' }
    const { url, upstream } = await open({ answer: () => reply({ text: 'ok' }) }, openGateway)
    const ask = sdkClient(format, { url })
    const { whole } = await ask([userOf(format, 'Hello')], {
      ...{ isStream, extra },
      headers: { 'anthropic-beta': 'strange-2026-01-01', 'openai-beta': 'strange=v1' },
    })
    expect(upstream.requests[0]?.body).toMatchObject(extra)
    expect(upstream.requests[0]?.headers).toMatchObject({
      'anthropic-beta': 'strange-2026-01-01',
      'openai-beta': 'strange=v1',
    })
    expect(upstream.requests[0]?.headers.authorization).toBe('Bearer test-key')
    if (!isStream) expect(whole._request_id).toBe('req_0')
  })
})

describe.each(spokenFormats)('streams of %s', (format) => {
  const long = 'A long answer, word by word, to the end. '.repeat(20)
  const deliveries: readonly (readonly [string, Delivery])[] = [
    ['in single bytes', { chunkBytes: 1 }],
    ['in chunks of 7 bytes', { chunkBytes: 7 }],
    ['with CRLF and comments', { lineEnd: '\r\n', hasComments: true }],
    ['slowly', { eventDelayMs: 5 }],
    ['cut in the middle', { cutAfter: 8 }],
    ['with an error in the middle', { errorAfter: 8 }],
  ]
  it.each(deliveries)('[GW53] %s', async (_, delivery) => {
    const text = delivery.chunkBytes === undefined ? long : 'Grüße — 横浜 🚢, schön.'
    const seen = await compare({ answer: () => reply({ text }, delivery) }, async (url) => {
      let heard = ''
      const ask = sdkClient(format, { url })
      const onText = (piece: string): void => {
        heard += piece
      }
      const end = await failure(ask([userOf(format, 'Hello')], { isStream: true, onText }))
      return { answers: [heard, end], history: [] }
    })
    const isBroken = delivery.cutAfter !== undefined || delivery.errorAfter !== undefined
    expect(seen.answers[0] === text).toBe(!isBroken)
    expect(seen.answers[1] === 'no failure').toBe(!isBroken)
    if (isBroken) expect(text.startsWith(String(seen.answers[0]))).toBe(true)
  })

  it('[GW53] each event arrives before the next is sent', async () => {
    const gates = createGates()
    const { url, upstream } = await open(
      { answer: () => reply({ text: long }, { eventDelayMs: 20 }) },
      openGateway,
    )
    const ask = sdkClient(format, { url })
    const done = ask([userOf(format, 'Hello')], { isStream: true, onText: () => gates.first() })
    await gates.opened
    const [request] = upstream.requests
    expect(request?.bytesSent).toBeGreaterThan(0)
    expect(await Promise.race([request?.ended, Promise.resolve('still sending')])).toBe(
      'still sending',
    )
    await done
  })

  it('[GW54] a client that leaves in the middle is gone for the upstream too', async () => {
    const { url, upstream } = await open(
      { answer: () => reply({ text: long }, { eventDelayMs: 20 }) },
      openGateway,
    )
    const controller = new AbortController()
    const asked: AskOptions = {
      isStream: true,
      signal: controller.signal,
      onText: () => controller.abort(),
    }
    await expect(sdkClient(format, { url })([userOf(format, 'Hello')], asked)).rejects.toThrow()
    expect(await upstream.requests[0]?.ended).toBe('aborted')
  })
})

interface Seen {
  readonly answers: readonly unknown[]
  readonly history: readonly unknown[]
}

/** Runs the same with and without the gateway and compares what the client saw; gives what it saw, and what the upstream got. */
async function compare(
  options: TargetOptions,
  run: (url: string) => Promise<Seen>,
): Promise<Seen & { readonly upstream: readonly Asked[] }> {
  const direct = await open(options, openDirect)
  const expected = await run(direct.url)
  const through = await open(options, openGateway)
  const seen = await run(through.url)
  expect(through.upstream.breaches).toEqual([])
  expect(seen).toEqual(expected)
  // Without anything to reduce, the upstream gets the same conversation either way; a failed call may be repeated.
  expect(distinct(through.upstream)).toEqual(distinct(direct.upstream))
  return { ...seen, upstream: through.upstream.requests }
}

async function open(
  options: TargetOptions,
  opener: (options: TargetOptions) => Promise<Target>,
): Promise<Target> {
  const target = await opener(options)
  targets.push(target)
  return target
}

function distinct({ requests }: Target['upstream']): readonly string[] {
  return [...new Set(requests.map(({ body }) => JSON.stringify(body)))]
}

/** One answer after the other, whatever is asked. */
function scripted(actions: readonly Action[]): (asked: Asked) => Action {
  return ({ index }) => {
    const action = actions[index]
    if (action === undefined) throw new Error(`Nothing is scripted for request ${index}`)
    return action
  }
}

/** What an SDK throws, as a caller can see it. */
async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
    return 'no failure'
  } catch (error) {
    const { status, code, type, message, requestID } = error as Record<string, unknown>
    const name = (error as Error).constructor.name
    // A repeated call has another number.
    const hasRequestId = String(requestID).startsWith('req_')
    return { name, status, code, type, message, hasRequestId }
  }
}

function userOf(format: WireFormat, text: string): unknown {
  return format === 'openai-responses'
    ? { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
    : { role: 'user', content: text }
}

function createGates(): { readonly opened: Promise<void>; first(): void } {
  let first = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    first = resolve
  })
  return { opened, first: () => first() }
}
