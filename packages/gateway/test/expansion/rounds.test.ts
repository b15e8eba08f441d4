// Calls of the gateway's own tool are answered within the client's request.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGateway, serveGateway } from '@oriel/gateway'
import { type JsonObject, sqliteStore } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { key, logOf, newestThread } from '../faults/raw-client.ts'
import { type Answer, sdkClient } from '../sdk/sdk-client.ts'
import type { Recorded } from '../upstream/upstream.ts'
import {
  expandCall,
  expansion,
  forgetful,
  openingCalls,
  openScene,
  placeholderId,
  policy,
  type Scene,
  type SceneOptions,
  secret,
  textOf,
} from './story.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(options: SceneOptions): Promise<Scene> {
  const scene = await openScene(options)
  closing.push(() => scene.target.close())
  return scene
}

const cases = spokenFormats.flatMap((format) =>
  [false, true].map((isStream) => ({ format, isStream, mode: isStream ? 'streamed' : 'whole' })),
)

describe.each(cases)('$format $mode', ({ format, isStream }) => {
  const { user, results } = dialects[format]

  it('[GX1] the client sees one answer, without a trace of the tool', async () => {
    const { target, ask, options, history } = await open({ format, isStream, says: expansion })
    const told = await ask(history, options)
    expect(target.upstream.breaches).toEqual([])
    expect(told.calls).toEqual([])
    expect(told.text.replaceAll(/\s+/g, ' ')).toBe(`Looking. It is ${secret}.`)
    expect(JSON.stringify(told.whole)).not.toContain('expand_message')
    expect(endOf(told)).toBe(ends[format])
    for (const { body } of target.upstream.requests) {
      expect(JSON.stringify(body.tools)).toContain('"expand_message"')
    }
  })

  it('[GX2] usage is the sum of the rounds, each recorded with its own view', async () => {
    const { target, ask, options, history } = await open({ format, isStream, says: expansion })
    const told = await ask(history, options)
    const rounds = target.upstream.requests.slice(openingCalls)
    expect(rounds).toHaveLength(2)
    const sum = (pick: (one: Recorded) => number): number =>
      rounds.reduce((all, one) => all + pick(one), 0)
    expect(numbersOf(told.whole.usage as JsonObject)).toEqual({
      input: sum(({ tokens }) => tokens),
      cached: sum(({ cached }) => cached),
    })
    expect(sum(({ cached }) => cached)).toBeGreaterThan(0)
    const log = await logOf(target.url, await newestThread(target.url))
    const views = log.flatMap((entry) => (entry.type === 'request' ? [entry.view] : []))
    const samples = log.flatMap((entry) => (entry.type === 'usage' ? [entry] : []))
    expect(samples.map(({ view }) => view)).toEqual(views)
    expect(views).toHaveLength(openingCalls + 2)
    const last = samples
      .slice(-2)
      .map(
        ({ sample: { uncached, cacheRead, cacheWrite } }) =>
          Number(uncached) + Number(cacheRead) + Number(cacheWrite),
      )
    expect(last).toEqual(rounds.map(({ tokens }) => tokens))
  })

  it.each([
    ['said something', 'Looking.'],
    ['only called', undefined],
  ])(
    '[GX3] after a restart the next request begins with what the last round saw, where the hidden one %s',
    async (_, text) => {
      const folder = mkdtempSync(join(tmpdir(), 'oriel-expansion-'))
      closing.push(async () => rmSync(folder, { recursive: true, force: true }))
      const first = sqliteStore(join(folder, 'a.db'))
      const { target, ask, options, history } = await open({
        ...{ format, isStream, gateway: { store: first } },
        says: [
          (asked) => ({
            reasoning: 'I need it.',
            calls: [expandCall(asked)],
            ...(text && { text }),
          }),
          () => ({ reasoning: 'There.', text: `It is ${secret}.` }),
          () => ({ reasoning: 'Sure.', text: 'Gladly.' }),
          () => ({ text: 'Bye.' }),
        ],
      })
      const { upstream } = target
      const told = await ask(history, options)
      // Another process on the same file, which knows nothing but what is in it.
      const store = sqliteStore(join(folder, 'a.db'))
      const gateway = createGateway({
        ...{ store, policy, expand: true },
        upstreams: [{ name: 'test', baseUrl: upstream.url }],
      })
      const server = await serveGateway(gateway, { port: 0 })
      closing.push(async () => {
        await server.close()
        await gateway.close()
        await store.close()
        await first.close()
      })
      const again = sdkClient(format, { url: server.url, key })
      const thanks = [...history, ...told.messages, user('Thanks.')]
      const more = await again(thanks, options)
      const [, second, third] = upstream.requests.slice(openingCalls)
      expect(textOf(third).startsWith(textOf(second).slice(0, -1))).toBe(true)
      expect(textOf(third)).toContain('expand_message')
      await again([...thanks, ...more.messages, user('Bye.')], options)
      const fourth = upstream.requests.at(-1)
      expect(textOf(fourth).startsWith(textOf(third).slice(0, -1))).toBe(true)
      expect(upstream.breaches).toEqual([])
      expect(await threadCount(server.url)).toBe(1)
    },
  )

  it('[GX4] beside a call of the client only that one is seen, and both have their results in order', async () => {
    const { target, ask, options, history } = await open({
      ...{ format, isStream },
      says: [
        (asked) => ({
          ...{ reasoning: 'Both.', text: 'Two looks.' },
          calls: [expandCall(asked), ['read', '{"id":"map"}'], expandCall(asked)],
        }),
        () => ({ reasoning: 'Fine.', text: 'Done.' }),
        () => ({ text: 'Bye.' }),
      ],
    })
    const { upstream } = target
    const told = await ask(history, options)
    expect(told.calls.map(({ name, arguments: input }) => [name, input])).toEqual([
      ['read', '{"id":"map"}'],
    ])
    expect(told.text).toBe('Two looks.')
    expect(endOf(told)).toBe(callEnds[format])
    expect(upstream.requests).toHaveLength(openingCalls + 1)
    const [call] = told.calls
    if (call === undefined) throw new Error('no call')
    const answered = [...history, ...told.messages, ...results([{ call, text: 'A map.' }])]
    const more = await ask(answered, options)
    const sent = textOf(upstream.requests.at(-1))
    const places = [
      'Two looks.',
      'expand_message',
      'map',
      'expand_message',
      secret,
      secret,
      'A map.',
    ]
    let from = 0
    for (const place of places) {
      from = sent.indexOf(place, from) + 1
      expect(from, place).toBeGreaterThan(0)
    }
    await ask([...answered, ...more.messages, user('Bye.')], options)
    expect(textOf(upstream.requests.at(-1)).startsWith(sent.slice(0, -1))).toBe(true)
    expect(upstream.breaches).toEqual([])
    expect(await threadCount(target.url)).toBe(1)
  })

  it('[GX6] several calls at once, wrong ids and wrong arguments are all answered', async () => {
    const { target, ask, options, history } = await open({
      ...{ format, isStream },
      says: [
        (asked) => ({
          reasoning: 'All.',
          calls: [
            expandCall(asked),
            ['expand_message', '{"id":"e999zz"}'],
            ['expand_message', '{"nothing":true}'],
            ['expand_message', `{"id":"${placeholderId(asked)}","lines":[9,1]}`],
          ],
        }),
        () => ({ reasoning: 'Good.', text: 'Done.' }),
      ],
    })
    const told = await ask(history, options)
    expect(told.text).toBe('Done.')
    const sent = textOf(target.upstream.requests.at(-1))
    expect(sent).toContain(`61: The seal of crate 60 is ${secret}.`)
    expect(sent).toContain('nothing here has the id e999zz')
    expect(sent).toContain('the arguments need an id')
    expect(sent).toContain('lines must be two whole numbers')
    expect(target.upstream.breaches).toEqual([])
  })

  it('[GX6] a model that asks for ever is told to stop, and its answer ends', async () => {
    const forever = (asked: Parameters<typeof expandCall>[0]) => ({
      ...{ reasoning: 'Again.', text: `Round ${asked.index}.` },
      calls: [
        ['expand_message', `{"id":"${placeholderId(asked)}","lines":[0,${asked.index}]}`] as const,
      ],
    })
    const { target, ask, options, history } = await open({
      ...{ format, isStream },
      says: [forever, forever, forever, forever, forever, () => ({ text: 'Bye.' })],
    })
    const { upstream } = target
    const told = await ask(history, options)
    expect(upstream.requests).toHaveLength(openingCalls + 5)
    expect(told.calls).toEqual([])
    expect(told.text).toContain('Round 7.')
    expect(endOf(told)).toBe(ends[format])
    expect(textOf(upstream.requests.at(-1))).toContain('This was the last lookup')
    expect(textOf(upstream.requests.at(-2))).not.toContain('This was the last lookup')
    await ask([...history, ...told.messages, user('Bye.')], options)
    expect(textOf(upstream.requests.at(-1))).toContain('no more lookups for this answer')
    expect(upstream.breaches).toEqual([])
  })

  it('[GX6] an answer of which nothing is left can be sent back, and is logged', async () => {
    const silent = (asked: Parameters<typeof expandCall>[0]) => ({ calls: [expandCall(asked)] })
    const { target, ask, options, history } = await open({
      // Without numbers at the end of a stream.
      ...{ format, isStream, extra: {} },
      says: [silent, silent, silent, silent, silent, () => ({ text: 'Bye.' })],
    })
    const told = await ask(history, options)
    if (format === 'openai-chat') expect(told.messages).toMatchObject([{ content: '' }])
    await ask([...history, ...told.messages, user('And?')], options)
    expect(textOf(target.upstream.requests.at(-1))).toContain('no more lookups for this answer')
    expect(target.upstream.breaches).toEqual([])
    expect(await threadCount(target.url)).toBe(1)
  })

  it('[GX6] no round begins when the time for them is over', async () => {
    let now = 1_000_000
    const { target, ask, options, history } = await open({
      ...{ format, isStream, gateway: { now: () => now, limits: { expandMs: 1000 } } },
      says: [
        (asked) => ({ reasoning: 'One.', calls: [expandCall(asked)] }),
        (asked) => {
          now += 2000
          return { reasoning: 'Two.', text: 'So far.', calls: [expandCall(asked)] }
        },
      ],
    })
    const told = await ask(history, options)
    expect(told.text).toBe('So far.')
    expect(endOf(told)).toBe(ends[format])
    expect(target.upstream.requests).toHaveLength(openingCalls + 2)
  })
})

describe('a client of Responses that resends neither reasoning nor ids', () => {
  const bare = (history: readonly unknown[]) => forgetful('openai-responses', history)

  it.each([false, true])(
    '[GX3] has valid histories all the same (streamed: %s)',
    async (isStream) => {
      const { user, results } = dialects['openai-responses']
      const { target, ask, options, history } = await open({
        ...{ format: 'openai-responses', isStream },
        says: [
          (asked) => ({ reasoning: 'First.', calls: [expandCall(asked)] }),
          (asked) => ({
            reasoning: 'Second.',
            calls: [['read', '{"id":"map"}'], expandCall(asked)],
          }),
          () => ({ reasoning: 'Third.', text: 'Done.' }),
          () => ({ text: 'Bye.' }),
        ],
      })
      const told = await ask(bare(history), options)
      const [call] = told.calls
      if (call === undefined) throw new Error('no call')
      const answered = [...history, ...told.messages, ...results([{ call, text: 'A map.' }])]
      const more = await ask(bare(answered), options)
      await ask(bare([...answered, ...more.messages, user('Bye.')]), options)
      expect(target.upstream.breaches).toEqual([])
      const sent = textOf(target.upstream.requests.at(-1))
      expect(sent.split('"name":"expand_message"')).toHaveLength(3)
    },
  )
})

describe('a client of Messages that drops the thinking of earlier turns', () => {
  const bare = (history: readonly unknown[]) => forgetful('anthropic', history)

  it.each([
    ['said something', false, 'Looking.'],
    ['said something', true, 'Looking.'],
    ['only called', false, undefined],
  ])(
    '[GX3] has valid histories all the same, where the hidden round %s (streamed: %s)',
    async (_, isStream, text) => {
      const { user, results } = dialects.anthropic
      const { target, ask, options, history } = await open({
        ...{ format: 'anthropic', isStream },
        says: [
          (asked) => ({ reasoning: 'One.', calls: [expandCall(asked)], ...(text && { text }) }),
          (asked) => ({ reasoning: 'Two.', calls: [expandCall(asked), ['read', '{"id":"map"}']] }),
          (asked) => ({ reasoning: 'Three.', calls: [expandCall(asked)] }),
          () => ({ reasoning: 'Four.', text: 'Done.' }),
          () => ({ reasoning: 'Five.', text: 'Well.' }),
          () => ({ reasoning: 'Six.', text: 'Bye.' }),
        ],
      })
      const told = await ask(bare(history), options)
      const [call] = told.calls
      if (call === undefined) throw new Error('no call')
      let all = [...history, ...told.messages, ...results([{ call, text: 'A map.' }])]
      for (const next of ['Well?', 'Bye.']) {
        const more = await ask(bare(all), options)
        all = [...all, ...more.messages, user(next)]
      }
      await ask(bare(all), options)
      expect(target.upstream.breaches).toEqual([])
      const sent = textOf(target.upstream.requests.at(-1))
      expect(sent.split('"name":"expand_message"')).toHaveLength(4)
    },
  )
})

const ends = {
  'openai-chat': 'stop',
  'openai-responses': 'completed',
  anthropic: 'end_turn',
  gemini: 'STOP',
}
const callEnds = { ...ends, 'openai-chat': 'tool_calls', anthropic: 'tool_use' }

/** The finish reason, stop reason or status. */
function endOf({ whole }: Answer): unknown {
  const [choice] = (whole.choices ?? []) as readonly { readonly finish_reason: unknown }[]
  const [candidate] = (whole.candidates ?? []) as readonly { readonly finishReason: unknown }[]
  return choice?.finish_reason ?? candidate?.finishReason ?? whole.stop_reason ?? whole.status
}

/** What went in, and what of it came from the cache. */
function numbersOf(usage: JsonObject): { readonly input: number; readonly cached: number } {
  const number = (value: unknown): number => (typeof value === 'number' ? value : 0)
  const details = (usage.prompt_tokens_details ?? usage.input_tokens_details ?? {}) as JsonObject
  const read = number(usage.cache_read_input_tokens)
  return {
    input:
      number(usage.prompt_tokens) +
      number(usage.input_tokens) +
      read +
      number(usage.cache_creation_input_tokens),
    cached: number(details.cached_tokens) + read,
  }
}

async function threadCount(url: string): Promise<number> {
  const answer = await fetch(`${url}/api/threads`, { headers: { authorization: `Bearer ${key}` } })
  return ((await answer.json()) as { threads: readonly unknown[] }).threads.length
}
