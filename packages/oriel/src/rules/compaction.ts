// The checkpoint (document 003): when the conversation reaches its limit, one summary replaces everything before a boundary.

import type { Edit, MessageEntry } from '../core/log/entry.ts'
import type { Json, JsonObject } from '../core/log/json.ts'
import { boolean, choice, count, object, optional } from '../core/schema/schema.ts'
import { shownAgainIn } from '../core/state/expansion.ts'
import { waitsFrom } from '../core/state/reasoning.ts'
import type { Item, State } from '../core/state/state.ts'
import { isProtected, isWaiting, rangesOf, type Unit, unitsOf } from '../core/state/units.ts'
import { fixedIn, isSurelyBelow, remaining, requestTokens, weigher } from '../core/state/weight.ts'
import { Actions } from '../core/text/actions.ts'
import { Answers } from '../core/text/answers.ts'
import {
  checkpointText,
  directivesFrom,
  isAmong,
  listingOf,
  type ModelNotes,
  modelNotesIn,
  type Notes,
  unreadBy,
  withdrawnFrom,
} from '../core/text/checkpoint.ts'
import { Digest, type IsWithdrawn, Listing } from '../core/text/digest.ts'
import { Memory, valuesShown } from '../core/text/memory.ts'
import { type Readable, readableIn, readableMessage } from '../core/text/readable.ts'
import { type SourceName, sourceNames } from '../core/text/source-name.ts'
import { Statements } from '../core/text/statements.ts'
import { overheadOf } from '../core/tokens/counter.ts'
import { editsShown } from '../core/view/render.ts'
import type { Defaults, Rule, RuleContext } from './rule.ts'

export interface CompactionSettings {
  /** Make a checkpoint by itself when the limit is reached. @default true */
  readonly auto?: boolean | undefined
  /** The model's context window in tokens; 0 = none. @default the catalogue's for the model, else none */
  readonly contextWindow?: number | undefined
  /** Tokens of the window that are kept free for the answer. @default 16384, at most a quarter of the window */
  readonly reserveTokens?: number | undefined
  /** The limit where the window is unknown; 0 = none. @default 8000 */
  readonly maxTokens?: number | undefined
  /** Where neither is known: the limit in messages; 0 = none. @default 50 */
  readonly maxMessages?: number | undefined
  /** Tokens of the newest messages that stay; at most half the limit; 0 = by number. @default 20000 */
  readonly keepRecentTokens?: number | undefined
  /** Messages that stay, where they are counted. @default 5 */
  readonly keepRecent?: number | undefined
  /** Under the schedule `cache-aware`: a request with fewer tokens is never folded. The model's window still holds. @default 0 */
  readonly foldAbove?: number | undefined
  /** Under the schedule `cache-aware`: how early it folds and how much stays; `savings` less, `keep-more` more. @default 'balanced' */
  readonly eagerness?: Eagerness | undefined
}

/** How eager the default is, and the factor by which both marks of its window move. */
const scales = { savings: 0.7, balanced: 1, 'keep-more': 2 } as const
export type Eagerness = keyof typeof scales

/** The factor for the marks of the window. */
export function scaleOf({ eagerness = 'balanced' }: CompactionSettings): number {
  return scales[eagerness]
}

/** How much the memory of facts in a checkpoint may hold: the policy part `memory`. */
export interface MemorySettings {
  /** Tokens of lines that are likely to be needed again. @default 20 % of what stays */
  readonly lines?: number | undefined
  /** Tokens of single values: ids, paths, numbers. @default 55 % of what stays */
  readonly values?: number | undefined
}

const defaults = {
  auto: true,
  contextWindow: { words: "the catalogue's for the model, else none" },
  reserveTokens: 16_384,
  maxTokens: 8000,
  maxMessages: 50,
  keepRecentTokens: 20_000,
  keepRecent: 5,
  foldAbove: 0,
  eagerness: 'balanced',
} as const satisfies Defaults

/** After a checkpoint the request has at most this share of the limit: the next one must not come at once. */
const targetShare = 0.7
/** A checkpoint that is made by itself saves at least this share of the limit. */
const gainShare = 0.1
/** Tokens reserved for the summary itself; at most a tenth of the limit. */
const summaryTokens = 1000
/** With a memory of facts: how much of what stays it takes, where the policy does not say. */
const linesShare = 0.2
const valuesShare = 0.55
/** User messages up to this size stay as they were written, as long as all of what stays is at most this share of the trigger. */
const longUserTokens = 2000
/** Of their room, this share is for the newest. In the rest the shortest come first: it holds several of them for one that pastes a file. */
const newestUsersShare = 1 / 3
const fullShare = 0.9
/** Tokens reserved for the newest exchange. */
const restTokens = 1000
/** The user's standing instructions take at most this share of what stays; a few of them always have room. */
const directivesShare = 0.03
const fewDirectives = 375
const fewShare = 0.1

/** Outlines of answers take at most this share of what stays, out of the room for lines: they say more than lines out of answers. */
const answersShare = 0.15

/** The account of what was done, decided and left open takes at most this share of what stays; how it is divided. Requests that are folded come on top. */
const accountShare = 0.07
const mostAccount = 1000
const requestsPart = 0.4
const actionsPart = 0.65
const decisionsPart = 0.25
const openPart = 0.1

export const compaction = {
  name: 'compaction',
  schema: object({
    auto: optional(boolean),
    contextWindow: optional(count),
    reserveTokens: optional(count),
    maxTokens: optional(count),
    maxMessages: optional(count),
    keepRecentTokens: optional(count),
    keepRecent: optional(count),
    foldAbove: optional(count),
    eagerness: optional(choice('savings', 'balanced', 'keep-more')),
  }),
  defaults,
  propose(state, settings, context) {
    if (mustWait(state, settings, context)) return []
    const planned = readyBefore(waitsFrom(state), context.planned)
    const plan = planCheckpoint(state, settings, { ...context, planned })
    return plan.state === 'due' ? [plan.edit] : []
  },
} satisfies Rule<CompactionSettings>

/** The part `memory` is no rule: the checkpoint reads it. */
export const memory = {
  name: 'memory',
  schema: object({ lines: optional(count), values: optional(count) }),
  defaults: { lines: { words: '20 % of what stays' }, values: { words: '55 % of what stays' } },
} satisfies Omit<Rule<MemorySettings>, 'propose'>

/**
 * - `due`: the limit is reached, and this edit makes room.
 * - `idle`: nothing to do: off, below the limit, or a checkpoint would save too little.
 * - `hopeless`: what no checkpoint can shrink is above the limit already.
 */
export type CompactionPlan =
  | { readonly state: 'due'; readonly edit: Edit; readonly tokens: number }
  | { readonly state: 'idle'; readonly tokens: number }
  | { readonly state: 'hopeless'; readonly fixedTokens: number; readonly limit: number }

type PlanContext = Pick<
  RuleContext,
  'frameTokens' | 'measured' | 'planned' | 'window' | 'memory' | 'contextWindow'
>

/** What automatic compaction would do now. Pure. */
export function planCheckpoint(
  state: State,
  settings: CompactionSettings,
  context: PlanContext,
): CompactionPlan {
  const { tokens, limit, isReached } = atLimit(state, settings, context)
  if (!isReached) return { state: 'idle', tokens }
  const { window, memory, planned, frameTokens } = context
  const fixedTokens = frameTokens + fixedIn(state)
  if (limit > 0 && fixedTokens >= limit) return { state: 'hopeless', fixedTokens, limit }
  // What is folded is weighed by our own counter, so the limit is put into its tokens.
  const scale = limit === 0 ? 1 : requestTokens(state, planned, { frameTokens }) / tokens
  const leastGain = limit * scale * gainShare
  const { maxMessages = defaults.maxMessages } = settings
  const [edit] = checkpoint(state, settings, {
    limit: limit * scale || Infinity,
    fixedTokens,
    reason:
      limit === 0
        ? `${remaining(state, planned).length} messages reached the limit of ${maxMessages}`
        : `${Math.round(tokens)} tokens reached the limit of ${Math.round(limit)}`,
    planned,
    window,
    memory,
    leastGain,
  })
  const isWorthwhile = edit !== undefined && edit.tokensBefore - edit.tokensAfter >= leastGain
  if (!isWorthwhile) return { state: 'idle', tokens }
  const price = window?.price
  if (price === undefined) return { state: 'due', edit, tokens }
  const folded = remaining(state, planned).length - remaining(state, [...planned, edit]).length
  const what = `folding ${folded} messages (${edit.tokensBefore - edit.tokensAfter} tokens)`
  const reason = `${edit.reason}; ${what} ${savingOf(edit, tokens, price)}`
  return { state: 'due', edit: { ...edit, reason }, tokens }
}

/** Whether a conversation has reached its limit: where it has not, no checkpoint is due. A small part of the work of planning one. */
export function isLimitReached(
  state: State,
  settings: CompactionSettings,
  context: PlanContext,
): boolean {
  return atLimit(state, settings, context).isReached
}

/** The conversation beside its limit; a limit of 0 tokens is one of messages. */
function atLimit(
  state: State,
  settings: CompactionSettings,
  context: PlanContext,
): { readonly tokens: number; readonly limit: number; readonly isReached: boolean } {
  const { auto = defaults.auto, maxMessages = defaults.maxMessages } = settings
  const { window, frameTokens, contextWindow } = context
  const own = window === undefined ? limitOf(settings, contextWindow) : window.high + frameTokens
  const limit = window === undefined ? own : own + fixedIn(state)
  if (!auto || (own > 0 && isSurelyBelow(own, state, context))) {
    return { tokens: 0, limit, isReached: false }
  }
  const { planned } = context
  if (limit > 0) {
    const tokens = requestTokens(state, planned, context)
    return { tokens, limit, isReached: tokens >= limit }
  }
  const isReached = maxMessages > 0 && remaining(state, planned).length >= maxMessages
  return { tokens: 0, limit, isReached }
}

/** The steps for which the reason of a fold says what it saves. */
const nextSteps = 10

/** What a fold saves: every later step reads less from the cache, the next one writes what stays. */
function savingOf(
  { tokensBefore, tokensAfter }: Pick<Edit, 'tokensBefore' | 'tokensAfter'>,
  tokens: number,
  { read, write, inputDollars }: NonNullable<NonNullable<RuleContext['window']>['price']>,
): string {
  const saved = tokensBefore - tokensAfter
  const written = (write - read) * Math.max(0, tokens - saved)
  const net = nextSteps * read * saved - written
  if (net <= 0) {
    const steps = Math.ceil(written / Math.max(read * saved, 1))
    return `pays back after about ${steps} steps`
  }
  const worth =
    inputDollars === undefined
      ? `the price of ${Math.round(net)} input tokens`
      : `$${((net * inputDollars) / 1e6).toPrecision(2)}`
  return `saves about ${worth} over the next ${nextSteps} steps`
}

/**
 * The limit in tokens: the window without its reserve, else the fixed one; 0 where there is none. `modelWindow` is the catalogue's,
 * for settings that name no window. Never above the window.
 */
export function limitOf(settings: CompactionSettings, modelWindow = 0): number {
  const { contextWindow = modelWindow, maxTokens = defaults.maxTokens } = settings
  return contextWindow > 0 ? contextWindow - reserveOf(settings, contextWindow) : maxTokens
}

/** What the model can read: its window without the reserve; Infinity where nobody knows it. */
export function readableBy(settings: CompactionSettings, modelWindow = 0): number {
  return limitOf({ ...settings, maxTokens: Infinity }, modelWindow)
}

/**
 * Whether a checkpoint must wait: an open tool loop carries signed reasoning, so that nothing before it may change until it ends, and the
 * model can read the next request as it is.
 */
export function mustWait(
  state: State,
  settings: CompactionSettings,
  context: Pick<RuleContext, 'frameTokens' | 'measured' | 'planned' | 'contextWindow'>,
): boolean {
  const waits = waitsFrom(state)
  if (waits === Infinity) return false
  const limit = readableBy(settings, context.contextWindow)
  if (limit === Infinity || isSurelyBelow(limit, state, context)) return true
  return requestTokens(state, readyBefore(waits, context.planned), context) < limit
}

/** The edits that do not wait for the end of a tool loop that begins at a seq. */
function readyBefore(start: number, edits: readonly Edit[]): readonly Edit[] {
  return start === Infinity ? edits : edits.filter(({ since = Infinity }) => since < start)
}

/** Of a small window at most this share is reserved, unless the settings name a reserve that leaves room. */
const reserveShare = 0.25

/** As the document has it: a reserve of 0 means its default. */
function reserveOf({ reserveTokens }: CompactionSettings, contextWindow: number): number {
  const most = Math.floor(contextWindow * reserveShare)
  if (reserveTokens === undefined || reserveTokens === 0) {
    return Math.min(defaults.reserveTokens, most)
  }
  return reserveTokens < contextWindow ? reserveTokens : most
}

export interface CheckpointOptions extends Pick<RuleContext, 'window' | 'memory'> {
  /** Tokens that the conversation may have; the newest half of it stays at most. */
  readonly limit: number
  /** Tokens that are there in any case. @default 0 */
  readonly fixedTokens?: number
  readonly reason: string
  readonly planned: readonly Edit[]
  /** Tokens that it must save to be worth making. @default 0 */
  readonly leastGain?: number
  /** Whether the provider refused the request: then originals that were asked for again and calls that wait for a result are folded too. @default false */
  readonly isUrgent?: boolean
}

/** The edit that replaces all but the newest units by a summary; none when nothing can be folded. */
export function checkpoint(
  state: State,
  settings: CompactionSettings,
  options: CheckpointOptions,
): readonly Edit[] {
  const { planned, reason } = options
  const weigh = weigher(state, planned)
  const shown = remaining(state, planned)
  const units = unitsOf(state, shown)
  const room = roomOf(settings, options)
  const folded = foldable(state, units, settings, { ...options, weigh, room })
  if (folded.length === 0) return []
  const items = folded.flatMap((unit) => unit.items)
  const foldedTokens = items.reduce((sum, item) => sum + weigh(item), 0)
  if (savesLittle(foldedTokens, state.checkpoint, { ...options, room })) return []
  const readable = readableIn(state, planned)
  const said = items.flatMap(({ entry }) => readableMessage(readable, entry) ?? [])
  const previous = state.checkpoint
  const isWithdrawn = isAmong(
    previous === undefined ? new Set<number>() : withdrawnFrom(state, previous, planned),
  )
  const gone = new Set(items)
  const stays = shown.flatMap((item) =>
    gone.has(item) ? [] : (readableMessage(readable, item.entry) ?? []),
  )
  const sourceOf = sourceNames(state, readable, { byFile: true })
  const directives = directivesFrom(previous ?? {}, isWithdrawn, spokenIn(readable, shown)).compose(
    {
      counter: state.counter,
      tokens: room.directives,
      isShown: shownWhole(
        state,
        planned,
        shown.filter((item) => !gone.has(item)),
      ),
    },
  )
  const account = accountOf(state, { said, room, isWithdrawn })
  const facts = memoryOf(state, {
    stays,
    said,
    sourceOf,
    room,
    isWithdrawn,
    account,
    beside: directives.text,
  })
  const kept = modelNotesOf(state, planned)
  const text = checkpointText(
    {
      ...account.notes,
      answers: facts?.answers ?? '',
      directives: directives.text,
      // The memory holds the commands and paths that matter; listing them all would cost more than it brings.
      listing: facts === undefined ? account.notes.listing : '',
      memory: facts?.text ?? '',
    },
    kept?.model,
  )
  // It replaces what it covers and the checkpoint before it.
  const tokensBefore = foldedTokens + (previous?.tokensAfter ?? 0)
  const tokensAfter = overheadOf('user') + state.counter.count(text)
  if (tokensAfter >= tokensBefore) return []
  return [
    {
      rule: 'compaction',
      form: 'dropped',
      target: { ranges: rangesOf(state.visible, new Set(items.map(({ entry }) => entry.seq))) },
      text,
      digest: {
        ...account.data,
        without: unreadBy(state),
        ...(directives.data === undefined ? {} : { directives: directives.data }),
        ...facts?.data,
        ...(kept === undefined
          ? {}
          : { ...kept, unheard: kept.unheard + tokensBefore - (previous?.tokensAfter ?? 0) }),
      },
      reason,
      tokensBefore,
      tokensAfter,
    },
  ]
}

/**
 * Whether a checkpoint is not worth making, before it is written, which is most of the work: what it says is about as long as what the one
 * before it said, so that where little is folded little is saved. Not where it has less room than that one takes.
 */
function savesLittle(
  foldedTokens: number,
  previous: Edit | undefined,
  { leastGain = 0, limit, room }: CheckpointOptions & { readonly room: Room },
): boolean {
  return foldedTokens < leastGain && (previous?.tokensAfter ?? 0) <= (room.all ?? limit / 2)
}

/** What user and assistant said. System messages stay in the view. */
function* spokenIn(readable: Readable, items: readonly Item[]): Generator<MessageEntry> {
  for (const { entry } of items) {
    if (entry.role !== 'user' && entry.role !== 'assistant') continue
    const message = readableMessage(readable, entry)
    if (message !== undefined) yield message
  }
}

/** Tests whether the view shows a message as it was written. */
function shownWhole(
  state: State,
  planned: readonly Edit[],
  items: readonly Item[],
): (seq: number) => boolean {
  const editOf = editsShown(state, planned)
  const bySeq = new Map(items.map(({ entry }) => [entry.seq, entry]))
  return (seq) => {
    const entry = bySeq.get(seq)
    return entry?.blocks.every((_, position) => editOf(entry, position) === undefined) ?? false
  }
}

/** Tokens for each part of what a checkpoint leaves. */
interface Room {
  /** What was done, decided and left open. */
  readonly account: number
  /** The user's standing instructions. */
  readonly directives: number
  /** Outlines of answers, out of the room for lines. */
  readonly answers: number
  /** Lines and values of the memory of facts, if it is on. */
  readonly memory?: { readonly lines: number; readonly values: number }
  /** User messages that stay as they were written. */
  readonly users: number
  /** Everything that stays, summaries included; undefined where the settings say how much stays. */
  readonly all?: number
}

function roomOf(
  { keepRecentTokens = defaults.keepRecentTokens }: CompactionSettings,
  { memory, window, limit }: CheckpointOptions,
): Room {
  const all = window?.low ?? Math.min(keepRecentTokens, Math.floor(limit / 2))
  const few = Math.min(fewDirectives, Math.round(all * fewShare))
  const directives = Math.max(few, Math.round(all * directivesShare))
  const account = Math.min(mostAccount, Math.round(all * accountShare))
  if (memory === undefined) {
    return { users: 0, directives, account, answers: 0, ...(window === undefined ? {} : { all }) }
  }
  const lines = memory.lines ?? Math.round(all * linesShare)
  const values = memory.values ?? Math.round(all * valuesShare)
  const most = window === undefined ? limit / 2 : window.high * fullShare
  return {
    all,
    directives,
    account,
    answers: Math.round(all * answersShare),
    memory: { lines, values },
    users: Math.max(0, most - lines - values - restTokens),
  }
}

/**
 * What a model wrote for the checkpoint so far: it stays until a model writes again, unless a message that it was made from was
 * withdrawn. `heard` names messages that it read, `unheard` counts the tokens that were folded since.
 */
function modelNotesOf(
  state: State,
  planned: readonly Edit[],
): { readonly model: ModelNotes; readonly heard: Json; readonly unheard: number } | undefined {
  const { checkpoint: previous } = state
  const model = modelNotesIn(previous?.digest)
  if (previous === undefined || model === undefined) return undefined
  if (withdrawnFrom(state, previous, planned).size > 0) return undefined
  const { heard = [], unheard } = previous.digest ?? {}
  return { model, heard, unheard: typeof unheard === 'number' ? unheard : 0 }
}

/** What was asked, done, decided and left open, in the checkpoint so far and in these messages. */
function accountOf(
  state: State,
  {
    said,
    room,
    isWithdrawn,
  }: {
    readonly said: readonly MessageEntry[]
    readonly room: Room
    readonly isWithdrawn: IsWithdrawn
  },
): { readonly notes: Notes; readonly data: JsonObject } {
  const { counter } = state
  const before = state.checkpoint?.digest
  const digest = Digest.from(before, isWithdrawn)
  const listing = new Listing(listingOf(before), isWithdrawn)
  const actions = new Actions(before?.actions, isWithdrawn)
  const statements = new Statements(before?.statements, isWithdrawn)
  for (const entry of said) {
    digest.add(entry)
    listing.add(entry)
    actions.add(entry)
    statements.add(entry)
  }
  const share = (part: number): number => Math.round(room.account * part)
  const done = actions.compose({ counter, tokens: share(actionsPart) })
  const { data, ...spoken } = statements.compose({
    counter,
    decisions: share(decisionsPart),
    open: share(openPart),
  })
  return {
    notes: {
      requests: digest.requests({ counter, tokens: share(requestsPart) }),
      directives: '',
      actions: done.text,
      answers: '',
      ...spoken,
      failing: done.text === '' ? [] : actions.failing(),
      listing: listing.text(),
      memory: '',
      closing: digest.text('closing'),
    },
    data: {
      ...digest.data(),
      listing: listing.data(),
      ...(done.data === undefined ? {} : { actions: done.data }),
      ...(data === undefined ? {} : { statements: data }),
    },
  }
}

/** The memory of facts after these messages left the view, and outlines of the answers among them. */
function memoryOf(
  state: State,
  {
    stays,
    said,
    sourceOf,
    room,
    isWithdrawn,
    beside,
    account,
  }: {
    /** What the view still shows. */
    readonly stays: readonly MessageEntry[]
    /** What the checkpoint says in another part. */
    readonly beside: string
    /** What of the folded messages a model may read. */
    readonly said: readonly MessageEntry[]
    readonly sourceOf: (entry: MessageEntry) => SourceName | undefined
    readonly room: Room
    readonly isWithdrawn: IsWithdrawn
    readonly account: { readonly notes: Notes }
  },
): { readonly text: string; readonly answers: string; readonly data: JsonObject } | undefined {
  if (room.memory === undefined) return undefined
  const { counter, step } = state
  const memory = new Memory(counter, state.checkpoint?.digest?.memory, isWithdrawn)
  for (const entry of said) memory.add(entry, sourceOf(entry))
  const told = [beside, account.notes.actions, account.notes.decisions, account.notes.open].join(
    '\n',
  )
  // What the notes say is said; their room is the memory's.
  const visible = new Set([
    ...stays.flatMap(({ blocks }) => valuesShown(blocks)),
    ...valuesShown([{ type: 'text', text: told }]),
  ])
  const answers = new Answers(state.checkpoint?.digest?.answers, isWithdrawn)
  answers.add(said)
  const listed = answers.compose({ counter, tokens: room.answers })
  const taken = counter.count(told.slice(beside.length)) + counter.count(listed.text)
  const lines = Math.max(0, room.memory.lines - taken)
  const facts = memory.compose({ ...room.memory, lines, counter, step, visible })
  const { data } = listed
  return {
    text: facts.text,
    answers: listed.text,
    data: { memory: facts.data, ...(data === undefined ? {} : { answers: data }) },
  }
}

/** The oldest units before the boundary. The first user message, which states the goal, stays, and so does what is protected. */
function foldable(
  state: State,
  units: readonly Unit[],
  settings: CompactionSettings,
  options: CheckpointOptions & {
    readonly weigh: (item: Item) => number
    readonly room: Room
  },
): readonly Unit[] {
  const { keepRecentTokens = defaults.keepRecentTokens } = settings
  const { keepRecent = defaults.keepRecent } = settings
  const size = (unit: Unit): number =>
    unit.items.reduce((sum, item) => sum + options.weigh(item), 0)
  const stays = staying(units, size, options.room)
  const isByTokens = keepRecentTokens > 0
  const most = isByTokens
    ? keptTokens(options, keepRecentTokens, sum(stays, size))
    : keepRecent || defaults.keepRecent
  let boundary = units.length
  let kept = 0
  while (boundary > 0) {
    const unit = units[boundary - 1] as Unit
    const own = isByTokens ? size(unit) : unit.items.length
    const isFree = options.room.all !== undefined && stays.has(unit)
    if (!isFree && kept > 0 && kept + own > most) break
    if (!isFree) kept += own
    boundary -= 1
  }
  const newestAssistant = units.findLast((unit) => unit.isAssistant)
  const isShownAgain = shownAgainIn(state)
  const isInUse = (unit: Unit): boolean =>
    isWaiting(state, unit) || unit.items.some(({ entry }) => isShownAgain(entry))
  return units
    .slice(0, boundary)
    .filter(
      (unit) =>
        !stays.has(unit) &&
        !(unit === newestAssistant && unit.isExchange) &&
        !isProtected(state, unit) &&
        (options.isUrgent === true || !isInUse(unit)),
    )
}

/** User messages that stay: the first one, which states the goal, and with a memory the newest and the shortest others, as far as there is room. */
function staying(
  units: readonly Unit[],
  size: (unit: Unit) => number,
  { users }: Room,
): ReadonlySet<Unit> {
  const goal = units.find((unit) => unit.isUser)
  const stays = new Set<Unit>(goal === undefined ? [] : [goal])
  if (users === 0) return stays
  const said = units
    .flatMap((unit) => (unit.isUser && unit !== goal ? { unit, tokens: size(unit) } : []))
    .filter(({ tokens }) => tokens <= longUserTokens)
    .reverse()
  let left = users
  const add = (list: typeof said, least: number): void => {
    for (const { unit, tokens } of list) {
      if (left - tokens < least) return
      left -= tokens
      stays.add(unit)
    }
  }
  add(said, users * (1 - newestUsersShare))
  const others = said.filter(({ unit }) => !stays.has(unit))
  add(
    others.sort((a, b) => a.tokens - b.tokens),
    0,
  )
  return stays
}

function sum(units: ReadonlySet<Unit>, size: (unit: Unit) => number): number {
  return [...units].reduce((total, unit) => total + size(unit), 0)
}

/** Tokens of the newest messages that stay: as the document has it, and no more than leaves room behind the trigger. */
function keptTokens(
  {
    limit,
    fixedTokens = 0,
    room,
  }: Pick<CheckpointOptions, 'limit' | 'fixedTokens'> & { readonly room: Room },
  keepRecentTokens: number,
  stayTokens: number,
): number {
  const memory = room.memory === undefined ? 0 : room.memory.lines + room.memory.values
  if (room.all !== undefined) return room.all - memory - stayTokens
  const left = limit * targetShare - fixedTokens - stayTokens - Math.min(summaryTokens, limit / 10)
  return Math.min(keepRecentTokens, Math.floor(limit / 2), left)
}
