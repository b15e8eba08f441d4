// The steps of a conversation with a model, each as one write: what a client resends with the request, an answer with its numbers.

import type { Draft, MessageEntry } from '../core/log/entry.ts'
import { assertOptions, OrielError, wrongOption } from '../core/log/errors.ts'
import { checkJson, isObject } from '../core/log/json.ts'
import { isCall } from '../core/state/exchange.ts'
import { type Policy, parsePolicy } from '../policy/schema.ts'
import { assertTogether } from '../propose.ts'
import { formatNamed } from '../providers/registry.ts'
import type { AppendAround } from './append.ts'
import type { Branch, Conversation, HistoryMatch } from './branches/conversation.ts'
import { withoutForeignThoughts } from './branches/interrupted.ts'
import type { ReadHistory } from './branches/read-history.ts'
import type { KeyMatch, SyncCounts } from './branches/sync.ts'
import type { ThreadEngine } from './engine.ts'
import { HeldLost } from './journal/journal.ts'
import { recordUsage } from './view/cache.ts'
import type { Usage } from './view/read-usage.ts'
import type { RequestOptions, View, ViewOptions } from './view/view.ts'

/** The policy for one view, where its options name one. Throws on options that are wrong. */
export function readViewOptions(options: ViewOptions): Policy | undefined {
  assertOptions(options)
  const { policy, frame, budget, model } = options
  if (budget !== undefined && !(Number.isFinite(budget) && budget > 0)) {
    const message = `budget must be a number of tokens above 0, got ${String(budget)}.`
    throw new OrielError('invalid-option', message, { path: 'budget' })
  }
  const own = policy === undefined ? undefined : parsePolicy(policy)
  if (own !== undefined) assertTogether(own)
  if (options.threadPolicy !== undefined) assertTogether(parsePolicy(options.threadPolicy))
  if (model !== undefined && typeof model !== 'string') throw wrongOption('model', 'a string')
  if (frame !== undefined && !isObject(frame)) throw wrongOption('frame', 'an object')
  if (frame !== undefined) checkJson(frame, 'frame')
  return own
}

/** What `sync` answers, and the branch itself. */
export interface Synced extends SyncCounts {
  readonly branch: Branch
}

/** How a history is taken in. */
interface SyncAround {
  /** Whether the view that must follow writes it. @default false */
  readonly isHeld?: boolean
  /** Whether the answer goes on with its last message. @default false */
  readonly isContinuing?: boolean
  /** The thread's policy from now on. @default the one in force, wherever the history leads */
  readonly policy?: Policy | undefined
}

/** Appends what is new in a history, to the branch that it continues. */
export async function syncHistory(
  conversation: Conversation,
  from: Branch,
  { parts }: ReadHistory,
  { isHeld = false, isContinuing = false, policy }: SyncAround = {},
): Promise<Synced> {
  const { sent } = parts
  const { branch, isForked, written } = await conversation.resolve(
    from,
    sent,
    async (target) => {
      const isMoved = target !== from
      const given = policy ?? (isMoved ? from.engine.policy : undefined)
      if (given !== undefined) target.engine.adopt(given)
      const history = withoutForeignThoughts(parts, target.brokenOff)
      const meet = (): KeyMatch => target.match(sent)
      const around = { meet, isHeld, isMoved, isContinuing }
      const written = await target.engine.appendHistory(history, around)
      target.noteAppended(written.appended, sent.slice(written.meeting.matched))
      return written
    },
    { isQuick: isHeld },
  )
  const { matched } = written.meeting
  const message = 'A resent history was edited: forked.'
  if (isForked) branch.engine.emit('thread-forked', { message })
  const { key, state } = branch.journal
  const appended = written.appended.length
  const messages = state.messageCount
  return { branch, thread: key.thread, matched, appended, isForked, messages }
}

/** What `request` was asked for. */
interface Asked {
  readonly incoming: ReadHistory
  readonly options: RequestOptions
  /** A policy for this view only. */
  readonly own: Policy | undefined
}

/** A history and the view of it in one append, unless another writer comes in between: then one after the other. */
export async function requestView(
  conversation: Conversation,
  from: Branch,
  { incoming, options, own }: Asked,
): Promise<Synced & { readonly view: View }> {
  const { durable = 'now', dryRun = false, threadPolicy } = options
  const isContinuing = endsOpen(incoming, options)
  const policy = threadPolicy === undefined || dryRun ? undefined : parsePolicy(threadPolicy)
  let written: Branch | undefined
  const ask = async (isHeld: boolean): Promise<Synced & { readonly view: View }> => {
    const around = { isHeld, isContinuing, policy }
    const synced = await syncHistory(conversation, from, incoming, around)
    const { engine } = synced.branch
    written = synced.branch
    // Nothing is new: no write will tell what others have written since.
    if (isHeld && !engine.journal.isHolding) {
      const again = await ask(false)
      return { ...again, isForked: synced.isForked || again.isForked }
    }
    if (!isHeld) await engine.journal.refresh()
    return { ...synced, view: await engine.view(options, own, { durable }) }
  }
  try {
    return await ask(!dryRun)
  } catch (error) {
    written?.engine.forgetHeld()
    if (!(error instanceof HeldLost)) throw error
    return ask(false)
  }
}

/** What `requestView` would show, without writing anything: neither the history nor the view. */
export async function previewView(
  conversation: Conversation,
  from: Branch,
  { incoming, options, own }: Asked,
): Promise<HistoryMatch & { readonly view: View }> {
  const { parts } = incoming
  const preview = await conversation.preview(from, parts.sent)
  const history = withoutForeignThoughts(parts, preview.brokenOff)
  const isContinuing = endsOpen(incoming, options)
  const view = await from.engine.preview(preview, history, { options, own, isContinuing })
  const { thread, match } = preview
  return { thread, matched: match.matched, behind: match.behind, view }
}

/** Whether the answer goes on with the last message of the history. */
function endsOpen({ parts }: ReadHistory, options: RequestOptions): boolean {
  const { isContinuing = false, format = 'openai-chat' } = options
  const last = parts.sent.at(-1)?.message
  const isWhole = last?.role !== 'assistant' || last.blocks.some(isCall)
  return isContinuing && !isWhole && formatNamed(format).profile.endsWithUser
}

/** The provider's numbers for a view. */
interface Numbers {
  readonly sample: Usage
  readonly view: string
}

/** Messages and the numbers that came with them in one append, unless another writer comes in between: then one after the other. */
export async function appendWithUsage(
  engine: ThreadEngine,
  drafts: readonly Draft[],
  {
    numbers,
    expected,
    isPaused,
  }: Pick<AppendAround, 'expected' | 'isPaused'> & { readonly numbers?: Numbers | undefined },
): Promise<readonly MessageEntry[]> {
  const around = { expected, isPaused }
  if (numbers === undefined) return engine.append(drafts, around)
  const record = (): Promise<void> => recordUsage(engine, numbers.sample, numbers.view)
  try {
    return await engine.append(drafts, { ...around, beside: record })
  } catch (error) {
    engine.forgetHeld()
    if (!(error instanceof HeldLost)) throw error
    const entries = await engine.append(drafts, around)
    await record()
    return entries
  }
}
