import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import type { Block } from '../core/log/block.ts'
import type { Json, JsonObject } from '../core/log/json.ts'
import { decode, validate } from '../providers/registry.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread, type Thread } from '../thread/thread.ts'
import { managed as managedAnthropic } from './anthropic.ts'
import { managed } from './openai.ts'

/** What the server says to one request: a body, the events of a stream, or an error. */
type Reply =
  | { readonly json: JsonObject }
  | { readonly events: readonly JsonObject[]; readonly isCut?: boolean; readonly isOpen?: boolean }
  | { readonly status: number; readonly error: JsonObject }

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function readAll(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as JsonObject
}

/** A server on this machine that follows a script and remembers what it was sent. */
async function serve(replies: readonly Reply[], bodies: JsonObject[]): Promise<string> {
  const script = [...replies]
  const server = createServer(async (request, response) => {
    bodies.push(await readAll(request))
    const reply = script.shift() ?? { status: 500, error: { message: 'the script is over' } }
    if ('error' in reply) {
      response.writeHead(reply.status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ type: 'error', error: reply.error }))
    } else if ('json' in reply) {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(reply.json))
    } else {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of reply.events) {
        const name = typeof event.type === 'string' ? `event: ${event.type}\n` : ''
        response.write(`${name}data: ${JSON.stringify(event)}\n\n`)
      }
      if (reply.isOpen !== true) response.end(reply.isCut === true ? '' : 'data: [DONE]\n\n')
    }
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const page = (name: string): string => `${name}: ${'a long page of text. '.repeat(60)}`
const policy = { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } } as const

async function newThread(): Promise<Thread> {
  return openThread({ store: memoryStore(), policy })
}

async function said(thread: Thread): Promise<readonly string[]> {
  return (await thread.log()).flatMap((entry) => (entry.type === 'message' ? [entry.role] : []))
}

async function samples(thread: Thread): Promise<readonly object[]> {
  return (await thread.log()).flatMap((entry) => (entry.type === 'usage' ? [entry.sample] : []))
}

const tooLong: Reply = {
  status: 400,
  error: {
    code: 'context_length_exceeded',
    type: 'invalid_request_error',
    message:
      "This model's maximum context length is 1000 tokens. However, your messages resulted in 2000 tokens.",
  },
}

describe('managed(OpenAI)', () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 5,
    total_tokens: 105,
    prompt_tokens_details: { cached_tokens: 70 },
  }
  const completion = (message: JsonObject): Reply => ({
    json: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, refusal: null, ...message },
          finish_reason: 'stop',
          logprobs: null,
        },
      ],
      usage,
    },
  })
  const call = (id: string, path: string): JsonObject => ({
    tool_calls: [
      { id, type: 'function', function: { name: 'read', arguments: JSON.stringify({ path }) } },
    ],
  })
  const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })

  async function open(
    replies: readonly Reply[],
    thread: Thread,
    bodies: JsonObject[],
    retries = 0,
  ) {
    const client = new OpenAI({
      apiKey: 'none',
      baseURL: `${await serve(replies, bodies)}/v1`,
      maxRetries: retries,
    })
    return managed(client, { thread })
  }

  it('[SD1] a tool loop sends views, and the thread keeps everything', async () => {
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const replies = [
      completion(call('a', 'one')),
      completion(call('b', 'two')),
      completion({ content: 'Done.' }),
    ]
    const client = await open(replies, thread, bodies)
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Read all' },
    ]
    for (let step = 0; step < 3; step++) {
      const { choices } = await client.chat.completions.create({ model: 'm', messages })
      const message = choices[0]?.message as OpenAI.ChatCompletionMessage
      messages.push(message)
      for (const one of message.tool_calls ?? []) {
        if (one.type === 'function')
          messages.push({
            role: 'tool',
            tool_call_id: one.id,
            content: page(one.function.arguments),
          })
      }
    }
    const last = bodies[2]?.messages as readonly { role: string; content: string }[]
    expect(last.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ])
    expect(last[3]?.content).toMatch(/^\[Omitted/)
    expect(messages[3]?.content).toContain('a long page')
    for (const body of bodies) expect(validate('openai-chat', body)).toEqual([])
    expect(await said(thread)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ])
    expect((await samples(thread))[0]).toEqual({
      uncached: 30,
      cacheRead: 70,
      cacheWrite: 0,
      output: 5,
    })
  })

  it('[SD2] a conversation of which only new messages are sent', async () => {
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const client = await open(
      [
        completion({ content: 'One.' }),
        completion({ content: 'Two.' }),
        completion(call('a', 'x')),
        completion({ content: 'Four.' }),
      ],
      thread,
      bodies,
    )
    const ask = (message: OpenAI.ChatCompletionMessageParam) =>
      client.chat.completions.create({ model: 'm', messages: [message] })
    await ask({ role: 'user', content: 'First' })
    await ask({ role: 'user', content: 'Second' })
    await ask({ role: 'user', content: 'Third' })
    await ask({ role: 'tool', tool_call_id: 'a', content: 'found' })
    expect(bodies.map(({ messages }) => (messages as []).length)).toEqual([1, 3, 5, 7])
    expect(await said(thread)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
  })

  it('[SD3] streams pass as they come, helpers included, and are recorded when they end', async () => {
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const events = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'He' }),
      chunk({
        content: 'llo',
        tool_calls: [
          { index: 0, id: 'a', type: 'function', function: { name: 'read', arguments: '' } },
        ],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"path":' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '"x"}' } }] }),
      chunk({}, 'tool_calls'),
      { ...chunk({}), choices: [], usage },
    ]
    const client = await open([{ events }, { events }], thread, bodies)
    const stream = await client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    })
    let text = ''
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
    expect(text).toBe('Hello')
    const [, answer] = (await thread.log()).filter((entry) => entry.type === 'message')
    expect(answer).toMatchObject({
      blocks: [{ text: 'Hello' }, { callId: 'a', name: 'read', arguments: '{"path":"x"}' }],
    })
    expect((await samples(thread)).length).toBe(1)
    const helper = client.chat.completions.stream({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect((await helper.finalMessage()).content).toBe('Hello')
  })

  it('[SD3] a stream keeps what only some servers send: reasoning, and calls without an index', async () => {
    const thread = await newThread()
    const read = (id: string, path: string): JsonObject => ({
      id,
      type: 'function',
      function: { name: 'read', arguments: JSON.stringify({ path }) },
    })
    const events = [
      chunk({ role: 'assistant', content: '', reasoning: 'Two ' }),
      chunk({ reasoning: 'files.', reasoning_details: [{ text: 'Two files.' }] }),
      chunk({ tool_calls: [read('a', 'x')] }),
      chunk({ tool_calls: [read('b', 'y')] }),
      chunk({}, 'tool_calls'),
    ]
    const bodies: JsonObject[] = []
    const client = await open([{ events }, completion({ content: 'Done.' })], thread, bodies)
    const stream = await client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    })
    for await (const _ of stream);
    const results = ['a', 'b'].map((id) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: id,
    }))
    await client.chat.completions.create({ model: 'm', messages: results })
    expect(bodies[1]?.messages).toMatchObject([
      { role: 'user' },
      {
        reasoning: 'Two files.',
        reasoning_details: [{ text: 'Two files.' }],
        tool_calls: [read('a', 'x'), read('b', 'y')],
      },
      { tool_call_id: 'a' },
      { tool_call_id: 'b' },
    ])
  })

  it('[SD3] half an answer is not recorded', async () => {
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const client = await open(
      [
        { events: [chunk({ role: 'assistant', content: 'He' })], isCut: true },
        completion({ content: 'Hello.' }),
      ],
      thread,
      bodies,
    )
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hi' }]
    const stream = await client.chat.completions.create({ model: 'm', messages, stream: true })
    for await (const _ of stream);
    expect(await said(thread)).toEqual(['user'])
    await client.chat.completions.create({ model: 'm', messages })
    expect(await said(thread)).toEqual(['user', 'assistant'])
  })

  it('[SD3] a whole answer is recorded although its reader leaves before the end', async () => {
    const thread = await newThread()
    const events = [chunk({ role: 'assistant', content: 'Hello.' }), chunk({}, 'stop')]
    const client = await open([{ events, isOpen: true }], thread, [])
    const stream = await client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    })
    for await (const { choices } of stream) if (choices[0]?.finish_reason === 'stop') break
    await expect.poll(() => said(thread)).toEqual(['user', 'assistant'])
  })

  it('[SD3] an abort reaches the server', async () => {
    const thread = await newThread()
    const events = Array.from({ length: 3 }, () => chunk({ content: 'x' }))
    const client = await open([{ events }], thread, [])
    const stream = await client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    })
    for await (const _ of stream) stream.controller.abort()
    expect(await said(thread)).toEqual(['user'])
  })

  /** Asks four questions, each with one call of a tool; the thread then has what the client has, and did not fork. */
  async function expectOneThread(
    format: 'openai-chat' | 'openai-responses',
    events: (turn: number) => readonly (readonly JsonObject[])[],
    ask: (client: OpenAI, history: readonly unknown[]) => Promise<readonly JsonObject[]>,
    result: (call: JsonObject) => JsonObject,
  ): Promise<void> {
    const thread = await openThread({ store: memoryStore() })
    const { id } = thread
    const turns = [1, 2, 3, 4]
    const replies = turns.flatMap((turn) => events(turn).map((list) => ({ events: list })))
    const client = await open(replies, thread, [])
    const history: unknown[] = []
    for (const turn of turns) {
      history.push({ role: 'user', content: `Question ${turn}` })
      const answer = await ask(client, [...history])
      const calls =
        format === 'openai-chat' ? answer.flatMap((one) => one.tool_calls ?? []) : answer
      history.push(...answer, ...(calls as readonly JsonObject[]).map(result))
      history.push(...(await ask(client, [...history])))
    }
    const log = (await thread.log()).filter((entry) => entry.type === 'message')
    const sent = decode(format, JSON.parse(JSON.stringify(history)) as Json[])
    const shown = (blocks: readonly Block[]): unknown =>
      blocks.map(({ id: _id, extra: _extra, ...block }) => block)
    expect(log.map(({ role, blocks }) => [role, shown(blocks)])).toEqual(
      sent.map(({ draft: { role, content } }) => [
        role,
        shown(typeof content === 'string' ? [{ type: 'text', text: content }] : content),
      ]),
    )
    expect(thread.id).toBe(id)
  }

  const helper = async (client: OpenAI, history: readonly unknown[]) => {
    const messages = history as OpenAI.ChatCompletionMessageParam[]
    const { choices } = await client.chat.completions
      .stream({ model: 'm', messages })
      .finalChatCompletion()
    return [choices[0]?.message as unknown as JsonObject]
  }
  const toolMessage = ({ id }: JsonObject): JsonObject => ({
    role: 'tool',
    tool_call_id: id as Json,
    content: `Result of ${String(id)}`,
  })
  const patching = (turn: number): readonly JsonObject[] => [
    chunk({
      role: 'assistant',
      tool_calls: [
        { index: 0, id: `c${turn}`, type: 'custom', custom: { name: 'patch', input: '' } },
      ],
    }),
    chunk({ tool_calls: [{ index: 0, custom: { input: '*** Begin' } }] }),
    chunk({ tool_calls: [{ index: 0, custom: { input: ' Patch' } }] }),
    chunk({}, 'tool_calls'),
  ]

  it('[SD8] four turns with a streamed custom tool and refusals are one thread', async () => {
    const refusing = [
      chunk({ role: 'assistant', content: null, refusal: 'I can' }),
      chunk({ refusal: 'not.' }),
      chunk({}, 'stop'),
    ]
    const events = (turn: number) => [patching(turn), refusing]
    await expectOneThread('openai-chat', events, helper, toolMessage)
  })

  it('[SD8] four turns with calls without an index are one thread', async () => {
    const looking = (turn: number): readonly JsonObject[] => [
      chunk({ role: 'assistant', content: '' }),
      ...['a', 'b'].map((name) =>
        chunk({
          tool_calls: [
            { id: `${name}${turn}`, type: 'function', function: { name, arguments: '{"x":1}' } },
          ],
        }),
      ),
      chunk({}, 'tool_calls'),
    ]
    const events = (turn: number) => [
      looking(turn),
      [chunk({ role: 'assistant', content: 'Done.' }), chunk({}, 'stop')],
    ]
    const byHand = async (client: OpenAI, history: readonly unknown[]) => {
      const stream = await client.chat.completions.create({
        model: 'm',
        messages: history as OpenAI.ChatCompletionMessageParam[],
        stream: true,
      })
      let content = ''
      const calls: unknown[] = []
      for await (const { choices } of stream) {
        content += choices[0]?.delta.content ?? ''
        calls.push(...(choices[0]?.delta.tool_calls ?? []))
      }
      const called = calls.length === 0 ? {} : { tool_calls: calls as JsonObject[] }
      return [{ role: 'assistant', content, ...called } as JsonObject]
    }
    await expectOneThread('openai-chat', events, byHand, toolMessage)
  })

  it('[SD8] four turns with a streamed custom tool of Responses are one thread', async () => {
    const events = (turn: number) => {
      const call = {
        ...{ type: 'custom_tool_call', id: `ctc_${turn}`, call_id: `c${turn}`, name: 'patch' },
        ...{ input: '*** Begin Patch', status: 'completed' },
      }
      const said = {
        ...{ type: 'message', id: `msg_${turn}`, role: 'assistant', status: 'completed' },
        content: [{ type: 'output_text', text: 'Done.', annotations: [] }],
      }
      return [call, said].map((item, at): readonly JsonObject[] => [
        { type: 'response.created', response: { id: 'r', object: 'response', output: [] } },
        {
          ...{ type: 'response.output_item.added', output_index: 0 },
          item: at === 0 ? { ...call, input: '' } : item,
        },
        ...(at === 0
          ? ['*** Begin', ' Patch'].map((delta) => ({
              ...{ type: 'response.custom_tool_call_input.delta', output_index: 0 },
              ...{ item_id: call.id, delta },
            }))
          : []),
        { type: 'response.output_item.done', output_index: 0, item },
        {
          type: 'response.completed',
          response: { id: 'r', object: 'response', status: 'completed', output: [item] },
        },
      ])
    }
    const ask = async (client: OpenAI, history: readonly unknown[]) => {
      const input = history as OpenAI.Responses.ResponseInput
      const { output } = await client.responses.stream({ model: 'm', input }).finalResponse()
      return output as unknown as readonly JsonObject[]
    }
    await expectOneThread('openai-responses', events, ask, ({ call_id: id }) => ({
      type: 'custom_tool_call_output',
      call_id: id as Json,
      output: `Result of ${String(id)}`,
    }))
  })

  it('[SD4] an overflow is answered with a smaller view, once; other errors pass as they are', async () => {
    const bodies: JsonObject[] = []
    const thread = await openThread({ store: memoryStore() })
    const client = await open(
      [
        tooLong,
        completion({ content: 'Fits.' }),
        tooLong,
        tooLong,
        { status: 401, error: { message: 'no key' } },
      ],
      thread,
      bodies,
    )
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      ...Array.from(
        { length: 8 },
        (_, index): OpenAI.ChatCompletionMessageParam => ({
          role: index % 2 === 0 ? 'user' : 'assistant',
          content: page(String(index)),
        }),
      ),
      { role: 'user', content: 'So?' },
    ]
    const { choices } = await client.chat.completions.create({ model: 'm', messages })
    expect(choices[0]?.message.content).toBe('Fits.')
    expect(JSON.stringify(bodies[1]).length).toBeLessThan(JSON.stringify(bodies[0]).length * 0.6)
    await expect(client.chat.completions.create({ model: 'm', messages })).rejects.toThrow(
      OpenAI.BadRequestError,
    )
    expect(bodies.length).toBe(4)
    await expect(client.chat.completions.create({ model: 'm', messages })).rejects.toThrow(
      OpenAI.AuthenticationError,
    )
  })

  it('a retry of the SDK adds nothing', async () => {
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const client = await open(
      [{ status: 500, error: { message: 'busy' } }, completion({ content: 'Later.' })],
      thread,
      bodies,
      1,
    )
    await client.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect(bodies[0]).toEqual(bodies[1])
    expect(await said(thread)).toEqual(['user', 'assistant'])
  }, 20_000)

  it('[SD5] responses are managed too; those whose history OpenAI holds are not', async () => {
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const response = (text: string): JsonObject => ({
      id: 'r',
      object: 'response',
      output: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text, annotations: [] }],
        },
      ],
      usage: {
        input_tokens: 100,
        output_tokens: 5,
        total_tokens: 105,
        input_tokens_details: { cached_tokens: 70 },
      },
    })
    const streamed = [
      { type: 'response.created', response: { ...response(''), output: [] }, sequence_number: 0 },
      { type: 'response.completed', response: response('Two.'), sequence_number: 1 },
    ]
    const client = await open(
      [{ json: response('One.') }, { events: streamed }, { json: response('Three.') }],
      thread,
      bodies,
    )
    const first = await client.responses.create({
      model: 'm',
      input: 'First',
      instructions: 'Be brief.',
    })
    expect(first.output_text).toBe('One.')
    const stream = await client.responses.create({ model: 'm', input: 'Second', stream: true })
    for await (const _ of stream);
    expect(bodies[1]?.input).toHaveLength(3)
    expect(await said(thread)).toEqual(['user', 'assistant', 'user', 'assistant'])
    await client.responses.create({ model: 'm', input: 'Third', previous_response_id: 'r' })
    expect(bodies[2]?.input).toBe('Third')
    expect((await samples(thread)).length).toBe(2)
  })

  it('[SD5] input that refers to what OpenAI holds passes unchanged', async () => {
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const done = { json: { id: 'r', object: 'response', status: 'completed', output: [] } }
    const client = await open([done, done], thread, bodies)
    const input: OpenAI.Responses.ResponseInput = [
      { type: 'item_reference', id: 'msg_1' },
      { role: 'user', content: 'And then?' },
    ]
    await client.responses.create({ model: 'm', input })
    expect(bodies[0]?.input).toEqual(input)
    await client.responses.create({ model: 'm', input: 'Hi', prompt: { id: 'pmpt_1' } })
    expect(bodies[1]?.input).toBe('Hi')
    expect(await said(thread)).toEqual([])
  })

  it('[SD5] reasoning that OpenAI does not keep is sent back with its content or not at all', async () => {
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const said = (text: string) => ({
      ...{ type: 'message', role: 'assistant', id: `msg_${text}`, status: 'completed' },
      content: [{ type: 'output_text', text, annotations: [] }],
    })
    const thought = (id: string, more = {}) => ({ type: 'reasoning', id, summary: [], ...more })
    const done = (...output: JsonObject[]): Reply => ({
      json: { id: 'r', object: 'response', status: 'completed', output },
    })
    const sealed = thought('rs_2', { encrypted_content: 'sealed' })
    const replies = [done(thought('rs_1'), said('a')), done(sealed, said('b')), done(said('c'))]
    const client = await open(replies, thread, bodies)
    for (const input of ['One?', 'Two?', 'Three?'])
      await client.responses.create({ model: 'm', input, store: false })
    const input = bodies[2]?.input as readonly { readonly id?: string }[]
    expect(input.flatMap(({ id }) => id ?? [])).toEqual(['msg_a', 'rs_2', 'msg_b'])
  })

  it('[SD5] a response that failed says nothing', async () => {
    const thread = await newThread()
    const half = {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'He' }],
    }
    const failed = { json: { id: 'r', object: 'response', status: 'failed', output: [half] } }
    const client = await open([failed], thread, [])
    await client.responses.create({ model: 'm', input: 'Hi' })
    expect(await said(thread)).toEqual(['user'])
  })

  it('the raw response keeps its address, headers and body', async () => {
    const thread = await newThread()
    const client = await open([completion({ content: 'Hello.' })], thread, [])
    const raw = await client.chat.completions
      .create({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
      .asResponse()
    expect(raw.url).toBe(`${client.baseURL}/chat/completions`)
    expect(raw.headers.get('content-type')).toBe('application/json')
    expect(await raw.json()).toMatchObject({ choices: [{ message: { content: 'Hello.' } }] })
    expect(await said(thread)).toEqual(['user', 'assistant'])
  })

  it('types and options of the client stay; what is no client is refused', async () => {
    const client = new OpenAI({ apiKey: 'none', maxRetries: 7, timeout: 1234 })
    const copy: OpenAI = managed(client, { policy })
    expect(copy).toBeInstanceOf(OpenAI)
    expect([copy.maxRetries, copy.timeout]).toEqual([7, 1234])
    expect(() => managed({} as never, { policy })).toThrow(/client of the SDK/)
  })

  it('[SD6] a client is managed once', () => {
    const client = new OpenAI({ apiKey: 'none' })
    const copy = managed(client, { policy })
    const twice = { code: 'invalid-option', path: 'client' }
    expect(() => managed(copy, { policy })).toThrow(expect.objectContaining(twice))
    const renamed = copy.withOptions({ timeout: 1 })
    expect(() => managed(renamed, { policy })).toThrow(expect.objectContaining(twice))
    const other = managedAnthropic(new Anthropic({ apiKey: 'none' }), { policy })
    expect(() => managedAnthropic(other, { policy })).toThrow(expect.objectContaining(twice))
    expect(managed(client, { policy })).toBeInstanceOf(OpenAI)
  })
})

describe('managed(Anthropic)', () => {
  const usage = {
    input_tokens: 20,
    output_tokens: 5,
    cache_read_input_tokens: 70,
    cache_creation_input_tokens: 10,
  }
  const message = (...content: readonly JsonObject[]): Reply => ({
    json: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content,
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage,
    },
  })
  const use = (id: string): JsonObject => ({
    type: 'tool_use',
    id,
    name: 'read',
    input: { path: id },
  })
  const tools = [{ name: 'read', input_schema: { type: 'object' as const } }]

  async function open(replies: readonly Reply[], thread: Thread, bodies: JsonObject[]) {
    const client = new Anthropic({
      apiKey: 'none',
      baseURL: await serve(replies, bodies),
      maxRetries: 0,
    })
    return managedAnthropic(client, { thread })
  }

  it('[SD1] a tool loop sends views, and the thread keeps everything', async () => {
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const client = await open(
      [message(use('a')), message(use('b')), message({ type: 'text', text: 'Done.' })],
      thread,
      bodies,
    )
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Read all' }]
    for (let step = 0; step < 3; step++) {
      const answer = await client.messages.create({
        model: 'claude',
        max_tokens: 100,
        system: 'Be brief.',
        tools,
        messages,
      })
      messages.push({ role: 'assistant', content: answer.content })
      const results = answer.content.flatMap((block) =>
        block.type === 'tool_use'
          ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: page(block.id) }]
          : [],
      )
      if (results.length > 0) messages.push({ role: 'user', content: results })
    }
    expect(JSON.stringify(bodies[2]?.messages)).toContain('[Omitted')
    expect(JSON.stringify(messages)).not.toContain('[Omitted')
    for (const body of bodies) {
      expect(validate('anthropic', body)).toEqual([])
      expect(body.system).toBe('Be brief.')
    }
    expect(await said(thread)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ])
    expect((await samples(thread))[0]).toEqual({
      uncached: 20,
      cacheRead: 70,
      cacheWrite: 10,
      output: 5,
    })
  })

  it('[SD3] streams pass as they come, helpers included, and are recorded when they end', async () => {
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const start = {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: 1 },
    }
    const events = [
      { type: 'message_start', message: start },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'thinking', thinking: '', signature: '' },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'signature_delta', signature: 'c2ln' },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'I read.' } },
      { type: 'content_block_stop', index: 1 },
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 'a', name: 'read', input: {} },
      },
      {
        type: 'content_block_delta',
        index: 2,
        delta: { type: 'input_json_delta', partial_json: '{"path":' },
      },
      {
        type: 'content_block_delta',
        index: 2,
        delta: { type: 'input_json_delta', partial_json: '"x"}' },
      },
      { type: 'content_block_stop', index: 2 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { output_tokens: 9 },
      },
      { type: 'message_stop' },
    ]
    const client = await open(
      [{ events }, message({ type: 'text', text: 'Done.' })],
      thread,
      bodies,
    )
    const asked = {
      model: 'claude',
      max_tokens: 100,
      tools,
      thinking: { type: 'enabled' as const, budget_tokens: 1024 },
    }
    const final = await client.messages
      .stream({ ...asked, messages: [{ role: 'user', content: 'Read' }] })
      .finalMessage()
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
      { type: 'text', text: 'I read.' },
      { type: 'tool_use', id: 'a', name: 'read', input: { path: 'x' } },
    ]
    expect(final.content).toMatchObject(content)
    expect(await samples(thread)).toEqual([
      { uncached: 20, cacheRead: 70, cacheWrite: 10, output: 9 },
    ])
    // Only the result is sent: the thread has the rest, thinking included.
    await client.messages.create({
      ...asked,
      messages: [
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'text' }] },
      ],
    })
    expect(bodies[1]?.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content },
      { role: 'user' },
    ])
    expect(validate('anthropic', bodies[1])).toEqual([])
  })

  it('[SD3] a whole answer is recorded although its reader leaves before the end', async () => {
    const thread = await newThread()
    const events = [
      { type: 'message_start', message: { role: 'assistant', content: [], usage } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 3 },
      },
    ]
    const client = await open([{ events, isOpen: true }], thread, [])
    const stream = await client.messages.create({
      model: 'claude',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    })
    for await (const { type } of stream) if (type === 'message_delta') break
    await expect.poll(() => said(thread)).toEqual(['user', 'assistant'])
    expect(await samples(thread)).toMatchObject([{ output: 3 }])
  })

  /** A search of the provider's own, behind which it pauses. */
  const search = (id: string): readonly JsonObject[] => [
    { type: 'server_tool_use', id: `srvtoolu_${id}`, name: 'web_search', input: { query: id } },
    { type: 'web_search_tool_result', tool_use_id: `srvtoolu_${id}`, content: [] },
  ]
  const paused = (id: string): Reply => {
    const { json } = message(...search(id)) as { readonly json: JsonObject }
    return { json: { ...json, stop_reason: 'pause_turn' } }
  }
  const shapes = {
    'as they came': (...parts: readonly (readonly JsonObject[])[]) =>
      parts.map((content) => ({ role: 'assistant', content })),
    'as one message': (...parts: readonly (readonly JsonObject[])[]) => [
      { role: 'assistant', content: parts.flat() },
    ],
  }

  it.each(Object.entries(shapes))(
    '[SD7] an answer that paused goes on, its parts resent %s',
    async (_, resend) => {
      for (const earlier of [[], [{ role: 'user', content: 'Hello' }]]) {
        const bodies: JsonObject[] = []
        const thread = await newThread()
        const done = { type: 'text', text: 'High at noon.' }
        const replies = [paused('one'), paused('two'), message(done), message(done)]
        const client = await open([...earlier.map(() => message(done)), ...replies], thread, bodies)
        const ask = (messages: readonly unknown[]): Promise<unknown> =>
          client.messages.create({ model: 'claude', max_tokens: 100, messages: messages as [] })
        // Behind an earlier turn only what is new is sent.
        if (earlier.length > 0) await ask(earlier)
        const question = { role: 'user', content: 'When is the tide high?' }
        const parts = [search('one'), search('two'), [done]]
        await ask([question])
        await ask([question, ...resend(...parts.slice(0, 1))])
        await ask([question, ...resend(...parts.slice(0, 2))])
        const before = earlier.flatMap((one) => [one, { role: 'assistant', content: [done] }])
        const all = (count: number): JsonObject => ({
          role: 'assistant',
          content: parts.slice(0, count).flat(),
        })
        expect(bodies.slice(-3).map(({ messages }) => messages)).toEqual([
          [...before, question],
          [...before, question, all(1)],
          [...before, question, all(2)],
        ])
        const roles = ['user', 'assistant', 'assistant', 'assistant']
        expect(await said(thread)).toEqual([...before.map(({ role }) => role), ...roles])
        const next = { role: 'user', content: 'And low?' }
        await ask(earlier.length > 0 ? [next] : [question, ...resend(...parts), next])
        expect(bodies.at(-1)?.messages).toEqual([...before, question, all(3), next])
        expect(await said(thread)).toHaveLength(before.length + 6)
      }
    },
  )

  it('[SD7] a paused answer that streams in goes on', async () => {
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const [use, found] = search('one')
    const events = [
      { type: 'message_start', message: { role: 'assistant', content: [], usage } },
      { type: 'content_block_start', index: 0, content_block: use as JsonObject },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: found as JsonObject },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'pause_turn' }, usage: { output_tokens: 3 } },
      { type: 'message_stop' },
    ]
    const client = await open(
      [{ events }, message({ type: 'text', text: 'Noon.' })],
      thread,
      bodies,
    )
    const question = { role: 'user' as const, content: 'When?' }
    const ask = { model: 'claude', max_tokens: 100, stream: true as const }
    for await (const _ of await client.messages.create({ ...ask, messages: [question] }));
    const begun = { role: 'assistant', content: search('one') }
    const messages = [question, begun] as Anthropic.MessageParam[]
    await client.messages.create({ ...ask, stream: false, messages })
    expect(bodies[1]?.messages).toEqual(messages)
    expect(await said(thread)).toEqual(['user', 'assistant', 'assistant'])
  })

  it('[SD7] an answer that the request begins goes on; without a thread it passes unchanged', async () => {
    const messages: Anthropic.MessageParam[] = [
      { role: 'user', content: 'Some JSON, please.' },
      { role: 'assistant', content: '{' },
    ]
    const bodies: JsonObject[] = []
    const thread = await newThread()
    const reply = message({ type: 'text', text: '}' })
    const client = await open([reply, reply], thread, bodies)
    await client.messages.create({ model: 'claude', max_tokens: 100, messages })
    expect(bodies[0]?.messages).toEqual(messages)
    expect(await said(thread)).toEqual(['user', 'assistant', 'assistant'])
    const plain = new Anthropic({ apiKey: 'none', baseURL: client.baseURL, maxRetries: 0 })
    const stateless = managedAnthropic(plain, { policy })
    await stateless.messages.create({ model: 'claude', max_tokens: 100, messages })
    expect(bodies[1]?.messages).toEqual(messages)
  })

  it('[SD4] an overflow is answered with a smaller view, once', async () => {
    const bodies: JsonObject[] = []
    const thread = await openThread({ store: memoryStore() })
    const refused: Reply = {
      status: 400,
      error: {
        type: 'invalid_request_error',
        message: 'prompt is too long: 2000 tokens > 1000 maximum',
      },
    }
    const client = await open(
      [
        refused,
        message({ type: 'text', text: 'Fits.' }),
        { status: 529, error: { type: 'overloaded_error', message: 'Overloaded' } },
      ],
      thread,
      bodies,
    )
    const messages = Array.from({ length: 9 }, (_, index) => ({
      role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: page(String(index)),
    }))
    const ask = {
      model: 'claude',
      max_tokens: 100,
      messages: [...messages.slice(0, 8), { role: 'user' as const, content: 'So?' }],
    }
    expect((await client.messages.create(ask)).content).toMatchObject([{ text: 'Fits.' }])
    expect(JSON.stringify(bodies[1]).length).toBeLessThan(JSON.stringify(bodies[0]).length * 0.6)
    await expect(client.messages.create(ask)).rejects.toThrow(/Overloaded/)
  })
})
