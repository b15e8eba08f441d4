// A view at an unchanged head is the same view, byte for byte: asked again, and by an object that opened the thread later.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OrielError } from '../src/core/log/errors.ts'
import { memoryStore, openThread, type Thread } from '../src/index.ts'
import { presets } from '../src/policy/presets.ts'
import type { Policy, PolicyInput, PresetName } from '../src/policy/schema.ts'
import { policyPartsArbitrary } from '../src/testing/arbitraries.ts'
import { call, result, said, user } from '../src/testing/chat.ts'
import { scaledRuns } from './scaled-runs.ts'

/** One message call of an agent: what it says or reads, how long, and whether the request before it was viewed and measured. */
interface Step {
  readonly kind: 'question' | 'tool' | 'answer'
  readonly length: number
  readonly isViewed: boolean
  /** Input tokens that the provider reports for that request, as a factor of the view's; or a number of its own. */
  readonly usage: { readonly factor: number } | { readonly tokens: number } | undefined
}

interface Case {
  readonly policy: PolicyInput
  readonly steps: readonly Step[]
  readonly model: string | undefined
  readonly snapshotEvery: number
  readonly hasFrame: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('tool', 'answer', 'question'),
  length: fc.constantFrom(0, 10, 300, 3000, 30_000),
  isViewed: fc.boolean(),
  usage: fc.oneof(
    fc.constant(undefined),
    fc.record({ factor: fc.constantFrom(0.01, 0.5, 0.9, 1, 1.1, 2, 50) }),
    fc.record({ tokens: fc.constantFrom(0, 1, 100, 10_000, 1_000_000, 1e12) }),
  ),
})

const tiny = fc.constantFrom(0, 1, 2, 50, 400, 1000, 4000, 20_000)
const compaction: fc.Arbitrary<NonNullable<Policy['compaction']>> = fc.record(
  {
    contextWindow: tiny,
    reserveTokens: tiny,
    maxTokens: tiny,
    keepRecentTokens: tiny,
    maxMessages: tiny,
  },
  { requiredKeys: [], noNullPrototype: true },
)
const schedule = fc.constantFrom('immediate' as const, 'cache-aware' as const)

const policies: fc.Arbitrary<PolicyInput> = fc.oneof(
  fc.record(
    {
      preset: fc.constantFrom(...(Object.keys(presets) as PresetName[])),
      compaction,
      schedule,
    },
    { requiredKeys: ['preset'], noNullPrototype: true },
  ),
  fc
    .tuple(policyPartsArbitrary(), compaction, schedule)
    .map(([parts, own, when]) => ({ ...parts, compaction: own, schedule: when })),
)

const cases: fc.Arbitrary<Case> = fc.record({
  policy: policies,
  steps: fc.array(step, { minLength: 1, maxLength: 14 }),
  model: fc.constantFrom(undefined, 'gpt-4o', 'gpt-3.5-turbo', 'claude-sonnet-4-5', 'gpt-4'),
  snapshotEvery: fc.constantFrom(1, 3, 1000),
  hasFrame: fc.boolean(),
})

describe('a view at an unchanged head', () => {
  it('[I3] is the same when it is asked again, and after reopening', async () => {
    await fc.assert(fc.asyncProperty(cases, check), { numRuns: scaledRuns(60) })
  }, 900_000)
})

async function check(one: Case): Promise<void> {
  const store = memoryStore()
  const open = (): Promise<Thread> => openThread({ id: 't', store, ...optionsOf(one) })
  const thread = await open()
  for (const [index, act] of one.steps.entries()) {
    await thread.append(messagesOf(act, index))
    if (!act.isViewed) continue
    const view = await viewOf(thread, one)
    if (view === undefined || act.usage === undefined) continue
    const input =
      'factor' in act.usage ? Math.round(view.tokens.after * act.usage.factor) : act.usage.tokens
    await thread.usage({ prompt_tokens: input, completion_tokens: 10 }, view.id)
  }
  await sameAgain(thread, open, one)
}

async function sameAgain(thread: Thread, open: () => Promise<Thread>, one: Case): Promise<void> {
  const first = shownIn(await viewOf(thread, one))
  expect(shownIn(await viewOf(thread, one))).toEqual(first)
  const reopened = await open()
  expect(shownIn(await viewOf(reopened, one))).toEqual(first)
  expect(shownIn(await viewOf(await open(), one))).toEqual(first)
  expect(shownIn(await viewOf(thread, one))).toEqual(first)
}

function optionsOf({ policy, snapshotEvery }: Case): {
  policy: PolicyInput
  snapshotEvery: number
  now: () => number
} {
  return { policy, snapshotEvery, now: () => 1_700_000_000_000 }
}

type View = Awaited<ReturnType<Thread['view']>>

/** Undefined where nothing valid fits: that must hold again too. */
async function viewOf(thread: Thread, { model, hasFrame }: Case): Promise<View | undefined> {
  const frame = { system: 'You are careful.', tools: [{ name: 'search', description: 'Finds.' }] }
  try {
    return await thread.view({
      ...(model === undefined ? {} : { model }),
      ...(hasFrame ? { frame } : {}),
    })
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return undefined
    throw error
  }
}

function shownIn(view: View | undefined): string | undefined {
  return view && JSON.stringify([view.system, view.messages])
}

function messagesOf({ kind, length }: Step, index: number): Parameters<Thread['append']>[0] {
  const text = `${index} ${`word${index} `.repeat(Math.ceil(length / 6)).slice(0, length)}`
  if (kind === 'question') return [user(text)]
  if (kind === 'answer') return [said(text)]
  const opening = index === 0 ? [user('Begin.')] : []
  return [...opening, call(`c${index}`), result(`c${index}`, text)]
}
