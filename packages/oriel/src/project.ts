// The stateless function: messages in, messages out, in the same format.

import { type AssembleOptions, assembleWithin } from './assemble.ts'
import type { Edit } from './core/log/entry.ts'
import { wrongOption } from './core/log/errors.ts'
import { fixedSalt } from './core/log/ids.ts'
import { copyPlain, type Json } from './core/log/json.ts'
import { assertOptions, assertTokens, type OptionNames } from './core/log/options.ts'
import { carriesExpandTool, searchToolIn } from './core/state/expansion.ts'
import { State } from './core/state/state.ts'
import { sha256 } from './core/text/sha256.ts'
import { framePartTokens, frameTokens } from './core/tokens/tally.ts'
import type { Repair } from './core/view/profile.ts'
import { lossesAsRepairs } from './core/view/repair.ts'
import { traceOf } from './core/view/trace.ts'
import { assertFrame, type Change, type Frame, type TokenCount } from './core/view/view.ts'
import { resolveCounter, type TokensOption } from './counters.ts'
import { Feed } from './feed.ts'
import { handOut } from './hand-out.ts'
import { windowOfModel } from './plan.ts'
import { type PolicyInput, parsePolicy } from './policy/schema.ts'
import { type ReadList, readList } from './projected-lists.ts'
import { assertTogether } from './propose.ts'
import { codecNamed } from './providers/codecs.ts'
import { type EncodedSegment, encodeSegments } from './providers/encode-segments.ts'
import type { Decoded, FormatName, MessageCodec, Origin } from './providers/format.ts'
import { assertNotEmpty, assertSize } from './providers/size.ts'
import { assertRules, type CustomRule } from './rules/custom.ts'
import type { Success } from './rules/tool-results.ts'

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
  const source = codecNamed(format)
  const target = codecNamed(to)
  const counter = resolveCounter(options.tokens)
  assertValues(options)
  const aroundTokens = (): number => frameTokens(counter, frame)
  const newFeed = (): Feed => {
    const parsed = parsePolicy(policy, 'policy', rules)
    assertTogether(parsed)
    if (frame !== undefined) assertFrame(frame, 'project')
    const contextWindow = windowOfModel(parsed, options.model)
    return new Feed(new State({ counter, salt: fixedSalt }), parsed, {
      ...{ now, sha256, rules, success, contextWindow },
      get frameTokens() {
        return aroundTokens()
      },
    })
  }
  const list = readList({
    format: source,
    messages,
    asked: { same: [source, target, counter, options.model, success], alike: [policy, frame] },
    // A rule of the caller's own promises nothing about longer lists.
    mayRemember: (drafts) =>
      rules.length === 0 &&
      !drafts.some((draft) =>
        [source, target].some(({ profile }) => profile.mayIgnoreIds?.(draft) === true),
      ),
    newFeed,
  })
  const request: Request = {
    target,
    decoded: list.decoded,
    aroundTokens,
    fitting: {
      profile: target.profile,
      frameTokens: aroundTokens,
      frameParts: () => framePartTokens(counter, frame),
      hasExpandTool: carriesExpandTool(frame),
      searchTool: searchToolIn(frame),
      budget,
    },
  }
  const { version } = list.feed.state
  const made = answerOf(list.feed, list.planned, request)
  assertSize(target, made.pieces)
  const shown = messagesFor(list, made, { format: source, target })
  assertNotEmpty({ messages: shown }, list.count)
  // The list may have grown since, and its state with it: who asks late pays for reading it again.
  const answered = (): Answer => {
    if (list.feed.state.version === version) return made
    const feed = newFeed()
    const drafts = list.decoded.slice(0, list.count).map(({ draft }) => draft)
    return answerOf(feed, feed.add(drafts), request)
  }
  let trace: readonly Change[] | undefined
  let tokens: TokenCount | undefined
  const system = made.pieces[0]?.encoded.system
  return {
    // The foreign messages are of the caller's own type when they go out in the format they came in.
    messages: shown as M[],
    ...(system === undefined ? {} : { system: copyPlain(system) }),
    get trace() {
      trace ??= answered().trace()
      return trace
    },
    get tokens() {
      tokens ??= answered().tokens()
      return tokens
    },
  }
}

interface Request {
  readonly target: MessageCodec
  readonly decoded: readonly Decoded[]
  readonly aroundTokens: () => number
  readonly fitting: AssembleOptions
}

/** What a list looks like, and what was changed. */
interface Answer {
  readonly pieces: readonly EncodedSegment[]
  readonly state: State
  readonly trace: () => readonly Change[]
  readonly tokens: () => TokenCount
}

function answerOf(feed: Feed, planned: readonly Edit[], request: Request): Answer {
  const { target, decoded, aroundTokens, fitting } = request
  const { state } = feed
  const window = feed.windowBudget(planned)
  const { assembled: view } = assembleWithin(state, planned, { ...fitting, window })
  const pieces = encodeSegments(target, view.segments)
  const losses = (): readonly Repair[] =>
    pieces.flatMap(({ segment, encoded }) =>
      lossesAsRepairs(segment.messages, encoded.losses ?? []),
    )
  return {
    pieces,
    state,
    trace: () =>
      traceOf({
        state,
        planned,
        repairs: [...view.repairs, ...losses()],
        fitted: view.fitted,
        indexOf: (index) => decoded[index]?.from ?? index,
        canExpand: true,
      })(),
    tokens: () => ({ before: state.totalTokens + aroundTokens(), after: view.tokens() }),
  }
}

/** The messages for the caller, who may change them. */
function messagesFor(
  { decoded, inputs }: ReadList,
  { pieces, state }: Answer,
  { format, target }: { readonly format: MessageCodec; readonly target: MessageCodec },
): unknown[] {
  if (format === target && target.restore !== undefined) {
    const held = decoded.flatMap((one) => one.held ?? [])
    const encoded = pieces.flatMap((piece) => piece.encoded.messages)
    if (held.length > 0) return [...target.restore(encoded, held)]
  }
  const inputOf = ({ entries }: Origin): unknown => {
    if (format !== target || inputs === undefined) return undefined
    const item = entries.length === 1 ? state.item(entries[0] as number) : undefined
    const { from, to } = (item && decoded[item.index]) ?? { from: 0, to: 0 }
    return to - from === 1 ? inputs[from] : undefined
  }
  return handOut(pieces, inputs ?? [], inputOf)
}

/** Rejects options of the wrong type that nothing else checks. */
function assertValues(options: ProjectOptions<readonly CustomRule[]>): void {
  const { budget, model, now, success } = options
  assertTokens(budget, 'budget')
  if (model !== undefined && typeof model !== 'string') throw wrongOption('model', 'a string')
  if (now !== undefined && !Number.isFinite(now)) throw wrongOption('now', 'a number')
  if (success !== undefined && typeof success !== 'function') {
    throw wrongOption('success', 'a function')
  }
}
