// Which requests carry the tool: from a thread's first one on, and never where it could do harm.

import type { JsonObject, WireFormat } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import type { GatewayOptions } from '../../src/index.ts'
import { dialects, spokenFormats } from '../dialect.ts'
import { key, post } from '../faults/raw-client.ts'
import { openGateway, type Target, type TargetOptions } from '../target.ts'
import { reply, type Texts } from '../upstream/action.ts'
import type { Asked } from '../upstream/upstream.ts'
import {
  expandCall,
  expansion,
  forgetful,
  openScene,
  placeholderId,
  readTool,
  secret,
} from './story.ts'

const targets: Target[] = []
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()))
})

async function open(
  gateway: GatewayOptions = {},
  answer: TargetOptions['answer'] = () => reply({ text: 'ok' }),
): Promise<Target> {
  const target = await openGateway({ gateway: { expand: true, ...gateway }, answer })
  targets.push(target)
  return target
}

/** Fields of a body beside the client's tools, by what is asked of the model. */
const free: Readonly<Record<WireFormat, readonly JsonObject[]>> = {
  'openai-chat': [
    {},
    { tool_choice: 'auto' },
    { tool_choice: 'none' },
    { tool_choice: { type: 'function', function: { name: 'read' } } },
    { parallel_tool_calls: false },
    { n: 1 },
    { response_format: { type: 'text' } },
  ],
  'openai-responses': [
    {},
    { tool_choice: 'none' },
    { tool_choice: { type: 'function', name: 'read' } },
    { parallel_tool_calls: false },
    { text: { format: { type: 'text' } } },
  ],
  anthropic: [
    {},
    { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    { tool_choice: { type: 'tool', name: 'read' } },
    { tool_choice: { type: 'none' } },
  ],
  gemini: [
    {},
    { toolConfig: { functionCallingConfig: { mode: 'AUTO' } } },
    { toolConfig: { functionCallingConfig: { mode: 'NONE' } } },
    { generationConfig: { candidateCount: 1, responseMimeType: 'text/plain' } },
  ],
}
const schema = { type: 'json_schema', name: 'x', schema: {} }
const bound: Readonly<Record<WireFormat, readonly JsonObject[]>> = {
  'openai-chat': [
    { tool_choice: 'required' },
    { n: 2 },
    { response_format: { type: 'json_object' } },
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } } },
    { functions: [{ name: 'old' }] },
    { prediction: { type: 'content', content: 'a' } },
    { modalities: ['text', 'audio'] },
  ],
  'openai-responses': [
    { tool_choice: 'required' },
    { text: { format: schema } },
    { background: true },
  ],
  anthropic: [
    { tool_choice: { type: 'any' } },
    { output_config: { format: schema } },
    { output_format: schema },
  ],
  gemini: [
    { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
    { generationConfig: { candidateCount: 2 } },
    { generationConfig: { responseMimeType: 'application/json' } },
    { generationConfig: { responseModalities: ['AUDIO'] } },
    { tools: [{ googleSearch: {} }] },
  ],
}

const structured: Readonly<Record<WireFormat, JsonObject>> = {
  'openai-chat': { response_format: { type: 'json_object' } },
  'openai-responses': { text: { format: schema } },
  anthropic: { output_config: { format: schema } },
  gemini: { generationConfig: { responseMimeType: 'application/json' } },
}

const cases = (kinds: typeof free): readonly (readonly [WireFormat, JsonObject])[] =>
  spokenFormats.flatMap((format) => kinds[format].map((extra) => [format, extra] as const))

describe('a first request', () => {
  it.each(cases(free))('[GX5] of %s with %j carries the tool', async (format, extra) => {
    const { url, upstream } = await open()
    const { body, user } = dialects[format]
    const own = { ...body([user('Hello')], [readTool]), ...extra }
    expect((await post(url, format, { body: JSON.stringify(own) })).status).toBe(200)
    const [sent] = upstream.requests
    const tools = sent?.body.tools as readonly JsonObject[]
    expect(tools).toHaveLength(3)
    expect({ ...sent?.body, tools: tools.slice(0, 1) }).toEqual(own)
  })

  it.each(cases(bound))('[GX5] of %s with %j passes without it', async (format, extra) => {
    const { url, upstream } = await open()
    const { body, user } = dialects[format]
    const own = JSON.stringify({ ...body([user('Hello')], [readTool]), ...extra })
    await post(url, format, { body: own })
    expect(upstream.requests[0]?.raw.toString()).toBe(own)
  })
})

describe.each(spokenFormats)('%s', (format) => {
  const { body, user } = dialects[format]
  const tool = body([], [readTool]).tools as readonly JsonObject[]

  it.each([
    ['no tools', '', ''],
    ['an empty list', '"tools" : [ ] ,', '"tools" : '],
    ['null', '"tools": null,', '"tools": '],
    ['its own tools', `"tools" : [ ${JSON.stringify(tool[0])} ] ,`, '"tools" : [ '],
  ])('[GX5] a client with %s keeps every byte of its own', async (_, tools, begin) => {
    const { url, upstream } = await open()
    const field = format === 'openai-responses' ? 'input' : 'messages'
    const text = `{ "model":"m", ${tools} "max_tokens" : 10, "${field}": [ ${JSON.stringify(user('Hi'))} ]  }`
    expect((await post(url, format, { body: text })).status).toBe(200)
    const sent = upstream.requests[0]
    const list = sent?.body.tools as readonly JsonObject[] | undefined
    const names = (list ?? []).map((one) => JSON.stringify(one))
    expect(names.at(-2)).toContain('expand_message')
    expect(names.at(-1)).toContain('search_conversation')
    const added = names.slice(-2).join(',')
    const raw = String(sent?.raw)
    const without = [`"tools":[${added}],`, `,${added}`, added].reduce(
      (all, one) => all.replace(one, ''),
      raw,
    )
    expect(raw).toContain(begin)
    expect(without.replace('[]', begin.startsWith('"tools":') ? 'null' : '[ ]')).toBe(text)
  })

  it('[GX5] a client that has a tool of that name keeps it, and ours has another', async () => {
    const own = { ...readTool, name: 'expand_message' }
    const scene = await openScene({
      ...{ format, says: [] },
      says: [
        (asked) => ({
          reasoning: 'Ours.',
          calls: [['oriel_expand_message', `{"id":"${placeholderId(asked)}"}`]],
        }),
        () => ({ reasoning: 'Theirs.', calls: [['expand_message', '{"id":"x"}']] }),
      ],
      extra: { tools: body([], [readTool, own]).tools },
    })
    targets.push(scene.target)
    const { upstream } = scene.target
    const told = await scene.ask(scene.history, scene.options)
    expect(told.calls).toMatchObject([{ name: 'expand_message', arguments: '{"id":"x"}' }])
    expect(JSON.stringify(upstream.requests.at(-1)?.body)).toContain(secret)
    for (const { body: sent } of upstream.requests) {
      expect(sent.tools).toHaveLength(4)
      expect(JSON.stringify(sent.tools)).toContain('"oriel_expand_message"')
      expect(JSON.stringify(sent.tools)).toContain('"oriel_search_conversation"')
    }
    expect(upstream.breaches).toEqual([])
  })

  it('[GX5] a thread that began without the tool goes on without it', async () => {
    const { url, upstream } = await open({ agents: { plain: { expand: false }, rich: {} } })
    const headers = { 'x-session-id': 'one' }
    const first = [user('Hello')]
    await post(`${url}`, format, {
      body: JSON.stringify(body(first, [readTool])),
      headers: { ...headers, 'x-oriel-agent': 'plain' },
    })
    const more = [...first, { role: 'assistant', content: 'ok' }, user('More')]
    await post(url, format, { body: JSON.stringify(body(more, [readTool])), headers })
    expect(upstream.requests.map(({ body: sent }) => sent.tools)).toEqual([tool, tool])
  })

  it('[GX5] a thread that began with it has it in every request, and keeps it from one process to the next', async () => {
    const { url, upstream } = await open({ expand: false, agents: { rich: { expand: true } } })
    const headers = { 'x-session-id': 'one', 'x-oriel-agent': 'rich' }
    const first = [user('Hello')]
    const more = [...first, { role: 'assistant', content: 'ok' }, user('More')]
    for (const history of [first, more]) {
      await post(url, format, { body: JSON.stringify(body(history, [])), headers })
    }
    const [one, two] = upstream.requests.map(({ body: sent }) => JSON.stringify(sent.tools))
    expect(one).toContain('expand_message')
    expect(two).toBe(one)
  })

  it('[GX5] management off, and histories that the upstream keeps, pass through byte for byte', async () => {
    const { url, upstream } = await open()
    const text = JSON.stringify(body([user('Hello')], []))
    await post(url, format, { body: text, headers: { 'x-oriel-management': 'off' } })
    expect(upstream.requests[0]?.raw.toString()).toBe(text)
    if (format !== 'openai-responses') return
    const held = JSON.stringify({ ...body([user('Hello')], []), previous_response_id: 'resp_1' })
    await post(url, format, { body: held })
    expect(upstream.requests[1]?.raw.toString()).toBe(held)
  })

  it('[GX5] a later request that must call a tool has the same tools, and sees only its own', async () => {
    const scene = await openScene({
      ...{ format },
      says: [
        (asked) => ({ reasoning: 'Ours.', calls: [expandCall(asked)] }),
        () => ({ reasoning: 'Theirs.', calls: [['read', '{"id":"map"}']] }),
      ],
    })
    targets.push(scene.target)
    const { target, ask, options, history } = scene
    const [forced] = bound[format]
    const told = await ask(history, { ...options, extra: { ...options.extra, ...forced } })
    expect(told.calls).toMatchObject([{ name: 'read' }])
    const lists = target.upstream.requests.map(({ body: sent }) => JSON.stringify(sent.tools))
    expect(new Set(lists).size).toBe(1)
    expect(target.upstream.breaches).toEqual([])
  })

  it.each([
    ['all rounds', {}, 4],
    ['all the time', { expandMs: 1 }, 2],
  ])(
    '[GX5] a later request that must call a tool calls one of its own when %s went to ours',
    async (_, limits, rounds) => {
      let now = 1_000_000
      const scene = await openScene({
        ...{ format, extra: {}, gateway: { limits, now: () => now } },
        says: Array.from({ length: rounds + 1 }, (_say, at) => (asked: Asked) => {
          now += 1
          // The last one goes without the tool, and so without the words that offer it.
          if (at === rounds) return { calls: [['read', '{"id":"map"}']] }
          const own = `{"id":"${placeholderId(asked)}","lines":[0,${at}]}`
          return { calls: [['expand_message', own]] }
        }),
      })
      targets.push(scene.target)
      const { target, ask, options, history } = scene
      const [forced] = bound[format]
      // Signed reasoning would be bound to the list of tools.
      const sent = format === 'anthropic' ? forgetful(format, history) : history
      const told = await ask(sent, { ...options, extra: { ...options.extra, ...forced } })
      expect(told.calls).toMatchObject([{ name: 'read' }])
      const lists = target.upstream.requests.slice(-2).map((one) => one.body.tools)
      expect(lists).toMatchObject([{ length: 3 }, { length: 1 }])
      expect(lists[1]).toEqual(tool)
      expect(target.upstream.breaches).toEqual([])
    },
  )

  it('[GX5] a client without tools keeps the list where the tool could do harm, and nothing is called', async () => {
    let asked = 0
    const { url, upstream } = await open({}, () => {
      asked += 1
      return asked === 1
        ? reply({ calls: [['expand_message', '{"id":"e1"}']] })
        : reply({ text: 'ok' })
    })
    const headers = { 'x-session-id': 'one' }
    const first = [user('Hello')]
    await post(url, format, { body: JSON.stringify(body(first, [])), headers })
    const more = [...first, { role: 'assistant', content: 'ok' }, user('As JSON.')]
    const response = await post(url, format, {
      body: JSON.stringify({ ...body(more, []), ...structured[format] }),
      headers,
    })
    expect(response.status).toBe(200)
    expect(upstream.breaches).toEqual([])
    expect(upstream.requests).toHaveLength(3)
    const sent = upstream.requests[2]?.body
    expect(sent?.tool_choice).toEqual(format === 'anthropic' ? { type: 'none' } : 'none')
    expect(sent?.tools).toEqual(upstream.requests[0]?.body.tools)
  })

  it('[GX5] a list of tools that is full stays as it is', async () => {
    const { url, upstream } = await open()
    const many = Array.from({ length: 128 }, (_, at) => ({ ...readTool, name: `read_${at}` }))
    const text = JSON.stringify(body([user('Hello')], many))
    expect((await post(url, format, { body: text })).status).toBe(200)
    expect(upstream.requests[0]?.raw.toString()).toBe(text)
  })

  it('[GX10] an answer says how many calls were answered, and later rounds are requests of their own', async () => {
    let asked = 0
    const { url, upstream } = await open({}, () => {
      asked += 1
      const call = ['expand_message', '{"id":"e1"}'] as const
      return reply(asked === 1 ? { calls: [call, call] } : { text: 'ok' })
    })
    const response = await post(url, format, {
      body: JSON.stringify(body([user('Hello')], [])),
      headers: { 'idempotency-key': 'one' },
    })
    expect(response.headers.get('x-oriel-expansions')).toBe('2')
    const keys = upstream.requests.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toEqual(['one', undefined])
    const plain = await post(url, format, { body: JSON.stringify(body([user('Hi')], [])) })
    expect(plain.headers.get('x-oriel-expansions')).toBeNull()
  })

  it('[GX10] a preview shows the tool that would be sent, and keeps nothing', async () => {
    const { url, upstream } = await open()
    const text = JSON.stringify(body([user('Hello')], [readTool]))
    const preview = async (): Promise<JsonObject> => {
      const response = await fetch(`${url}/v1/preview?format=${format}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: text,
      })
      return (await response.json()) as JsonObject
    }
    const { tools } = await preview()
    await post(url, format, { body: text })
    expect(upstream.requests).toHaveLength(1)
    expect(tools).toEqual(upstream.requests[0]?.body.tools)
    expect(tools).toHaveLength(3)
  })
})

describe('with tools and an answer in a given shape', () => {
  it.each(['openai-chat', 'openai-responses'] as const)(
    '[GX5] a later request of %s goes without the tool, and its history stays valid',
    async (format) => {
      const scene = await openScene({ format, says: [...expansion, () => ({ text: '{}' })] })
      targets.push(scene.target)
      const { target, ask, options, history } = scene
      const told = await ask(history, options)
      const last = [...history, ...told.messages, dialects[format].user('As JSON.')]
      await ask(last, { ...options, extra: { ...options.extra, ...structured[format] } })
      const sent = target.upstream.requests.at(-1)
      expect(JSON.stringify(sent?.body.tools)).not.toContain('expand_message')
      expect(JSON.stringify(sent?.body)).toContain('expand_message')
      expect(target.upstream.breaches).toEqual([])
    },
  )

  it.each([false, true])(
    '[GX5] a later request of anthropic keeps it, and gets no text but the last (streamed: %s)',
    async (isStream) => {
      const scene = await openScene({
        ...{ format: 'anthropic', isStream },
        says: [...expansion, () => ({ reasoning: 'No call.', text: '{"a":1}' })],
      })
      targets.push(scene.target)
      const { target, ask, options, history } = scene
      const extra = { ...options.extra, ...structured.anthropic }
      const told = await ask(history, { ...options, extra })
      expect(told.text).toBe(`It is ${secret}.`)
      const kinds = (told.whole.content as readonly JsonObject[]).map(({ type }) => type)
      expect(kinds).toEqual(['thinking', 'thinking', 'text'])
      const more = [...history, ...told.messages, dialects.anthropic.user('Again.')]
      expect((await ask(more, { ...options, extra })).text).toBe('{"a":1}')
      expect(target.upstream.breaches).toEqual([])
    },
  )
})

describe('anthropic', () => {
  it('[GX4] the client marks the cache on its own result beside ours', async () => {
    const scene = await openScene({
      format: 'anthropic',
      says: [
        (asked) => ({ reasoning: 'Both.', calls: [expandCall(asked), ['read', '{"id":"map"}']] }),
        () => ({ text: 'ok' }),
      ],
    })
    targets.push(scene.target)
    const { target, ask, options, history } = scene
    const told = await ask(history, options)
    const result = {
      ...{ type: 'tool_result', tool_use_id: told.calls[0]?.id, content: 'A map.' },
      cache_control: { type: 'ephemeral' },
    }
    await ask([...history, ...told.messages, { role: 'user', content: [result] }], options)
    const sent = target.upstream.requests.at(-1)?.body.messages
    const last = (sent as readonly JsonObject[] | undefined)?.at(-1)
    expect(last?.content).toMatchObject([{ type: 'tool_result' }, result])
    expect(target.upstream.breaches).toEqual([])
  })
})

describe('a request of Messages with signed thinking that must call a tool', () => {
  const maps = { ...readTool, name: 'read_map' }
  const thinking = { type: 'enabled', budget_tokens: 1024 }

  it.each([
    ['its only one', [readTool], { thinking }, { type: 'tool', name: 'read' }, 3],
    ['one of several', [readTool, maps], {}, { type: 'any' }, 2],
  ] as const)(
    '[GX5] calls %s when all rounds went to ours',
    async (_, tools, extra, choice, count) => {
      const says = Array.from({ length: 6 }, (_say, at) => (asked: Asked): Texts => {
        const thought = asked.body.thinking === undefined ? {} : { reasoning: `Thought ${at}.` }
        if (at === 5) return { ...thought, text: 'Done.' }
        if (at === 4) return { ...thought, calls: [['read', '{"id":"map"}']] }
        const own = `{"id":"${placeholderId(asked)}","lines":[0,${at}]}`
        return { ...thought, calls: [['expand_message', own]] }
      })
      const scene = await openScene({ format: 'anthropic', extra: { thinking }, says, tools })
      targets.push(scene.target)
      const { ask, options, history, target } = scene
      const forced = { ...extra, tool_choice: { type: 'any' } }
      const told = await ask(history, { ...options, extra: forced })
      expect(told.calls).toMatchObject([{ name: 'read' }])
      expect(target.upstream.breaches).toEqual([])
      const last = target.upstream.requests.at(-1)?.body
      expect(last?.tool_choice).toEqual(choice)
      expect(last?.tools).toHaveLength(count)
      const [call] = told.calls
      if (call === undefined) throw new Error('no call')
      const results = dialects.anthropic.results([{ call, text: 'A map.' }])
      await ask([...history, ...told.messages, ...results], { ...options, extra })
      expect(target.upstream.breaches).toEqual([])
    },
  )
})
