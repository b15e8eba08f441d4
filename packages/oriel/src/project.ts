// The stateless function: messages in, messages out, in the same format.

import { assemble } from './assemble.ts'
import { OrielError } from './core/log/errors.ts'
import { fixedSalt } from './core/log/ids.ts'
import type { Json } from './core/log/json.ts'
import { assertOptions, type OptionNames } from './core/log/options.ts'
import { carriesExpandTool, searchToolIn } from './core/state/expansion.ts'
import { State } from './core/state/state.ts'
import { framePartTokens, frameTokens } from './core/tokens/tally.ts'
import { lossesAsRepairs } from './core/view/repair.ts'
import { traceOf } from './core/view/trace.ts'
import { assertFrame, type Change, type Frame, type TokenCount } from './core/view/view.ts'
import { resolveCounter, type TokensOption } from './counters.ts'
import { feed } from './feed.ts'
import { windowOfModel } from './plan.ts'
import { type PolicyInput, parsePolicy } from './policy/schema.ts'
import { assertTogether } from './propose.ts'
import type { FormatName } from './providers/format.ts'
import { decodeWithOwnFields } from './providers/own-fields.ts'
import { formatNamed } from './providers/registry.ts'
import { assertNotEmpty, assertSize } from './providers/size.ts'
import { assertRules, type CustomRule } from './rules/custom.ts'
import type { Success } from './rules/tool-results.ts'
import { sha256 } from './sha256.ts'

export interface ProjectOptions<Own extends readonly CustomRule[] = readonly []> {
  /** The messages' format. @default 'openai-chat' */
  readonly format?: FormatName
  /** The format to answer in. @default the same as `format` */
  readonly to?: FormatName
  /** What stands around the messages in the request: counted in the budget. @default nothing */
  readonly frame?: Frame
  /** The model's name: recorded reasoning of another model is left out, and its window is the limit of compaction. @default unknown */
  readonly model?: string
  /** Tokens the request may use, frame included, in the counter's tokens. @default no limit */
  readonly budget?: number
  /** How tokens are counted. @default 'estimate' */
  readonly tokens?: TokensOption
  /** The clock, in milliseconds since 1970; only time-based rules look at it. @default 0 */
  readonly now?: number
  /** Judges whether a tool's result is a success, for `keepSuccessful`. @default by the error flag, else by a field of the output */
  readonly success?: Success
  /** Rules of your own, which the policy may name. See `defineRule`. @default none */
  readonly rules?: Own
}

const projectOptions: OptionNames<ProjectOptions<readonly CustomRule[]>> = {
  format: true,
  to: true,
  frame: true,
  model: true,
  budget: true,
  tokens: true,
  now: true,
  rules: true,
  success: true,
}

export interface Projection<M> {
  readonly messages: M[]
  /** System text, for formats that keep it outside the messages and only where the input had some. */
  readonly system?: Json
  /** Every block that is not full or not there. Made when first read. */
  readonly trace: readonly Change[]
  /** Tokens of the request before and after, frame included. Counted when first read. */
  readonly tokens: TokenCount
}

/**
 * What the model should see of `messages` under `policy`. Synchronous and pure: no clock, no network, the input is never changed,
 * the same input gives the same bytes. Without a policy the messages come back as they are, except where the provider's own
 * rules force a repair; each one is in the trace.
 *
 * Throws OrielError: 'invalid-input', 'not-json', 'too-deep' or 'too-large' for bad messages (with the path), 'invalid-policy',
 * 'invalid-option', 'unknown-format', 'rule-failed' for a rule of your own that throws, and 'cannot-project' when no valid view fits the
 * budget or nothing is left to send.
 */
export function project<M = Json, const Own extends readonly CustomRule[] = readonly []>(
  messages: readonly M[],
  policy?: PolicyInput<Own>,
  options: ProjectOptions<Own> = {},
): Projection<M> {
  assertOptions<ProjectOptions<readonly CustomRule[]>>(options, projectOptions, 'project')
  const {
    format = 'openai-chat',
    to = format,
    frame,
    budget,
    now = 0,
    rules = [],
    success,
  } = options
  assertRules(rules)
  const source = formatNamed(format)
  const target = formatNamed(to)
  const counter = resolveCounter(options.tokens)
  const parsed = parsePolicy(policy, 'policy', rules)
  assertTogether(parsed)
  checkBudget(budget)
  if (frame !== undefined) assertFrame(frame, 'project')
  const decoded = decodeWithOwnFields(source, messages, 'messages')
  const state = new State({ counter, salt: fixedSalt })
  const drafts = decoded.map(({ draft }) => draft)
  const planned = feed(state, drafts, parsed, {
    now,
    sha256,
    rules,
    success,
    contextWindow: windowOfModel(parsed, options.model),
    get frameTokens() {
      return frameTokens(counter, frame)
    },
  })
  const aroundTokens = (): number => frameTokens(counter, frame)
  const fitting = {
    profile: target.profile,
    frameTokens: aroundTokens,
    frameParts: () => framePartTokens(counter, frame),
    hasExpandTool: carriesExpandTool(frame),
    searchTool: searchToolIn(frame),
    budget,
  }
  const view = assemble(state, planned, fitting)
  const encoded = target.encode(view.messages)
  assertSize(target, encoded)
  assertNotEmpty(encoded, drafts.length)
  const held = to === format ? decoded.flatMap((one) => one.held ?? []) : []
  const restored = held.length > 0 ? target.restore?.(encoded.messages, held) : undefined
  const trace = traceOf({
    state,
    planned,
    repairs: [...view.repairs, ...lossesAsRepairs(view.messages, encoded.losses ?? [])],
    fitted: view.fitted,
    indexOf: (index) => decoded[index]?.from ?? index,
    canExpand: true,
  })
  let tokens: TokenCount | undefined
  return {
    // The foreign messages are of the caller's own type when they go out in the format they came in.
    messages: (restored ?? encoded.messages) as unknown as M[],
    ...(encoded.system === undefined ? {} : { system: encoded.system }),
    get trace() {
      return trace()
    },
    get tokens() {
      tokens ??= { before: state.totalTokens + aroundTokens(), after: view.tokens() }
      return tokens
    },
  }
}

function checkBudget(budget: number | undefined): void {
  if (budget === undefined || (Number.isFinite(budget) && budget > 0)) return
  throw new OrielError(
    'invalid-option',
    `budget must be a number of tokens above 0, got ${String(budget)}.`,
    { path: 'budget' },
  )
}
