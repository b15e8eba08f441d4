// A thread that is viewed after every message ends where `project` ends, for every rule that needs no model.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryStore, openThread, type PolicyInput, project } from '../src/index.ts'
import { scaledRuns } from './scaled-runs.ts'

interface Step {
  readonly tools: readonly {
    readonly name: string
    readonly size: number
    readonly isError: boolean
  }[]
  readonly isTurn: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  tools: fc.array(
    fc.record({
      name: fc.constantFrom('read', 'search', 'web_fetch'),
      size: fc.constantFrom(5, 900, 4000),
      isError: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  isTurn: fc.boolean(),
})

const toolResults = fc.record(
  {
    strategy: fc.constantFrom('keepAll', 'keepRecent', 'keepSuccessful', 'keepOne', 'dropAll'),
    max: fc.integer({ min: 0, max: 4 }),
    placeholder: fc.constantFrom('informative', 'plain'),
    cutoff: fc.integer({ min: 0, max: 4 }),
  },
  { requiredKeys: [] },
)
const expiry = fc.record({
  tools: fc.dictionary(
    fc.constantFrom('read', 'web_*', '*'),
    fc.record({
      after: fc.integer({ min: 0, max: 3 }),
      mode: fc.constantFrom('none', 'remove', 'compact'),
      length: fc.constantFrom(100, 500),
      unit: fc.constantFrom('steps', 'turns'),
    }),
  ),
  duplicates: fc.option(fc.constant({}), { nil: undefined }),
  relevance: fc.option(fc.constant({}), { nil: undefined }),
})
const toolOutput = fc.record(
  { maxChars: fc.constantFrom(600, 2000), maxLines: fc.constantFrom(3, 20) },
  { requiredKeys: [] },
)
const history = fc.record({ length: fc.integer({ min: 1, max: 3 }) })
const policies = fc.record({ toolResults, expiry, toolOutput, history }, { requiredKeys: [] })

function messagesOf(steps: readonly Step[]): { role: string; content: unknown }[] {
  return [
    { role: 'user', content: 'begin' },
    ...steps.flatMap(({ tools, isTurn }, n) => {
      const uses = tools.map(({ name }, m) => ({
        type: 'tool_use',
        id: `t${n}_${m}`,
        name,
        input: {},
      }))
      const results = tools.map(({ size, isError }, m) => ({
        type: 'tool_result',
        tool_use_id: `t${n}_${m}`,
        content: `${n}.${m} ${'a line of output\n'.repeat(Math.ceil(size / 17))}`,
        is_error: isError,
      }))
      return [
        { role: 'assistant', content: [{ type: 'text', text: `step ${n}` }, ...uses] },
        ...(tools.length > 0 ? [{ role: 'user', content: results }] : []),
        ...(isTurn || tools.length === 0 ? [{ role: 'user', content: `turn ${n}` }] : []),
      ]
    }),
  ]
}

/** A cut at birth, a summary that is longer, and a shorter cut later. */
const shorterCutFirst: [Step[], object] = [
  [
    {
      tools: [
        { name: 'read', size: 900, isError: false },
        { name: 'read', size: 5, isError: false },
      ],
      isTurn: false,
    },
    { tools: [], isTurn: false },
  ],
  {
    toolResults: { cutoff: 1 },
    expiry: { tools: { read: { after: 0, mode: 'compact', length: 100, unit: 'steps' } } },
    toolOutput: { maxLines: 20 },
  },
]

/** A result that expired by its setting before it turned out to be irrelevant, by another setting of its message. */
const expiredFirst: [Step[], object] = [
  [
    {
      tools: [
        { name: 'search', size: 5, isError: false },
        { name: 'read', size: 4000, isError: false },
      ],
      isTurn: false,
    },
    ...Array.from({ length: 3 }, () => ({ tools: [], isTurn: false })),
  ],
  {
    expiry: {
      tools: {
        read: { after: 0, mode: 'compact', length: 500, unit: 'steps' },
        '*': { after: 0, mode: 'compact', length: 100, unit: 'turns' },
      },
      relevance: {},
    },
  },
]

/** Handles derive from the thread's salt and the log's own numbering. */
const withoutHandles = (messages: readonly unknown[]): string =>
  JSON.stringify(messages).replaceAll(/(expand|expansion if needed:) e[0-9a-z_]+/g, '$1 ID')

describe('a thread fed step by step', () => {
  it('[T6] shows what project shows of the whole, for every rule that needs no model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), policies, async (steps, policy) => {
        const messages = messagesOf(steps)
        const input = policy as PolicyInput
        const thread = await openThread({
          id: 't',
          store: memoryStore(),
          policy: input,
          now: () => 1,
        })
        for (const message of messages) {
          await thread.append([message], { format: 'anthropic' })
          await thread.view({ format: 'anthropic' })
        }
        const view = await thread.view({ format: 'anthropic' })
        const whole = project(messages, input, { format: 'anthropic' })
        expect(withoutHandles(view.messages)).toBe(withoutHandles(whole.messages))
      }),
      { numRuns: scaledRuns(60), examples: [shorterCutFirst, expiredFirst] },
    )
  })
})
