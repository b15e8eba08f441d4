// What a thread is opened with.

import { OrielError, wrongOption } from '../core/log/errors.ts'
import { isObject, type Json } from '../core/log/json.ts'
import { assertOptions, assertTokens, type OptionNames } from '../core/log/options.ts'
import { checkScope, type Scope } from '../core/log/scope.ts'
import type { TokensOption } from '../counters.ts'
import type { PolicyInput } from '../policy/schema.ts'
import { assertPrompts, type Prompt } from '../rules/compact-prompt.ts'
import { assertRules, type CustomRule } from '../rules/custom.ts'
import type { Similarity } from '../rules/duplicates.ts'
import type { RelevanceJudge } from '../rules/relevance.ts'
import type { Success } from '../rules/tool-results.ts'
import type { Store } from '../stores/store.ts'
import type { Listener } from './events.ts'
import type { Judge } from './judgments.ts'
import type { RecallOptions } from './memory/recall.ts'
import type { Plugin } from './plugins/plugin.ts'
import type { Summarize } from './summaries/answer.ts'
import { assertPrices, type PricesOption } from './view/cache.ts'

export { assertPrompts }

export interface ThreadOptions<Own extends readonly CustomRule[] = readonly [], Meta = Json> {
  /** The thread's id. @default a new random one */
  readonly id?: string
  /** Whether the id was made just now: then the store is not asked for what cannot be there. @default true without an id */
  readonly isNew?: boolean
  /** Whose thread it is; other tenants cannot see it. @default 'default' */
  readonly tenant?: string
  readonly store: Store
  /** @default the policy the log has, or none */
  readonly policy?: PolicyInput<Own>
  /** Rules of your own, which the policy may name. See `defineRule`. A thread whose log names one must be opened with it. @default none */
  readonly rules?: Own
  /** The agent whose settings in the store (`store.settings`) stand over the policy's, tool by tool. @default none */
  readonly agent?: string
  /** How tokens are counted: fixed when the thread begins. @default 'estimate' */
  readonly tokens?: TokensOption
  /** The clock. @default Date.now */
  readonly now?: () => number
  /** Called after each event; cannot change the outcome. */
  readonly on?: Listener<Meta>
  /** Where lines for people go. @default nowhere; with NODE_ENV=development, the console */
  readonly log?: (line: string) => void
  /** Write a line for everything that changes a view. @default false; with NODE_ENV=development, true */
  readonly verbose?: boolean
  /**
   * Summarizes with a model. With the schedule `immediate` a view waits for it; `cache-aware` never does. Without it, or when it
   * fails, the deterministic forms serve.
   */
  readonly summarize?: Summarize
  /**
   * How long one call of `summarize` may take, and how long one view waits for all of them together, in milliseconds. What is not
   * there in time fails. @default 30000
   */
  readonly summarizeTimeoutMs?: number
  /** Tokens that the summarizer's model can read. @default 32000 */
  readonly summarizeWindow?: number
  /** Whose prices and cache a `cache-aware` schedule reckons with: a provider's name, or numbers. @default by the view's model */
  readonly prices?: PricesOption
  /** Prompts for summaries, by id. @default only 'compactMessagePrompt', Oriel's own */
  readonly prompts?: Readonly<Record<string, Prompt>>
  /**
   * Judges how relevant a result is, for `expiry.relevance`; at once, or as a job that takes `summarizeTimeoutMs` at most.
   * @default the share of words it has in common with the recent steps
   */
  readonly relevance?: RelevanceJudge
  /** Compares two results of one tool, for `expiry.duplicates`: from 0 to 1. @default the share of word triples in common */
  readonly similarity?: Similarity
  /** Judges whether a tool's result is a success, for `keepSuccessful`. @default by the error flag, else by a field of the output */
  readonly success?: Success
  /** Asked for context that comes with each user message and tool result. @default none */
  readonly plugins?: readonly Plugin[]
  /**
   * Puts the few passages of earlier messages that answer the newest user message best behind it, where the view does not show them; 'auto'
   * or bounds. They stand at the end of the request, for that request only. @default false
   */
  readonly recall?: 'auto' | RecallOptions | false
  /**
   * Whose threads this one shares its memory with, under its tenant: search and recall look into them, and what the user says is to hold
   * everywhere is told to new ones. Fixed when the thread begins; one that is there keeps what it has. @default none
   */
  readonly scope?: Scope
  /** Entries between two snapshots of the state, at least; 0 = none. @default 256 */
  readonly snapshotEvery?: number
}

/** Options with rules of any kind. */
export type AnyThreadOptions = ThreadOptions<readonly CustomRule[]>

const threadOptions: OptionNames<AnyThreadOptions> = {
  id: true,
  isNew: true,
  tenant: true,
  store: true,
  policy: true,
  rules: true,
  agent: true,
  tokens: true,
  now: true,
  on: true,
  log: true,
  verbose: true,
  summarize: true,
  summarizeTimeoutMs: true,
  summarizeWindow: true,
  prices: true,
  prompts: true,
  relevance: true,
  similarity: true,
  success: true,
  plugins: true,
  recall: true,
  scope: true,
  snapshotEvery: true,
}

export function assertThreadOptions(options: AnyThreadOptions): void {
  assertOptions(options, threadOptions, 'openThread')
  const { store } = options
  if (!isObject(store) || typeof store.append !== 'function') {
    throw wrongOption('store', 'a store, such as memoryStore()')
  }
  for (const [kind, names] of Object.entries(kindsOfOptions)) {
    for (const name of names) {
      const given = options[name]
      if (given !== undefined && typeof given !== kind) throw wrongOption(name, `a ${kind}`)
    }
  }
  assertPrices(options.prices)
  if (options.scope !== undefined) checkScope(options.scope)
  const { summarizeTimeoutMs: timeoutMs } = options
  const isTime = typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= 2 ** 31 - 1
  if (timeoutMs !== undefined && !isTime) {
    throw wrongOption('summarizeTimeoutMs', 'a number of milliseconds above 0')
  }
}

/** What each plain option is. */
const kindsOfOptions = {
  string: ['id', 'tenant', 'agent'],
  boolean: ['isNew', 'verbose'],
  number: ['summarizeWindow', 'snapshotEvery'],
  function: ['on', 'log', 'now', 'summarize'],
} as const

/** An id of a message, an edit or an epoch. */
export function assertId(id: string): void {
  if (typeof id === 'string') return
  throw new OrielError('invalid-input', `id must be a string, got ${typeof id}.`, { path: 'id' })
}

/** Where lines for people go, and which: who develops sees all of them. */
export function linesOf({ log, verbose, agent }: AnyThreadOptions): {
  readonly log: AnyThreadOptions['log']
  readonly verbose: boolean
  readonly agent: string | undefined
} {
  const isDeveloping = process.env.NODE_ENV === 'development'
  const console = isDeveloping
    ? (line: string) => void process.stdout.write(`${line}\n`)
    : undefined
  return { log: log ?? console, verbose: verbose ?? isDeveloping, agent }
}

/** What the host gives the rules, checked. A judge that throws keeps the result. */
export function givenBy(options: AnyThreadOptions): {
  readonly prompts?: Readonly<Record<string, Prompt>>
  readonly judge?: Judge
  readonly similarity?: Similarity
  readonly success?: Success
  readonly rules: readonly CustomRule[]
} {
  const { prompts, relevance, similarity, success, rules = [], log } = options
  assertRules(rules)
  if (prompts !== undefined) assertPrompts(prompts, 'openThread')
  if (relevance !== undefined && typeof relevance !== 'function') {
    const message = 'relevance must be a function (result, recent) => number, or a promise of one.'
    throw new OrielError('invalid-option', message, { path: 'relevance' })
  }
  if (similarity !== undefined && typeof similarity !== 'function') {
    const message = 'similarity must be a function (older, newer) => number.'
    throw new OrielError('invalid-option', message, { path: 'similarity' })
  }
  if (success !== undefined && typeof success !== 'function') {
    const message = 'success must be a function (result) => boolean.'
    throw new OrielError('invalid-option', message, { path: 'success' })
  }
  const isSuccess: Success = (result) => {
    try {
      return success?.(result) !== false
    } catch {
      log?.('[Oriel] The function `success` threw: the result counts as one.')
      return true
    }
  }
  return {
    rules,
    ...(prompts === undefined ? {} : { prompts }),
    ...(relevance === undefined ? {} : { judge: askedBy(relevance, log) }),
    ...(similarity === undefined ? {} : { similarity: judgeOf('similarity', similarity, log) }),
    ...(success === undefined ? {} : { success: isSuccess }),
  }
}

function askedBy(relevance: RelevanceJudge, log: AnyThreadOptions['log']): Judge {
  // Bound, minified and proxied ones too. A plain function that answers with a promise shows it with its first answer.
  const isAsync = Object.prototype.toString.call(relevance) === '[object AsyncFunction]'
  return { ask: judgeOf('relevance', relevance, log), isAsync }
}

/** A function of the host's that answers with a number; one that throws decides nothing. */
function judgeOf<Input extends readonly unknown[], Answer>(
  name: string,
  judge: (...input: Input) => Answer,
  log: AnyThreadOptions['log'],
): (...input: Input) => Answer | number {
  return (...input) => {
    try {
      return judge(...input)
    } catch {
      log?.(`[Oriel] The function \`${name}\` threw: the result stays.`)
      return Number.NaN
    }
  }
}

export interface CompactOptions {
  /** What the summary should keep above all, in the user's words. Only a summarizer reads them. @default nothing */
  readonly instructions?: string
  /** Tokens that the request may have: of the newest messages at most half of them stay. @default the policy's limit */
  readonly limit?: number
}

export function readCompactOptions(options: CompactOptions): CompactOptions {
  assertOptions<CompactOptions>(options, { instructions: true, limit: true }, 'compact')
  const { instructions, limit } = options
  if (instructions !== undefined && typeof instructions !== 'string') {
    const message = `instructions must be a text, got ${typeof instructions}.`
    throw new OrielError('invalid-option', message, { path: 'instructions' })
  }
  assertTokens(limit, 'limit')
  return options
}
