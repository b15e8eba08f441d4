// `project` reads a list that grew from where the last call ended. Nobody can tell: the answer is that of a first call.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OrielError } from '../src/core/log/errors.ts'
import { type PolicyInput, presets } from '../src/index.ts'
import { type ProjectOptions, project } from '../src/project.ts'
import type { FormatName } from '../src/providers/format.ts'
import { formatNames } from '../src/providers/registry.ts'
import { budgetArbitrary, policyArbitrary } from '../src/testing/arbitraries.ts'
import { brokenConversation } from '../src/testing/mutations.ts'
import { scaledRuns } from './scaled-runs.ts'

/** What a host does to its list between two calls. */
type Change =
  | { readonly type: 'append'; readonly count: number; readonly isFrozen: boolean }
  | { readonly type: 'replace' | 'mutate'; readonly at: number }
  /** Adds, removes or moves a key, or takes the last item of an array away. */
  | { readonly type: 'reshape'; readonly at: number; readonly deep: boolean; readonly how: number }
  | { readonly type: 'truncate'; readonly count: number }
  | { readonly type: 'copy-first' | 'mutate-answer' | 'ask-again' }

const at = fc.nat({ max: 200 })
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('append'),
      count: fc.integer({ min: 1, max: 12 }),
      isFrozen: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('replace', 'mutate'), at }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('reshape'),
      at,
      deep: fc.boolean(),
      how: fc.nat({ max: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('truncate'), count: fc.integer({ min: 1, max: 5 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constantFrom('copy-first', 'mutate-answer', 'ask-again') }),
  },
)

type Message = Record<string, unknown>

/** Changes some text deep inside a value, in place. */
function mutate(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  const holder = value as Record<string, unknown>
  const keys = Object.keys(holder).reverse()
  const inner = keys.find((key) => typeof holder[key] === 'object' && holder[key] !== null)
  const text = keys.find(
    (key) => typeof holder[key] === 'string' && key !== 'role' && key !== 'type',
  )
  if (inner !== undefined) mutate(holder[inner])
  else if (text !== undefined) holder[text] = `${String(holder[text])} and more`
}

/** Changes which keys a value has, or their order, in place. */
function reshape(value: unknown, deep: boolean, how: number): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  const holder = value as Record<string, unknown>
  const keys = Object.keys(holder)
  const inner = keys.find((key) => typeof holder[key] === 'object' && holder[key] !== null)
  if (deep && inner !== undefined) reshape(holder[inner], deep, how)
  else if (Array.isArray(value)) value.pop()
  else if (how === 0) holder.added = 'later'
  else {
    const [first = 'none'] = keys
    const { [first]: was } = holder
    delete holder[first]
    if (how === 1) holder[first] = was
  }
}

function deepFrozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) deepFrozen(inner)
  return Object.freeze(value)
}

function answer(
  list: readonly Message[],
  policy: PolicyInput | undefined,
  options: ProjectOptions,
) {
  try {
    return project(list, policy, options)
  } catch (error) {
    if (error instanceof OrielError) return { refusal: error.code, messages: [] as Message[] }
    throw error
  }
}

function textOf(result: ReturnType<typeof answer>): string {
  if ('refusal' in result) return JSON.stringify(result)
  const { messages, system, trace, tokens } = result
  return JSON.stringify({ messages, system, trace, tokens })
}

function play(
  format: FormatName,
  {
    pool,
    policy,
    changes,
    ...options
  }: {
    readonly pool: readonly Message[]
    readonly policy: PolicyInput | undefined
    readonly changes: readonly Change[]
    readonly budget?: number | undefined
    readonly to: FormatName
  },
): void {
  const given: ProjectOptions = {
    format,
    to: options.to,
    ...(options.budget === undefined ? {} : { budget: options.budget }),
  }
  const list: Message[] = []
  const late: { readonly result: ReturnType<typeof answer>; readonly expected: string }[] = []
  let next = 0
  for (const one of changes) {
    const index = 'at' in one && list.length > 0 ? one.at % list.length : 0
    if (one.type === 'append') {
      const added = structuredClone(pool.slice(next, next + one.count))
      list.push(...(one.isFrozen ? added.map(deepFrozen) : added))
      next += one.count
    }
    if (one.type === 'truncate') list.length = Math.max(0, list.length - one.count)
    else if (one.type === 'replace' && list.length > 0)
      list[index] = structuredClone(pool[(index * 7) % pool.length] as Message)
    else if (one.type === 'mutate') mutate(list[index])
    else if (one.type === 'reshape') reshape(list[index], one.deep, one.how)
    else if (one.type === 'copy-first' && list.length > 0)
      list[0] = structuredClone(list[0] as Message)
    const result = answer(list, policy, given)
    const fresh = answer(structuredClone(list), policy, given)
    expect(JSON.stringify(result.messages)).toBe(JSON.stringify(fresh.messages))
    const expected = textOf(fresh)
    // Half of the traces are read at once, the others when the list has grown.
    if (late.length % 2 === 0) expect(textOf(result)).toBe(expected)
    if (one.type === 'mutate-answer') for (const message of result.messages) mutate(message)
    else late.push({ result, expected })
  }
  // What a caller changed in its own messages afterwards is in the messages that came back as they were.
  for (const { result, expected } of late) {
    if ('refusal' in result) continue
    const was = JSON.parse(expected) as { trace: unknown; tokens: unknown }
    expect(JSON.parse(JSON.stringify([result.trace, result.tokens]))).toEqual([
      was.trace,
      was.tokens,
    ])
  }
}

const policies = fc.oneof(
  { weight: 3, arbitrary: policyArbitrary() },
  { weight: 2, arbitrary: fc.constantFrom(...(Object.keys(presets) as (keyof typeof presets)[])) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<PolicyInput>(
      { toolResults: { strategy: 'keepRecent', max: 2 } },
      { history: { length: 2 } },
      { toolOutput: { maxLines: 2 }, expiry: { tools: { '*': { after: 1, mode: 'remove' } } } },
    ),
  },
)

describe.each(formatNames)('a list of %s that changes between calls', (format) => {
  it('[I16] is answered as if it were new, however it grew, shrank or changed in place', () => {
    const cases = fc.record({
      pool: fc
        .array(brokenConversation(format), { minLength: 1, maxLength: 6 })
        .map((all) => all.flat() as unknown as readonly Message[])
        .filter((all) => all.length > 0),
      policy: policies,
      changes: fc.array(change, { minLength: 3, maxLength: 12 }),
      budget: fc.option(budgetArbitrary(), { nil: undefined }),
      to: fc.constantFrom(format, format, ...formatNames),
    })
    fc.assert(
      fc.property(cases, (one) => play(format, one)),
      { numRuns: scaledRuns(40) },
    )
  })
})

describe('a list that grows', () => {
  const chat = (count: number): Message[] =>
    Array.from({ length: count }, (_, index) =>
      index % 2 === 0
        ? { role: 'user', content: `Question ${index}` }
        : { role: 'assistant', content: `Answer ${index}` },
    )

  it('[I16] tells the reason of the window for what a cap had dropped before', () => {
    const policy = { history: { policy: 'none', maxMessages: 1 } } as const
    const list = chat(4)
    project(list, policy)
    list.push(...chat(3))
    const reasons = (messages: readonly Message[]): readonly string[] =>
      project(messages, policy).trace.map(({ reason }) => reason)
    expect(reasons(list)).toEqual(reasons(structuredClone(list)))
  })

  it('[I16] shows an exchange again whose result comes late', () => {
    const call = { id: 'late', type: 'function', function: { name: 'search', arguments: '{}' } }
    const list: Message[] = [
      { role: 'assistant', content: null, tool_calls: [call] },
      ...chat(6),
      { role: 'tool', tool_call_id: 'late', content: 'found' },
    ]
    const policy = { history: { length: 2 } } as const
    const result = list.pop() as Message
    project(list, policy)
    list.push(result, ...chat(1))
    const fresh = project(structuredClone(list), policy)
    expect(project(list, policy).messages).toEqual(fresh.messages)
  })

  const agentLoop = (count: number): Message[] =>
    Array.from({ length: count }, (_, index): readonly Message[] => {
      const id = `call_${index}`
      const call = { id, type: 'function', function: { name: 'read', arguments: `{"n":${index}}` } }
      return [
        { role: 'user', content: `Question ${index} about part ${index * 7}` },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: id, content: `Line ${index}\n`.repeat(20) },
        { role: 'assistant', content: `Answer ${index} of many, with a few words` },
      ]
    }).flat()

  const asked: readonly (readonly [string, PolicyInput | undefined, number | undefined])[] = [
    ['no policy, a budget', undefined, 4000],
    ['keepRecent', { toolResults: { strategy: 'keepRecent', max: 5 } }, 1_000_000],
    ['a window', { history: { policy: 'lastN', length: 10 } }, 4000],
    // A checkpoint of `compaction` is made anew for each list.
    ...Object.keys(presets)
      .filter((name) => name !== 'compaction')
      .map((name) => [name, name as PolicyInput, 1_000_000] as const),
  ]

  it.each(asked)('[I16] is counted from where the last call ended: %s', (_, policy, budget) => {
    let counted = 0
    const tokens = {
      name: 'characters',
      count: (text: string) => {
        counted += text.length
        return Math.ceil(text.length / 4)
      },
    }
    const whole = agentLoop(300)
    const list = whole.slice(0, 1000)
    const options = { tokens, ...(budget === undefined ? {} : { budget }) }
    const costOfCall = (): number => {
      counted = 0
      project(list, policy, options)
      return counted
    }
    const first = costOfCall()
    const later = Array.from({ length: 20 }, () => {
      list.push(...whole.slice(list.length, list.length + 4))
      return costOfCall()
    })
    expect(first).toBeGreaterThan(2000)
    expect(Math.min(...later)).toBeLessThan(first / 3)
  })

  it('[I17] comes back as the same objects where nothing changed', () => {
    const list = chat(200)
    const { messages } = project(list)
    expect(messages.every((message, index) => message === list[index])).toBe(true)
    list.push(...chat(4))
    const again = project(list).messages
    expect(again.every((message, index) => message === list[index])).toBe(true)
    expect(again).toHaveLength(204)
  })

  it('[I17] comes back with its own objects when they are equal copies of the last ones', () => {
    const list = chat(100)
    project(list)
    list[0] = { ...(list[0] as Message) }
    const { messages } = project(list)
    expect(messages[0]).toBe(list[0])
  })
})
