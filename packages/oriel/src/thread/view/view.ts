// One view of a thread: what the policy changes, what the provider gets, and the entries that record both.

import { type Assembled, assembleWithin, withMemory } from '../../assemble.ts'
import type { Block } from '../../core/log/block.ts'
import type {
  Edit,
  EditEntry,
  Entry,
  MessageEntry,
  RequestDetails,
  RequestEntry,
} from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import {
  canonicalJson,
  cloneJson,
  copyPlain,
  type Json,
  type JsonObject,
} from '../../core/log/json.ts'
import { settings } from '../../core/log/settings.ts'
import { firstOf } from '../../core/state/edits.ts'
import { carriesExpandTool, searchToolIn } from '../../core/state/expansion.ts'
import { type FileOf, noFile } from '../../core/state/file-request.ts'
import type { State } from '../../core/state/state.ts'
import { noSummary, type SummaryOf } from '../../core/state/summary-request.ts'
import type { Measured } from '../../core/state/weight.ts'
import { directivesOf } from '../../core/text/checkpoint.ts'
import type { Directive } from '../../core/text/directive-list.ts'
import { framePartTokens, viewTokens } from '../../core/tokens/tally.ts'
import { tailOf } from '../../core/view/audience.ts'
import type { Repair } from '../../core/view/profile.ts'
import { lossesAsRepairs } from '../../core/view/repair.ts'
import { madeSegment, messagesIn, type Segment } from '../../core/view/segments.ts'
import { traceOf } from '../../core/view/trace.ts'
import type { Change, Frame, TokenCount, ViewMessage } from '../../core/view/view.ts'
import { plan, windowBudget, windowFor, windowOfModel } from '../../plan.ts'
import type { Policy, PolicyInput } from '../../policy/schema.ts'
import { type ProposeContext, propose } from '../../propose.ts'
import { type EncodedSegment, encodeSegments } from '../../providers/encode-segments.ts'
import type { FormatName, Origin } from '../../providers/format.ts'
import { formatNamed } from '../../providers/registry.ts'
import { assertSize } from '../../providers/size.ts'
import type { CustomRule } from '../../rules/custom.ts'
import type { ExpiryOverride } from '../../rules/expiry.ts'
import type { CacheState, Decision, DecisionCause } from '../../schedule/cache-aware.ts'
import type { Prices } from '../../schedule/prices.ts'
import { sha256 } from '../../sha256.ts'
import type { WriteOptions } from '../../stores/store.ts'
import type { EntryBody, Journal, Stamp } from '../journal/journal.ts'
import { BodyHash } from './body-hash.ts'
import { categoryTokens, contentsOf, type RequestCategory, type ShownPart } from './contents.ts'
import type { Framing } from './frame.ts'

/** Raised when the same log and options would encode to other bytes. */
export const encoderVersion = 1

export interface ViewOptions<Own extends readonly CustomRule[] = readonly []> {
  /** The format to answer in. @default 'openai-chat' */
  readonly format?: FormatName
  /** What stands around the messages: counted and recorded, sent by the caller. @default nothing */
  readonly frame?: Frame
  /** The expand tool, for a request that gets it where there is something to expand. @default the frame has it or has it not */
  readonly expand?: ExpandOffer
  readonly model?: string
  /** Tokens the request may use, frame included. @default no limit */
  readonly budget?: number
  /**
   * Tokens that the provider is known to take, frame included, such as `recoveryBudget` gives them: the view fits, and checkpoints are
   * made in time. @default the model's window
   */
  readonly limit?: number
  /** A policy for this call only: its edits are not kept. @default the thread's policy */
  readonly policy?: PolicyInput<Own>
  /**
   * When results expire, for this call only, over the policy in force and what is stored for the agent, field by field: its edits are not
   * kept. @default nothing
   */
  readonly override?: ExpiryOverride
  /**
   * The thread's policy from this call on, as `setPolicy` before it: in the same write, whatever other writers set meanwhile.
   * @default the thread's own
   */
  readonly threadPolicy?: PolicyInput<Own>
  /**
   * Whose policy `threadPolicy` is. That of a `request` holds as long as requests bring it: its edits are in the log like all others, and
   * the first view with another policy takes them back. @default 'thread'
   */
  readonly policyOf?: 'thread' | 'request'
  /**
   * Whether you turn reasoning off for a request where the view says so (`reasoning: 'off'`). Else a tool loop whose signed reasoning
   * can no longer be sent is rewritten as a record in the user role. @default false
   */
  readonly mayTurnReasoningOff?: boolean
  /**
   * Whether compaction blocks that the provider of this format made are sent back to it, in place of what they stand for. Else, and in
   * every other format, the originals are shown. @default true
   */
  readonly sendsCompaction?: boolean
  /** Whose settings these are, in lines of the log and in the record of the request. @default the thread's agent, else the thread */
  readonly agentName?: string
  /** Commit nothing, neither edits nor the record of the request, and ask no model. @default false */
  readonly dryRun?: boolean
}

/**
 * The expand tool as a caller can add it to a request. From the first view on that has something to expand, every view of the thread is
 * for a request with it: `view.offersExpansion` says so. The log remembers it, since a list of tools that changes again would break the
 * provider's cache again.
 */
export interface ExpandOffer {
  /** The tool's name in the request. */
  readonly tool: string
  /** What stands around the messages of a request with the tool, in the place of `frame`. */
  readonly frame: Frame
  /** Add it now, whether there is something to expand or not. @default false */
  readonly isDue?: boolean
}

/** How `request` asks for a view of the history that it brings. */
export interface RequestOptions<Own extends readonly CustomRule[] = readonly []>
  extends ViewOptions<Own>,
    WriteOptions {
  /**
   * Whether a history that ends with the assistant's message asks for more of it: the provider paused the answer, or the client began it.
   * Only where a provider must else be asked by the user's side; a message with calls waits for their results. @default false
   */
  readonly isContinuing?: boolean
}

export interface View<M = Json> {
  /** Names what was sent; pass it to `usage`. The same bytes for the same consumer have the same id. */
  readonly id: string
  readonly messages: M[]
  readonly system?: Json
  /** Made when first read: its cost is the number of changes, not the view's. */
  readonly trace: readonly Change[]
  readonly tokens: TokenCount
  /** The standing instructions and preferences of user and system that hold now, word for word, oldest first. Made when first read. */
  readonly directives: readonly Directive[]
  /**
   * Whether this view is for a request that carries the expand tool, by its `frame` or by `expand`: reduced texts say "expand" only then.
   * Where no frame was given, nobody knows.
   */
  readonly offersExpansion: boolean
  /** Send this request with reasoning turned off: the provider would refuse it otherwise. Only with `mayTurnReasoningOff`. */
  readonly reasoning?: 'off'
  readonly epoch: Epoch
}

export interface Epoch {
  /** The id of the edits applied by this view, or of the newest ones before it; empty before the first. */
  readonly id: string
  /** How many edits this view applied. */
  readonly applied: number
  /** Why now; see the schedule. */
  readonly cause: DecisionCause
}

export interface ViewRequest {
  readonly state: State
  readonly policy: Policy
  /** Whether `policy` is for this call only. */
  readonly isTemporary: boolean
  readonly options: ViewOptions
  /** Leading system messages that a client resends with its history. */
  readonly leading: readonly MessageEntry[]
  /** The first seq that a wider window shows again, for this view only. @default nothing */
  readonly shownAgainFrom?: number | undefined
  /** What the host gave the rules: prompts, judges of relevance and success, rules of its own. */
  readonly given?: Pick<
    ProposeContext,
    'prompts' | 'relevance' | 'similarity' | 'success' | 'rules'
  >
  /** What plugins say in the system prompt. */
  readonly pluginSystem: readonly Block[]
  /** What comes from memory, behind the messages. @default nothing */
  readonly tail?: readonly Block[] | undefined
  /** What stands around the messages, with both. */
  readonly framing: Framing
  readonly now: number
  /** Whether checkpoints are made elsewhere, so that the rule is not asked here. @default false */
  readonly hasCompactor?: boolean
  /** Whether the log holds every decision already, so that no rule is asked: a past request. @default false */
  readonly isDecided?: boolean
  /** Whether it answers a context-length error; recorded, so that there is only one for a request. @default false */
  readonly isRecovery?: boolean
  /** What models have said about single blocks. @default nothing */
  readonly summaryOf?: SummaryOf
  /** What is known of the provider's cache, when it is asked for. @default nothing */
  readonly cache?: (() => CacheState) | undefined
  /** @default the usual ones */
  readonly prices?: Prices | undefined
  /** What the provider measured of a request like this one. @default nothing */
  readonly measured?: (() => Measured) | undefined
  /** Where outputs are kept as files. @default nowhere */
  readonly fileOf?: FileOf
  /** Edits with which the expand tool is added to the request. @default none */
  readonly unbinding?: readonly Edit[]
}

export interface BuiltView {
  readonly planned: readonly Edit[]
  /** What the request may use: as it was asked for, else what the model can read where that is less than the view has. */
  readonly budget: number | undefined
  /** Why these edits are applied now, and what was weighed. */
  readonly decision: Decision
  readonly assembled: Assembled
  readonly messages: readonly Json[]
  /** Where each of them comes from. */
  readonly origins: readonly Origin[]
  /** The messages before they were encoded. */
  readonly shown: readonly ViewMessage[]
  readonly system?: Json
  readonly bodyHash: string
  readonly frameHash: string
  readonly viewId: string
  readonly trace: () => readonly Change[]
  /** The ids of the planned edits, once they are in the log: for the trace. */
  readonly editIds: Map<Edit, string>
}

/** Computes a view without committing anything. Pure. */
export function buildView(request: ViewRequest): BuiltView {
  const { state, options, framing } = request
  const { format = 'openai-chat', mayTurnReasoningOff } = options
  const target = formatNamed(format)
  const decision = decisionWithin(request)
  const { unbinding = [] } = request
  const planned = unbinding.length === 0 ? decision.edits : [...decision.edits, ...unbinding]
  const { profile } = target
  const aroundTokens = (): number => framing.tokens(state.counter)
  const fitting = {
    profile,
    frameTokens: aroundTokens,
    frameParts: () => framePartTokens(state.counter, framing.frame),
    hasExpandTool: carriesExpandTool(options.frame),
    searchTool: searchToolIn(options.frame),
    tail: request.tail,
    budget: options.budget,
    window: windowBudgetOf(request, planned),
    mayTurnReasoningOff,
  }
  const { assembled, budget } = assembleWithin(state, planned, fitting)
  const { segments, repairs } = withSystem(request, assembled.segments)
  const pieces = encodeSegments(target, segments)
  assertSize(target, pieces)
  const { hash: frameHash, frame } = framing
  const isMarked = request.policy.schedule === 'cache-aware'
  const system = pieces[0]?.encoded.system
  const mark = isMarked ? target.cacheMarks?.add : undefined
  const plain = flat(pieces.map(({ encoded }) => encoded.messages))
  const messages = mark === undefined ? plain : mark(plain, frame)
  const body = system === undefined ? { messages } : { messages, system }
  // Encoding is deterministic, so plain JSON is canonical enough here, and several times faster to write.
  const bodyHash =
    mark === undefined
      ? state.derive(`body-hash:${format}`, () => new BodyHash()).of(pieces, system)
      : sha256(JSON.stringify(body))
  const editIds = new Map<Edit, string>()
  const losses = pieces.flatMap(({ segment, encoded }) =>
    encoded.losses === undefined ? [] : lossesAsRepairs(segment.messages, encoded.losses),
  )
  const shown = lazy(() => messagesIn(segments))
  const origins = lazy(() => originsOf(pieces))
  return {
    ...body,
    planned,
    budget,
    editIds,
    decision,
    assembled,
    get shown() {
      return shown()
    },
    get origins() {
      return origins()
    },
    bodyHash,
    frameHash,
    trace: traceOf({
      state,
      planned,
      repairs: [...assembled.repairs, ...repairs, ...losses],
      inForce: assembled.inForce,
      fitted: assembled.fitted,
      indexOf: (index) => index,
      canExpand: true,
      idOf: (edit) => editIds.get(edit),
    }),
    viewId: viewIdOf([format, options.model ?? '', frameHash, bodyHash]),
  }
}

/** Where the messages of a whole view come from: positions in a piece count from its own first message. */
function originsOf(pieces: readonly EncodedSegment[]): readonly Origin[] {
  const [only] = pieces
  if (only !== undefined && pieces.length === 1) return only.encoded.origins
  let before = 0
  return pieces.flatMap(({ segment, encoded }) => {
    const start = before
    before += segment.messages.length
    return encoded.origins.map((origin) => ({
      ...origin,
      shown: origin.shown.map((position) => position + start),
    }))
  })
}

function lazy<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

function flat<T>(lists: readonly (readonly T[])[]): readonly T[] {
  const [only] = lists
  return only !== undefined && lists.length === 1 ? only : lists.flat()
}

/** Whether the expand tool is added to a view's frame: as the log says, from now on, or not in this view. */
export type Offering = 'as-logged' | 'now' | 'never'

/**
 * Computes a view that gets the expand tool where there is something to expand, and goes without where nothing would fit with it. A list of
 * tools breaks the provider's cache as the reduction itself does: it is one break.
 */
export function buildOffering(
  asked: (offering: Offering) => ViewRequest,
  { expand }: Pick<ViewOptions, 'expand'>,
): { readonly request: ViewRequest; readonly built: BuiltView } {
  const build = (way: Offering, unbinding: readonly Edit[] = []) => {
    const request = { ...asked(way), unbinding }
    return { request, built: buildView(request) }
  }
  if (expand === undefined) return build('as-logged')
  const first = orUndefined(() => build('as-logged')) ?? build('never')
  const { offering: edits } = first.built.assembled
  const isOffered = first.request.options.frame === expand.frame
  // What only this view leaves out, a later one would show again.
  const isKept = edits?.length === 0 || !first.request.isTemporary
  if (edits === undefined || isOffered || !isKept) return first
  return orUndefined(() => build('now', edits)) ?? first
}

/** Undefined where nothing fits. */
function orUndefined<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return undefined
    throw error
  }
}

/** Where a message stands in a view, by its seq; of one that is not there, where it would stand. */
export function viewIndex({ origins }: Pick<BuiltView, 'origins'>, seq: number): number {
  const at = origins.findIndex(({ entries }) => entries.includes(seq))
  if (at !== -1) return at
  const next = origins.findIndex(({ entries }) => (entries[0] ?? 0) > seq)
  return next === -1 ? origins.length : next
}

/** Names what was sent, and to whom. */
function viewIdOf(parts: readonly string[]): string {
  return `v${sha256(JSON.stringify(parts)).slice(0, 20)}`
}

/**
 * Whether nothing came since the newest request, and this one asks for the same: what was decided then is decided. Its own edits and its
 * record may not change that, or a view would differ from the one before it at the same head.
 */
export function isAskedAgain(
  { state, policy, options, framing }: ViewRequest,
  { facts }: Pick<Journal, 'facts'>,
): boolean {
  const { newestRequest: last } = facts
  const { format = 'openai-chat', model } = options
  return (
    last?.seq === state.version &&
    last.format === format &&
    last.model === model &&
    last.frameHash === framing.hash &&
    last.policyHash === policyHashOf(policy)
  )
}

/** What the policy changes now, and why now. Pure. */
export function decisionOf(request: ViewRequest): Decision {
  const { state, cache, prices, isDecided = false } = request
  if (isDecided) return { edits: [], cause: 'none' }
  const context = contextOf(request)
  const priced = prices === undefined ? context : { ...context, prices }
  return plan(state, rulesOf(request), cache === undefined ? priced : { ...priced, cache })
}

/** The same. Where the view would be longer than what the model can read, fitting it breaks the prefix, so that everything pending comes along. */
function decisionWithin(request: ViewRequest): Decision {
  const decision = decisionOf(request)
  if (request.cache === undefined || windowBudgetOf(request, decision.edits) === undefined) {
    return decision
  }
  const all = decisionOf({ ...request, cache: () => ({ idleMs: 0 }) })
  return all.edits.length === decision.edits.length ? decision : { ...all, cause: 'limit' }
}

/** What the policy would change, whatever the schedule says. Pure. */
export function proposalsOf(request: ViewRequest): readonly Edit[] {
  const { state, policy } = request
  const context = contextOf(request)
  const window = windowOfView(request)
  return propose(state, rulesOf(request), { ...context, window, memory: policy.memory })
}

/** How much conversation a cache-aware view carries; undefined under another schedule. */
export function windowOfView(request: ViewRequest): ReturnType<typeof windowFor> {
  const { state, policy, prices, framing } = request
  const frameTokens = framing.tokens(state.counter)
  const around = { frameTokens, contextWindow: contextWindowOf(request) }
  return windowFor(state, policy, prices === undefined ? around : { ...around, prices })
}

/** The window of the model that a view is for, where the policy leaves it open: the host's own number, else the catalogue's. */
export function contextWindowOf({ policy, options, prices }: ViewRequest): number | undefined {
  return prices?.contextWindow ?? windowOfModel(policy, options.model)
}

/** What the view may use where its caller gave no budget; a past request had what its record says. */
function windowBudgetOf(request: ViewRequest, planned: readonly Edit[]): number | undefined {
  const { state, policy, framing, measured, options, isDecided = false } = request
  if (isDecided || options.budget !== undefined) return undefined
  const contextWindow = contextWindowOf(request)
  const frameTokens = framing.tokens(state.counter)
  return windowBudget(state, planned, policy, {
    frameTokens,
    measured: measured?.(),
    contextWindow,
  })
}

function rulesOf({ policy, hasCompactor = false }: ViewRequest): Policy {
  return hasCompactor ? { ...policy, compaction: undefined } : policy
}

function contextOf(request: ViewRequest): ProposeContext {
  const { now, summaryOf = noSummary, fileOf = noFile, given, framing, state } = request
  const frameTokens = framing.tokens(state.counter)
  const contextWindow = contextWindowOf(request)
  return { ...given, now, sha256, contextWindow, summaryOf, fileOf, frameTokens }
}

/** The entries that a view adds to the log: its edits, as one epoch, and the record of the request. */
export function entriesOf(
  request: ViewRequest,
  built: BuiltView,
  stamp: Stamp,
  journal: Pick<Journal, 'facts' | 'setting'>,
): readonly Entry[] {
  const { state, options, isTemporary } = request
  const epoch = `p${built.viewId.slice(1, 9)}${(state.version + 1).toString(36)}`
  const edits = isTemporary
    ? []
    : built.planned.map((edit) => {
        const entry = stamp.entry({ ...edit, type: 'edit', epoch } as EditEntry)
        built.editIds.set(edit, entry.id)
        return entry
      })
  const last = journal.facts.newestRequest
  const isSame = last?.view === built.viewId && last.step === state.step && edits.length === 0
  if (isSame) return edits
  const { frame } = options
  const own = settings.frame.at(built.frameHash)
  const isNew = frame !== undefined && journal.setting(own) === undefined
  const frames = isNew ? [stamp.entry(own.body(cloneJson(frame, 'frame') as JsonObject))] : []
  const record = recordOf(request, built, edits.length > 0 ? epoch : undefined)
  return [...edits, ...frames, stamp.entry(record)]
}

/** Options for a request with the expand tool or without. */
export function offering(
  { expand, ...options }: ViewOptions,
  journal: Pick<Journal, 'setting'>,
  way: Offering,
): ViewOptions {
  if (expand === undefined) return options
  const { isDue = false } = expand
  const isLogged = isDue || journal.setting(settings.expandTool) !== undefined
  const isOffered = way === 'now' || (way === 'as-logged' && isLogged)
  return { ...options, frame: isOffered ? expand.frame : (options.frame ?? {}) }
}

/** The entry that remembers the tool, with the first view that offers it. */
export function offerEntry(
  { expand }: ViewOptions,
  { options }: ViewRequest,
  journal: Pick<Journal, 'setting'>,
  stamp: Stamp,
): readonly Entry[] {
  if (expand === undefined || options.frame !== expand.frame) return []
  const isKnown = journal.setting(settings.expandTool) !== undefined
  return isKnown ? [] : [stamp.entry(settings.expandTool.body(expand.tool))]
}

/** The record of a request, in the order in which its fields are written. */
function recordOf(
  request: ViewRequest,
  built: BuiltView,
  epoch: string | undefined,
): EntryBody<RequestEntry> {
  const { state, policy, options } = request
  const { format = 'openai-chat', model } = options
  const asked = { type: 'request', step: state.step, format } as const
  const sent = {
    ...(model === undefined ? asked : { ...asked, model }),
    view: built.viewId,
    frameHash: built.frameHash,
    policyHash: policyHashOf(policy),
    bodyHash: built.bodyHash,
    encoderVersion,
  }
  const details = detailsOf(request, built)
  return epoch === undefined ? { ...sent, details } : { ...sent, epoch, details }
}

/** What the record of a request says beside what was sent. */
function detailsOf(request: ViewRequest, built: BuiltView): RequestDetails {
  const { options, isTemporary, policy } = request
  const { assembled, decision, budget } = built
  const details: { -readonly [Key in keyof RequestDetails]: RequestDetails[Key] } = {
    tokens: assembled.tokens(),
    parts: categoryTokens(request, built),
  }
  if (options.agentName !== undefined) details.agent = options.agentName
  if (budget !== undefined) details.budget = budget
  if (options.mayTurnReasoningOff === true) details.mayTurnReasoningOff = true
  if (request.isRecovery === true) details.isRecovery = true
  const first = unkeptFrom(request, built)
  if (first !== Infinity) details.unkeptFrom = first
  if (assembled.isRecord) details.isRecord = true
  const { cause, inputs } = decision
  if (inputs !== undefined) details.schedule = { cause, ...inputs }
  if (isTemporary) {
    details.policy = policy as JsonObject
    const { summaryOf = noSummary } = request
    if (summaryOf !== noSummary) details.hasModel = true
  }
  return details
}

/** From where a view shows what is not kept: reductions for its budget, and what a policy for one call changes. */
function unkeptFrom(request: ViewRequest, { planned, assembled }: BuiltView): number {
  const { isTemporary, shownAgainFrom = Infinity } = request
  const { fittedFrom = Infinity } = assembled
  return Math.min(fittedFrom, shownAgainFrom, ...(isTemporary ? planned.map(firstOf) : []))
}

/** Policies are never changed once they are read. */
const policyHashes = new WeakMap<Policy, string>()

function policyHashOf(policy: Policy): string {
  const known = policyHashes.get(policy)
  if (known !== undefined) return known
  const hash = sha256(canonicalJson(policy as Json))
  policyHashes.set(policy, hash)
  return hash
}

/** The view as callers get it: theirs to change, so that nothing of the log is in it. */
export function toView(request: ViewRequest, built: BuiltView, epoch: Epoch): View {
  const { state, framing, leading } = request
  const tail = withMemory(tailOf(state, built.planned), request.tail)
  let directives: readonly Directive[] | undefined
  const around =
    framing.tokens(state.counter) + (tail === undefined ? 0 : viewTokens(state, [tail]))
  const view: View = {
    id: built.viewId,
    messages: built.messages.map(copyPlain),
    ...(built.system === undefined ? {} : { system: copyPlain(built.system) }),
    get trace() {
      return built.trace()
    },
    tokens: { before: state.totalTokens + around, after: built.assembled.tokens() },
    get directives() {
      directives ??= directivesOf(state, leading)
      return directives
    },
    offersExpansion: carriesExpandTool(request.options.frame) === true,
    ...(built.assembled.turnsReasoningOff ? { reasoning: 'off' as const } : {}),
    epoch,
  }
  shownBy.set(view, { request, built })
  return view
}

const shownBy = new WeakMap<View, { readonly request: ViewRequest; readonly built: BuiltView }>()

/** The parts of a view, with their tokens. Ask before the thread continues. */
export function contentsIn(view: View): Iterable<ShownPart> {
  const made = shownBy.get(view)
  return made === undefined ? [] : contentsOf(made.request, made.built)
}

/** The tokens of a view by category. */
export function categoriesIn(view: View): Partial<Record<RequestCategory, number>> {
  const made = shownBy.get(view)
  return made === undefined ? {} : categoryTokens(made.request, made.built)
}

/** Beside the views, which are their callers' own. */
const originsBy = new WeakMap<View, readonly ViewOrigin[]>()

/** Where a message of a view comes from. */
export interface ViewOrigin extends Origin {
  /** Whether it shows everything of its entries but reasoning, in whatever form. */
  readonly isSaid: boolean
}

function isSaid(origin: Origin, shown: readonly ViewMessage[]): boolean {
  if (origin.isWhole) return true
  return origin.shown.every((at) => {
    const { entry, blocks = [] } = shown[at] ?? {}
    const said = blocks.filter(isNoReasoning)
    const came = entry?.blocks.filter(isNoReasoning) ?? []
    return came.length === said.length && came.every((block, index) => block === said[index])
  })
}

function isNoReasoning({ type }: Block): boolean {
  return type !== 'reasoning'
}

/** Where each message of a view comes from. */
export function originsIn(view: View): readonly ViewOrigin[] {
  const known = originsBy.get(view)
  const built = shownBy.get(view)?.built
  if (known !== undefined || built === undefined) return known ?? []
  const { shown } = built
  const origins = built.origins.map((origin) => ({ ...origin, isSaid: isSaid(origin, shown) }))
  originsBy.set(view, origins)
  return origins
}

/** The view behind the system text that is put in front of it. Only its first segment has leading system messages. */
function withSystem(
  { state, leading, pluginSystem }: ViewRequest,
  segments: readonly Segment[],
): { readonly segments: readonly Segment[]; readonly repairs: readonly Repair[] } {
  if (leading.length === 0 && pluginSystem.length === 0) return { segments, repairs: [] }
  const [first = madeSegment([]), ...rest] = segments
  const system = leading.map(
    (entry): ViewMessage => ({
      role: entry.role,
      origin: entry.origin,
      blocks: entry.blocks,
      entry,
    }),
  )
  const spoken =
    leading.length > 0
      ? withoutLeading(state, first.messages)
      : { messages: first.messages, repairs: [] }
  const all = withPluginSystem([...system, ...spoken.messages], pluginSystem)
  return { segments: [madeSegment(all), ...rest], repairs: spoken.repairs }
}

/** System messages that lead the log give way to those that came with the history. */
function withoutLeading(
  state: State,
  messages: readonly ViewMessage[],
): { readonly messages: readonly ViewMessage[]; readonly repairs: readonly Repair[] } {
  const { firstSpoken = Infinity } = state
  const isLeading = ({ role, entry }: ViewMessage): boolean =>
    role === 'system' && entry !== undefined && entry.seq < firstSpoken
  const reason = 'frame: system messages that came with the history stand in its place'
  const repairs = messages
    .filter(isLeading)
    .flatMap(({ entry, blocks }) =>
      blocks.map((_, block): Repair => ({ seq: entry?.seq ?? 0, block, form: 'dropped', reason })),
    )
  return { messages: messages.filter((message) => !isLeading(message)), repairs }
}

/** What plugins say stands behind all other system text in front: what changes least comes first. */
function withPluginSystem(
  messages: readonly ViewMessage[],
  blocks: readonly Block[],
): readonly ViewMessage[] {
  if (blocks.length === 0) return messages
  const first = messages.findIndex(({ role }) => role !== 'system')
  const at = first === -1 ? messages.length : first
  return messages.toSpliced(at, 0, { role: 'system', origin: 'plugin', blocks })
}
