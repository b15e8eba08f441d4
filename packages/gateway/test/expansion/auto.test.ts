// `expand: 'auto'`, the default: models get the tool when there is something to expand, and every word about it can be followed.

import { memoryStore, openThread, type WireFormat, wireFormats } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, type MadeCall } from '../dialect.ts'
import { key, post } from '../faults/raw-client.ts'
import { sdkClient } from '../sdk/sdk-client.ts'
import { openGateway, type Target } from '../target.ts'
import { reply } from '../upstream/action.ts'
import type { Asked } from '../upstream/upstream.ts'
import { expansion, openingCalls, openScene, policy, readTool, type Say, secret } from './story.ts'

const targets: Target[] = []
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()))
})

const hint = /expand e[0-9a-z]{3,}|expansion if needed/

function hasTool({ body }: Asked): boolean {
  return JSON.stringify(body.tools ?? []).includes('expand_message')
}

/** What the provider caches of a request: tools, then messages. */
function messagesOf({ body, format }: Asked): readonly unknown[] {
  const list = { 'openai-responses': body.input, gemini: body.contents }[format as string]
  return (list ?? body.messages) as readonly unknown[]
}

/** How many requests have another list of tools than the one before. */
function changesOfTools(requests: readonly Asked[]): number {
  const lists = requests.map(({ body }) => JSON.stringify(body.tools ?? []))
  return lists.filter((list, index) => index > 0 && list !== lists[index - 1]).length
}

const plain: Say = () => ({ text: 'Fine.' })

const managers: readonly (readonly [WireFormat, 'gateway' | 'client', boolean])[] =
  wireFormats.flatMap((format) => [
    [format, 'gateway', false] as const,
    [format, 'gateway', true] as const,
    // There is no client of Gemini to manage.
    ...(format === 'gemini'
      ? []
      : [[format, 'client', false] as const, [format, 'client', true] as const]),
  ])

describe('the tool comes with what it can expand, and stays', () => {
  it.each(managers)(
    '[GX5] [SD9] in %s, managed by the %s (streamed: %s)',
    async (format, manager, isStream) => {
      const { user } = dialects[format]
      const store = memoryStore()
      const scene = await openScene({
        ...{ format, isStream, gateway: { expand: 'auto', store } },
        ...(manager === 'client' ? { thread: await openThread({ store, policy }) } : {}),
        says: [...expansion, plain],
      })
      targets.push(scene.target)
      const { target, ask, options, history } = scene
      const told = await ask(history, options)
      expect(told.text).toContain(secret)
      expect(JSON.stringify(told.whole)).not.toContain('expand_message')
      await ask([...history, ...told.messages, user('Thanks.')], options)
      const { requests, breaches } = target.upstream
      expect(breaches).toEqual([])
      const first = requests.findIndex(hasTool)
      expect(first).toBeGreaterThan(0)
      expect(first).toBeLessThanOrEqual(openingCalls)
      expect(requests.slice(first).every(hasTool)).toBe(true)
      expect(changesOfTools(requests)).toBe(1)
      // The step that adds it is the one in which the messages change too.
      const [before, with_] = [requests[first - 1], requests[first]].map((one) =>
        JSON.stringify(messagesOf(one as Asked)),
      )
      expect(with_?.startsWith(before?.slice(0, -1) ?? '')).toBe(false)
      for (const asked of requests) {
        expect(hint.test(JSON.stringify(messagesOf(asked)))).toBe(hasTool(asked))
      }
      // From then on each request continues from the one before.
      const later = requests.slice(first).map((one) => JSON.stringify(messagesOf(one)))
      for (const [index, text] of later.entries()) {
        if (index > 0 && !isStream)
          expect(text.startsWith(later[index - 1]?.slice(0, -1) ?? '')).toBe(true)
      }
    },
  )
})

const longList = Array.from({ length: 12 }, (_, index) => ({
  ...readTool,
  name: `tool_${index}`,
  description: 'What it does, at length. '.repeat(120),
}))

it.each([
  ['recommended', longList, [true, true]],
  ['recommended', longList.slice(0, 6), [false, false]],
  [{ ...policy, schedule: 'immediate' }, longList, [false, false]],
  [{}, longList, [false, false]],
] as const)(
  '[GX5] %j: long tools and system text have it from the first request on where a prefix is cached',
  async (own, tools, expected) => {
    const target = await openGateway({
      gateway: { policy: own },
      answer: () => reply({ text: 'Fine.' }),
    })
    targets.push(target)
    const list = tools.map((tool) => ({ type: 'function', function: tool }))
    const system = { role: 'system', content: 'Be brief.' }
    const first = { role: 'user', content: 'Hello' }
    for (const said of [[first], [first, { role: 'assistant', content: 'Fine.' }, first]]) {
      const messages = [system, ...said]
      const body = JSON.stringify({ model: 'gpt-5', messages, tools: list })
      await (await post(target.url, 'openai-chat', { body })).text()
    }
    expect(target.upstream.requests.map(hasTool)).toEqual(expected)
  },
)

describe.each(wireFormats)('%s', (format: WireFormat) => {
  const { user } = dialects[format]

  it.each([
    ['never', false, []],
    ['auto', undefined, ['short', 'long']],
    ['always', true, ['short', 'long']],
  ] as const)('[GX5] a chat without tools, %s', async (_, expand, offered) => {
    const target = await openGateway({
      gateway: {
        policy: { compaction: { maxTokens: 2000, keepRecentTokens: 300 }, schedule: 'immediate' },
        ...(expand === undefined ? {} : { expand }),
      },
      answer: () => reply({ text: 'words '.repeat(300) }),
    })
    targets.push(target)
    let history: readonly unknown[] = []
    for (let turn = 0; turn < 8; turn++) {
      history = [...history, user(`Question ${turn}: ${'more words '.repeat(40)}`)]
      const { body } = dialects[format]
      const response = await post(target.url, format, { body: JSON.stringify(body(history, [])) })
      expect(response.status).toBe(200)
      const answer = (await response.json()) as Readonly<Record<string, unknown>>
      history = [...history, ...dialects[format].read(answer).messages]
    }
    const { requests, breaches } = target.upstream
    expect(breaches).toEqual([])
    expect(requests.some(hasTool)).toBe(offered.length > 0)
    expect(requests[0] && hasTool(requests[0])).toBe(expand === true)
    expect(changesOfTools(requests)).toBe(expand === undefined ? 1 : 0)
    for (const asked of requests) {
      if (!hasTool(asked)) expect(JSON.stringify(messagesOf(asked))).not.toMatch(hint)
    }
  })

  it('[GX5] a short conversation never has it', async () => {
    const target = await openGateway({ answer: () => reply({ text: 'A title.' }) })
    targets.push(target)
    const { body } = dialects[format]
    const text = JSON.stringify(body([user('Name this chat.')], [readTool]))
    expect((await post(target.url, format, { body: text })).status).toBe(200)
    expect(String(target.upstream.requests[0]?.raw)).toBe(text)
  })
})

describe('a model that takes no tools', () => {
  it.each([
    [400, 'registry.example/library/small does not support tools'],
    [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
    [404, 'No endpoints found that support tool use.'],
    [500, 'tools param requires --jinja flag'],
    [400, 'Function calling is not enabled for models/small'],
  ])('[GX13] is asked without it, once it said so: %s %s', async (status, message) => {
    const format = 'openai-chat'
    const { user, body } = dialects[format]
    const target = await openGateway({
      gateway: {
        policy: { compaction: { maxTokens: 2000, keepRecentTokens: 300 }, schedule: 'immediate' },
      },
      answer: (asked) =>
        hasTool(asked) ? { type: 'error', status, message } : reply({ text: 'words '.repeat(300) }),
    })
    targets.push(target)
    let history: readonly unknown[] = []
    for (let turn = 0; turn < 10; turn++) {
      history = [...history, user(`Question ${turn}: ${'more words '.repeat(40)}`)]
      const response = await post(target.url, format, { body: JSON.stringify(body(history, [])) })
      expect(response.status).toBe(200)
      const answer = (await response.json()) as Readonly<Record<string, unknown>>
      history = [...history, ...dialects[format].read(answer).messages]
    }
    const { requests, breaches } = target.upstream
    expect(breaches).toEqual([])
    expect(requests.filter(hasTool)).toHaveLength(1)
    expect(requests).toHaveLength(11)
    for (const asked of requests) {
      if (!hasTool(asked)) expect(JSON.stringify(messagesOf(asked))).not.toMatch(hint)
    }
  })

  it('[GX13] a refusal for another reason is passed on as it is', async () => {
    const scene = await openScene({
      ...{ format: 'openai-chat', gateway: { expand: 'auto' } },
      says: [() => ({ type: 'error', status: 400, message: 'No such parameter: temperatur' })],
    })
    targets.push(scene.target)
    await expect(scene.ask(scene.history, scene.options)).rejects.toThrow(/temperatur/)
    expect(scene.target.upstream.requests).toHaveLength(openingCalls + 1)
  })
})

describe('a restart', () => {
  it('[GX5] a thread keeps the tool in the next process, whatever its view shows', async () => {
    const store = memoryStore()
    const scene = await openScene({
      ...{ format: 'openai-chat', gateway: { expand: 'auto', store } },
      says: [plain],
    })
    targets.push(scene.target)
    const { ask, options, history, target } = scene
    const told = await ask(history, options)
    expect(
      target.upstream.requests.at(-1) && hasTool(target.upstream.requests.at(-1) as Asked),
    ).toBe(true)
    const next = await openGateway({
      gateway: { store, policy: { toolResults: { strategy: 'keepAll', cutoff: 0 } } },
      answer: () => reply({ text: 'ok' }),
    })
    targets.push(next)
    const more = [...history, ...told.messages, dialects['openai-chat'].user('Go on.')]
    const { body } = dialects['openai-chat']
    const sent = JSON.stringify(body(more, [readTool]))
    expect(
      (
        await post(next.url, 'openai-chat', {
          body: sent,
          headers: { authorization: `Bearer ${key}` },
        })
      ).status,
    ).toBe(200)
    expect(hasTool(next.upstream.requests[0] as Asked)).toBe(true)
  })
})

const picture = Buffer.from('not quite a picture '.repeat(40)).toString('base64')

/** The results of a call to a tool that gives a picture, as each provider carries it. */
const pictured: Readonly<Partial<Record<WireFormat, (call: MadeCall) => readonly unknown[]>>> = {
  anthropic: ({ id }) => [
    {
      role: 'user',
      content: [
        {
          ...{ type: 'tool_result', tool_use_id: id },
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } },
          ],
        },
      ],
    },
  ],
  'openai-responses': ({ id }) => [
    {
      ...{ type: 'function_call_output', call_id: id },
      output: [{ type: 'input_image', image_url: `data:image/png;base64,${picture}` }],
    },
  ],
}

describe('what comes back', () => {
  const removed = {
    expiry: { tools: { read: { after: 1, mode: 'remove' } } },
    schedule: 'immediate',
  } as const

  /** A gateway whose model reads one thing, waits until it has expired, and looks it up. */
  async function lookUp(
    format: WireFormat,
    results: (call: MadeCall) => readonly unknown[],
    input: Readonly<Record<string, unknown>>,
  ): Promise<Asked> {
    const dialect = dialects[format]
    const target = await openGateway({
      gateway: { policy: removed },
      answer: ({ body, index }) => {
        const [, id] = /expand (e[0-9a-z]+)/.exec(JSON.stringify(body)) ?? []
        if (index === 0) return reply({ calls: [['read', '{"id":"one"}']] })
        if (id === undefined || index > 3) return reply({ text: 'Fine.' })
        return reply({ calls: [['expand_message', JSON.stringify({ id, ...input })]] })
      },
    })
    targets.push(target)
    const ask = sdkClient(format, { url: target.url, key })
    const first = await ask([dialect.user('Look.')], { tools: [readTool] })
    const [call] = first.calls
    if (call === undefined) throw new Error('no call')
    let history = [dialect.user('Look.'), ...first.messages, ...results(call)]
    for (const text of ['Go on.', 'What was it?', 'And?']) {
      const told = await ask(history, { tools: [readTool] })
      history = [...history, ...told.messages, dialect.user(text)]
    }
    const { requests, breaches } = target.upstream
    expect(breaches).toEqual([])
    const lookedUp = requests.findIndex(({ body }) => {
      const text = JSON.stringify(body)
      return text.includes('"expand_message"') && /Omitted|shown/.test(text)
    })
    const found = requests[lookedUp + 1]
    if (lookedUp === -1 || found === undefined) throw new Error('Nothing was looked up')
    return found
  }

  it.each(Object.keys(pictured) as WireFormat[])(
    '[GX14] a picture in %s comes back as a picture',
    async (format) => {
      const results = pictured[format] as (call: MadeCall) => readonly unknown[]
      const asked = await lookUp(format, results, {})
      expect(JSON.stringify(asked.body)).toContain(picture)
    },
  )

  const long = `{"rows":[${Array.from({ length: 9000 }, (_, at) => `{"row":${at},"name":"part ${at}"}`).join()}]}`

  it.each(
    wireFormats.flatMap((format) => [
      [format, { query: 'part 8123' }, /row[\\":]+8123/] as const,
      [
        format,
        { chars: [200_000, 200_080] },
        new RegExp(long.slice(200_004, 200_012).replaceAll('"', '.*')),
      ] as const,
      [format, { items: [8500, 8501] }, /row[\\":]+8501/] as const,
      [format, { lines: 5 }, /lines must be two whole numbers/] as const,
    ]),
  )('[GX14] in %s a part of one long line is found by %j', async (format, input, expected) => {
    const results = (call: MadeCall): readonly unknown[] =>
      dialects[format].results([{ call, text: long }])
    const asked = await lookUp(format, results, input)
    expect(JSON.stringify(messagesOf(asked))).toMatch(expected)
    expect(JSON.stringify(messagesOf(asked)).length).toBeLessThan(20_000)
  })
})
