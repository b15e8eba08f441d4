// Compaction that a client asks its provider for: made by the upstream, or by the gateway in its place.

import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { JsonObject } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { hundredTools } from './expansion/catalogue.ts'
import { key, logOf, newestThread } from './faults/raw-client.ts'
import { openGateway, type Target, type TargetOptions } from './target.ts'
import { type Action, reply } from './upstream/action.ts'
import { type Asked, startUpstream } from './upstream/upstream.ts'

let target: Target | undefined
afterEach(async () => target?.close())

const betas = ['compact-2026-01-12']
const long = 'word '.repeat(14_000)
const counting = ({ index }: Asked): Action => reply({ text: `Answer ${index}.` })

type Message = Anthropic.Beta.BetaMessageParam
type Params = Anthropic.Beta.MessageCreateParamsNonStreaming

function anthropic(isStream: boolean, edit: object = {}) {
  const client = new Anthropic({ baseURL: target?.url ?? '', apiKey: 'fault-key', maxRetries: 0 })
  return async (messages: readonly Message[], more: object = {}) => {
    const trigger = { type: 'input_tokens', value: 50_000 }
    const params = {
      ...{ model: 'claude-demo', max_tokens: 100, messages, betas },
      context_management: { edits: [{ type: 'compact_20260112', trigger, ...edit }] },
      ...more,
    } as unknown as Params
    return isStream
      ? await client.beta.messages.stream(params).finalMessage()
      : await client.beta.messages.create(params)
  }
}

function user(text: string): Message {
  return { role: 'user', content: text }
}

/** Four long turns, the fourth of which passes the trigger. */
async function talk(
  isStream: boolean,
  options: Partial<TargetOptions> = {},
  edit: object = {},
): Promise<{ messages: Message[]; answers: Anthropic.Beta.BetaMessage[] }> {
  target = await openGateway({ answer: counting, ...options })
  const ask = anthropic(isStream, edit)
  const messages: Message[] = []
  const answers: Anthropic.Beta.BetaMessage[] = []
  for (let turn = 0; turn < 4; turn++) {
    messages.push(user(`Turn ${turn}: the code of door ${turn} is 47${turn}1. ${long}`))
    const answer = await ask(messages)
    answers.push(answer)
    messages.push({ role: 'assistant', content: answer.content as never })
  }
  return { messages, answers }
}

function textIn(asked: Asked | undefined): string {
  return JSON.stringify(asked?.body.messages ?? asked?.body.input ?? [])
}

async function editsOf(): Promise<readonly JsonObject[]> {
  const url = target?.url ?? ''
  const log = await logOf(url, await newestThread(url))
  return log.filter(({ type }) => type === 'edit') as unknown as readonly JsonObject[]
}

describe.each([false, true])('compact_20260112, streamed: %s', (isStream) => {
  it('[CX1] an upstream that has never heard of it: the client gets a block, the upstream a summary', async () => {
    const { messages, answers } = await talk(isStream)
    expect(target?.upstream.breaches).toEqual([])
    const kinds = answers.map(({ content }) => content.map(({ type }) => type))
    expect(kinds).toEqual([['text'], ['text'], ['text'], ['compaction', 'text']])
    const [block] = answers[3]?.content ?? []
    expect(block).toMatchObject({ type: 'compaction', content: expect.stringContaining('4711') })
    expect(answers[3]?.usage.iterations?.map(({ type }) => type)).toEqual(['compaction', 'message'])
    const [, , third, fourth] = target?.upstream.requests ?? []
    expect(fourth?.tokens).toBeLessThan(third?.tokens ?? 0)
    const ask = anthropic(isStream)
    const again = await ask([...messages, user('Which code has door 1?')])
    expect(again.content.map(({ type }) => type)).toEqual(['text'])
    const cut = [messages.at(-1) as Message, user('Which code has door 1?')]
    const shorter = await ask([
      ...cut,
      { role: 'assistant', content: again.content as never },
      user('And 2?'),
    ])
    expect(shorter.content.map(({ type }) => type)).toEqual(['text'])
    expect(target?.upstream.breaches).toEqual([])
    expect(textIn(target?.upstream.requests.at(-1))).toContain('4711')
    expect(textIn(target?.upstream.requests.at(-1))).not.toContain('"compaction"')
    const url = target?.url ?? ''
    const log = await logOf(url, await newestThread(url))
    const said = log.filter((one) => one.type === 'message' && one.role === 'user')
    expect(said).toHaveLength(6)
  })

  it('[CX1] pause_after_compaction gives the block alone, and the next request goes on', async () => {
    const { messages, answers } = await talk(isStream, {}, { pause_after_compaction: true })
    expect(answers[3]).toMatchObject({
      stop_reason: 'compaction',
      content: [{ type: 'compaction' }],
    })
    expect(target?.upstream.requests).toHaveLength(3)
    const next = await anthropic(isStream)(messages)
    expect(next.content).toMatchObject([{ type: 'text', text: 'Answer 3.' }])
    expect(target?.upstream.breaches).toEqual([])
    expect(textIn(target?.upstream.requests.at(-1))).toContain('Turn 3')
  })

  it('[CX2] an upstream that compacts: its block is mirrored, and stands for what came before', async () => {
    const options = { compacts: true, contextManagement: 'delegate' } as const
    const { messages, answers } = await talk(isStream, options)
    expect(answers[3]?.content[0]).toMatchObject({
      ...{ type: 'compaction', content: 'Summary 3 by the provider.' },
    })
    expect(answers[3]?.usage.iterations).toHaveLength(2)
    const ask = anthropic(isStream)
    await ask([...messages, user('Go on.')])
    const sent = target?.upstream.requests.at(-1)
    expect(sent?.body.messages).toEqual([messages.at(-1), user('Go on.')])
    await ask([
      messages.at(-1) as Message,
      user('Go on.'),
      { role: 'assistant', content: 'Answer 4.' },
      user('More.'),
    ])
    expect((target?.upstream.requests.at(-1)?.body.messages as unknown[])?.slice(0, 2)).toEqual([
      ...[messages.at(-1), user('Go on.')],
    ])
    expect(target?.upstream.breaches).toEqual([])
    expect(await editsOf()).toMatchObject([{ rule: 'provider-compaction' }])
  })

  it('[CX3] own: the parameters are taken out, and the policy decides', async () => {
    const { answers } = await talk(isStream, { contextManagement: 'own' })
    expect(target?.upstream.breaches).toEqual([])
    expect(answers.flatMap(({ content }) => content.map(({ type }) => type))).toEqual([
      ...['text', 'text', 'text', 'text'],
    ])
    expect(answers[3]?.context_management).toEqual({ applied_edits: [] })
  })

  it.each(['emulate', 'delegate', 'own'] as const)(
    '[CX4] compaction on demand, %s',
    async (way) => {
      target = await openGateway({
        ...{ answer: counting, compacts: way === 'delegate', contextManagement: way },
      })
      const ask = anthropic(isStream)
      const plain = { betas: ['compact-2026-09-04'], context_management: undefined }
      const messages = [user(`The code is 4711. ${long}`)]
      const first = await ask(messages, plain)
      const whole = [...messages, { role: 'assistant', content: first.content } as Message]
      const made = await ask(whole, { ...plain, compaction: { type: 'summarize' } })
      expect(made.stop_reason).toBe('compaction')
      expect(made.content).toMatchObject([{ type: 'compaction', signature: expect.any(String) }])
      const next = [{ role: 'assistant', content: made.content } as Message, user('Which code?')]
      const answer = await ask(next, plain)
      expect(answer.content.map(({ type }) => type)).toEqual(['text'])
      expect(target?.upstream.breaches).toEqual([])
      const sent = target?.upstream.requests.at(-1)
      if (way === 'delegate') expect(sent?.body.messages).toEqual(next)
      else expect(textIn(sent)).toContain('4711')
    },
  )
})

describe('a thread that the upstream compacted', () => {
  it('[CX2] goes on at a server without compaction with its originals', async () => {
    const compacting = await startUpstream({ answer: counting, compacts: true })
    const plain = { name: 'plain', models: ['claude-plain'] }
    const other = await startUpstream({ answer: counting })
    target = await openGateway({
      answer: counting,
      gateway: {
        upstreams: [
          { ...plain, baseUrl: other.url },
          { name: 'compacts', baseUrl: compacting.url, contextManagement: 'delegate' },
        ],
      },
    })
    const ask = anthropic(false)
    const messages: Message[] = []
    const step = async (text: string, model: string) => {
      messages.push(user(text))
      const { content } = await ask(messages, { model })
      messages.push({ role: 'assistant', content: content as never })
      return content.map(({ type }) => type)
    }
    for (let turn = 0; turn < 3; turn++) await step(`Code 47${turn}1. ${long}`, 'claude-x')
    expect(await step(`Code 4731. ${long}`, 'claude-x')).toEqual(['compaction', 'text'])
    await step('Go on.', 'claude-x')
    expect(compacting.requests.at(-1)?.body.messages).toHaveLength(2)
    const { tokens } = compacting.requests.at(-1) as Asked
    expect(tokens).toBeLessThan(100)
    await ask([...messages, user('Elsewhere?')], {
      model: 'claude-plain',
      context_management: undefined,
    })
    expect(textIn(other.requests.at(-1))).toContain('Code 4701')
    expect(textIn(other.requests.at(-1))).not.toContain('"compaction"')
    expect([other.breaches, compacting.breaches]).toEqual([[], []])
    await compacting.close()
    await other.close()
  })
})

describe('a compaction that nobody here knows', () => {
  it('[CX5] is sent to a server without compaction as its summary', async () => {
    target = await openGateway({ answer: counting })
    const block = { type: 'compaction', content: 'The code is 4711.', encrypted_content: null }
    const said = { type: 'text', text: 'Hello.' }
    const messages = [
      { role: 'assistant', content: [block, said] },
      user('Which code?'),
    ] as Message[]
    await anthropic(false)(messages)
    expect(target.upstream.breaches).toEqual([])
    expect(target.upstream.requests[0]?.body.messages).toMatchObject([
      { role: 'user', content: expect.stringContaining('4711') },
      { role: 'assistant' },
      { role: 'user', content: 'Which code?' },
    ])
  })
})

type Item = OpenAI.Responses.ResponseInputItem

/** A model that looks something up with one of our tools in its answer to the newest message, and says what it says then. */
function lookingUp(name: string, input: string): (asked: Asked) => Action {
  return (asked) => {
    const last = JSON.stringify([asked.body.messages ?? asked.body.input].flat().at(-1))
    return last.includes('Look it up') ? reply({ calls: [[name, input]] }) : counting(asked)
  }
}

/** Few enough that the newest message and the tools stay below the trigger. */
const few = hundredTools.slice(0, 4)

describe.each([false, true])('hidden rounds behind a compaction, streamed: %s', (isStream) => {
  const lookups = [
    ['expand_message', '{"id":"e0"}', { expand: true }],
    ['find_tool', JSON.stringify({ query: few[2]?.name }), { policy: { tools: 'deferred' } }],
  ] as const

  it.each(lookups)('[CX1] %s in the format of Anthropic', async (name, input, gateway) => {
    target = await openGateway({ answer: lookingUp(name, input), gateway })
    const ask = anthropic(isStream)
    const tools = few.map(({ parameters, ...one }) => ({ ...one, input_schema: parameters }))
    const messages: Message[] = []
    const kinds: string[][] = []
    for (const text of ['One', 'Two', 'Three', 'Look it up', 'Go on']) {
      messages.push(user(text === 'Go on' ? text : `${long} ${text}`))
      const { content } = await ask(messages, { tools })
      kinds.push(content.map(({ type }) => type))
      messages.push({ role: 'assistant', content: content as never })
    }
    expect(kinds).toEqual([['text'], ['text'], ['text'], ['compaction', 'text'], ['text']])
    expect(target.upstream.breaches).toEqual([])
    expect(target.upstream.requests).toHaveLength(6)
    expect(textIn(target.upstream.requests.at(-1))).toContain(name)
    expect(textIn(target.upstream.requests.at(-1))).not.toContain('"compaction"')
    expect(JSON.stringify(messages)).not.toContain(name)
  })

  it.each(lookups)('[CX1] %s in the format of the Responses', async (name, input, gateway) => {
    target = await openGateway({ answer: lookingUp(name, input), gateway })
    const { ask } = responses(isStream)
    const tools = few.map((one) => ({ type: 'function', strict: false, ...one }))
    const items: Item[] = []
    const kinds: string[][] = []
    for (const text of ['One', 'Two', 'Look it up', 'Go on']) {
      items.push({ role: 'user', content: text === 'Go on' ? text : `${long} ${text}` })
      const { output } = await ask(items, { tools })
      kinds.push(output.map(({ type }) => type))
      items.push(...(output as Item[]))
    }
    expect(kinds).toEqual([['message'], ['message'], ['compaction', 'message'], ['message']])
    expect(target.upstream.breaches).toEqual([])
    expect(target.upstream.requests).toHaveLength(5)
    expect(textIn(target.upstream.requests.at(-1))).toContain(name)
    expect(textIn(target.upstream.requests.at(-1))).not.toContain('"compaction"')
    expect(JSON.stringify(items)).not.toContain(name)
  })

  it('[PC1] a pin before a signed block: the provider takes the request', async () => {
    target = await openGateway({ answer: counting, compacts: true, contextManagement: 'delegate' })
    const ask = anthropic(isStream)
    const plain = { betas: ['compact-2026-09-04'], context_management: undefined }
    const first = user('Never forget: 4711.')
    const { content } = await ask([first], plain)
    const whole = [first, { role: 'assistant', content } as Message]
    const made = await ask(whole, { ...plain, compaction: { type: 'summarize' } })
    const thread = await newestThread(target.url)
    const [said] = (await logOf(target.url, thread)).filter(({ type }) => type === 'message')
    const pinned = await fetch(`${target.url}/api/threads/${thread}/pin`, {
      ...{ method: 'POST', body: JSON.stringify({ id: said?.id }) },
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
    expect(pinned.ok).toBe(true)
    const block = { role: 'assistant', content: made.content } as Message
    for (const history of [
      [block, user('Which code?')],
      [...whole, block, user('Which code?')],
    ]) {
      await ask(history, plain)
      const sent = target.upstream.requests.at(-1)
      expect([sent?.body.messages].flat()[0]).toEqual(block)
      expect(textIn(sent)).toContain('Never forget: 4711.')
    }
    expect(target.upstream.breaches).toEqual([])
  })
})

function responses(isStream: boolean) {
  const client = new OpenAI({ baseURL: `${target?.url}/v1`, apiKey: 'fault-key', maxRetries: 0 })
  const ask = async (input: readonly Item[], more: object = {}) => {
    const params = {
      ...{ model: 'gpt-demo', input: [...input], store: false },
      context_management: [{ type: 'compaction', compact_threshold: 30_000 }],
      ...more,
    }
    if (!isStream) return client.responses.create(params)
    return client.responses.stream({ ...params, stream: true }).finalResponse()
  }
  return { client, ask }
}

describe.each([false, true])('compact_threshold, streamed: %s', (isStream) => {
  it.each(['emulate', 'delegate'] as const)('[CX1] [CX2] %s', async (way) => {
    target = await openGateway({
      ...{ answer: counting, compacts: way === 'delegate', contextManagement: way },
    })
    const { ask } = responses(isStream)
    const input: Item[] = []
    let output: OpenAI.Responses.ResponseOutputItem[] = []
    for (let turn = 0; turn < 3; turn++) {
      input.push({ role: 'user', content: `Turn ${turn}: code 47${turn}1. ${long}` })
      ;({ output } = await ask(input))
      input.push(...(output as Item[]))
    }
    expect(output.map(({ type }) => type)).toEqual(['compaction', 'message'])
    await ask([...input, { role: 'user', content: 'Go on.' }])
    const kept = [...(output as Item[]), { role: 'user' as const, content: 'Go on.' }]
    const last = await ask(kept)
    expect(last.output.map(({ type }) => type)).toEqual(['message'])
    expect(target.upstream.breaches).toEqual([])
    const sent = target.upstream.requests.at(-1)
    if (way === 'delegate') expect(sent?.body.input).toEqual(kept)
    else expect(textIn(sent)).toContain('4701')
  })
})

describe('/v1/responses/compact', () => {
  it('[CX6] needs a model', async () => {
    target = await openGateway({ answer: counting })
    const { client } = responses(false)
    const asked = client.responses.compact({ input: 'Hello' } as never)
    await expect(asked).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("'model'"),
    })
  })

  it.each(['emulate', 'delegate', 'own'] as const)(
    '[CX6] gives a window to go on with, %s',
    async (way) => {
      target = await openGateway({
        ...{ answer: counting, compacts: way === 'delegate', contextManagement: way },
      })
      const { client, ask } = responses(false)
      const first: Item = { role: 'user', content: `The code is 4711. ${long}` }
      const { output } = await ask([first], { context_management: undefined })
      const all = [first, ...(output as Item[])]
      const made = await client.responses.compact({ model: 'gpt-demo', input: all })
      expect(made.object).toBe('response.compaction')
      expect(made.output.map(({ type }) => type ?? 'message')).toEqual(['message', 'compaction'])
      const next: Item[] = [...(made.output as Item[]), { role: 'user', content: 'Which code?' }]
      const answer = await ask(next, { context_management: undefined })
      expect(answer.output_text).toContain('Answer')
      expect(target.upstream.breaches).toEqual([])
      expect(textIn(target.upstream.requests.at(-1))).toContain('4711')
      const url = target.url
      const log = await logOf(url, await newestThread(url))
      const said = log.filter((one) => one.type === 'message' && one.role === 'user')
      expect(said).toHaveLength(2)
    },
  )
})
