// Streamed answers as the official SDKs read them and send them back: the gateway must have understood the same.

import Anthropic from '@anthropic-ai/sdk'
import type { GatewayOptions } from '@oriel/gateway'
import OpenAI from 'openai'
import { type Block, decode, type Entry, type Json, type JsonObject, type WireFormat } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { key, logOf } from './faults/raw-client.ts'
import { openGateway, type Target } from './target.ts'
import type { Action } from './upstream/action.ts'

type Item = Readonly<Record<string, unknown>>

let target: Target | undefined
afterEach(() => target?.close())

/** An answer of these events, cut into bytes anywhere. */
function events(list: readonly JsonObject[], format: WireFormat): Action {
  const named = list.map((event) => {
    const name = format === 'openai-chat' ? '' : `event: ${String(event.type)}\n`
    return `${name}data: ${JSON.stringify(event)}\n\n`
  })
  const body = named.join('') + (format === 'openai-chat' ? 'data: [DONE]\n\n' : '')
  return { type: 'raw', status: 200, headers: { 'content-type': 'text/event-stream' }, body }
}

async function open(
  format: WireFormat,
  answers: readonly (readonly JsonObject[])[],
  gateway: GatewayOptions = {},
): Promise<Target> {
  target = await openGateway({
    answer: ({ index }) => events(answers[index] ?? [], format),
    gateway,
  })
  return target
}

async function threads(url: string): Promise<readonly string[]> {
  const answer = await fetch(`${url}/api/threads`, { headers: { authorization: `Bearer ${key}` } })
  const { threads: list } = (await answer.json()) as { threads: readonly { readonly id: string }[] }
  return list.map(({ id }) => id)
}

/** What messages say, apart from their places in a log and from reasoning, which clients may drop. */
function said(messages: readonly { readonly role: string; readonly blocks: readonly Block[] }[]) {
  return messages.map(({ role, blocks }) => ({
    role,
    blocks: blocks
      .filter(({ type }) => type !== 'reasoning')
      .map(({ id: _id, extra: _extra, ...block }) => block),
  }))
}

/** One thread has the whole conversation, as the client has it. */
async function expectOneThread(url: string, format: WireFormat, history: readonly unknown[]) {
  const ids = await threads(url)
  expect(ids).toHaveLength(1)
  const log = (await logOf(url, ids[0] ?? '')).filter(isMessage)
  const sent = decode(format, history as readonly Json[]).map(({ draft: { role, content } }) => ({
    role,
    blocks: typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content,
  }))
  expect(said(log)).toEqual(said(sent))
}

function isMessage(entry: Entry): entry is Extract<Entry, { type: 'message' }> {
  return entry.type === 'message'
}

/** Asks four questions and answers every call with a result, as an agent does. */
async function fourTurns(
  ask: (history: readonly unknown[]) => Promise<readonly Item[]>,
  {
    user,
    results,
  }: { user: (text: string) => unknown; results: (answer: readonly Item[]) => readonly unknown[] },
): Promise<readonly unknown[]> {
  const history: unknown[] = []
  for (let turn = 1; turn <= 4; turn++) {
    history.push(user(`Question ${turn}`))
    for (;;) {
      const answer = await ask([...history])
      history.push(...answer)
      const answered = results(answer)
      if (answered.length === 0) break
      history.push(...answered)
    }
  }
  return history
}

const chunk = (delta: Json, finish: string | null = null): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-5',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const text = (...pieces: readonly string[]): readonly JsonObject[] => [
  chunk({ role: 'assistant', content: '' }),
  ...pieces.map((content) => chunk({ content })),
  chunk({}, 'stop'),
]
const calls = (...pieces: readonly JsonObject[]): readonly JsonObject[] => [
  chunk({ role: 'assistant', content: null, refusal: null }),
  ...pieces.map((piece) => chunk({ tool_calls: [piece] })),
  chunk({}, 'tool_calls'),
]

/** Every turn calls a tool once and then says something. */
const turns = (
  call: (turn: number) => readonly JsonObject[],
  say: (turn: number) => readonly JsonObject[],
): readonly (readonly JsonObject[])[] => [1, 2, 3, 4].flatMap((turn) => [call(turn), say(turn)])

const openai = (url: string): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
const patchTool = { type: 'custom', custom: { name: 'apply_patch', format: { type: 'text' } } }
const lookTool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }

const chatTalk = {
  user: (content: string) => ({ role: 'user', content }),
  results: ([message]: readonly Item[]) =>
    ((message?.tool_calls ?? []) as readonly { id: string }[]).map(({ id }) => ({
      role: 'tool',
      tool_call_id: id,
      content: `Result of ${id}`,
    })),
}

/** With the stream helper of the package. */
function helper(url: string): (history: readonly unknown[]) => Promise<readonly Item[]> {
  return async (history) => {
    const stream = openai(url).chat.completions.stream({
      model: 'gpt-5',
      messages: history as OpenAI.ChatCompletionMessageParam[],
      tools: [patchTool, lookTool] as OpenAI.ChatCompletionTool[],
    })
    return [(await stream.finalChatCompletion()).choices[0]?.message as unknown as Item]
  }
}

interface Call {
  readonly id: string
  readonly function: { arguments: string }
}

/** Event by event, as agents do whose servers number nothing: an id begins a call. */
function byHand(url: string): (history: readonly unknown[]) => Promise<readonly Item[]> {
  return async (history) => {
    const stream = await openai(url).chat.completions.create({
      model: 'gpt-5',
      messages: history as OpenAI.ChatCompletionMessageParam[],
      tools: [lookTool] as OpenAI.ChatCompletionTool[],
      stream: true,
    })
    let content = ''
    const list: Call[] = []
    for await (const { choices } of stream) {
      content += choices[0]?.delta.content ?? ''
      for (const piece of choices[0]?.delta.tool_calls ?? []) {
        const last = list.at(-1)?.function
        if (piece.id !== undefined) list.push(piece as Call)
        else if (last !== undefined) last.arguments += piece.function?.arguments ?? ''
      }
    }
    return [
      {
        role: 'assistant',
        content: content || null,
        ...(list.length === 0 ? {} : { tool_calls: list }),
      },
    ]
  }
}

describe('openai-chat', () => {
  const custom = (turn: number): readonly JsonObject[] =>
    calls(
      {
        index: 0,
        id: `call_${turn}`,
        type: 'custom',
        custom: { name: 'apply_patch', input: '' },
      },
      { index: 0, custom: { input: '*** Begin' } },
      { index: 0, custom: { input: ' Patch' } },
    )

  it('[GW84] four turns with a streamed custom tool are one thread', async () => {
    const { url } = await open(
      'openai-chat',
      turns(custom, () => text('Do', 'ne.')),
    )
    const history = await fourTurns(helper(url), chatTalk)
    expect(history[1]).toMatchObject({
      tool_calls: [{ id: 'call_1', custom: { name: 'apply_patch', input: '*** Begin Patch' } }],
    })
    await expectOneThread(url, 'openai-chat', history)
  })

  it('[GW84] four turns with interleaved calls whose id comes late are one thread', async () => {
    const late = (turn: number): readonly JsonObject[] =>
      calls(
        { index: 0, type: 'function', function: { name: 'look', arguments: '{"a"' } },
        { index: 1, id: `b_${turn}`, type: 'custom', custom: { name: 'apply_patch', input: 'x' } },
        { index: 0, id: `a_${turn}`, function: { arguments: ':1}' } },
        { index: 1, custom: { input: 'y' } },
      )
    const { url } = await open(
      'openai-chat',
      turns(late, () => text('Done.')),
    )
    await expectOneThread(url, 'openai-chat', await fourTurns(helper(url), chatTalk))
  })

  const named = (id: string, given: string): JsonObject => ({
    id,
    type: 'function',
    function: { name: 'look', arguments: given },
  })

  it.each<[string, (turn: number) => readonly JsonObject[]]>([
    ['whole calls', (turn) => calls(named(`a_${turn}`, '{"x":1}'), named(`b_${turn}`, '{"x":2}'))],
    [
      'calls in pieces',
      (turn) =>
        calls(
          named(`a_${turn}`, ''),
          { function: { arguments: '{"x"' } },
          { function: { arguments: ':1}' } },
          named(`b_${turn}`, '{"x"'),
          { function: { arguments: ':2}' } },
        ),
    ],
  ])('[GW84] four turns with %s without an index are one thread', async (_, call) => {
    const { url } = await open(
      'openai-chat',
      turns(call, () => text('Done.')),
    )
    await expectOneThread(url, 'openai-chat', await fourTurns(byHand(url), chatTalk))
  })

  it('[GW84] four turns with a streamed custom tool are one thread with expansion too', async () => {
    const { url } = await open(
      'openai-chat',
      turns(custom, () => text('Done.')),
      { expand: true },
    )
    await expectOneThread(url, 'openai-chat', await fourTurns(helper(url), chatTalk))
  })

  it('[GW84] four turns with a refusal are one thread', async () => {
    const refused = [
      chunk({ role: 'assistant', content: null, refusal: '' }),
      chunk({ refusal: 'I can' }),
      chunk({ refusal: 'not do that.' }),
      chunk({}, 'stop'),
    ]
    const { url } = await open(
      'openai-chat',
      turns(custom, () => refused),
    )
    const history = await fourTurns(helper(url), chatTalk)
    expect(history[3]).toMatchObject({ content: null, refusal: 'I cannot do that.' })
    await expectOneThread(url, 'openai-chat', history)
  })

  it('[GW84] several choices are not logged as one answer', async () => {
    const second = (delta: Json, finish: string | null = null): JsonObject => ({
      ...chunk({}),
      choices: [{ index: 1, delta, finish_reason: finish }],
    })
    const { url } = await open('openai-chat', [
      [
        chunk({ role: 'assistant', content: 'One' }),
        second({ role: 'assistant', content: 'Two' }),
        chunk({}, 'stop'),
        second({}, 'stop'),
      ],
    ])
    const stream = openai(url).chat.completions.stream({
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'Hi' }],
      n: 2,
    })
    expect((await stream.finalChatCompletion()).choices).toHaveLength(2)
    await expectOneThread(url, 'openai-chat', [{ role: 'user', content: 'Hi' }])
  })
})

describe('openai-responses', () => {
  const response = (output: readonly JsonObject[], status: string): JsonObject => ({
    ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5', status, output },
    ...{ error: null, incomplete_details: null, instructions: null, metadata: {}, tools: [] },
    ...{ parallel_tool_calls: true, temperature: 1, top_p: 1, tool_choice: 'auto' },
  })
  const answer = (item: JsonObject, pieces: readonly JsonObject[]): readonly JsonObject[] => {
    const empty = {
      ...item,
      status: 'in_progress',
      ...('input' in item ? { input: '' } : { content: [] }),
    }
    return [
      { type: 'response.created', response: response([], 'in_progress') },
      { type: 'response.output_item.added', output_index: 0, item: empty },
      ...pieces.map((piece) => ({ output_index: 0, item_id: item.id as Json, ...piece })),
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: response([item], 'completed') },
    ].map((event, index) => ({ ...event, sequence_number: index }))
  }
  const patch = (turn: number): readonly JsonObject[] =>
    answer(
      {
        ...{ id: `ctc_${turn}`, type: 'custom_tool_call', status: 'completed' },
        ...{ call_id: `call_${turn}`, name: 'apply_patch', input: '*** Begin Patch' },
      },
      [
        { type: 'response.custom_tool_call_input.delta', delta: '*** Begin' },
        { type: 'response.custom_tool_call_input.delta', delta: ' Patch' },
        { type: 'response.custom_tool_call_input.done', input: '*** Begin Patch' },
      ],
    )
  const refusal = (turn: number): readonly JsonObject[] => {
    const part = { type: 'refusal', refusal: 'I cannot.' }
    const item = { type: 'message', role: 'assistant', status: 'completed', content: [part] }
    return answer({ id: `msg_${turn}`, ...item }, [
      { type: 'response.content_part.added', content_index: 0, part: { ...part, refusal: '' } },
      { type: 'response.refusal.delta', content_index: 0, delta: 'I can' },
      { type: 'response.refusal.delta', content_index: 0, delta: 'not.' },
      { type: 'response.refusal.done', content_index: 0, refusal: 'I cannot.' },
      { type: 'response.content_part.done', content_index: 0, part },
    ])
  }

  it('[GW84] four turns with a streamed custom tool and refusals are one thread', async () => {
    const { url } = await open('openai-responses', turns(patch, refusal))
    const ask = async (history: readonly unknown[]): Promise<readonly Item[]> => {
      const stream = openai(url).responses.stream({
        model: 'gpt-5',
        store: false,
        input: history as OpenAI.Responses.ResponseInput,
        tools: [{ type: 'custom', name: 'apply_patch' }],
      })
      return (await stream.finalResponse()).output as unknown as readonly Item[]
    }
    const history = await fourTurns(ask, {
      user: (content) => ({ role: 'user', content }),
      results: (items) =>
        items.flatMap(({ type, call_id: id }) =>
          type === 'custom_tool_call'
            ? [{ type: 'custom_tool_call_output', call_id: id, output: `Result of ${String(id)}` }]
            : [],
        ),
    })
    expect(history).toHaveLength(16)
    await expectOneThread(url, 'openai-responses', history)
  })
})

describe('anthropic', () => {
  const answer = (
    blocks: readonly (readonly [start: JsonObject, ...deltas: JsonObject[]])[],
    reason: string,
  ): readonly JsonObject[] => [
    {
      type: 'message_start',
      message: {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [] },
        ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 5, output_tokens: 1 } },
      },
    },
    ...blocks.flatMap(([start, ...deltas], index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: 9 },
    },
    { type: 'message_stop' },
  ]

  it('[GW84] four turns with server tools, citations and a call that was cut are one thread', async () => {
    const cited = { type: 'web_search_result_location', url: 'https://a.test', cited_text: 'x' }
    const call = (turn: number): readonly JsonObject[] =>
      answer(
        [
          [
            { type: 'server_tool_use', id: `srvtoolu_${turn}`, name: 'web_search', input: {} },
            { type: 'input_json_delta', partial_json: '{"query"' },
            { type: 'input_json_delta', partial_json: ':"x"}' },
          ],
          [
            {
              type: 'web_search_tool_result',
              tool_use_id: `srvtoolu_${turn}`,
              content: [{ type: 'web_search_result', url: 'https://a.test', title: 'A' }],
            },
          ],
          [
            { type: 'text', text: '', citations: [] },
            { type: 'text_delta', text: 'Found' },
            { type: 'citations_delta', citation: cited },
            { type: 'text_delta', text: ' it.' },
          ],
          [
            { type: 'tool_use', id: `toolu_${turn}`, name: 'look', input: {} },
            { type: 'input_json_delta', partial_json: '{"at":{"x":1,"name":"val' },
          ],
        ],
        'max_tokens',
      )
    const say = (): readonly JsonObject[] =>
      answer(
        [
          [
            { type: 'text', text: '' },
            { type: 'text_delta', text: 'Done.' },
          ],
        ],
        'end_turn',
      )
    const { url } = await open('anthropic', turns(call, say))
    const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 })
    const ask = async (history: readonly unknown[]): Promise<readonly Item[]> => {
      const stream = client.messages.stream({
        model: 'claude',
        max_tokens: 100,
        tools: [{ name: 'look', input_schema: { type: 'object' } }],
        messages: history as Anthropic.MessageParam[],
      })
      const { role, content } = await stream.finalMessage()
      return [{ role, content }]
    }
    const history = await fourTurns(ask, {
      user: (content) => ({ role: 'user', content }),
      results: ([message]) => {
        const used = ((message?.content ?? []) as readonly Item[]).filter(
          ({ type }) => type === 'tool_use',
        )
        if (used.length === 0) return []
        const content = used.map(({ id }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: 'The call was cut.',
        }))
        return [{ role: 'user', content }]
      },
    })
    await expectOneThread(url, 'anthropic', JSON.parse(JSON.stringify(history)) as unknown[])
  })
})
