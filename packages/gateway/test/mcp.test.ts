// MCP over real HTTP, with the official client in both of its protocol eras, and with raw requests for what no client sends.

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { memoryStore, openThread, type Store } from 'oriel'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createGateway, type GatewayServer, serveGateway } from '../src/index.ts'

const mine = 'key-of-mine-0123456789'
const other = 'key-of-another-0123456789'
const keys = [
  { name: 'mine', key: mine, tenant: 'mine' },
  { name: 'other', key: other, tenant: 'other' },
  { name: 'ops', key: 'key-of-the-operator-012', tenant: 'ops', isAdmin: true },
]

const long = Array.from({ length: 400 }, (_, n) => `line ${n}: shipment S-${n} left`).join('\n')
let store: Store
let server: GatewayServer
/** The id of the long result. */
let long1: string
const clients: Client[] = []

beforeAll(async () => {
  store = memoryStore()
  const policy = { toolResults: { strategy: 'dropAll', cutoff: 0 } } as const
  const thread = await openThread({ id: 'trip-1', tenant: 'mine', store, policy })
  await thread.append([
    { role: 'user', content: 'Where is "S-17"?\nPlease look.' },
    {
      role: 'assistant',
      content: [
        { type: 'tool-call', callId: 'c1', name: 'read_log', arguments: '{"day":"May 3"}' },
      ],
    },
    { role: 'tool', content: [{ type: 'tool-result', callId: 'c1', content: long }] },
    { role: 'assistant', content: 'It left.' },
    {
      role: 'system',
      origin: 'host',
      kind: 'interrupted',
      content: 'for people: S-17',
      audience: { now: false, later: false, person: true },
    },
    { role: 'user', content: 'And S-18?' },
  ])
  const { trace } = await thread.view()
  long1 = String(trace.find(({ form }) => form === 'omitted')?.id)
  const secret = await openThread({ id: 'secret-1', tenant: 'other', store })
  await secret.append({ role: 'user', content: 'The other one asks for S-17.' })
  const huge = await openThread({ id: 'huge-1', tenant: 'mine', store })
  await huge.append(
    Array.from({ length: 120 }, (_, n) => ({
      role: n % 2 === 0 ? 'user' : 'assistant',
      content: `turn ${n} ${'x'.repeat(n === 7 ? 90_000 : 50)}`,
    })),
  )
  server = await serveGateway(createGateway({ keys, store }), { port: 0 })
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
})

afterAll(() => server.close())

async function connect(
  key: string,
  mode: 'legacy' | 'auto' = 'legacy',
  headers: Record<string, string> = {},
): Promise<Client> {
  const client = new Client({ name: 'tests', version: '1.0.0' }, { versionNegotiation: { mode } })
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}`, ...headers } },
  })
  await client.connect(transport)
  clients.push(client)
  return client
}

interface Result {
  readonly text: string
  readonly isError: boolean
}

async function use(client: Client, name: string, input: object): Promise<Result> {
  const { content, isError = false } = await client.callTool({ name, arguments: { ...input } })
  const [part, ...more] = content as { type: string; text: string }[]
  expect([part?.type, more.length]).toEqual(['text', 0])
  return { text: part?.text ?? '', isError: isError === true }
}

async function useJson(
  client: Client,
  name: string,
  input: object,
): Promise<Record<string, unknown>> {
  const { text, isError } = await use(client, name, input)
  expect([isError, text.length < 60_000]).toEqual([false, true])
  return JSON.parse(text)
}

describe.each(['legacy', 'auto'] as const)('a client that negotiates %s', (mode) => {
  it('[GM1] finds three tools that only read, each with words for a model', async () => {
    const client = await connect(mine, mode)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'expand_message',
      'read_thread',
      'search_thread',
    ])
    for (const tool of tools) {
      expect(tool.annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false })
      expect(tool.description?.length).toBeGreaterThan(80)
      expect(tool.inputSchema.additionalProperties).toBe(false)
      for (const property of Object.values(tool.inputSchema.properties ?? {})) {
        expect(property).toMatchObject({ description: expect.any(String) })
      }
    }
    expect(tools.find(({ name }) => name === 'expand_message')?.inputSchema).toMatchObject({
      required: ['thread', 'id'],
      properties: { lines: {}, items: {}, query: {}, reason: {} },
    })
    expect(client.getInstructions()).toContain('expand_message')
    expect(client.getServerVersion()).toMatchObject({ name: 'oriel' })
  })

  it('[GM2] expands an original whole or in part, finds it by its words, and reads it in order', async () => {
    const client = await connect(mine, mode)
    const whole = await use(client, 'expand_message', { thread: 'trip-1', id: long1 })
    expect(whole).toEqual({ text: long, isError: false })
    const part = await use(client, 'expand_message', {
      thread: 'trip-1',
      id: long1,
      query: 'S-17 ',
      reason: 'The user asks.',
    })
    expect(part).toEqual({ text: '17: line 17: shipment S-17 left', isError: false })
    const lines = await use(client, 'expand_message', {
      thread: 'trip-1',
      id: long1,
      lines: [3, 4],
    })
    expect(lines.text).toBe('line 3: shipment S-3 left\nline 4: shipment S-4 left')
    const { matches } = await useJson(client, 'search_thread', { query: 'shipment s-18 left' })
    expect(matches).toContainEqual(
      expect.objectContaining({
        thread: 'trip-1',
        role: 'tool',
        text: expect.stringContaining('line 18: shipment S-18 left'),
      }),
    )
    const { messages, last } = await useJson(client, 'read_thread', { thread: 'trip-1' })
    expect((messages as { role: string }[]).map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ])
    expect(last).toBeGreaterThan(5)
  })
})

describe('what is read', () => {
  it('[GM2] is found as it was said: quotes and line ends, and arguments of tools', async () => {
    const client = await connect(mine)
    for (const query of ['"S-17"?\nPlease', '"DAY":"may 3"']) {
      const { matches } = await useJson(client, 'search_thread', { query })
      const [first] = matches as { text: string }[]
      expect(first?.text.toLowerCase()).toContain(query.toLowerCase())
    }
    const one = await useJson(client, 'search_thread', {
      query: 's-17',
      thread: 'trip-1',
      limit: 1,
    })
    expect(one.matches).toHaveLength(1)
    const all = await useJson(client, 'search_thread', { query: 's-17', thread: 'trip-1' })
    expect(all.matches).toContainEqual(expect.objectContaining({ role: 'tool' }))
  })

  it('[GM2] never includes what is for people only', async () => {
    const client = await connect(mine)
    const { matches } = await useJson(client, 'search_thread', { query: 'for people' })
    const { text } = await use(client, 'read_thread', { thread: 'trip-1' })
    expect(matches).toEqual([])
    expect(text).not.toContain('for people')
  })

  it('[GM2] leaves out excluded messages', async () => {
    const thread = await openThread({ id: 'excluded-1', tenant: 'mine', store })
    const [, added] = await thread.append([
      { role: 'user', content: 'Look.' },
      { role: 'user', content: 'My pass phrase is marmalade.' },
    ])
    await thread.exclude(added?.id ?? '')
    const client = await connect(mine)
    const named = { thread: 'excluded-1' }
    expect(await useJson(client, 'search_thread', { query: 'marmalade' })).toEqual({ matches: [] })
    expect((await use(client, 'read_thread', named)).text).not.toContain('marmalade')
    const { text } = await use(client, 'expand_message', { ...named, id: added?.id ?? '' })
    expect(text).toContain('it was excluded')
  })

  it('[GM2] leaves out originals that were not preserved', async () => {
    const policy = {
      expiry: {
        preserveOriginals: false,
        kinds: { 'tool-result': { after: 0, mode: 'compact', compact: 'first-chars', length: 10 } },
      },
    } as const
    const thread = await openThread({ id: 'final-1', tenant: 'mine', store, policy })
    await thread.append([
      { role: 'user', content: 'Look.' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId: 'c', name: 'look', arguments: '{}' }],
      },
      {
        role: 'tool',
        kind: 'tool-result',
        content: [
          { type: 'tool-result', callId: 'c', content: `saw ${'much '.repeat(200)} gone-word` },
        ],
      },
      { role: 'assistant', content: 'Seen.' },
      { role: 'user', content: 'Next.' },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: 'Next.' },
    ])
    const { messages: shown } = await thread.view()
    expect(JSON.stringify(shown)).not.toContain('gone-word')
    const client = await connect(mine)
    const { matches } = await useJson(client, 'search_thread', { query: 'gone-word' })
    expect(matches).toEqual([])
    const { messages } = await useJson(client, 'read_thread', { thread: 'final-1' })
    expect((messages as { text: string }[])[2]?.text).toBe('[not preserved]')
    const { text } = await use(client, 'read_thread', { thread: 'final-1' })
    expect(text).not.toContain('gone-word')
  })

  it('[GM3] is bounded, and says where it goes on', async () => {
    const client = await connect(mine)
    const seen: number[] = []
    let from: number | undefined = 1
    let pages = 0
    while (from !== undefined) {
      const page: Record<string, unknown> = await useJson(client, 'read_thread', {
        thread: 'huge-1',
        from,
      })
      const messages = page.messages as { seq: number; text: string }[]
      expect(messages.length).toBeLessThanOrEqual(50)
      for (const { text } of messages) expect(text.length).toBeLessThan(4200)
      seen.push(...messages.map(({ seq }) => seq))
      from = page.next as number | undefined
      pages += 1
    }
    expect(pages).toBeGreaterThan(2)
    expect(seen).toHaveLength(120)
    expect(new Set(seen).size).toBe(120)
    const { messages } = await useJson(client, 'read_thread', {
      thread: 'huge-1',
      from: 9,
      limit: 1,
    })
    const [{ id = '', text = '' } = {}] = messages as { id: string; text: string }[]
    expect(text).toMatch(/more characters; ask for a part/)
    const expanded = await use(client, 'expand_message', { thread: 'huge-1', id })
    expect(expanded.text.length).toBeLessThan(41_000)
    const end = await use(client, 'expand_message', {
      thread: 'huge-1',
      id,
      chars: [90_000, 99_000],
    })
    expect(end).toEqual({ text: 'xxxxxxx', isError: false })
    const all = await useJson(client, 'search_thread', { query: 'turn', limit: 50 })
    expect(all.matches).toHaveLength(50)
    const none = await useJson(client, 'read_thread', { thread: 'huge-1', from: 9_000_000 })
    expect(none.messages).toEqual([])
  })

  it('[GM3] answers what is not there, or is no argument, with a reason that a model can use', async () => {
    const client = await connect(mine)
    const gone = await use(client, 'expand_message', { thread: 'trip-1', id: 'e9zzz' })
    expect(gone).toEqual({
      isError: true,
      text: expect.stringContaining('nothing here has the id'),
    })
    const wrong: [string, object][] = [
      ['expand_message', { thread: 'trip-1' }],
      ['expand_message', { thread: 'trip-1', id: long1, lines: [-1, 2] }],
      ['expand_message', { thread: 'trip-1', id: 'x'.repeat(100_000) }],
      ['expand_message', { thread: { $ne: '' }, id: long1 }],
      ['expand_message', { thread: 'trip-1', id: long1, tenant: 'other' }],
      ['search_thread', { query: '' }],
      ['search_thread', { query: 'q'.repeat(300_000) }],
      ['read_thread', { thread: 'trip-1', from: 0 }],
      ['read_thread', { thread: 'trip-1', from: 1.5 }],
    ]
    for (const [name, input] of wrong) {
      const answer = await client
        .callTool({ name, arguments: { ...input } })
        .catch((error: Error) => ({ isError: true, content: [{ text: error.message }] }))
      expect([name, input, answer.isError]).toEqual([name, input, true])
    }
    const backwards = await use(client, 'expand_message', {
      thread: 'trip-1',
      id: long1,
      lines: [5, 1],
    })
    expect(backwards).toEqual({ isError: true, text: expect.stringContaining('lines must be') })
  })
})

describe('who may read', () => {
  it('[GM4] a foreign thread looks exactly like an absent one, to every tool', async () => {
    const client = await connect(other)
    const tools: [string, object][] = [
      ['expand_message', { id: long1 }],
      ['search_thread', { query: 'S-17' }],
      ['read_thread', {}],
    ]
    for (const [name, input] of tools) {
      const answers = await Promise.all(
        ['trip-1', 'absent-1', '../trip-1', 'trip-1\0', 'x'.repeat(200)].map((thread) =>
          use(client, name, { ...input, thread }),
        ),
      )
      expect(answers).toEqual(
        Array.from({ length: 5 }, () => ({ isError: true, text: 'There is no such thread.' })),
      )
    }
    const { matches } = await useJson(client, 'search_thread', { query: 'S-17' })
    expect((matches as { thread: string }[]).map(({ thread }) => thread)).toEqual(['secret-1'])
  })

  it('[GM4] a key that may see every tenant sees here what it sees in the thread API', async () => {
    const asked = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${mine}` },
      body: JSON.stringify({
        model: 'oriel-demo',
        messages: [{ role: 'user', content: 'A word of its own: zanzibar.' }],
      }),
    })
    await asked.text()
    const thread = asked.headers.get('x-oriel-thread')
    const search = async (key: string): Promise<unknown[]> => {
      const client = await connect(key)
      const { matches } = await useJson(client, 'search_thread', { query: 'zanzibar', limit: 50 })
      return [...new Set((matches as { thread: string }[]).map((match) => match.thread))]
    }
    expect(await search('key-of-the-operator-012')).toEqual([thread])
    expect(await search(mine)).toEqual([thread])
    expect(await search(other)).toEqual([])
  })

  it('[GM4] without a right key there is nothing, and pages of other origins and hosts get nothing with one', async () => {
    for (const key of ['', 'wrong', `${mine}x`, mine.slice(0, -1)]) {
      await expect(connect(key)).rejects.toThrow(/401|nauthorized|valid key/)
    }
    for (const headers of [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ] as Record<string, string>[]) {
      await expect(connect(mine, 'legacy', headers)).rejects.toThrow(/403|origin/i)
      await expect(connect(mine, 'auto', headers)).rejects.toThrow(/403|origin/i)
    }
    const rebound = await createGateway({ keys, store }).fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: { host: 'evil.example', authorization: `Bearer ${mine}` },
        body: '{}',
      }),
    )
    expect(rebound.status).toBe(403)
  })
})

describe('what no client sends', () => {
  const send = (body: string | undefined, init: RequestInit = {}): Promise<Response> =>
    fetch(`${server.url}/mcp`, {
      method: 'POST',
      ...init,
      headers: {
        authorization: `Bearer ${mine}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(init.headers as Record<string, string> | undefined),
      },
      ...(body === undefined ? {} : { body }),
    })
  const list = (id: number): object => ({ jsonrpc: '2.0', id, method: 'tools/list', params: {} })

  it('[GM5] a tool that is not there is named in a short and plain way', async () => {
    const client = await connect(mine)
    for (const name of [`<b>\u202e\u001b[31m${'x'.repeat(100_000)}`, 'rm -rf "/"\n', 'ab/cd']) {
      const failed = await client.callTool({ name, arguments: {} }).then(JSON.stringify, String)
      expect(failed.length).toBeLessThan(200)
      const plain = name.slice(0, 64).replace(/[^\w.-]/g, '?')
      expect(failed).toContain(`Tool ${plain} not found`)
    }
  })

  it('[GM5] is answered in JSON-RPC, or refused within the limits', async () => {
    const wrong: [string, string, number][] = [
      ['no JSON', '{canary', 400],
      ['empty', '', 400],
      ['no message', '{}', 400],
      ['a text', '"hello"', 400],
      ['an old version', '{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400],
      ['deep', `${'['.repeat(2000)}${']'.repeat(2000)}`, 400],
      ['large', JSON.stringify({ ...list(1), params: { x: 'x'.repeat(2 * 1024 * 1024) } }), 413],
      ['many', JSON.stringify(Array.from({ length: 50 }, (_, n) => list(n))), 413],
      [
        'wide',
        `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[${'1,'.repeat(600_000)}1]}}`,
        413,
      ],
    ]
    for (const [name, body, status] of wrong) {
      const response = await send(body)
      const text = await response.text()
      expect([name, response.status]).toEqual([name, status])
      expect(text).not.toContain('canary')
      expect(JSON.parse(text)).toHaveProperty('error')
    }
    const unknown = await send(JSON.stringify({ ...list(1), method: 'resources/list' }))
    expect(await unknown.text()).toContain('-32601')
  })

  it('[GM5] a small batch is answered, each call by itself', async () => {
    const response = await send(JSON.stringify([list(1), list(2)]))
    expect(response.status).toBe(200)
    const text = await response.text()
    expect(text.match(/"expand_message"/g)).toHaveLength(2)
  })

  it('[GM5] there are no sessions: nothing to listen to, nothing to end', async () => {
    for (const method of ['GET', 'DELETE']) {
      const response = await send(undefined, { method, headers: { accept: 'text/event-stream' } })
      await response.text()
      expect([method, response.status]).toEqual([method, 405])
    }
    const made = await send(
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 't', version: '1' },
        },
      }),
    )
    await made.text()
    expect(made.headers.get('mcp-session-id')).toBeNull()
    const foreign = await send(JSON.stringify(list(1)), {
      headers: { 'mcp-session-id': 'another-one' },
    })
    expect(await foreign.text()).toContain('expand_message')
  })

  it('[GM5] a form of a page cannot call', async () => {
    const response = await send(JSON.stringify(list(1)), {
      headers: { 'content-type': 'text/plain' },
    })
    await response.text()
    expect(response.status).toBe(415)
  })
})

describe('too much at once', () => {
  it('[GM5] counts against the limit on calls', async () => {
    const gateway = createGateway({ keys, store, limits: { concurrentCalls: 1 } })
    const call = (): Promise<Response> =>
      gateway.fetch(
        new Request('http://localhost/mcp', {
          method: 'POST',
          headers: {
            authorization: `Bearer ${mine}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
        }),
      )
    const answers = await Promise.all([call(), call(), call()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429, 429])
    for (const answer of answers) await answer.text()
    // Under way until it is read: the work may continue behind the first byte.
    const unread = await call()
    expect([unread.status, (await call()).status]).toEqual([200, 429])
    await unread.text()
    const again = await call()
    expect(again.status).toBe(200)
    await again.text()
    await gateway.close()
  })
})

describe('the guide', () => {
  it('[GM6] shows an example of MCP that runs as it stands there', async () => {
    const root = join(import.meta.dirname, '../../..')
    const guide = readFileSync(join(root, 'docs/guides/gateway.md'), 'utf8')
    const [, text = ''] = /```js\n(.*?)```/s.exec(guide) ?? []
    expect(text).toContain('@modelcontextprotocol/client')
    const folder = join(root, 'node_modules/.cache')
    mkdirSync(folder, { recursive: true })
    const file = join(mkdtempSync(join(folder, 'guide-mcp-')), 'example.mjs')
    const own = await serveGateway(createGateway(), { port: 0 })
    writeFileSync(file, text.replaceAll('http://127.0.0.1:4141', own.url))
    const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: root })
    const { matches } = JSON.parse(stdout) as { matches: unknown[] }
    expect(matches[0]).toMatchObject({ role: 'user', text: 'Why do shipments fail?' })
    rmSync(dirname(file), { recursive: true })
    await own.close()
  })
})
