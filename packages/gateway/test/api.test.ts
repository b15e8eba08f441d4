// The thread API as pages and scripts use it, on a conversation that went through the gateway.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { memoryStore, openThread } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import {
  createGateway,
  demoAgents,
  type Gateway,
  type GatewayOptions,
  serveGateway,
} from '../src/index.ts'

type Answer = Record<string, unknown>
type Message = Record<string, unknown>

const mine = { authorization: 'Bearer the-credential-of-mine' }
const other = { authorization: 'Bearer the-credential-of-another' }
let gateway: Gateway

afterEach(() => gateway.close())

function open(options: GatewayOptions = {}): void {
  gateway = createGateway({
    policy: { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } },
    ...options,
  })
}

async function call(
  path: string,
  {
    body,
    headers = mine,
    method = body === undefined ? 'GET' : 'POST',
  }: { body?: unknown; headers?: Record<string, string>; method?: string } = {},
): Promise<{ status: number; text: string; headers: Headers; json: Answer }> {
  const response = await gateway.fetch(
    new Request(`http://localhost${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )
  const text = await response.text()
  const isJson = response.headers.get('content-type') === 'application/json'
  return {
    status: response.status,
    text,
    headers: response.headers,
    json: isJson ? JSON.parse(text) : {},
  }
}

const tools = [
  'read_log',
  'query_table',
  'list_files',
  'read_file',
  'search_docs',
  'run_check',
].map((name) => ({
  type: 'function',
  function: { name, description: name, parameters: { type: 'object', properties: {} } },
}))

/** An agent's loop: asks, answers every call with a long text, until the model stops calling. */
async function talk(
  questions: readonly string[],
  headers: Record<string, string> = {},
): Promise<{ thread: string; messages: Message[] }> {
  const messages: Message[] = []
  let thread = ''
  for (const question of questions) {
    messages.push({ role: 'user', content: question })
    for (let step = 0; step < 6; step++) {
      const { json, headers: got } = await call('/v1/chat/completions', {
        body: { model: 'oriel-demo', tools, messages },
        headers: { ...mine, ...headers },
      })
      thread = got.get('x-oriel-thread') ?? ''
      const [choice] = json.choices as { message: Message }[]
      const message = choice?.message as Message
      messages.push(message)
      const calls = (message.tool_calls ?? []) as { id: string }[]
      if (calls.length === 0) break
      for (const { id } of calls) {
        messages.push({
          role: 'tool',
          tool_call_id: id,
          content: `result ${id}\n${'line of output\n'.repeat(60)}`,
        })
      }
    }
  }
  return { thread, messages }
}

describe('a thread that is too busy', () => {
  it('[GW73] turns callers of the thread API away like model calls, with a time to come again', async () => {
    const inner = memoryStore()
    const slow = new Proxy(inner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'append') return value.bind(target)
        return async (...given: unknown[]) => {
          await wait(2)
          return value.apply(target, given)
        }
      },
    })
    open({ store: slow })
    const { thread } = await talk(['Hello'])
    const { json } = await call(`/api/threads/${thread}/log`)
    const message = (json.entries as Message[]).find(({ type }) => type === 'message')
    const pins = Array.from({ length: 400 }, (_, n) =>
      call(`/api/threads/${thread}/pin`, { body: { id: message?.id, pinned: n % 2 === 0 } }),
    )
    const answers = await Promise.all(pins)
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused.length).toBeGreaterThan(0)
    for (const { status, headers, json: said } of refused) {
      expect(status).toBe(429)
      expect(headers.get('retry-after')).toBe('1')
      expect(said.error).toMatchObject({ code: 'busy' })
    }
  })
})

describe('a thread that calls and the API share', () => {
  const ask = (messages: readonly Message[]) =>
    call('/v1/chat/completions', { body: { model: 'oriel-demo', tools, messages } })
  const shown = async (thread: string) => (await call(`/api/threads/${thread}/view`)).json.messages
  const user = (content: string) => ({ role: 'user', content })

  it('[GW110] is the one that the API names, whichever branch the last call was on', async () => {
    open()
    const { thread, messages } = await talk(['Hello'])
    const whole = messages.length
    const forked = await ask([user('Goodbye')])
    const edited = await call('/v1/chat/completions', {
      body: { model: 'oriel-demo', messages: [...messages.slice(0, -1), user('Something else')] },
      headers: { ...mine, 'x-oriel-thread': thread },
    })
    const fork = edited.headers.get('x-oriel-thread') ?? ''
    expect(new Set([thread, fork, forked.headers.get('x-oriel-thread')]).size).toBe(3)
    expect(await shown(thread)).toHaveLength(whole)
    expect(await shown(thread)).not.toContainEqual(user('Something else'))
    const { json } = await call(`/api/threads/${thread}/log`)
    const [first] = (json.entries as Message[]).filter(({ type }) => type === 'message')
    await call(`/api/threads/${thread}/exclude`, { body: { id: first?.id } })
    expect(await shown(thread)).not.toContainEqual(user('Hello'))
    expect(await shown(fork)).toContainEqual(user('Hello'))
    expect((await call(`/api/threads/${fork}`)).json.id).toBe(fork)
    const next = await call('/v1/chat/completions', {
      body: { model: 'oriel-demo', messages: [...messages, user('More')] },
      headers: { ...mine, 'x-oriel-thread': thread },
    })
    expect(next.headers.get('x-oriel-thread')).toBe(thread)
  })

  it('[GW110] can be read while a call keeps it', async () => {
    const inner = memoryStore()
    let gate: Promise<void> | undefined
    const reached = Promise.withResolvers<void>()
    const store = new Proxy(inner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name !== 'append') return value.bind(target)
        return async (...given: unknown[]) => {
          if (gate !== undefined) reached.resolve()
          await gate
          return value.apply(target, given)
        }
      },
    })
    open({ store })
    const { thread, messages } = await talk(['Hello'])
    const blocked = Promise.withResolvers<void>()
    gate = blocked.promise
    const late = ask([...messages, user('More')])
    await reached.promise
    const read = await shown(thread)
    blocked.resolve()
    expect(read).toHaveLength(messages.length)
    expect((await late).headers.get('x-oriel-thread')).toBe(thread)
    expect(await shown(thread)).toContainEqual(user('More'))
  })
})

describe('reading', () => {
  it('[GW10] shows a thread in the list, in its log, its views, its requests and its timeline', async () => {
    open()
    const { thread, messages } = await talk(['Why do shipments fail?', 'And what else?'])
    const { json: list } = await call('/api/threads')
    const [summary] = list.threads as Answer[]
    expect(summary).toMatchObject({
      id: thread,
      title: 'Why do shipments fail?',
      messages: messages.length,
      turns: 2,
      model: 'oriel-demo',
    })
    const { json: log } = await call(`/api/threads/${thread}/log?from=2&limit=3`)
    expect((log.entries as Answer[]).map(({ seq }) => seq)).toEqual([2, 3, 4])
    expect(log.next).toBe(5)
    const { json: view } = await call(`/api/threads/${thread}/view?format=anthropic`)
    expect(view).toMatchObject({ format: 'anthropic', tokens: { before: expect.any(Number) } })
    const blocks = view.blocks as Answer[]
    const omitted = blocks.find(({ form }) => form === 'omitted')
    expect(omitted).toMatchObject({ type: 'tool-result', rule: 'toolResults', canExpand: true })
    expect(blocks.filter(({ role }) => role === 'user').map(({ text }) => text)).toEqual([
      'Why do shipments fail?',
      'And what else?',
    ])
    const { json: timeline } = await call(`/api/threads/${thread}/timeline`)
    const steps = timeline.steps as Answer[]
    expect(steps.map(({ step }) => step)).toEqual(steps.map((_, index) => index + 1))
    expect(steps.at(-1)).toMatchObject({
      usage: { output: expect.any(Number) },
      model: 'oriel-demo',
    })
    expect(steps.some(({ epoch }) => epoch !== undefined)).toBe(true)
  })

  it('[GW10] rebuilds what was sent at a step and shows the difference to the one before', async () => {
    open()
    const { thread } = await talk(['Why do shipments fail?', 'And what else?'])
    const { json: list } = await call(`/api/threads/${thread}/requests`)
    const requests = list.requests as { step: number }[]
    const edited = (await call(`/api/threads/${thread}/timeline`)).json.steps as Answer[]
    const step = edited.find(({ epoch }) => epoch !== undefined)?.step
    const { json: request } = await call(`/api/threads/${thread}/requests/${step}`)
    expect(request).toMatchObject({ exact: true, change: { cause: 'edit', rule: 'toolResults' } })
    expect(request.difference).toMatchObject({ previousStep: Number(step) - 1 })
    const { json: then } = await call(`/api/threads/${thread}/view?step=${step}`)
    expect((then.trace as Answer[]).length).toBeGreaterThan(0)
    expect(then.messages).toEqual((request.body as Answer).messages)
    expect(requests.length).toBeGreaterThan(2)
    expect((await call(`/api/threads/${thread}/requests/99`)).status).toBe(404)
  })

  it('[GW10] pages through the list, searches it, and exports a thread', async () => {
    open()
    for (const words of ['The first apple', 'A second pear', 'Some third plum']) await talk([words])
    const first = await call('/api/threads?limit=2')
    expect((first.json.threads as Answer[]).map(({ title }) => title)).toEqual([
      'Some third plum',
      'A second pear',
    ])
    const second = await call(`/api/threads?limit=2&cursor=${String(first.json.cursor)}`)
    expect((second.json.threads as Answer[]).map(({ title }) => title)).toEqual(['The first apple'])
    const found = await call('/api/threads?search=PEAR')
    const [hit, ...rest] = found.json.threads as Answer[]
    expect([hit?.title, rest]).toEqual(['A second pear', []])
    const exported = await call(`/api/threads/${hit?.id}/export`)
    const lines = exported.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Answer)
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, index) => index + 1))
  })
})

describe('a thread whose id cannot stand in a path', () => {
  it.each(['.', '..', 'a/b', 'a;b', 'a\\b', '%2e%2e', 'a..b', '-'])(
    '[GW10] is reached by the query: %s',
    async (id) => {
      const store = memoryStore()
      const thread = await openThread({ id, tenant: 'local', store })
      await thread.append([{ role: 'user', content: 'Hello there.' }])
      open({ store })
      const server = await serveGateway(gateway, { port: 0 })
      try {
        const of = (part: string) =>
          `${server.url}/api/threads/-${part}?${new URLSearchParams({ thread: id })}`
        const summary = await fetch(of(''))
        expect(await summary.json()).toMatchObject({ id, messages: 1 })
        const log = (await (await fetch(of('/log'))).json()) as { entries: Answer[] }
        const message = log.entries.find(({ type }) => type === 'message')
        const body = JSON.stringify({ id: message?.id })
        expect((await fetch(of('/pin'), { method: 'POST', body })).status).toBe(200)
        const view = (await (await fetch(of('/view'))).json()) as { blocks: Answer[] }
        expect(view.blocks).toMatchObject([{ isPinned: true, text: 'Hello there.' }])
        expect((await fetch(of(''), { method: 'DELETE' })).status).toBe(204)
        expect((await fetch(of(''))).status).toBe(404)
      } finally {
        await server.close()
      }
    },
  )
})

describe('a search through many threads', () => {
  it('[GW10] lets others have their turn after each of them', async () => {
    open()
    for (let count = 0; count < 5; count++) await talk([`Question ${count}`])
    let turns = 0
    let next = setImmediate(function again() {
      turns += 1
      next = setImmediate(again)
    })
    const { json } = await call('/api/threads?search=nowhere')
    clearImmediate(next)
    expect(json.threads).toEqual([])
    expect(turns).toBeGreaterThanOrEqual(5)
  })
})

describe('standing instructions', () => {
  it('[DR6] are listed word for word, alone and with the view', async () => {
    open()
    const { thread } = await talk([
      'Please never use emojis. Why do shipments fail?',
      'And what else?',
    ])
    const { json } = await call(`/api/threads/${thread}/directives`)
    const directive = { text: 'Please never use emojis.', source: expect.any(String), since: 1 }
    expect(json).toEqual({ directives: [directive] })
    const { json: view } = await call(`/api/threads/${thread}/view`)
    expect(view.directives).toEqual([directive])
  })
})

describe('acting', () => {
  it('[GW11] expands, undoes, pins and excludes, and the next call shows it', async () => {
    open()
    const { thread, messages } = await talk(['Why do shipments fail?', 'And what else?'])
    const { json: edits } = await call(`/api/threads/${thread}/edits`)
    const [edit] = edits.edits as { id: string; live: boolean; target: { seq: number } }[]
    expect(edit?.live).toBe(true)
    const { json: view } = await call(`/api/threads/${thread}/view`)
    const omitted = (view.blocks as Answer[]).find((block) => block.edit === edit?.id)
    const expanded = await call(`/api/threads/${thread}/expand`, {
      body: { id: omitted?.id, lines: [0, 0] },
    })
    expect(expanded.json).toMatchObject({ ok: true, text: expect.stringMatching(/^result /) })
    await call(`/api/threads/${thread}/undo`, { body: { id: edit?.id } })
    const again = (await call(`/api/threads/${thread}/view`)).json.blocks as Answer[]
    expect(again.find(({ id }) => id === omitted?.id)).toMatchObject({ form: 'full' })
    expect((await call(`/api/threads/${thread}/undo`, { body: { id: edit?.id } })).status).toBe(409)
    const [question] = again
    await call(`/api/threads/${thread}/exclude`, { body: { id: question?.id } })
    await call(`/api/threads/${thread}/pin`, { body: { id: omitted?.message } })
    const sent = await call('/v1/preview', {
      body: {
        model: 'oriel-demo',
        tools,
        messages: [...messages, { role: 'user', content: 'More' }],
      },
    })
    const excluded = { role: 'user', content: 'Why do shipments fail?' }
    expect(sent.json.messages).not.toContainEqual(excluded)
    expect(sent.json.thread).toBe(thread)
  })

  it('[GW11] erases a thread for good', async () => {
    open()
    const { thread } = await talk(['Forget the word xylophone'])
    expect((await call(`/api/threads/${thread}`, { method: 'DELETE' })).status).toBe(204)
    expect((await call(`/api/threads/${thread}`)).status).toBe(404)
    expect((await call('/api/threads?search=xylophone')).json.threads).toEqual([])
  })

  it('[GW95] removes the files with outputs of a thread that it erases', async () => {
    const directory = join(mkdtempSync(join(tmpdir(), 'oriel-erased-')), 'outputs')
    open({ policy: { toolOutput: { largeOutputThreshold: 500, directory } } })
    const { thread } = await talk(['Why do shipments fail?'])
    expect(readdirSync(directory).length).toBeGreaterThan(0)
    await call(`/api/threads/${thread}`, { method: 'DELETE' })
    expect(readdirSync(directory)).toEqual([])
    rmSync(dirname(directory), { recursive: true })
  })

  it('[GW11] lets a session go on in a new thread after its own was erased', async () => {
    open()
    const session = { 'x-session-id': 's' }
    const { thread, messages } = await talk(['Forget this'], session)
    await call(`/api/threads/${thread}`, { method: 'DELETE' })
    const { status, headers } = await call('/v1/chat/completions', {
      body: { model: 'oriel-demo', messages: [...messages, { role: 'user', content: 'Go on' }] },
      headers: { ...mine, ...session },
    })
    expect(status).toBe(200)
    expect(headers.get('x-oriel-thread')).not.toBe(thread)
  })

  it('[GW11] refuses wrong bodies with what is wrong', async () => {
    open()
    const { thread } = await talk(['Hello'])
    for (const body of [{}, { id: 7 }, { id: 'x', more: 1 }]) {
      const { status, json } = await call(`/api/threads/${thread}/expand`, { body })
      expect([status, (json.error as Answer).code]).toEqual([400, 'invalid-input'])
    }
    const { status } = await call(`/api/threads/${thread}/what-if`, {
      body: { policy: { histroy: {} } },
    })
    expect(status).toBe(400)
  })

  it('[GW12] answers what-if without keeping anything', async () => {
    open()
    const { thread } = await talk(['Why do shipments fail?', 'And what else?', 'And then?'])
    const before = await call(`/api/threads/${thread}/export`)
    const policy = { history: { policy: 'lastN', length: 1 } }
    const { json } = await call(`/api/threads/${thread}/what-if`, { body: { policy } })
    expect(JSON.stringify(json.messages)).not.toContain('Why do shipments fail?')
    expect((await call(`/api/threads/${thread}/export`)).text).toBe(before.text)
  })
})

describe('preview', () => {
  it('[GW12] shows what a call would send, and the call then sends it; nothing is kept before', async () => {
    const sent: string[] = []
    const { createDemoUpstream } = await import('../src/demo/demo-upstream.ts')
    const demo = createDemoUpstream()
    const upstream = {
      name: 'u',
      baseUrl: 'http://demo.invalid',
      fetch: async (request: Request) => {
        sent.push(await request.clone().text())
        return demo.fetch(request)
      },
    }
    open({ upstreams: [upstream] })
    const { messages, thread } = await talk(['Why do shipments fail?', 'And what else?'])
    const body = {
      model: 'oriel-demo',
      tools,
      messages: [...messages, { role: 'user', content: 'More' }],
    }
    const log = await call(`/api/threads/${thread}/export`)
    const { json } = await call('/v1/preview?historyPolicy=lastN&historyLength=2', { body })
    expect(json).toMatchObject({
      thread,
      format: 'openai-chat',
      sources: { 'history.length': 'request', 'toolResults.max': 'default' },
    })
    expect((await call(`/api/threads/${thread}/export`)).text).toBe(log.text)
    await call('/v1/chat/completions?historyPolicy=lastN&historyLength=2', { body })
    expect((JSON.parse(sent.at(-1) ?? '') as Answer).messages).toEqual(json.messages)
  })
})

describe('other callers', () => {
  it('[GW13] find foreign threads exactly as absent ones, on every route', async () => {
    open()
    const { thread } = await talk(['A secret of mine'])
    const routes = gateway.routes.filter(({ path }) => path.includes('/api/threads/:id'))
    expect(routes.length).toBeGreaterThan(10)
    for (const { method, path } of routes) {
      const ask = async (id: string): Promise<unknown> => {
        const { status, text } = await call(path.replace(':id', id).replace(':step', '1'), {
          method,
          headers: other,
          ...(method === 'POST' ? { body: { id: 'e1' } } : {}),
        })
        return { status, text }
      }
      const absent = await ask('00000000-0000-4000-8000-000000000000')
      expect([path, await ask(thread)]).toEqual([path, absent])
      expect(absent).toMatchObject({ status: 404 })
    }
    expect((await call('/api/threads', { headers: other })).json.threads).toEqual([])
  })

  it('[GW13] never meet in one session, though they name it alike', async () => {
    open()
    const session = { 'x-session-id': 'shared', 'x-oriel-thread': 'shared' }
    await talk(['The words of one'], session)
    const { headers } = await call('/v1/chat/completions', {
      body: { model: 'oriel-demo', messages: [{ role: 'user', content: 'The words of two' }] },
      headers: { ...other, ...session },
    })
    expect(headers.get('x-oriel-thread')).toBe('shared')
    const { text } = await call('/api/threads/shared/export', { headers: other })
    expect(text).toContain('The words of two')
    expect(text).not.toContain('The words of one')
  })

  it('[GW13] are all seen by the operator of a gateway without keys', async () => {
    open()
    await talk(['The words of one'])
    await wait(20)
    const { json } = await call('/api/threads', { headers: {} })
    expect((json.threads as Answer[]).map(({ title }) => title)).toEqual(['The words of one'])
  })
})

describe('settings', () => {
  it('[GW14] come from environment, request, agent and default, each with its source', async () => {
    open({
      agents: demoAgents(),
      env: { ORIEL_TOOL_RESULTS_MAX: '3' },
      ceilings: { 'history.length': 50 },
    })
    const { json } = await call('/api/settings?agent=demo&historyLength=500&toolResultsMax=9')
    expect(json).toMatchObject({
      policy: { history: { policy: 'lastN', length: 50 }, toolResults: { max: 3 } },
      sources: {
        'history.policy': 'agent',
        'history.length': 'request',
        'toolResults.max': 'environment',
        'toolResults.cutoff': 'agent',
      },
      chat: { historyPolicy: 'lastN', historyLength: 50 },
    })
    expect(json.warnings).toHaveLength(1)
  })

  it('[GW14] that are stored for an agent win over its template, also after a restart', async () => {
    open({ agents: demoAgents() })
    await call('/api/agents/demo/settings', { method: 'PUT', body: { historyLength: 2 } })
    const { store } = gateway
    const again = createGateway({ store, agents: demoAgents() })
    const ask = () =>
      again.fetch(new Request('http://localhost/api/settings?agent=demo', { headers: mine }))
    const response = await ask()
    expect(await response.json()).toMatchObject({
      chat: { historyPolicy: 'lastN', historyLength: 2 },
      sources: { 'history.length': 'agent' },
    })
    // The same settings that the library keeps: a tool's too.
    const tool = { after: 2, mode: 'remove' } as const
    await store.settings.saveTool({ tenant: 'index:', agent: 'demo' }, 'read_log', tool)
    const later = await ask()
    const { policy } = (await later.json()) as { policy: Answer }
    expect(policy).toMatchObject({ expiry: { tools: { read_log: tool } }, history: { length: 2 } })
  })

  it('[GW14] that are wrong stop the start, are ignored in an address, and refused in a header', async () => {
    expect(() => createGateway({ env: { ORIEL_HISTORY_LENGTH: 'many' } })).toThrow(
      /ORIEL_HISTORY_LENGTH/,
    )
    open()
    const body = { model: 'oriel-demo', messages: [{ role: 'user', content: 'Hello' }] }
    const ignored = await call('/v1/chat/completions?historyLength=many', { body })
    expect(ignored.status).toBe(200)
    expect(ignored.headers.get('x-oriel-warnings')).toContain('historyLength')
    const refused = await call('/v1/chat/completions', {
      body,
      headers: { ...mine, 'x-oriel-policy': '{"history":{"length":-1}}' },
    })
    expect(refused.status).toBe(400)
    expect(refused.json).toMatchObject({
      error: { type: 'invalid_request_error', code: 'invalid-setting' },
    })
  })

  it('[GW14] of a request hold for the calls that bring them, with their edits in the log, and debugging tells where each came from', async () => {
    open()
    const { thread, messages } = await talk(['One', 'Two', 'Three'])
    const body = {
      model: 'oriel-demo',
      tools,
      messages: [...messages, { role: 'user', content: 'Four' }],
    }
    const { headers, json: said } = await call('/v1/chat/completions', {
      body: { ...body, oriel: { policy: { history: { policy: 'none' } } } },
      headers: { ...mine, 'x-oriel-debug': 'true' },
    })
    const after = Number(headers.get('x-oriel-tokens-after'))
    expect(after).toBeLessThan(Number(headers.get('x-oriel-tokens-before')))
    expect(JSON.parse(headers.get('x-oriel-sources') ?? '')).toMatchObject({
      'history.policy': 'request',
    })
    const { json: then } = await call(`/api/threads/${thread}/edits`)
    expect(windowsIn(then)).toContain(true)
    const [{ message }] = said.choices as [{ message: object }]
    const later = [...body.messages, message, { role: 'user', content: 'Five' }]
    await call('/v1/chat/completions', { body: { ...body, messages: later }, headers: mine })
    const { json } = await call(`/api/threads/${thread}/view`)
    expect(JSON.stringify(json.messages)).toContain('"One"')
    const { json: taken } = await call(`/api/threads/${thread}/edits`)
    expect(windowsIn(taken)).not.toContain(true)
  })

  it('[GW14] may be denied to requests', async () => {
    open({ requestOverrides: 'deny' })
    const { json } = await call('/api/settings?historyLength=3')
    expect(json.sources).not.toMatchObject({ 'history.length': 'request' })
    expect(json.warnings).toHaveLength(1)
  })
})

/** Of each edit of a history window: whether it is live. */
function windowsIn(answer: object): readonly boolean[] {
  const { edits } = answer as { edits: readonly { rule: string; live: boolean }[] }
  return edits.filter(({ rule }) => rule === 'history').map(({ live }) => live)
}

describe('live updates', () => {
  it('[GW15] tell what happens in a thread, without its content, to its tenant alone', async () => {
    open()
    const listen = async (
      headers: Record<string, string>,
    ): Promise<{ read(): string; stop(): void }> => {
      const aborter = new AbortController()
      const response = await gateway.fetch(
        new Request('http://localhost/api/events', { headers, signal: aborter.signal }),
      )
      let text = ''
      const decoder = new TextDecoder()
      const reading = (async () => {
        for await (const chunk of response.body ?? [])
          text += decoder.decode(chunk, { stream: true })
      })()
      reading.catch(() => undefined)
      return { read: () => text, stop: () => aborter.abort() }
    }
    const [own, foreign] = await Promise.all([listen(mine), listen(other)])
    const { thread } = await talk(['A secret of mine'])
    await gateway.settled()
    await wait(20)
    expect(own.read()).toContain('event: message-added')
    expect(own.read()).toContain(`event: thread-changed\ndata: {"thread":"${thread}",`)
    expect(own.read()).not.toContain('secret')
    expect(foreign.read()).toBe(': listening\n\n')
    own.stop()
    foreign.stop()
  })

  it('[GW73] one tenant does not take the place of all others, and a gateway that closes ends them', async () => {
    open()
    const listen = (headers: Record<string, string>): Promise<Response> =>
      gateway.fetch(new Request('http://localhost/api/events', { headers }))
    const answers = await Promise.all(Array.from({ length: 40 }, () => listen(mine)))
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused.length).toBeGreaterThan(0)
    for (const { status, headers } of refused) {
      expect([status, headers.get('retry-after')]).toEqual([429, '1'])
    }
    const another = await listen(other)
    expect(another.status).toBe(200)
    gateway.endStreams()
    expect(await another.text()).toBe(': listening\n\n')
    expect((await listen(other)).status).toBe(503)
  })
})
