// Streams of several rounds as one, whatever the network makes of them.

import fc from 'fast-check'
import { type Json, type JsonObject, type WireFormat, wireFormats } from 'oriel'
import {
  type Answer,
  EventCutter,
  providers,
  type Reply,
  streamTexts,
  type WrittenAnswer,
} from 'oriel/providers'
import { describe, expect, it } from 'vitest'
import { createIds } from '../demo/ids.ts'
import type { UpstreamAnswer } from '../http/client.ts'
import { defaultLimits } from '../options.ts'
import { expandAnswer } from './expand-answer.ts'
import { expandingTool } from './own-tools.ts'
import { Rounds } from './rounds.ts'

const name = 'expand_message'
const ours = { type: 'call', name, arguments: '{"id":"e7k2"}' } as const
const theirs = { type: 'call', name: 'read', arguments: '{"path":"ü — 横浜"}' } as const

const hidden: Reply = [
  { type: 'reasoning', text: 'I need it, the whole of it, all 60 crates.' },
  { type: 'text', text: 'Grüße — 横浜 🚢, let me look that up for you.' },
  ours,
  ours,
]
const seen: Reply = [
  { type: 'reasoning', text: 'Now I know.' },
  { type: 'text', text: 'It is SEAL-48151623, and nothing else, as far as I can see.' },
]
const mixed: Reply = [{ type: 'text', text: 'Both.' }, ours, theirs, ours]

interface Told {
  /** All that the client got. */
  readonly text: string
  readonly pieces: readonly string[]
  /** What was logged as the end. */
  readonly closed: Answer | undefined
  /** How much the client had when each round was asked for. */
  readonly asked: readonly number[]
  /** Whether it was said to have come whole before anything of it was read. */
}

interface Telling {
  /** Cuts a stream into pieces. @default one for each event */
  readonly cut?: (text: string) => readonly Uint8Array[]
  readonly pulseMs?: number
  readonly waitMs?: number
  /** Whether the upstream leaves the connection open after the first round. */
  readonly isLeftOpen?: boolean
}

async function tell(
  format: WireFormat,
  replies: readonly Reply[],
  { cut, pulseMs = 10_000, waitMs = 0, isLeftOpen = false }: Telling = {},
): Promise<Told> {
  const provider = providers[format]
  const streamOf = (index: number): UpstreamAnswer => {
    const texts = streamTexts(wire(format, replies[index] ?? [], index))
    const chunks = cut === undefined ? texts.map((text) => Buffer.from(text)) : cut(texts.join(''))
    return {
      ...{ status: 200, headers: [['content-type', 'text/event-stream']], cancel: () => {} },
      body: (async function* () {
        yield* chunks
        if (isLeftOpen && index === 0) await new Promise(() => {})
      })(),
    }
  }
  let closed: Answer | undefined
  let round = 0
  const asked: number[] = []
  let text = ''
  const pieces: string[] = []
  const rounds = new Rounds({
    ...{
      own: [expandingTool(name)],
      names: [name],
      isOpen: true,
      isQuiet: false,
      isForced: false,
      body: {},
      provider,
      now: () => 0,
    },
    limits: { ...defaultLimits, expandPulseMs: pulseMs },
    call: {
      ...{ expansions: 0, roomTokens: Infinity },
      recordHiddenRound: async () => 'next',
      recordFinalAnswer: async (answer) => {
        closed = answer
      },
    },
    send: async () => {
      asked.push(text.length)
      round += 1
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
      return streamOf(round)
    },
  })
  const answer = await expandAnswer(streamOf(0), rounds)
  for await (const piece of answer.body) {
    pieces.push(Buffer.from(piece).toString())
    text += pieces.at(-1)
  }
  return { text, pieces, closed, asked }
}

function wire(format: WireFormat, reply: Reply, index: number): WrittenAnswer {
  return providers[format].writeAnswer(reply, {
    request: {
      model: 'm',
      stream_options: { include_usage: true },
      tools: [{ type: 'function', name }],
    },
    measured: { input: 100 + index, cached: 10, written: 5, output: 7, reasoning: 3 },
    makeId: createIds(`${format}${index}`),
    seal: (text) => `seal of ${text}`,
  })
}

function eventsOf(text: string): readonly JsonObject[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(
    ([, data]) => JSON.parse(data ?? '') as JsonObject,
  )
}

describe.each(wireFormats)('%s', (format) => {
  it.each([
    ['a hidden round', [hidden, seen]],
    ['two hidden rounds', [hidden, hidden, seen]],
    ['a mixed one', [mixed]],
    ['a hidden and a mixed one', [hidden, mixed]],
    ['nothing of ours', [seen]],
  ])('[GX8] %s is the same however the bytes are cut', async (_, replies) => {
    const whole = await tell(format, replies)
    expect(whole.text).not.toContain(name)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1 }),
        fc.boolean(),
        async (sizes, isCrlf) => {
          const cut = (text: string): readonly Uint8Array[] =>
            pieced(Buffer.from(isCrlf ? text.replaceAll('\n', '\r\n') : text), sizes)
          const { text, closed } = await tell(format, replies, { cut })
          expect(text.replaceAll('\r\n', '\n')).toBe(whole.text)
          expect(closed).toEqual(whole.closed)
        },
      ),
      { numRuns: 25 },
    )
  })

  it('[GX8] an answer without our calls passes with every byte as it came', async () => {
    const replies: readonly Reply[] = [[...seen, theirs, theirs]]
    const { text } = await tell(format, replies)
    const sent = streamTexts(wire(format, replies[0] ?? [], 0)).join('')
    // Responses repeat the list of tools, and ours is not the client's business.
    const expected = sent.replaceAll(`"tools":[{"type":"function","name":"${name}"}]`, '"tools":[]')
    expect(text).toBe(expected)
  })

  it('[GX8] text arrives before the next round is asked for', async () => {
    const { asked, text } = await tell(format, [hidden, seen])
    expect(asked).toHaveLength(1)
    expect(text.slice(0, asked[0])).toContain('that up for you')
    expect(text.slice(0, asked[0])).not.toContain('SEAL')
  })

  it('[GX8] the next round does not wait for a connection that stays open', async () => {
    const { text } = await tell(format, [hidden, seen], { isLeftOpen: true })
    expect(text).toBe((await tell(format, [hidden, seen])).text)
  })

  it('[GX8] the connection is kept alive while a hidden round is under way', async () => {
    const { pieces } = await tell(format, [hidden, seen], { pulseMs: 5, waitMs: 40 })
    const pulse =
      format === 'anthropic' ? 'event: ping\ndata: {"type":"ping"}\n\n' : ': waiting\n\n'
    expect(pieces.filter((piece) => piece === pulse).length).toBeGreaterThan(1)
  })

  it('[GX2] adds up every number', async () => {
    const { text, closed } = await tell(format, [hidden, hidden, seen])
    const usages = eventsOf(text).flatMap((event) => {
      const { response } = event as { response?: JsonObject }
      return [event.usage ?? event.usageMetadata ?? response?.usage ?? null].filter(
        (one) => one !== null,
      )
    })
    expect(usages.at(-1)).toMatchObject(sums[format])
    const { body } = wire(format, seen, 2)
    expect(closed?.usage).toEqual(body.usage ?? body.usageMetadata)
  })
})

const sums: Readonly<Record<WireFormat, JsonObject>> = {
  'openai-chat': {
    ...{ prompt_tokens: 303, completion_tokens: 21, total_tokens: 324 },
    prompt_tokens_details: { cached_tokens: 30, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 9, audio_tokens: 0 },
  },
  'openai-responses': {
    ...{ input_tokens: 303, output_tokens: 21, total_tokens: 324 },
    input_tokens_details: { cached_tokens: 30 },
    output_tokens_details: { reasoning_tokens: 9 },
  },
  anthropic: {
    ...{ input_tokens: 258, output_tokens: 21, service_tier: 'standard' },
    ...{ cache_creation_input_tokens: 15, cache_read_input_tokens: 30 },
  },
  gemini: {
    ...{ promptTokenCount: 303, cachedContentTokenCount: 30, totalTokenCount: 324 },
    ...{ candidatesTokenCount: 12, thoughtsTokenCount: 9 },
  },
}

describe('one stream', () => {
  it('[GX8] of Chat Completions has one id, one role, one end, and calls numbered from 0', async () => {
    const { text } = await tell('openai-chat', [hidden, mixed])
    const chunks = eventsOf(text)
    const deltas = chunks.flatMap(({ choices }) =>
      (choices as readonly { delta: JsonObject; finish_reason: Json }[]).map((one) => one),
    )
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    expect(deltas.filter(({ delta }) => 'role' in delta)).toHaveLength(1)
    expect(deltas.flatMap(({ finish_reason: reason }) => reason ?? [])).toEqual(['tool_calls'])
    const calls = deltas.flatMap(({ delta }) => (delta.tool_calls ?? []) as readonly JsonObject[])
    expect(new Set(calls.map(({ index }) => index))).toEqual(new Set([0]))
    expect(text.match(/\[DONE\]/g)).toHaveLength(1)
    const said = deltas.map(({ delta }) => delta.content ?? '').join('')
    expect(said).toBe('Grüße — 横浜 🚢, let me look that up for you.\n\nBoth.')
  })

  it('[GX8] of Messages has one beginning and one end, and blocks numbered through', async () => {
    const { text } = await tell('anthropic', [hidden, hidden, mixed])
    const events = eventsOf(text)
    const of = (type: string): readonly JsonObject[] =>
      events.filter((event) => event.type === type)
    expect(of('message_start')).toHaveLength(1)
    expect(of('message_stop')).toHaveLength(1)
    expect(of('message_delta').map(({ delta }) => (delta as JsonObject).stop_reason)).toEqual([
      'tool_use',
    ])
    expect(of('content_block_start').map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5])
    expect(of('content_block_stop').map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('[GX8] of Responses has one response, and items and events numbered through', async () => {
    const { text } = await tell('openai-responses', [hidden, hidden, mixed])
    const events = eventsOf(text)
    expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()])
    const added = events.filter(({ type }) => type === 'response.output_item.added')
    expect(added.map(({ output_index: index }) => index)).toEqual([0, 1, 2, 3, 4, 5])
    const whole = events.flatMap(({ response }) =>
      response === undefined ? [] : [response as JsonObject],
    )
    expect(new Set(whole.map(({ id }) => id)).size).toBe(1)
    const done = events
      .filter(({ type }) => type === 'response.output_item.done')
      .map(({ item }) => item)
    expect(whole.at(-1)?.output).toEqual(done)
    expect(whole.map(({ status }) => status)).toEqual(['in_progress', 'in_progress', 'completed'])
  })

  const own = (piece: JsonObject): JsonObject => ({ ...piece, id: 'own', type: 'function' })
  const read = { id: 'b', type: 'function', function: { name: 'read', arguments: '{}' } }
  const patch = { id: 'p', type: 'custom', custom: { name: 'patch', input: '*** Begin' } }

  it.each<[string, readonly JsonObject[], readonly JsonObject[]]>([
    [
      'sends names late',
      [
        { index: 0, id: 'own' },
        { index: 1, id: 'b' },
        { index: 1, function: { name: 'read', arguments: '{' } },
        { index: 0, function: { name, arguments: '{}' } },
        { index: 1, function: { arguments: '}' } },
      ],
      [read],
    ],
    ['numbers nothing', [own({ function: { name, arguments: '{}' } }), read, patch], [read, patch]],
    [
      'numbers nothing and names a call once',
      [
        own({ function: { name, arguments: '{' } }),
        { function: { arguments: '}' } },
        { ...read, function: { name: 'read', arguments: '{' } },
        { function: { arguments: '}' } },
      ],
      [read],
    ],
    [
      'numbers nothing and sends ids late',
      [
        { type: 'function', function: { name: 'read', arguments: '{' } },
        { id: 'b', function: { arguments: '}' } },
        { type: 'function', function: { name, arguments: '{' } },
        { id: 'own', function: { arguments: '}' } },
      ],
      [read],
    ],
    [
      'gives every call the same number',
      [
        { index: 0, ...read },
        own({ index: 0, function: { name, arguments: '{}' } }),
        { index: 0, ...patch },
      ],
      [read, patch],
    ],
    [
      'leaves gaps between numbers and sends custom input in pieces',
      [
        { index: 1, ...patch, custom: { name: 'patch', input: '***' } },
        own({ index: 3, function: { name, arguments: '{}' } }),
        { index: 1, custom: { input: ' Begin' } },
        { index: 5, ...read },
      ],
      [patch, read],
    ],
  ])('[GX8] of a server that %s is told apart all the same', (_, pieces, others) => {
    const chunk = (delta: JsonObject, reason: Json = null): string =>
      `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
    const stream = [
      chunk({ role: 'assistant' }),
      ...pieces.map((piece) => chunk({ tool_calls: [piece] })),
      chunk({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ].join('')
    const splicer = providers['openai-chat'].tools.splicer({
      ...{ names: [name], isOpen: true, isQuiet: false },
    })
    const texts = new EventCutter()
      .take(Buffer.from(stream))
      .flatMap((event) => splicer.take(event))
    expect(splicer.verdict).toBe('mixed')
    const answer = providers['openai-chat'].stream()
    const seen = [...texts, ...splicer.finish()].join('')
    for (const { value } of new EventCutter().take(Buffer.from(seen))) answer.take(value)
    expect(answer.answer()?.messages).toEqual([
      { role: 'assistant', content: null, tool_calls: others },
    ])
    expect(seen).not.toContain(name)
  })

  it('[GX8] of a server that names items by their id alone is told apart all the same', () => {
    const options = { names: [name], isOpen: true, isQuiet: false }
    const splicer = providers['openai-responses'].tools.splicer(options)
    const call = { type: 'function_call', id: 'fc_1', call_id: 'own', name, arguments: '' }
    const said = { type: 'message', id: 'msg_1', role: 'assistant', content: [] }
    const events: readonly JsonObject[] = [
      { type: 'response.output_item.added', item: call },
      { type: 'response.output_item.added', item: said },
      { type: 'response.function_call_arguments.delta', item_id: 'fc_1', delta: '{"id":"e1"}' },
      { type: 'response.output_text.delta', item_id: 'msg_1', delta: 'Hello' },
      { type: 'keepalive' },
    ]
    const texts = events.flatMap((value) =>
      splicer.take({ raw: `data: ${JSON.stringify(value)}\n\n`, data: '', value }),
    )
    expect(eventsOf(texts.join(''))).toEqual([events[1], events[3], events[4]])
  })
})

function pieced(bytes: Uint8Array, sizes: readonly number[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    pieces.push(bytes.subarray(start, start + size))
    start += size
  }
  return pieces
}
