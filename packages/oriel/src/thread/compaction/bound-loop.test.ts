// One long turn of a reasoning model: what is signed there is bound to its prefix, and the model's window holds all the same.

import { describe, expect, it } from 'vitest'
import { project } from '../../project.ts'
import type { FormatName } from '../../providers/format.ts'
import { validate } from '../../providers/registry.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../thread.ts'

const withoutCacheMarks = (key: string, value: unknown) =>
  key === 'cache_control' ? undefined : value

const window = 20_000
const steps = 90

const output = (n: number) =>
  Array.from({ length: 30 }, (_, line) => {
    return `line ${n}.${line} value=${(n * 7919 + line * 104_729).toString(36)} in src/${n}/${line}.ts`
  }).join('\n')

const loops = {
  anthropic: (n) => [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: `thought ${n}`, signature: `c2lnbmF0dXJl${n}` },
        { type: 'tool_use', id: `toolu_${n}`, name: 'look', input: { path: `src/${n}.ts` } },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `toolu_${n}`, content: output(n) }],
    },
  ],
  'openai-responses': (n) => [
    { type: 'reasoning', id: `rs_${n}`, summary: [], encrypted_content: `c2lnbmF0dXJl${n}` },
    { type: 'function_call', id: `fc_${n}`, call_id: `c${n}`, name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: `c${n}`, output: output(n) },
  ],
} satisfies Partial<Record<FormatName, (n: number) => readonly object[]>>

const body = (format: keyof typeof loops, messages: readonly unknown[]): object =>
  format === 'anthropic'
    ? {
        model: 'm',
        max_tokens: 10,
        thinking: { type: 'enabled', budget_tokens: 1024 },
        tools: [{ name: 'look', input_schema: { type: 'object' } }],
        messages,
      }
    : { model: 'm', input: messages, tools: [{ type: 'function', name: 'look' }] }

const policies = {
  recommended: { preset: 'recommended', compaction: { contextWindow: window } },
  compaction: { preset: 'compaction', compaction: { contextWindow: window } },
} as const

const cases = Object.keys(loops).flatMap((format) =>
  Object.keys(policies).map((policy) => [
    format as keyof typeof loops,
    policy as keyof typeof policies,
  ]),
) as [keyof typeof loops, keyof typeof policies][]

describe.each(cases)('%s, policy %s', (format, name) => {
  it("[M11] one turn of many steps stays within the model's window, and its requests extend each other between checkpoints", async () => {
    const thread = await openThread({ id: 't', store: memoryStore(), policy: policies[name] })
    await thread.append([{ role: 'user', content: 'go' }], { format })
    let before: readonly string[] = []
    let breaks = 0
    for (let n = 0; n < steps; n++) {
      const view = await thread.view({ format })
      expect(view.tokens.after).toBeLessThanOrEqual(window)
      expect(validate(format, body(format, view.messages))).toEqual([])
      const now = view.messages.map((message) => JSON.stringify(message, withoutCacheMarks))
      if (!before.every((message, at) => message === now[at])) breaks += 1
      before = now
      await thread.append(loops[format](n), { format })
    }
    expect(breaks).toBeGreaterThan(0)
    expect(breaks).toBeLessThan(steps / 5)
    const log = await thread.log()
    const checkpoints = log.filter((entry) => entry.type === 'edit' && entry.text !== undefined)
    expect(checkpoints.length).toBeGreaterThan(0)
  })

  it("[M11] project keeps one turn of many steps within the model's window", () => {
    const history: object[] = [{ role: 'user', content: 'go' }]
    for (let n = 0; n < steps; n++) history.push(...loops[format](n))
    const { messages, tokens } = project(history, policies[name], { format })
    expect(tokens.after).toBeLessThanOrEqual(window)
    expect(validate(format, body(format, messages))).toEqual([])
  })
})
