// Long conversations with tools under every preset: the upstream never has to refuse one, and the answers stay the same.

import { type JsonObject, type PolicyInput, presets, type WireFormat } from 'oriel'
import { providers } from 'oriel/providers'
import { afterEach, describe, expect, it } from 'vitest'
import { PrefixCache } from '../../src/demo/prefix-cache.ts'
import { dialects, spokenFormats } from '../dialect.ts'
import { openGateway, type Target } from '../target.ts'
import { type Action, reply } from '../upstream/action.ts'
import type { Binding } from '../upstream/seals.ts'
import type { Asked } from '../upstream/upstream.ts'
import { sdkClient } from './sdk-client.ts'
import { talk } from './talk.ts'

let target: Target | undefined
afterEach(() => target?.close())

const tools = ['read', 'search', 'run'].map((name) => ({
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
const turns = 10
/** What the model does in each turn: how many calls it makes in each step before it answers. */
const plan = [2, 1, 3]
/** Turns in which it only talks: what waits there is not renewed by what comes in. */
const isTalk = (turn: number): boolean => turn % 4 > 1

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

/** Policies that leave a conversation of this length as it is, or may. */
const patient: ReadonlySet<unknown> = new Set(['plugin-retention', 'history-window', 'recommended'])

describe.each(spokenFormats)('%s', (format) => {
  it.each(
    policies.flatMap(([name, policy]) =>
      // Only Messages has two kinds of signatures.
      (format === 'anthropic' ? (['prefix', 'text'] as const) : (['prefix'] as const)).map(
        (binding: Binding) => ({ name, policy, binding, isStream: binding === 'prefix' }),
      ),
    ),
  )(
    '[GW55] is valid under $name, with seals bound to the $binding',
    async ({ policy, binding, isStream }) => {
      target = await openGateway({ answer: scripted(), binding, gateway: { policy } })
      const { url, upstream } = target
      const { answers, history } = await talk({
        ...{ format, isStream, tools, ask: sdkClient(format, { url }), extra: thinking[format] },
        questions: Array.from({ length: turns }, (_, turn) => `Question ${turn}: what is in it?`),
        runTool: (name, args) =>
          `${name}(${args})\n${`row of ${name} with some words\n`.repeat(30)}`,
      })
      expect(upstream.breaches).toEqual([])
      expect(answers).toEqual(
        Array.from({ length: turns }, (_, turn) => `Answer to question ${turn}.`),
      )
      // The client still has everything: only what the model sees was reduced.
      expect(JSON.stringify(history).match(/row of/g)?.length).toBe(6 * 6 * 30)
      const last = upstream.requests.at(-1)
      const whole = new PrefixCache().weigh(providers[format], {
        ...last?.body,
        ...body(format, history),
      })
      if (patient.has(policy)) expect(last?.tokens).toBeLessThanOrEqual(whole)
      else expect(last?.tokens).toBeLessThan(whole * 0.92)
    },
  )
})

/** The request that would be made with the whole history. */
function body(format: WireFormat, history: readonly unknown[]): JsonObject {
  return dialects[format].body(history, tools) as JsonObject
}

/** Follows the plan, turn by turn. */
function scripted(): (asked: Asked) => Action {
  const steps = new Map<string, number>()
  return ({ format, body }) => {
    const list = (format === 'openai-responses' ? body.input : body.messages) as readonly unknown[]
    const turn = [...JSON.stringify(list).matchAll(/Question (\d+): what/g)].at(-1)?.[1] ?? ''
    const step = steps.get(turn) ?? 0
    steps.set(turn, step + 1)
    const calls = isTalk(Number(turn)) ? undefined : plan[step]
    if (calls === undefined) {
      return reply({ reasoning: `Turn ${turn} is clear.`, text: `Answer to question ${turn}.` })
    }
    const names = Array.from({ length: calls }, (_, index) => tools[index]?.name ?? 'read')
    return reply({
      reasoning: `Turn ${turn}, step ${step}.`,
      ...(step === 0 ? { text: 'Let me see.' } : {}),
      calls: names.map((name) => [name, `{"id": "${turn}-${step}"}`] as const),
    })
  }
}
