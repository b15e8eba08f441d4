// What goes wrong in a later round, and what the client and the log know of it.

import Anthropic from '@anthropic-ai/sdk'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { key, logOf, newestThread, until } from '../faults/raw-client.ts'
import type { Target } from '../target.ts'
import { type Action, reply } from '../upstream/action.ts'
import type { Recorded } from '../upstream/upstream.ts'
import {
  expandCall,
  listOf,
  openingCalls,
  openScene,
  placeholderId,
  policy,
  type Say,
  type Scene,
  type SceneOptions,
  secret,
  textOf,
} from './story.ts'

const targets: Target[] = []
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()))
})

async function open(options: SceneOptions): Promise<Scene> {
  const scene = await openScene(options)
  targets.push(scene.target)
  return scene
}

/** What an SDK throws, as a caller can see it. */
async function failureOf(promise: Promise<unknown>): Promise<Readonly<Record<string, unknown>>> {
  try {
    await promise
  } catch (error) {
    return error as Readonly<Record<string, unknown>>
  }
  throw new Error('Nothing failed')
}

const looking: Say = (asked) => ({
  ...{ reasoning: 'I need it.', text: 'Looking.', calls: [expandCall(asked)] },
})
const found: Say = ({ body }) => ({
  reasoning: 'There.',
  text: JSON.stringify(body).includes(secret) ? `It is ${secret}.` : 'Unknown.',
})

const tooLong: Say = ({ tokens }) => ({
  ...{ type: 'error', status: 400 },
  message: `prompt is too long: ${tokens} tokens > ${tokens - 60} maximum`,
})

const cases = spokenFormats.flatMap((format) =>
  [false, true].map((isStream) => ({ format, isStream, mode: isStream ? 'streamed' : 'whole' })),
)

describe.each(cases)('$format $mode', ({ format, isStream }) => {
  const { user } = dialects[format]

  it.each([429, 503])(
    '[GX7] an error %i of the upstream is the answer, and the next try goes on from there',
    async (status) => {
      const error: Action = { type: 'error', status }
      const { target, ask, options, history } = await open({
        ...{ format, isStream, says: [looking, () => error, found] },
      })
      let heard = ''
      const onText = (piece: string): void => {
        heard += piece
      }
      const failure = await failureOf(ask(history, { ...options, onText }))
      if (isStream) expect(heard).toBe('Looking.')
      else expect(failure.status).toBe(status)
      expect(String(failure.message)).toMatch(/rate limit|overloaded|unavailable/i)
      const told = await ask(history, options)
      expect(told.text).toBe(`It is ${secret}.`)
      const [failed, again] = target.upstream.requests.slice(-2).map(listOf)
      expect(again).toEqual(failed)
      expect(target.upstream.breaches).toEqual([])
      const log = await logOf(target.url, await newestThread(target.url))
      const calls = log.flatMap((entry) => (entry.type === 'message' ? entry.blocks : []))
      expect(
        calls.filter((block) => block.type === 'tool-call' && block.name === 'expand_message'),
      ).toHaveLength(1)
    },
  )

  it('[GX7] a round that breaks off breaks the answer off', async () => {
    let isDown = true
    const say: Say = (asked) => (isDown ? { type: 'drop' } : found(asked))
    const { ask, options, history, target } = await open({
      ...{ format, isStream, says: [looking, say, say, say, say, say] },
    })
    const failure = await failureOf(ask(history, options))
    if (!isStream) expect(failure.status).toBe(502)
    isDown = false
    const told = await ask(history, options)
    expect(told.text).toContain(secret)
    expect(target.upstream.breaches).toEqual([])
  })

  it('[GX7] a client that leaves during a hidden round ends it, and what happened is logged', async () => {
    const { ask, options, history, target } = await open({
      ...{ format, isStream, says: [looking, () => ({ type: 'hang', after: 'nothing' }), found] },
    })
    const controller = new AbortController()
    const left = failureOf(ask(history, { ...options, signal: controller.signal }))
    const round = await target.upstream.arrived(openingCalls + 2)
    controller.abort()
    expect(await round.ended).toBe('aborted')
    await left
    const thread = await newestThread(target.url)
    await until(async () => (await kindsOf(target, thread)).includes('interrupted'))
    const told = await ask(history, options)
    expect(told.text).toContain(secret)
    const thanks = [...history, ...told.messages, user('Thanks.')]
    expect(await newestThread(target.url)).toBe(thread)
    expect(thanks.length).toBeGreaterThan(history.length)
    expect(target.upstream.breaches).toEqual([])
  })

  it('[GX7] a round that is too long is made smaller and asked once more', async () => {
    const { ask, options, history, target } = await open({
      ...{ format, isStream, says: [looking, tooLong, () => ({ text: 'Short.' })] },
    })
    const told = await ask(history, options)
    expect(told.text).toContain('Short.')
    expect(target.upstream.breaches).toEqual([])
    expect(target.upstream.requests).toHaveLength(openingCalls + 3)
    const [second, third] = target.upstream.requests.slice(-2).map(textOf)
    expect(third?.length).toBeLessThan(second?.length ?? 0)
  })

  it('[GX7] a round that is too long even so is asked without its results, and the thread goes on', async () => {
    const says = [looking, tooLong, tooLong, () => ({ text: 'Short.' }), () => ({ text: 'Bye.' })]
    const { ask, options, history, target } = await open({ format, isStream, says })
    const told = await ask(history, options)
    expect(told.text).toContain('Short.')
    await ask([...history, ...told.messages, user('Bye.')], options)
    const sent = target.upstream.requests.slice(openingCalls + 1).map(textOf)
    expect(sent).toHaveLength(4)
    for (const text of sent.slice(2)) {
      expect(text).toContain('Not expanded: too much at once')
      expect(text).not.toContain(secret)
    }
    expect(target.upstream.breaches).toEqual([])
  })

  it('[GX6] originals that do not fit into the window together are not given together', async () => {
    const both: Say = (asked) => {
      const id = placeholderId(asked)
      return {
        reasoning: 'All of it.',
        calls: [
          ['expand_message', JSON.stringify({ id })],
          ['expand_message', JSON.stringify({ id, lines: [0, 100] })],
          ['expand_message', JSON.stringify({ id, query: 'seal' })],
        ],
      }
    }
    const { ask, options, history, target } = await open({
      ...{ format, isStream, says: [both, found] },
      gateway: { policy: { ...policy, compaction: { contextWindow: 2000, auto: false } } },
    })
    const told = await ask(history, options)
    expect(told.text).toContain(secret)
    const sent = textOf(target.upstream.requests.at(-1))
    expect(sent.split(secret)).toHaveLength(3)
    expect(sent.split('too much at once; ask for lines or a query')).toHaveLength(2)
    expect(target.upstream.breaches).toEqual([])
  })
})

describe('anthropic streamed', () => {
  /** Asks, and keeps what came before the stream broke. */
  async function keepPartial({ target, options, history }: Scene): Promise<readonly unknown[]> {
    const { body } = dialects.anthropic
    const client = new Anthropic({ baseURL: target.url, apiKey: key, maxRetries: 0 })
    const params = { ...body(history, options.tools ?? []), ...options.extra }
    const stream = client.messages.stream(params as unknown as Anthropic.MessageStreamParams)
    let partial: readonly Anthropic.ContentBlock[] = []
    stream.on('streamEvent', (_event, { content }) => {
      partial = structuredClone(content)
    })
    await failureOf(stream.finalMessage())
    // What has no signature or no text yet cannot be sent to any provider.
    const content = partial.filter((block) =>
      block.type === 'thinking'
        ? block.signature !== ''
        : block.type !== 'text' || block.text !== '',
    )
    expect(content.slice(0, 2)).toMatchObject([{ type: 'thinking' }, { text: 'Looking.' }])
    return [...history, { role: 'assistant', content }]
  }

  const well: Say = () => ({ reasoning: 'So.', text: 'Well.' })
  const { user } = dialects.anthropic

  it('[GX7] a client that keeps what it saw of an answer that broke off goes on from that', async () => {
    const error: Action = { type: 'error', status: 529 }
    const says = [looking, () => error, well, found]
    const scene = await open({ format: 'anthropic', isStream: true, says })
    const { target, ask, options } = scene
    const kept = [...(await keepPartial(scene)), user('Go on.')]
    const told = await ask(kept, options)
    expect(told.text).toBe('Well.')
    await ask([...kept, ...told.messages, user('More.')], options)
    expect(target.upstream.breaches).toEqual([])
    const sent = target.upstream.requests.at(-1)
    expect(
      listOf(sent as Recorded)
        .slice(0, kept.length)
        .slice(-2),
    ).toEqual(kept.slice(-2))
  })

  it('[GX7] a thought of a later round, which is signed for what that round saw, stays out of what the client kept', async () => {
    const broken = reply({ reasoning: 'There.', text: 'It is the seal of' })
    for (const cutAfter of [3, 6, 7, 8, 9, 10]) {
      const cut = (): Action => ({ ...broken, delivery: { cutAfter } }) as Action
      const says = [looking, cut, well, found]
      const scene = await open({ format: 'anthropic', isStream: true, says })
      const { target, ask, options } = scene
      const partial = await keepPartial(scene)
      const kept = [...partial, user('Go on.')]
      const told = await ask(kept, options)
      await ask([...kept, ...told.messages, user('More.')], options)
      expect(target.upstream.breaches, `after ${cutAfter}`).toEqual([])
      const sent = JSON.stringify(listOf(target.upstream.requests.at(-1) as Recorded))
      expect(sent).toContain('I need it.')
      expect(sent).not.toContain('There.')
      expect(sent.includes('seal of"')).toBe(JSON.stringify(partial).includes('seal of"'))
      const log = await logOf(target.url, await newestThread(target.url))
      expect(JSON.stringify(log).includes('There.')).toBe(true)
    }
  })
})

describe.each(spokenFormats)('%s', (format) => {
  it('[GX6] a call that is cut off by the length of the answer is left out, and the answer says so', async () => {
    const { ask, options, history, target } = await open({
      ...{ format, extra: {}, says: [cutCall(format), () => ({ text: 'ok' })] },
    })
    const { whole, calls, messages } = await ask(history, options)
    expect(calls).toEqual([])
    expect(JSON.stringify(whole)).toMatch(/"length"|"max_tokens"|"incomplete"/)
    await ask([...history, ...messages, dialects[format].user('Go on.')], options)
    expect(target.upstream.requests).toHaveLength(openingCalls + 2)
    expect(target.upstream.breaches).toEqual([])
  })
})

describe.each(cases)('$format $mode, with others at the same thread', ({ format, isStream }) => {
  const { user } = dialects[format]

  it.each([
    ['asks something else', 'What else?'],
    ['asks the same', 'What is the seal of crate 60?'],
  ])(
    '[GX3] a second request that %s meanwhile leaves both conversations whole',
    async (_, text) => {
      const gate = Promise.withResolvers<void>()
      const says: readonly Say[] = [
        looking,
        () => ({ text: 'First.' }),
        () => ({ text: 'Second.' }),
        () => ({ text: 'Bye.' }),
      ]
      const scene = await open({
        ...{ format, isStream, says },
        gate: { index: openingCalls + 1, open: gate.promise },
      })
      const { ask, options, history, target } = scene
      const { upstream } = target
      const first = ask(history, options)
      await upstream.arrived(openingCalls + 2)
      const other = await ask([...history.slice(0, -1), user(text)], options)
      expect(other.text).toBe('Second.')
      gate.resolve()
      const told = await first
      expect(told.text.replaceAll(/\s+/g, ' ')).toBe('Looking. First.')
      await ask([...history, ...told.messages, user('Bye.')], options)
      const sent = textOf(upstream.requests.at(-1))
      const round = textOf(upstream.requests[openingCalls + 1])
      expect(sent.startsWith(round.slice(0, -1))).toBe(true)
      expect(sent.split('"name":"expand_message"')).toHaveLength(2)
      expect(upstream.breaches).toEqual([])
    },
  )
})

/** A whole answer with a call that broke off in its arguments. */
function cutCall(format: (typeof spokenFormats)[number]): Say {
  return () => {
    const args = '{"id":"e'
    const bodies = {
      'openai-chat': {
        ...{ id: 'c1', object: 'chat.completion', created: 1, model: 'm' },
        choices: [
          {
            ...{ index: 0, finish_reason: 'length', logprobs: null },
            message: {
              ...{ role: 'assistant', content: 'So', refusal: null },
              tool_calls: [
                {
                  id: 'call_1',
                  type: 'function',
                  function: { name: 'expand_message', arguments: args },
                },
              ],
            },
          },
        ],
      },
      'openai-responses': {
        ...{ id: 'r1', object: 'response', created_at: 1, model: 'm', status: 'incomplete' },
        incomplete_details: { reason: 'max_output_tokens' },
        output: [
          {
            ...{ id: 'm1', type: 'message', role: 'assistant', status: 'completed' },
            content: [{ type: 'output_text', text: 'So', annotations: [], logprobs: [] }],
          },
          {
            ...{ id: 'fc1', type: 'function_call', call_id: 'call_1', status: 'incomplete' },
            ...{ name: 'expand_message', arguments: args },
          },
        ],
      },
      anthropic: {
        ...{ id: 'm1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'max_tokens' },
        stop_sequence: null,
        content: [
          { type: 'text', text: 'So' },
          { type: 'tool_use', id: 'toolu_1', name: 'expand_message', input: {} },
        ],
        usage: { input_tokens: 1, output_tokens: 1 },
      },
      gemini: {
        ...{ responseId: 'r1', modelVersion: 'm', usageMetadata: { promptTokenCount: 1 } },
        candidates: [
          {
            finishReason: 'MAX_TOKENS',
            content: {
              role: 'model',
              parts: [{ text: 'So' }, { functionCall: { id: 'c1', name: 'expand_message' } }],
            },
          },
        ],
      },
    }
    const headers = { 'content-type': 'application/json' }
    return { type: 'raw', status: 200, headers, body: JSON.stringify(bodies[format]) }
  }
}

async function kindsOf(target: Target, thread: string): Promise<readonly unknown[]> {
  const log = await logOf(target.url, thread)
  return log.map((entry) => (entry.type === 'message' ? entry.kind : undefined))
}
