// States rules in any recorded conversation and judges whether the last request still has them, word for word, after many checkpoints.

import type { Counter } from '../core/tokens/counter.ts'
import { type PolicyInput, parsePolicy } from '../policy/schema.ts'
import { lookupPrices, type Prices } from '../schedule/prices.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread, type Thread } from '../thread/thread.ts'
import { changesOf, type Half, phrasingsOf } from './phrasings.ts'
import type { Opened } from './recording.ts'

export interface RulesKept {
  /** Rules that hold at the end, and those of them that the last request has. */
  readonly stated: number
  readonly kept: number
  /** Rules that a later one replaced, and those that are still listed as if they held. */
  readonly replaced: number
  readonly stale: number
  /** Checkpoints that were made. */
  readonly folds: number
}

export interface RulesKeptOptions {
  readonly policy: PolicyInput
  readonly counter: Counter
  readonly prices?: Partial<Prices>
  /** Rules that are stated, spread evenly. */
  readonly count: number
  /** Checkpoints that are asked for, spread evenly, where the policy makes any. @default 10 */
  readonly folds?: number
  /** Where the rules' wording comes from. @default 'held-out' */
  readonly half?: Half
  /** Chooses the wording. @default the length of the conversation */
  readonly seed?: number
}

interface Stated {
  readonly text: string
  /** Stated before this call. */
  readonly call: number
  readonly replacedBy?: string
  /** @default true */
  readonly isRule?: boolean
}

/** Feeds the conversation step by step, with the rules as messages of the user, and judges the request after the last step. */
export async function rulesKept(recording: Opened, options: RulesKeptOptions): Promise<RulesKept> {
  const { policy, counter, prices, folds = 10 } = options
  const { answers, recorded, format, frame } = recording
  const stated = statedIn(recording, options)
  const thread = await openThread({
    id: 'simulation',
    store: memoryStore(),
    snapshotEvery: 0,
    now: () => 0,
    policy,
    tokens: counter,
    prices: { ...lookupPrices(), ...prices },
  })
  const isFolded = parsePolicy(policy).compaction !== undefined
  const view = () => thread.view<unknown>({ format, ...(frame === undefined ? {} : { frame }) })
  let next = 0
  for (const [call, answer] of answers.entries()) {
    await thread.append(recorded.slice(next, answer).map(({ draft }) => draft))
    for (const { text } of stated.filter((one) => one.call === call)) {
      await thread.append([{ role: 'user', content: text }])
    }
    next = answer
    await view()
    if (isFolded && isDue(call, answers.length, folds)) await thread.compact()
  }
  await thread.append(recorded.slice(next).map(({ draft }) => draft))
  const { messages, directives } = await view()
  const shown = messages.map(textOfMessage).join('\n')
  const listed = new Set(directives.map(({ text }) => text))
  const holding = stated.filter(
    ({ replacedBy, isRule = true }) => replacedBy === undefined && isRule,
  )
  const replaced = stated.filter(({ replacedBy }) => replacedBy !== undefined)
  return {
    stated: holding.length,
    kept: holding.filter(({ text }) => shown.includes(text)).length,
    replaced: replaced.length,
    stale: replaced.filter(({ text }) => listed.has(text)).length,
    folds: await checkpointsIn(thread),
  }
}

function statedIn(
  { answers }: Opened,
  { count, half = 'held-out', seed = answers.length }: RulesKeptOptions,
): readonly Stated[] {
  if (answers.length === 0 || count === 0) return []
  const all = phrasingsOf(half)
  // A step that shares no factor with most lengths: the languages take turns.
  const rules = Array.from({ length: Math.min(count, answers.length) }, (_, n): Stated => {
    const { text } = all[(seed * 31 + n * 37) % all.length] as (typeof all)[number]
    return { text: named(text, seed, n), call: Math.floor((n * answers.length) / count) }
  })
  const changes = changesOf(half)
  const { older, newer, isTakenBack } = changes[seed % changes.length] as (typeof changes)[number]
  if (answers.length < 4) return rules
  const own = named(newer, seed, 99)
  const from = Math.floor(answers.length / 8)
  const to = Math.floor(answers.length / 2)
  const before: Stated = { text: named(older, seed, 99), call: from, replacedBy: own }
  // What only takes something back is no rule.
  const after: Stated = { text: own, call: to, isRule: !isTakenBack }
  return [...rules, before, after]
}

function named(text: string, seed: number, n: number): string {
  return text.replaceAll('#', `unit-${((seed * 7919 + n * 104_729) % 90_000) + 10_000}`)
}

function isDue(call: number, calls: number, folds: number): boolean {
  return Math.floor(((call + 1) * folds) / calls) > Math.floor((call * folds) / calls)
}

/** The text of a message in any format, escapes undone. */
function textOfMessage(message: unknown): string {
  const texts: string[] = []
  JSON.stringify(message, (_, value: unknown) => {
    if (typeof value === 'string') texts.push(value)
    return value
  })
  return texts.join('\n')
}

async function checkpointsIn(thread: Thread): Promise<number> {
  const log = await thread.log()
  return log.filter((entry) => entry.type === 'edit' && entry.rule === 'compaction').length
}
