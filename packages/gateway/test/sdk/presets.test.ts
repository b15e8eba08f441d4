// Long conversations with tools under every preset: the upstream never has to refuse one, and the answers stay the same.

import { type PolicyInput, presets, type WireFormat, wireFormats } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
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
}
const turns = 24
/** What the model does in each turn: how many calls it makes in each step before it answers. */
const plan = [2, 1, 3]

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
]
const bindings: readonly Binding[] = ['prefix', 'text']

describe.each(wireFormats)('%s', (format) => {
  it.each(
    policies.flatMap(([name, policy]) =>
      bindings.map((binding) => ({ name, policy, binding, isStream: binding === 'prefix' })),
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
          `${name}(${args})\n${`row of ${name} with some words\n`.repeat(60)}`,
      })
      expect(upstream.breaches).toEqual([])
      expect(answers).toEqual(
        Array.from({ length: turns }, (_, turn) => `Answer to question ${turn}.`),
      )
      // The client still has everything: only what the model sees was reduced.
      expect(JSON.stringify(history).match(/row of/g)?.length).toBe(turns * 6 * 60)
      const [first, last] = [upstream.requests[0], upstream.requests.at(-1)]
      expect(first?.tokens).toBeLessThan(last?.tokens ?? 0)
      const whole = JSON.stringify(history).length / 4
      const isReducing = policy !== 'plugin-retention' && policy !== 'history-window'
      if (isReducing) expect(last?.tokens).toBeLessThan(whole / 2)
    },
  )
})

/** Follows the plan by what it sees of the newest turn, as a model does. */
function scripted(): (asked: Asked) => Action {
  return ({ format, body }) => {
    const list = (format === 'openai-responses' ? body.input : body.messages) as readonly unknown[]
    const texts = list.map((message) => JSON.stringify(message))
    const newest = texts.findLastIndex((text) => /Question \d+:/.test(text))
    const turn = [...(texts[newest] ?? '').matchAll(/Question (\d+):/g)].at(-1)?.[1]
    const results = texts
      .slice(newest + 1)
      .join('')
      .match(/"tool_result"|"role":"tool"|function_call_output/g)
    let seen = results?.length ?? 0
    for (const [step, calls] of plan.entries()) {
      if (seen < calls) {
        const names = Array.from({ length: calls }, (_, index) => tools[index]?.name ?? 'read')
        return reply({
          reasoning: `Turn ${turn}, step ${step}.`,
          ...(step === 0 ? { text: 'Let me see.' } : {}),
          calls: names.map((name) => [name, `{"id": "${turn}-${step}"}`] as const),
        })
      }
      seen -= calls
    }
    return reply({ reasoning: `Turn ${turn} is clear.`, text: `Answer to question ${turn}.` })
  }
}
