import type { WireFormat } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, pathOf, spokenFormats } from '../dialect.ts'
import { type Action, reply } from './action.ts'
import { ownLaws } from './laws.ts'
import { startUpstream, type Upstream, type UpstreamOptions } from './upstream.ts'

let upstream: Upstream | undefined
afterEach(() => upstream?.close())

const tool = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }
const user = { role: 'user', content: 'Hello' }
const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} })
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'seen' })
const call = (id: string) => ({
  ...{ id, type: 'function' },
  function: { name: 'look', arguments: '{}' },
})

const said = { role: 'user', parts: [{ text: 'x' }] }
const model = (...parts: readonly object[]) => ({ role: 'model', parts })

/** Requests that each break one rule, and the rule. */
const broken: Readonly<Record<WireFormat, readonly (readonly [string, readonly unknown[]])[]>> = {
  'openai-chat': [
    ['O4', []],
    ['O4', [{ role: 'user', content: null }]],
    ['O1', [user, { role: 'assistant', content: null, tool_calls: [call('a')] }]],
    ['O1', [user, { role: 'assistant', content: null, tool_calls: [call('a')] }, user]],
    ['O2', [user, { role: 'tool', tool_call_id: 'a', content: 'x' }]],
    [
      'O3',
      [
        user,
        { role: 'assistant', content: null, tool_calls: [call('a'.repeat(41))] },
        { role: 'tool', tool_call_id: 'a'.repeat(41), content: 'x' },
      ],
    ],
    [
      'O6',
      [
        ...[0, 1].flatMap(() => [
          user,
          { role: 'assistant', content: null, tool_calls: [call('a')] },
          { role: 'tool', tool_call_id: 'a', content: 'x' },
        ]),
      ],
    ],
  ],
  'openai-responses': [
    ['R1', [user, { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' }]],
    ['R4', [user, { type: 'function_call_output', call_id: 'a', output: 'x' }]],
    ['R2', [user, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }, user]],
    [
      'R5',
      [
        user,
        { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'x' },
        { type: 'function_call_output', call_id: 'a', output: 'x' },
      ],
    ],
  ],
  anthropic: [
    ['A1', [user, { role: 'system', content: 'x' }, user]],
    ['A2', [{ role: 'assistant', content: 'x' }, user]],
    ['A3', [user, user]],
    ['A4', [{ role: 'user', content: [] }]],
    ['A4', [{ role: 'user', content: ' ' }]],
    ['A6', [user, { role: 'assistant', content: 'x' }]],
    ['A7', [user, { role: 'assistant', content: [use('a')] }, user]],
    ['A8', [{ role: 'user', content: [result('a')] }]],
    [
      'A9',
      [
        user,
        { role: 'assistant', content: [use('a')] },
        { role: 'user', content: [result('a'), result('a')] },
      ],
    ],
    [
      'A10',
      [
        ...[0, 1].flatMap(() => [
          user,
          { role: 'assistant', content: [use('a')] },
          { role: 'user', content: [result('a')] },
          { role: 'assistant', content: 'ok' },
        ]),
        user,
      ],
    ],
    [
      'A11',
      [
        user,
        { role: 'assistant', content: [use('a')] },
        { role: 'user', content: [{ type: 'text', text: 'x' }, result('a')] },
      ],
    ],
    [
      'A12',
      [
        user,
        { role: 'assistant', content: [use('a'), { type: 'text', text: 'x' }] },
        { role: 'user', content: [result('a')] },
      ],
    ],
  ],
  gemini: [
    ['GC2', [model({ text: 'x' }), said]],
    ['GC4', [said, model(), said]],
    ['GC5', [said, model({ text: 'x' })]],
    ['GC6', [said, model({ functionCall: { name: 'look' } }), said]],
    ['GC7', [{ role: 'user', parts: [{ functionResponse: { name: 'look', response: {} } }] }]],
  ],
}

describe.each(spokenFormats)('the strict upstream, %s', (format) => {
  it('refuses what breaks a rule, with the words of the provider', async () => {
    const { url, requests } = await start(() => reply({ text: 'ok' }))
    const cases = broken[format]
    for (const [rule, messages] of cases) {
      const body = dialects[format].body(messages, [tool])
      expect(ownLaws[format](body).map((breach) => breach.rule)).toContain(rule)
      const response = await post(url, format, body)
      expect(response.status, rule).toBe(400)
      expect(requests.at(-1)?.breaches).not.toEqual([])
    }
    expect(requests).toHaveLength(cases.length)
  })

  it('keeps the raw bytes, counts what the cache had, and answers whole and in events', async () => {
    const { url, requests } = await start(() => reply({ text: 'Grüße', calls: [['look', '{ }']] }))
    const dialect = dialects[format]
    const body = dialect.body([dialect.user('Hello')], [tool])
    const whole = await post(url, format, body)
    expect(dialect.read((await whole.json()) as Record<string, unknown>).text).toBe('Grüße')
    const text = await (await post(url, format, { ...body, stream: true })).text()
    expect(text).toContain('Grüße')
    expect(requests.map(({ raw }) => raw.toString())).toEqual([
      JSON.stringify(body),
      JSON.stringify({ ...body, stream: true }),
    ])
    expect(requests.map(({ cached, tokens }) => cached === tokens)).toEqual([false, true])
  })

  it('refuses what is longer than its window', async () => {
    const { url, requests } = await start(() => reply({ text: 'ok' }), { window: 50 })
    const dialect = dialects[format]
    const response = await post(url, format, dialect.body([dialect.user('word '.repeat(200))], []))
    expect(response.status).toBe(400)
    expect(await response.text()).toMatch(
      /context_length_exceeded|prompt is too long: \d+ tokens > 50/,
    )
    expect(requests[0]?.isTooLong).toBe(true)
  })

  it('sees a client that leaves', async () => {
    const { url, requests, arrived } = await start(() => ({ type: 'hang', after: 'nothing' }))
    const controller = new AbortController()
    const dialect = dialects[format]
    const gone = post(url, format, dialect.body([dialect.user('Hello')], []), controller.signal)
    const left = expect(gone).rejects.toThrow()
    await arrived(1)
    controller.abort()
    await left
    expect(await requests[0]?.ended).toBe('aborted')
  })

  it('refuses a body with half a character in it', async () => {
    const { url } = await start(() => reply({ text: 'ok' }))
    const body = JSON.stringify(dialects[format].body([dialects[format].user('@')], []))
    const bad = body.replace('@', '\\ud83d')
    const response = await fetch(url + dialects[format].path, { method: 'POST', body: bad })
    expect(response.status).toBe(400)
  })
})

describe('the strict upstream and its seals', () => {
  const thinking = { thinking: { type: 'enabled', budget_tokens: 1024 } }

  it.each([
    ['as it was', (text: string) => text, undefined],
    ['with other thinking', (text: string) => text.replace('I look', 'I see'), 'A14'],
    ['behind another prefix', (text: string) => text.replace('Hello', 'Hallo'), 'A14'],
    ['behind other tools', (text: string) => text.replace('Looks.', 'Sees.'), 'A14'],
    [
      'with other cache marks',
      (text: string) => text.replace('"Hello"', '"Hello","cache_control":{"type":"ephemeral"}'),
      undefined,
    ],
    [
      'without thinking in the loop',
      (text: string) => text.replace(/\{"type":"thinking"[^}]*\},/, ''),
      'A13',
    ],
  ])('judges thinking that comes back %s', async (_, change, rule) => {
    const { url, requests } = await start(() =>
      reply({ reasoning: 'I look', calls: [['look', '{}']] }),
    )
    const dialect = dialects.anthropic
    const history = [dialect.user('Hello')]
    const answer = await post(url, 'anthropic', { ...dialect.body(history, [tool]), ...thinking })
    const told = dialect.read((await answer.json()) as Record<string, unknown>)
    const results = told.calls.map((made) => ({ call: made, text: 'seen' }))
    history.push(...told.messages, ...dialect.results(results))
    const body = JSON.stringify({ ...dialect.body(history, [tool]), ...thinking })
    await fetch(url + dialect.path, { method: 'POST', body: change(body) })
    expect(requests[1]?.breaches[0]?.rule).toBe(rule)
  })

  it.each([
    ['as it was', (items: readonly Item[]) => items, undefined],
    [
      'without its reasoning',
      (items: readonly Item[]) => items.filter(({ type }) => type !== 'reasoning'),
      'R3',
    ],
    [
      'without its reasoning and its ids',
      (items: readonly Item[]) =>
        items.filter(({ type }) => type !== 'reasoning').map(({ id: _, ...rest }) => rest as Item),
      undefined,
    ],
    [
      'with other reasoning',
      (items: readonly Item[]) =>
        items.map((item) =>
          item.type === 'reasoning' ? { ...item, encrypted_content: 'x' } : item,
        ),
      'R2',
    ],
  ])('judges a response item that comes back %s', async (_, change, rule) => {
    const { url, requests } = await start(() =>
      reply({ reasoning: 'I look', calls: [['look', '{}']] }),
    )
    const dialect = dialects['openai-responses']
    const history = [dialect.user('Hello')]
    const answer = await post(url, 'openai-responses', dialect.body(history, [tool]))
    const told = dialect.read((await answer.json()) as Record<string, unknown>)
    const results = told.calls.map((made) => ({ call: made, text: 'seen' }))
    const kept = change(told.messages as unknown as readonly Item[])
    await post(
      url,
      'openai-responses',
      dialect.body([...history, ...kept, ...dialect.results(results)], [tool]),
    )
    expect(requests[1]?.breaches[0]?.rule).toBe(rule)
  })
})

interface Item {
  readonly id: string
  readonly type: string
}

async function start(
  answer: () => Action,
  options: Partial<UpstreamOptions> = {},
): Promise<Upstream> {
  upstream = await startUpstream({ answer, ...options })
  return upstream
}

function post(
  url: string,
  format: WireFormat,
  body: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  const isStream = (body as { stream?: boolean }).stream === true
  return fetch(url + pathOf(format, isStream), {
    method: 'POST',
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  })
}

describe('a provider that compacts', () => {
  const signed = { type: 'compaction', content: 'So far.', signature: 'signed-9' }
  const ask = { role: 'user', content: 'Go on.' }
  const onDemand = { 'anthropic-beta': 'compact-2026-09-04' }
  const threshold = { 'anthropic-beta': 'compact-2026-01-12' }
  const low = { type: 'compact_20260112', trigger: { type: 'input_tokens', value: 49_999 } }
  const model = { model: 'm', max_tokens: 9 }

  it.each<[string, string, object, Record<string, string>, string]>([
    [
      'a trigger below its least',
      ...(['/v1/messages', { messages: [ask], context_management: { edits: [low] } }] as const),
      ...([threshold, 'greater than or equal to 50000'] as const),
    ],
    [
      'compaction without its flag',
      ...(['/v1/messages', { messages: [ask], compaction: { type: 'summarize' } }] as const),
      ...([{}, 'requires anthropic-beta: compact-2026-09-04'] as const),
    ],
    [
      'a block without the flag',
      ...(['/v1/messages', { messages: [{ role: 'assistant', content: [signed] }, ask] }] as const),
      ...([{}, 'not one of the expected content block types'] as const),
    ],
    [
      'a signature that it never gave',
      ...(['/v1/messages', { messages: [{ role: 'assistant', content: [signed] }, ask] }] as const),
      ...([onDemand, 'does not verify'] as const),
    ],
    [
      'messages before a signed block',
      '/v1/messages',
      {
        messages: [ask, { role: 'assistant', content: [signed, { type: 'text', text: 'x' }] }, ask],
      },
      ...([onDemand, 'must be sent first'] as const),
    ],
    [
      'a threshold below its least',
      '/v1/responses',
      { input: [ask], context_management: [{ type: 'compaction', compact_threshold: 50 }] },
      ...([{}, 'integer below minimum value'] as const),
    ],
    [
      'an item that it never gave',
      '/v1/responses',
      { input: [{ type: 'compaction', id: 'c', encrypted_content: 'gAAAforeign' }, ask] },
      ...([{}, 'could not be verified'] as const),
    ],
  ])('refuses %s', async (_, path, body, headers, words) => {
    const upstream = await startUpstream({
      ...{ compacts: true, answer: () => reply({ text: 'Ok.' }) },
    })
    const answer = await fetch(upstream.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ ...model, ...body }),
    })
    const text = await answer.text()
    await upstream.close()
    expect([answer.status, upstream.breaches.join('\n')]).toEqual([
      400,
      expect.stringContaining(words),
    ])
    expect(text).toContain('error')
  })
})
