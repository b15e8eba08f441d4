// What every integration does around one model call: messages in, view out, answer and usage back, one retry after an overflow.

import type { Draft } from '../core/entry.ts'
import { OrielError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import type { Change, Frame, TokenCount } from '../core/view.ts'
import type { TokensOption } from '../counters.ts'
import type { FormatName } from '../formats/format.ts'
import { formatNamed } from '../formats/registry.ts'
import { isContextLengthError } from '../overflow.ts'
import type { PolicyInput } from '../policy.ts'
import { project } from '../project.ts'
import { keyOf } from '../thread/match.ts'
import { recoveryBudget } from '../thread/recovery.ts'
import { sentOf, splitLeading } from '../thread/sync.ts'
import type { Thread } from '../thread/thread.ts'
import type { View } from '../thread/viewing.ts'

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
}

/** Tokens of one call as `thread.usage` takes them. */
export interface CallUsage {
  readonly uncached: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
}

/** One model call: ask for the view, then tell what came back. */
export interface Call {
  readonly messages: readonly Json[]
  readonly system?: Json
  /** A smaller view after this error; undefined where there is none: another error, the second one, or nothing can be left out. */
  recover(error: unknown): Promise<Call | undefined>
  /** Records what the model answered and what it cost. An empty answer is not recorded. */
  record(answer: readonly unknown[], usage: CallUsage | undefined): Promise<void>
}

/** Where calls get their views from. */
export interface Conversation {
  begin(messages: readonly unknown[], options: CallOptions): Promise<Call>
}

/** A conversation that is kept in a thread. */
export function threadConversation(thread: Thread, options: ManagedOptions): Conversation {
  return {
    async begin(messages, call) {
      return locked(thread, async () => {
        const system = await feed(thread, messages, call.format, options.sends ?? 'auto')
        return threadCall(thread, { call, options, system, isRecovery: false }, () =>
          thread.view(viewOptions(call, options, system)),
        )
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
      async recover(error) {
        if (isRecovery || !isContextLengthError(error)) return undefined
        const next = Math.max(1, recoveryBudget(error, shown.tokens.after))
        return orNothing(async () => look(messages, call, { budget: next, isRecovery: true }))
      },
      async record() {},
    }
  }
  return {
    async begin(messages, call) {
      return look(messages, call, { budget: options.budget, isRecovery: false })
    },
  }
}

interface CallContext {
  readonly call: CallOptions
  readonly options: ManagedOptions
  /** Leading system messages of the request, where the thread does not show them itself. */
  readonly system: readonly Json[]
  readonly isRecovery: boolean
}

async function threadCall(
  thread: Thread,
  context: CallContext,
  ask: () => Promise<View>,
): Promise<Call> {
  const { call, options, system, isRecovery } = context
  const view = await ask()
  const branch = thread.id
  show(options, { id: view.id, isRecovery, trace: view.trace, tokens: view.tokens })
  return {
    messages: system.length === 0 ? view.messages : [...system, ...spoken(view.messages, call)],
    ...(view.system === undefined ? {} : { system: view.system }),
    async recover(error) {
      if (isRecovery || !isContextLengthError(error)) return undefined
      return orNothing(() =>
        locked(thread, () =>
          threadCall(thread, { ...context, isRecovery: true }, () =>
            thread.recover(error, viewOptions(call, options, system)),
          ),
        ),
      )
    },
    async record(answer, usage) {
      const work = async (): Promise<void> => {
        // Another call moved the thread to another branch: this answer comes back with its own history.
        if (thread.id !== branch) return
        if (answer.length > 0) {
          await thread.append(answer, { format: call.format })
          remember(thread, draftsOf(answer, call.format))
        }
        if (usage !== undefined) await thread.usage(usage, view.id)
      }
      await locked(thread, work).catch((error: unknown) => {
        if (options.onError === undefined) throw error
        options.onError(error)
      })
    },
  }
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
  { format, frame, model }: CallOptions,
  { budget }: ManagedOptions,
  system: readonly Json[],
): Parameters<Thread['view']>[0] {
  const around = system.length === 0 ? frame : { ...frame, system }
  return {
    format,
    ...(around === undefined ? {} : { frame: around }),
    ...(model === undefined ? {} : { model }),
    ...(budget === undefined ? {} : { budget }),
  }
}

/** What was sent and answered since the application last began with something new. */
interface Run {
  readonly branch: string
  readonly keys: readonly string[]
  /** Whether the model's last answer had calls, or none came yet: the next request goes on from here. */
  readonly isOpen: boolean
}

const runs = new WeakMap<Thread, Run>()
const locks = new WeakMap<Thread, Promise<unknown>>()

/** Takes in what the application sent. Returns the system messages that the view does not show by itself. */
async function feed(
  thread: Thread,
  messages: readonly unknown[],
  format: FormatName,
  sends: 'auto' | 'all' | 'new',
): Promise<readonly Json[]> {
  const drafts = formatNamed(format)
    .decode(messages, 'messages')
    .map(({ draft }) => draft)
  const { leading, history } = splitLeading(drafts)
  const isNew = sends === 'new' || (sends === 'auto' && (await looksNew(thread, history)))
  if (!isNew) {
    await thread.sync(messages, { format })
    runs.delete(thread)
    return []
  }
  const keys = sentOf(history).map(({ key }) => key)
  const run = runs.get(thread)
  const known = run !== undefined && goesOn(run, thread, keys) ? run.keys.length : 0
  const fresh = history.slice(Math.min(known, history.length))
  await thread.append(fresh)
  const before = known === 0 ? [] : (run?.keys ?? [])
  const all = [...before, ...keys.slice(before.length)]
  runs.set(thread, { branch: thread.id, keys: all, isOpen: true })
  // Formats that keep system text elsewhere have no leading messages.
  return formatNamed(format).encode(leading.map(asShown)).messages
}

/** Whether these messages are new ones for a thread that has the rest. */
async function looksNew(thread: Thread, history: readonly Draft[]): Promise<boolean> {
  const keys = sentOf(history).map(({ key }) => key)
  const run = runs.get(thread)
  if (run !== undefined && goesOn(run, thread, keys)) return true
  if (history.some(({ role }) => role === 'assistant')) return false
  const first = await firstKey(thread)
  return first !== undefined && first !== keys[0]
}

/** Whether a request goes on with a run: a further step of a tool loop, or the same request again. */
function goesOn(run: Run, thread: Thread, keys: readonly string[]): boolean {
  if (!run.isOpen || run.branch !== thread.id) return false
  const length = Math.min(run.keys.length, keys.length)
  return length > 0 && run.keys.slice(0, length).every((key, index) => key === keys[index])
}

function remember(thread: Thread, answer: readonly Draft[]): void {
  const run = runs.get(thread)
  if (run === undefined) return
  const keys = [...run.keys, ...sentOf(answer).map(({ key }) => key)]
  runs.set(thread, { ...run, keys, isOpen: hasOpenCall(answer) })
}

/** Whether a call waits for its result. A structured answer of LangChain is a call that comes with one. */
function hasOpenCall(answer: readonly Draft[]): boolean {
  const blocks = answer.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  const results = blocks.flatMap((block) => (block.type === 'tool-result' ? [block.callId] : []))
  return blocks.some((block) => block.type === 'tool-call' && !results.includes(block.callId))
}

/** The key of the first message that is no system message; undefined for an empty thread. */
async function firstKey(thread: Thread): Promise<string | undefined> {
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

/** A draft as an encoder takes it, outside any log. */
function asShown(draft: Draft): Parameters<ReturnType<typeof formatNamed>['encode']>[0][number] {
  const { role, origin = role, content, source, extra, native } = draft
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  const entry = {
    type: 'message' as const,
    id: 'frame' as never,
    seq: 0,
    at: 0,
    turn: 0,
    step: 0,
    role,
    origin,
    blocks,
    ...(source === undefined ? {} : { source }),
    ...(extra === undefined ? {} : { extra }),
    ...(native === undefined ? {} : { native }),
  }
  return { role, origin, blocks, entry }
}

/** One at a time for a thread: `sync` may move it to another branch, and the view must be of that one. */
async function locked<T>(thread: Thread, work: () => Promise<T>): Promise<T> {
  const before = locks.get(thread) ?? Promise.resolve()
  const result = before.then(work, work)
  locks.set(
    thread,
    result.catch(() => {}),
  )
  return result
}
