// Long conversations with a model that asks for originals whenever it likes, under every preset, with restarts and second thoughts.

import { memoryStore, type PolicyInput, presets, type WireFormat } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { createGateway, serveGateway } from '../../src/index.ts'
import { dialects, spokenFormats } from '../dialect.ts'
import { key } from '../faults/raw-client.ts'
import { type Answer, sdkClient } from '../sdk/sdk-client.ts'
import { openGateway } from '../target.ts'
import { type Action, reply } from '../upstream/action.ts'
import type { Asked } from '../upstream/upstream.ts'
import { forgetful } from './story.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const tools = ['read', 'search'].map((name) => ({
  name,
  description: `Tool ${name}.`,
  parameters: { type: 'object', properties: { id: { type: 'string' } } },
}))
const thinking: Readonly<Record<WireFormat, Readonly<Record<string, unknown>>>> = {
  'openai-chat': {},
  'openai-responses': { reasoning: { effort: 'high', summary: 'auto' } },
  anthropic: { thinking: { type: 'enabled', budget_tokens: 1024 } },
  gemini: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
}
const tight: PolicyInput = {
  history: { policy: 'lastN', length: 3 },
  expiry: { tools: { '*': { after: 1, mode: 'compact', length: 80 } } },
  toolOutput: { maxLines: 20 },
  toolResults: { strategy: 'keepRecent', max: 2, cutoff: 0 },
  compaction: { maxTokens: 3000, keepRecentTokens: 800 },
}
const policies: readonly (readonly [string, PolicyInput])[] = [
  ...Object.keys(presets).map((name) => [name, name as PolicyInput] as const),
  ['all rules at once, tight', tight],
  [
    'placeholders when they pay',
    { toolResults: { strategy: 'keepRecent', max: 2, cutoff: 0 }, schedule: 'cache-aware' },
  ],
]

/** Another one for each run; ORIEL_SEED repeats one. */
const drawn = Number(process.env.ORIEL_SEED)

describe.each(spokenFormats)('%s', (format) => {
  it.each(
    policies.flatMap(([name, policy], at) => [
      { name, policy, seed: drawn + at, isStream: at % 2 === 0, client: 'faithful' },
      { name, policy, seed: drawn + at + 100, isStream: at % 2 === 1, client: 'forgetful' },
    ]),
  )(
    '[GX3] nothing is refused under $name (seed $seed), of a $client client',
    async ({ policy, seed, isStream, client }) => {
      const store = memoryStore()
      const expand = seed % 2 === 0 ? true : ('auto' as const)
      const options = { store, policy, expand }
      const target = await openGateway({ answer: wildModel(seed), gateway: options })
      closing.push(() => target.close())
      const { upstream } = target
      const dice = createDice(seed + 7)
      const dialect = dialects[format]
      let ask = sdkClient(format, { url: target.url, key })
      let history: readonly unknown[] = []
      let before: readonly unknown[] = []
      for (let turn = 0; turn < 8; turn++) {
        // Sometimes the last turn is taken back and asked otherwise; sometimes another process continues.
        if (dice(5) === 0) history = before
        if (dice(4) === 0)
          ask = sdkClient(format, { url: await restarted(options, upstream.url), key })
        before = history
        const asked = [...history, dialect.user(`Question ${turn}: what is in it?`)]
        history = await converse(format, asked, async (list) => {
          const resent = client === 'forgetful' ? forgetful(format, list) : list
          return ask(resent, { tools, isStream, extra: thinking[format] })
        })
        // A turn that found no end is taken back whole.
        if (/"tool_result"|"role":"tool"|call_output/.test(JSON.stringify(history.at(-1)))) {
          history = before
        }
      }
      expect(upstream.breaches).toEqual([])
      for (const { body } of upstream.requests) {
        const { tools: list, ...rest } = body
        const isOffered = JSON.stringify(list).includes('"expand_message"')
        if (expand === true) expect(isOffered).toBe(true)
        if (!isOffered) expect(JSON.stringify(rest)).not.toMatch(/[;[] ?expand e[0-9a-z]{3,}/)
      }
    },
  )
})

describe('Messages that are refused as too long now and then, without numbers', () => {
  const format = 'anthropic'

  it.each(
    policies.flatMap(([name, policy], at) => [
      { name, policy, seed: drawn + at + 2000, client: 'faithful' },
      { name, policy, seed: drawn + at + 3000, client: 'forgetful' },
    ]),
  )('[GX7] [M11] stay valid under $name (seed $seed), of a $client client', async (scene) => {
    const { policy, seed, client } = scene
    const model = wildModel(seed)
    const dice = createDice(seed + 3)
    let isRefused = false
    const target = await openGateway({
      gateway: { policy, expand: seed % 2 === 0 ? true : 'auto' },
      answer(asked) {
        isRefused = !isRefused && dice(5) === 0
        if (!isRefused) return model(asked)
        return { type: 'error', status: 400, message: 'Prompt is too long' }
      },
    })
    closing.push(() => target.close())
    const ask = sdkClient(format, { url: target.url, key })
    let history: readonly unknown[] = []
    for (let turn = 0; turn < 8; turn++) {
      const asked = [...history, dialects[format].user(`Question ${turn}: what is in it?`)]
      // What can be made no smaller is refused, and the turn is taken back.
      history = await converse(format, asked, async (list) => {
        const resent = client === 'forgetful' ? forgetful(format, list) : list
        return ask(resent, { tools, extra: thinking[format] })
      }).catch((error: unknown) => {
        if (!String(error).includes('Prompt is too long')) throw error
        return history
      })
      if (JSON.stringify(history.at(-1) ?? null).includes('"tool_result"')) history = []
    }
    expect(target.upstream.breaches).toEqual([])
  })
})

/** One turn, with at most six answers: the tools that are called give long results. */
async function converse(
  format: WireFormat,
  asked: readonly unknown[],
  ask: (history: readonly unknown[]) => Promise<Answer>,
): Promise<readonly unknown[]> {
  let history = asked
  for (let step = 0; step < 6; step++) {
    const told = await ask(history)
    expect(JSON.stringify(told.whole)).not.toContain('expand_message')
    history = [...history, ...told.messages]
    if (told.calls.length === 0) break
    const results = told.calls.map((call) => ({
      call,
      text: `${call.name}(${call.arguments})\n${'a row with some words in it\n'.repeat(30)}`,
    }))
    history = [...history, ...dialects[format].results(results)]
  }
  return history
}

async function restarted(
  options: NonNullable<Parameters<typeof createGateway>[0]>,
  baseUrl: string,
): Promise<string> {
  const gateway = createGateway({ ...options, upstreams: [{ name: 'test', baseUrl }] })
  const server = await serveGateway(gateway, { port: 0 })
  closing.push(async () => {
    await server.close()
    await gateway.close()
  })
  return server.url
}

/** Says and calls what it likes, the same for the same seed. */
function wildModel(seed: number): (asked: Asked) => Action {
  const dice = createDice(seed)
  return ({ body, index }) => {
    const ids = [...JSON.stringify(body).matchAll(/expand (e\w+)/g)].map(([, id]) => id ?? '')
    const id = dice(4) === 0 ? 'e0' : (ids[dice(Math.max(1, ids.length))] ?? 'e1')
    const expand: readonly [string, string] = [
      'expand_message',
      JSON.stringify(dice(2) === 0 ? { id } : { id, lines: [0, 2] }),
    ]
    const own: readonly [string, string] = ['read', `{"id": "${index}"}`]
    const isOffered = JSON.stringify(body.tools).includes('"expand_message"')
    const kinds = [
      [],
      [],
      [own],
      [own, own],
      ...(isOffered ? [[expand], [expand, expand], [own, expand], [expand, own]] : []),
    ]
    const calls = kinds[dice(kinds.length)] ?? []
    const hasText = calls.length === 0 || dice(2) === 0
    return reply({
      reasoning: `Thought ${index}.`,
      ...(hasText ? { text: `Words ${index}.` } : {}),
      calls,
    })
  }
}

/** Numbers below a bound, the same for the same seed. */
function createDice(seed: number): (bound: number) => number {
  let state = seed + 0x9e3779b9
  return (bound) => {
    state = Math.imul(state ^ (state >>> 15), state | 1)
    state ^= state + Math.imul(state ^ (state >>> 7), state | 61)
    return ((state ^ (state >>> 14)) >>> 0) % bound
  }
}
