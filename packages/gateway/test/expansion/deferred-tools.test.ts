// Tool definitions that requests do not carry are found by the model when it needs them.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, serveGateway } from '@oriel/gateway'
import { type JsonObject, resolveCounter, sqliteStore, wireFormats } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from '../dialect.ts'
import { key, logOf, newestThread, post } from '../faults/raw-client.ts'
import { type AskOptions, type SdkClient, sdkClient } from '../sdk/sdk-client.ts'
import { openGateway, type Target, type TargetOptions } from '../target.ts'
import { reply } from '../upstream/action.ts'
import { hundredTools, listedIn, seeker, toolsOf, type Wanted } from './catalogue.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(options: TargetOptions): Promise<Target> {
  const target = await openGateway({ ...options, gateway: { policy, ...options.gateway } })
  closing.push(() => target.close())
  return target
}

const policy = { tools: 'deferred' } as const
const cases = wireFormats.flatMap((format) =>
  [false, true].map((isStream) => ({ format, isStream, mode: isStream ? 'streamed' : 'whole' })),
)

/** Thirty steps with six tools, each used several times. */
const loop: readonly Wanted[] = Array.from(
  { length: 30 },
  (_, step) =>
    [
      { tool: 'mcp__tickets__search', query: 'search tickets in the issue tracker' },
      { tool: 'mcp__tickets__update', query: 'update a ticket' },
      { tool: 'mcp__files__read', query: 'read a file of the shared drive' },
      { tool: 'mcp__mail__create', query: 'mcp__mail__create' },
      { tool: 'mcp__deployments__list', query: 'list deployments of the cluster' },
      { tool: 'mcp__invoices__export', query: 'export invoices' },
    ][Math.floor(step / 5)] as Wanted,
)

/** A client that runs what the model calls until it calls nothing. */
async function converse(
  ask: SdkClient,
  format: (typeof wireFormats)[number],
  options: AskOptions,
): Promise<{ readonly called: readonly string[]; readonly seen: string }> {
  const { user, results } = dialects[format]
  let history: readonly unknown[] = [user('Go.')]
  const called: string[] = []
  let seen = ''
  for (;;) {
    const told = await ask(history, { tools: hundredTools, ...options })
    seen += JSON.stringify(told.whole)
    history = [...history, ...told.messages]
    if (told.calls.length === 0) return { called, seen }
    called.push(...told.calls.map(({ name }) => name))
    history = [...history, ...results(told.calls.map((call) => ({ call, text: 'Good.' })))]
  }
}

describe.each(cases)('$format $mode', ({ format, isStream }) => {
  it('[TD1] every call of a loop of 30 steps is possible, for at most 15 % of the definitions', async () => {
    const target = await open({ answer: seeker(loop) })
    const ask = sdkClient(format, { url: target.url, key })
    const { called, seen } = await converse(ask, format, { isStream })
    expect(called).toEqual(loop.map(({ tool }) => tool))
    const { requests, breaches } = target.upstream
    expect(breaches).toEqual([])
    const counter = resolveCounter('estimate')
    const all = { ...dialects[format].body([], hundredTools) } as JsonObject
    const whole = counter.count(JSON.stringify(toolsOf({ body: all }, format)))
    const sent = requests.map((one) => counter.count(JSON.stringify(toolsOf(one, format))))
    const steps = loop.length + 1
    expect(sent.reduce((sum, one) => sum + one, 0) / (whole * steps)).toBeLessThan(0.15)
    // What a Responses answer repeats of the request is the client's own list.
    const echoed = format === 'openai-responses' ? 'mcp__warehouse__watch' : 'Step 30.'
    expect(seen).toContain(echoed)
    expect(seen).not.toContain('find_tool')
  })

  it('[TD2] the list begins with that of the request before, and the prefix breaks only where something is added', async () => {
    const target = await open({ answer: seeker(loop.filter((_, step) => step % 5 < 2)) })
    await converse(sdkClient(format, { url: target.url, key }), format, { isStream })
    const lists = target.upstream.requests.map((one) => toolsOf(one, format))
    lists.slice(1).forEach((list, at) => {
      expect(list.slice(0, lists[at]?.length)).toEqual(lists[at])
    })
    const grown = lists.filter((list, at) => at > 0 && list.length > (lists[at - 1]?.length ?? 0))
    const broken = target.upstream.requests.filter(({ cached }, at) => at > 0 && cached === 0)
    expect(broken).toHaveLength(grown.length)
    expect(grown.length).toBeLessThanOrEqual(6)
  })

  it('[TD3] a call of a tool that is not in the list reaches the client, and its definition stays from then on', async () => {
    const target = await open({
      answer: ({ index }) =>
        index === 0
          ? reply({ calls: [['mcp__orders__read', '{"id":"7"}']] })
          : reply({ text: 'Ok.' }),
    })
    const { called } = await converse(sdkClient(format, { url: target.url, key }), format, {
      isStream,
    })
    expect(called).toEqual(['mcp__orders__read'])
    const [first, second] = target.upstream.requests.map(listedIn)
    expect(first).toEqual(['find_tool'])
    expect(second).toEqual(['find_tool', 'mcp__orders__read'])
  })

  it('[TD4] a search beside calls of the client is answered when the conversation goes on', async () => {
    const target = await open({
      answer: ({ index }) =>
        index === 0
          ? reply({
              calls: [
                ['mcp__orders__read', '{"id":"7"}'],
                ['find_tool', '{"query":"mcp__alerts__watch"}'],
              ],
            })
          : reply({ text: 'Ok.' }),
    })
    await converse(sdkClient(format, { url: target.url, key }), format, { isStream })
    const last = target.upstream.requests.at(-1)
    expect(target.upstream.breaches).toEqual([])
    expect(last && listedIn(last)).toEqual(['find_tool', 'mcp__alerts__watch', 'mcp__orders__read'])
    expect(JSON.stringify(last?.body)).toContain('Added to your tools')
  })
})

it('[TD1] a deferred tool of the client keeps its name: ours take another', async () => {
  const taken = ['expand_message', 'search_conversation', 'find_tool'].map((name) => ({
    ...(hundredTools[0] as (typeof hundredTools)[0]),
    name,
  }))
  const tools = [...taken, ...hundredTools]
  const target = await open({
    answer: ({ index }) =>
      index === 0
        ? reply({ calls: [['search_conversation', '{"id":"1"}']] })
        : reply({ text: 'Ok.' }),
    gateway: { expand: true },
  })
  const { user } = dialects['openai-chat']
  const ask = sdkClient('openai-chat', { url: target.url, key })
  const told = await ask([user('Search.')], { tools })
  expect(told.calls.map(({ name }) => name)).toEqual(['search_conversation'])
  const [first] = target.upstream.requests.map(listedIn)
  expect(first?.[0]).toBe('oriel_find_tool')
  expect(first).toContain('oriel_expand_message')
  expect(target.upstream.breaches).toEqual([])
})

describe('the choice of tools', () => {
  it.each([
    ['openai-chat', { type: 'function', function: { name: 'mcp__mail__read' } }],
    [
      'openai-chat',
      {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'auto',
          tools: [{ type: 'function', function: { name: 'mcp__mail__read' } }],
        },
      },
    ],
    ['openai-responses', { type: 'function', name: 'mcp__mail__read' }],
    [
      'openai-responses',
      {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'function', name: 'mcp__mail__read' }],
      },
    ],
    ['anthropic', { type: 'tool', name: 'mcp__mail__read' }],
  ] as const)('[TD5] of %s may name a tool: %j', async (format, choice) => {
    const target = await open({
      answer: () => reply({ calls: [['mcp__mail__read', '{"id":"1"}']] }),
    })
    const ask = sdkClient(format, { url: target.url, key })
    const { user } = dialects[format]
    const told = await ask([user('Read.')], { tools: hundredTools, extra: { tool_choice: choice } })
    expect(told.calls.map(({ name }) => name)).toEqual(['mcp__mail__read'])
    expect(target.upstream.requests.map(listedIn)).toEqual([['find_tool', 'mcp__mail__read']])
    expect(target.upstream.breaches).toEqual([])
  })

  it.each([
    ['openai-chat', 'required'],
    ['openai-responses', 'required'],
    ['anthropic', { type: 'any' }],
  ] as const)(
    '[TD5] of %s may force a call: in the end all definitions are there',
    async (format, choice) => {
      const target = await open({
        answer: (asked) =>
          listedIn(asked).includes('find_tool')
            ? reply({ calls: [['find_tool', '{"query":"nothing that exists"}']] })
            : reply({ calls: [['mcp__mail__read', '{"id":"1"}']] }),
      })
      const ask = sdkClient(format, { url: target.url, key })
      const told = await ask([dialects[format].user('Read.')], {
        ...{ tools: hundredTools, extra: { tool_choice: choice } },
      })
      expect(told.calls.map(({ name }) => name)).toEqual(['mcp__mail__read'])
      expect(target.upstream.requests.map((one) => listedIn(one).length).at(-1)).toBe(100)
    },
  )
})

describe('the policy part', () => {
  const ask = async (target: Target, count: number, extra = {}) =>
    sdkClient('openai-chat', { url: target.url, key })([dialects['openai-chat'].user('Hello.')], {
      ...{ tools: hundredTools.slice(0, count), extra },
    })

  it('[TD6] defers by itself above its number of tokens, and not below', async () => {
    const target = await open({
      answer: () => reply({ text: 'Hi.' }),
      gateway: { policy: { tools: {} } },
    })
    await ask(target, 10)
    await ask(target, 100)
    expect(target.upstream.requests.map((one) => listedIn(one).length)).toEqual([10, 1])
  })

  it('[TD6] is off by default, and keeps what it names', async () => {
    const off = await open({
      answer: () => reply({ text: 'Hi.' }),
      gateway: { policy: 'recommended' },
    })
    await ask(off, 100)
    expect(off.upstream.requests.map((one) => listedIn(one).length)).toEqual([100])
    const kept = { tools: { mode: 'deferred', keep: ['mcp__mail__*'] } } as const
    const target = await open({ answer: () => reply({ text: 'Hi.' }), gateway: { policy: kept } })
    await ask(target, 100)
    expect(target.upstream.requests.map((one) => listedIn(one).length)).toEqual([11])
  })

  it('[TD6] sends everything where the answer must have a shape, or where a search would cost more', async () => {
    const target = await open({ answer: () => reply({ text: '{}' }) })
    await ask(target, 100, { response_format: { type: 'json_object' } })
    await ask(target, 1)
    expect(target.upstream.requests.map((one) => listedIn(one).length)).toEqual([100, 1])
  })

  it('[TD7] the response says how many definitions are deferred, and the log which are not', async () => {
    const target = await open({ answer: seeker(loop.slice(0, 1)) })
    const { body, user } = dialects['openai-chat']
    const answer = await post(target.url, 'openai-chat', {
      body: JSON.stringify(body([user('Go.')], hundredTools)),
    })
    expect(answer.status).toBe(200)
    const listed = listedIn(target.upstream.requests.at(-1) as never)
    expect(Number(answer.headers.get('x-oriel-tools-deferred'))).toBe(100 - (listed.length - 1))
    const log = await logOf(target.url, await newestThread(target.url))
    const shown = log.findLast((entry) => entry.type === 'setting' && entry.name === 'shown-tools')
    expect(shown).toMatchObject({ value: { find: 'find_tool', names: listed.slice(1) } })
  })

  it('[TD7] another process goes on with the same list', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'oriel-tools-'))
    closing.push(async () => rmSync(folder, { recursive: true, force: true }))
    const first = sqliteStore(join(folder, 'a.db'))
    const target = await open({
      ...{ answer: seeker(loop.slice(0, 2)), gateway: { store: first, policy } },
    })
    const { user, results } = dialects['openai-chat']
    const told = await sdkClient('openai-chat', { url: target.url, key })([user('Go.')], {
      tools: hundredTools,
    })
    const store = sqliteStore(join(folder, 'a.db'))
    const upstreams = [{ name: 'test', baseUrl: target.upstream.url }]
    const gateway = createGateway({ store, policy, upstreams })
    const server = await serveGateway(gateway, { port: 0 })
    closing.push(async () => {
      await server.close()
      await gateway.close()
      await store.close()
      await first.close()
    })
    const before = target.upstream.requests.at(-1)
    const history = [
      user('Go.'),
      ...told.messages,
      ...results(told.calls.map((call) => ({ call, text: 'Good.' }))),
    ]
    await sdkClient('openai-chat', { url: server.url, key })(history, { tools: hundredTools })
    const next = target.upstream.requests[before === undefined ? 0 : before.index + 1]
    expect(next && toolsOf(next, 'openai-chat')).toEqual(before && toolsOf(before, 'openai-chat'))
    expect(next?.cached).toBe(before?.tokens)
  })
})
