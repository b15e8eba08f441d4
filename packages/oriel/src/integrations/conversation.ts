// What every integration does around one model call: messages in, view out, answer and usage back, one retry after an overflow.

import type { Block } from '../core/log/block.ts'
import type { Draft } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import type { Json } from '../core/log/json.ts'
import type { OptionNames } from '../core/log/options.ts'
import type { Change, Frame, TokenCount } from '../core/view/view.ts'
import type { TokensOption } from '../counters.ts'
import type { PolicyInput } from '../policy/schema.ts'
import { project } from '../project.ts'
import { isContextLengthError } from '../providers/context-length.ts'
import type { FormatName } from '../providers/format.ts'
import { encode, formatNamed } from '../providers/registry.ts'
import { keyOf } from '../thread/branches/match.ts'
import { sentOf, splitLeading } from '../thread/branches/sync.ts'
import { type LookupTool, lookupTool } from '../thread/expand/lookups.ts'
import type { AnyThread } from '../thread/thread.ts'
import { recoveryBudget } from '../thread/view/recovery.ts'
import type { ExpandOffer, View } from '../thread/view/view.ts'

/** Options that all integrations share. */
export interface ManagedOptions {
  /**
   * What the application sends with a call: the whole history (`all`), or only what is new (`new`), the thread having the rest.
   * `auto` takes messages that begin like the thread, or that hold an assistant's, for the whole history.
   * @default 'auto'
   */
  readonly sends?: 'auto' | 'all' | 'new'
  /** Tokens a request may use, frame included. @default no limit but the policy's */
  readonly budget?: number
  /**
   * When the model gets the tools `expand_message` and `search_conversation`, whose calls are answered within the same call: once something
   * was reduced ('auto'), from the thread's first call on (true), or never (false). Without a thread nothing can be looked up.
   * @default 'auto'
   */
  readonly expand?: boolean | 'auto'
  /** Told of what a model is about to see. Cannot change it. */
  readonly onView?: (view: ShownView) => void
  /**
   * Told when an answer or its usage could not be recorded; the answer is delivered all the same.
   * @default the error is thrown, in place of the answer
   */
  readonly onError?: (error: unknown) => void
}

/** Without a thread: each call is projected by itself, nothing is kept. */
export interface StatelessOptions {
  readonly policy: PolicyInput
  /** How tokens are counted. @default 'estimate' */
  readonly tokens?: TokensOption
}

export const managedOptions: OptionNames<ManagedOptions> = {
  sends: true,
  budget: true,
  expand: true,
  onView: true,
  onError: true,
}
export const statelessOptions: OptionNames<StatelessOptions> = { policy: true, tokens: true }

/** What the model sees in one call. */
export interface ShownView {
  /** Names the view in the thread; empty without one. */
  readonly id: string
  readonly trace: readonly Change[]
  readonly tokens: TokenCount
  /** Whether it is the smaller one, after the provider refused the first as too long. */
  readonly isRecovery: boolean
}

export interface CallOptions {
  readonly format: FormatName
  readonly frame?: Frame
  readonly model?: string
  /** The frame with the expand tool, where the call can have it. @default it cannot */
  readonly expand?: Pick<ExpandOffer, 'tool' | 'frame'> | undefined
}

/** Tokens of one call as `thread.usage` takes them. */
export interface CallUsage {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

/** What a model answered, and what it cost. */
export interface Answered {
  readonly messages: readonly unknown[]
  readonly usage: CallUsage | undefined
  /** Whether the provider paused: the next request continues with this answer. @default false */
  readonly isPaused?: boolean
  /** What the application gets and resends in place of this and of the rounds before. @default the messages */
  readonly seen?: readonly unknown[]
}

/** An answer that the application does not see: the model looked something up. */
export interface HiddenAnswer extends Answered {
  /** The messages that carry the results. */
  results(tool: LookupTool): Promise<readonly unknown[]>
}

/** One model call: ask for the view, then tell what came back. */
export interface Call {
  readonly messages: readonly Json[]
  readonly system?: Json
  /** Whether the request is to carry the expand tool. */
  readonly offersExpansion: boolean
  /** Tokens of the request, by the thread's counter. */
  readonly tokens: number
  /** Records an answer with the results of its lookups, and gives the next request. */
  next(answer: HiddenAnswer): Promise<Call>
  /** Answers lookups of the model. */
  lookUp<T>(work: (tool: LookupTool) => Promise<T>): Promise<T>
  /** A smaller view after this error; undefined where there is none: another error, the second one, or nothing can be left out. */
  recover(error: unknown): Promise<Call | undefined>
  /** Records an answer. One that is empty is not recorded. */
  record(answer: Answered): Promise<void>
}

/** Where calls get their views from. */
export interface Conversation {
  /** Whether it knows an answer that continues in the next request: only a thread does. */
  readonly isKept: boolean
  begin(messages: readonly unknown[], options: CallOptions): Promise<Call>
}

/** A conversation that is kept in a thread. */
export function threadConversation(thread: AnyThread, options: ManagedOptions): Conversation {
  return {
    isKept: true,
    begin(messages, call) {
      // What is taken in and the view of it belong together: nothing comes between.
      return thread.exclusive(async (branch) => {
        const { system, isResent } = await feed(thread, branch, { messages, call, options })
        const isDue = options.expand === true && branch.isEmpty
        const asked = viewOptions(call, options, { system, isDue })
        const ask = async (): Promise<View> => {
          if (!isResent) return branch.view(asked)
          return (await branch.request(messages, { ...asked, isContinuing: true })).view
        }
        const context = { thread, branch, call, options, system, isRecovery: false }
        return threadCall(context, ask)
      })
    },
  }
}

/** A conversation that is projected anew at each call. */
export function statelessConversation(
  { policy, tokens }: StatelessOptions,
  options: ManagedOptions,
): Conversation {
  const look = (
    messages: readonly unknown[],
    call: CallOptions,
    { budget, isRecovery }: { readonly budget: number | undefined; readonly isRecovery: boolean },
  ): Call => {
    const { format, frame, model } = call
    const shown = project<unknown>(messages, policy, {
      format,
      ...(frame === undefined ? {} : { frame }),
      ...(model === undefined ? {} : { model }),
      ...(budget === undefined ? {} : { budget }),
      ...(tokens === undefined ? {} : { tokens }),
    })
    show(options, { id: '', isRecovery, trace: shown.trace, tokens: shown.tokens })
    return {
      messages: shown.messages as readonly Json[],
      ...(shown.system === undefined ? {} : { system: shown.system }),
      offersExpansion: false,
      tokens: shown.tokens.after,
      next: () => Promise.reject(nothingKept()),
      lookUp: () => Promise.reject(nothingKept()),
      async recover(error) {
        if (isRecovery || !isContextLengthError(error)) return undefined
        const next = Math.max(1, recoveryBudget(error, shown.tokens.after))
        return orNothing(async () => look(messages, call, { budget: next, isRecovery: true }))
      },
      async record() {},
    }
  }
  return {
    isKept: false,
    async begin(messages, call) {
      return look(messages, call, { budget: options.budget, isRecovery: false })
    },
  }
}

function nothingKept(): OrielError {
  return new OrielError('not-found', 'Without a thread nothing is kept that could be expanded.')
}

interface CallContext {
  /** The application's thread. */
  readonly thread: AnyThread
  /** The branch that the call is on, as an object of its own: no other call moves it. */
  readonly branch: AnyThread
  readonly call: CallOptions
  readonly options: ManagedOptions
  /** Leading system messages of the request, where the thread does not show them itself. */
  readonly system: readonly Json[]
  readonly isRecovery: boolean
}

async function threadCall(context: CallContext, ask: () => Promise<View>): Promise<Call> {
  const { thread, branch, call, options, system, isRecovery } = context
  const view = await ask()
  show(options, { id: view.id, isRecovery, trace: view.trace, tokens: view.tokens })
  return {
    messages: system.length === 0 ? view.messages : [...system, ...spoken(view.messages, call)],
    ...(view.system === undefined ? {} : { system: view.system }),
    offersExpansion: call.expand !== undefined && view.offersExpansion,
    tokens: view.tokens.after,
    lookUp: (work) => branch.exclusive((own) => work(toolFor(thread, own))),
    next({ messages, usage, results }) {
      return branch.exclusive(async (own) => {
        const found = await results(toolFor(thread, own))
        await own.append([...messages, ...found], {
          format: call.format,
          ownFields: false,
          resentAs: [],
        })
        if (usage !== undefined) await own.usage(usage, view.id)
        return threadCall(context, () => own.view(viewOptions(call, options, { system })))
      })
    },
    async recover(error) {
      if (isRecovery || !isContextLengthError(error)) return undefined
      const again = (): Promise<View> =>
        branch.recover(error, viewOptions(call, options, { system }))
      return orNothing(() => threadCall({ ...context, isRecovery: true }, again))
    },
    async record({ messages, usage, isPaused = false, seen }) {
      const work = async (own: AnyThread): Promise<void> => {
        if (messages.length > 0) {
          const resent = seen === undefined ? {} : { resentAs: seen }
          await own.append(messages, {
            format: call.format,
            ownFields: false,
            isPaused,
            ...resent,
          })
          remember(thread, own, { answer: draftsOf(seen ?? messages, call.format), isPaused })
        }
        if (usage !== undefined) await own.usage(usage, view.id)
      }
      await branch.exclusive(work).catch((error: unknown) => {
        if (options.onError === undefined) throw error
        options.onError(error)
      })
    },
  }
}

/** Of each thread one tool: it remembers what was asked, to end a loop of the same request. */
const tools = new WeakMap<AnyThread, { readonly tool: LookupTool; readonly place: Place }>()

/** The branch on which a lookup is answered. */
interface Place {
  on: AnyThread
}

function toolFor(thread: AnyThread, on: AnyThread): LookupTool {
  const known = tools.get(thread)
  const place = known?.place ?? { on }
  place.on = on
  if (known !== undefined) return known.tool
  const tool = lookupTool({
    get step(): number {
      return place.on.step
    },
    expand: (id, options) => place.on.expand(id, options),
    search: (query, options) => place.on.search(query, options),
  })
  tools.set(thread, { tool, place })
  return tool
}

/** Undefined where nothing can be left out: the provider's own error then says it best. */
async function orNothing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return undefined
    throw error
  }
}

/** Without the system messages in front: those of the request stand in their place. */
function spoken(messages: readonly Json[], { format }: CallOptions): readonly Json[] {
  const { leading } = splitLeading(draftsOf(messages, format))
  return messages.slice(leading.length)
}

function show({ onView }: ManagedOptions, view: ShownView): void {
  onView?.(view)
}

function viewOptions(
  { format, frame, model, expand }: CallOptions,
  { budget, expand: mode = 'auto' }: ManagedOptions,
  { system, isDue = false }: { readonly system: readonly Json[]; readonly isDue?: boolean },
): Parameters<AnyThread['view']>[0] {
  const withSystem = (one: Frame): Frame => (system.length === 0 ? one : { ...one, system })
  const isOffered = expand !== undefined && mode !== false
  const around = system.length === 0 ? frame : withSystem(frame ?? {})
  return {
    format,
    ...(around === undefined ? {} : { frame: around }),
    ...(isOffered ? { expand: { ...expand, frame: withSystem(expand.frame), isDue } } : {}),
    ...(model === undefined ? {} : { model }),
    ...(budget === undefined ? {} : { budget }),
  }
}

/** What was sent and answered since the application last began with something new. */
interface Run {
  /** The branch that it is on: the application may take its thread to another one. */
  readonly branch: string
  /** The keys of its messages: as they came, and with the parts of an answer as one message, which some applications make of them. */
  readonly shapes: readonly (readonly string[])[]
  /** The beginning of the answer, where the request ended with one. */
  readonly begun: Draft | undefined
  /** Whether the model's last answer had calls or was paused, or none came yet: the next request continues from here. */
  readonly isOpen: boolean
}

/** Of each thread of an application, whichever adapters use it. */
const runs = new WeakMap<AnyThread, Run>()

/** What an application sent, as far as it is taken in. */
interface Fed {
  /** The system messages that the view does not show by itself. */
  readonly system: readonly Json[]
  /** Whether it is the whole history, which the request for the view takes in. */
  readonly isResent: boolean
}

/** What an application sends with a call. */
interface Sent {
  readonly messages: readonly unknown[]
  readonly call: CallOptions
  readonly options: ManagedOptions
}

/** Takes in what is new, where the application sends only that. */
async function feed(
  thread: AnyThread,
  branch: AnyThread,
  { messages, call, options }: Sent,
): Promise<Fed> {
  const { format } = call
  const { sends = 'auto' } = options
  const run = runs.get(thread)
  const known = run?.branch === branch.id ? run : undefined
  const drafts = formatNamed(format)
    .decode(messages, 'messages')
    .map(({ draft }) => draft)
  const { leading, history } = splitLeading(drafts)
  const keys = keysOf(history)
  const isNew = sends === 'new' || (sends === 'auto' && (await looksNew(branch, known, history)))
  if (!isNew) {
    runs.delete(thread)
    return { system: [], isResent: true }
  }
  const before = knownOf(known, keys) ?? []
  const fresh = history.slice(Math.min(before.length, history.length))
  const begun = isBegun(history, format) ? history.at(-1) : undefined
  await branch.append(fresh, { isPaused: fresh.length > 0 && begun !== undefined })
  const shapes = [[...before, ...keys.slice(before.length)]]
  runs.set(thread, { branch: branch.id, shapes, begun, isOpen: true })
  // Formats that keep system text elsewhere have no leading messages.
  const system = encode(format, leading).messages
  return { system, isResent: false }
}

/** Whether the answer is to continue with the last message. One with calls waits for their results. */
function isBegun(history: readonly Draft[], format: FormatName): boolean {
  const last = history.at(-1)
  if (last?.role !== 'assistant' || hasOpenCall([last])) return false
  return formatNamed(format).profile.endsWithUser
}

/** Whether these messages are new ones for a thread that has the rest. */
async function looksNew(
  branch: AnyThread,
  run: Run | undefined,
  history: readonly Draft[],
): Promise<boolean> {
  const keys = keysOf(history)
  if (knownOf(run, keys) !== undefined) return true
  if (history.some(({ role }) => role === 'assistant')) return false
  const first = await firstKey(branch)
  return first !== undefined && first !== keys[0]
}

/** What the run has of a request that continues with it: a further step of a tool loop, or the same request again. */
function knownOf(run: Run | undefined, keys: readonly string[]): readonly string[] | undefined {
  if (run === undefined || !run.isOpen) return undefined
  return run.shapes.find((shape) => {
    const length = Math.min(shape.length, keys.length)
    return length > 0 && shape.slice(0, length).every((key, index) => key === keys[index])
  })
}

function remember(
  thread: AnyThread,
  branch: AnyThread,
  { answer, isPaused }: { readonly answer: readonly Draft[]; readonly isPaused: boolean },
): void {
  const run = runs.get(thread)
  const shape = run?.shapes[0]
  if (run === undefined || shape === undefined || run.branch !== branch.id) return
  const [first, ...others] = answer
  const isPart = run.begun !== undefined && first?.role === 'assistant'
  const joined = isPart ? [{ ...first, content: contentOf([run.begun, first]) }, ...others] : []
  const shapes = [
    [...shape, ...keysOf(answer)],
    ...(isPart ? [[...shape.slice(0, -1), ...keysOf(joined)]] : []),
  ]
  runs.set(thread, { ...run, shapes, begun: undefined, isOpen: isPaused || hasOpenCall(answer) })
}

function keysOf(drafts: readonly Draft[]): readonly string[] {
  return sentOf(drafts).map(({ key }) => key)
}

function contentOf(drafts: readonly Draft[]): readonly Block[] {
  return drafts.flatMap(({ content }) =>
    typeof content === 'string' ? [{ type: 'text', text: content } as const] : content,
  )
}

/** Whether a call waits for its result. A structured answer of LangChain is a call that comes with one. */
function hasOpenCall(answer: readonly Draft[]): boolean {
  const blocks = contentOf(answer)
  const results = blocks.flatMap((block) => (block.type === 'tool-result' ? [block.callId] : []))
  return blocks.some((block) => block.type === 'tool-call' && !results.includes(block.callId))
}

/** The key of the first message that is no system message; undefined for an empty thread. */
async function firstKey(thread: AnyThread): Promise<string | undefined> {
  for await (const entry of thread.log()) {
    if (entry.type === 'message' && entry.role !== 'system') return keyOf(entry)
  }
  return undefined
}

function draftsOf(messages: readonly unknown[], format: FormatName): readonly Draft[] {
  return formatNamed(format)
    .decode(messages, 'answer')
    .map(({ draft }) => draft)
}
