// The steps of a conversation with a model, each as one write: what a client resends with the request, an answer with its numbers.

import type { Draft, MessageEntry } from '../core/log/entry.ts'
import { assertOptions, OrielError, wrongOption } from '../core/log/errors.ts'
import { checkJson, isObject } from '../core/log/json.ts'
import { isCall } from '../core/state/exchange.ts'
import { type Policy, parsePolicy } from '../policy/schema.ts'
import { assertTogether } from '../propose.ts'
import { formatNamed } from '../providers/registry.ts'
import type { CustomRule } from '../rules/custom.ts'
import type { AppendAround, HistoryAround } from './append.ts'
import type { Branches, HistoryMatch } from './branches/branches.ts'
import { withoutForeignThoughts } from './branches/interrupted.ts'
import type { ReadHistory } from './branches/read-history.ts'
import type { KeyMatch, SyncResult } from './branches/sync.ts'
import type { ThreadEngine } from './engine.ts'
import { HeldLost } from './journal/journal.ts'
import { recordUsage } from './view/cache.ts'
import type { Usage } from './view/read-usage.ts'
import type { RequestOptions, View, ViewOptions } from './view/view.ts'

/** The policy for one view, where its options name one. Throws on options that are wrong. */
export function readViewOptions(
  options: ViewOptions,
  rules: readonly CustomRule[],
): Policy | undefined {
  assertOptions(options)
  const { policy, frame, budget, model } = options
  if (budget !== undefined && !(Number.isFinite(budget) && budget > 0)) {
    const message = `budget must be a number of tokens above 0, got ${String(budget)}.`
    throw new OrielError('invalid-option', message, { path: 'budget' })
  }
  const own = policy === undefined ? undefined : parsePolicy(policy, 'policy', rules)
  if (own !== undefined) assertTogether(own)
  if (options.threadPolicy !== undefined) {
    assertTogether(parsePolicy(options.threadPolicy, 'policy', rules))
  }
  if (model !== undefined && typeof model !== 'string') throw wrongOption('model', 'a string')
  if (frame !== undefined && !isObject(frame)) throw wrongOption('frame', 'an object')
  if (frame !== undefined) checkJson(frame, 'frame')
  return own
}

/** Appends what is new in a history; with `isHeld`, the view that must follow writes it. */
export async function syncHistory(
  session: ThreadEngine,
  family: Branches,
  { parts }: ReadHistory,
  { isHeld = false, isContinuing = false }: Partial<Omit<HistoryAround, 'meet'>> = {},
): Promise<SyncResult> {
  const { sent } = parts
  const around = { isHeld, isContinuing }
  const { isForked, written } = await family.place(
    sent,
    async (branch) => {
      const history = withoutForeignThoughts(parts, branch.brokenOff)
      const meet = (): KeyMatch => branch.match(sent)
      const written = await session.appendHistory(branch.journal, history, { meet, ...around })
      branch.noteAppended(written.appended, sent.slice(written.meeting.matched))
      return written
    },
    { isQuick: isHeld },
  )
  const { matched } = written.meeting
  const message = 'A resent history was edited: forked.'
  if (isForked) session.emit('thread-forked', { message })
  const { key, state } = session.journal
  const appended = written.appended.length
  return { thread: key.thread, matched, appended, isForked, messages: state.messageCount }
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
  session: ThreadEngine,
  family: Branches,
  { incoming, options, own }: Asked,
): Promise<SyncResult & { readonly view: View }> {
  const isContinuing = endsOpen(incoming, options)
  session.adopt(options)
  const ask = async (isHeld: boolean): Promise<SyncResult & { readonly view: View }> => {
    const synced = await syncHistory(session, family, incoming, { isHeld, isContinuing })
    // Nothing is new: no write will tell what others have written since.
    if (isHeld && !session.journal.isHolding) {
      const again = await ask(false)
      return { ...again, isForked: synced.isForked || again.isForked }
    }
    if (!isHeld) await session.journal.refresh()
    const { durable = 'now' } = options
    return { ...synced, view: await session.view(options, own, { durable }) }
  }
  try {
    return await ask(options.dryRun !== true)
  } catch (error) {
    session.forgetHeld()
    if (!(error instanceof HeldLost)) throw error
    return ask(false)
  }
}

/** What `requestView` would show, without writing anything: neither the history nor the view. */
export async function previewView(
  session: ThreadEngine,
  family: Branches,
  { incoming, options, own }: Asked,
): Promise<HistoryMatch & { readonly view: View }> {
  const { parts } = incoming
  const rehearsal = await family.preview(parts.sent)
  const history = withoutForeignThoughts(parts, rehearsal.brokenOff)
  const isContinuing = endsOpen(incoming, options)
  const view = await session.preview(rehearsal, history, { options, own, isContinuing })
  const { thread, meeting } = rehearsal
  return { thread, matched: meeting.matched, behind: meeting.behind, view }
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
  session: ThreadEngine,
  drafts: readonly Draft[],
  {
    numbers,
    expected,
    isPaused,
  }: Pick<AppendAround, 'expected' | 'isPaused'> & { readonly numbers?: Numbers | undefined },
): Promise<readonly MessageEntry[]> {
  const around = { expected, isPaused }
  if (numbers === undefined) return session.append(drafts, around)
  const record = (): Promise<void> => recordUsage(session, numbers.sample, numbers.view)
  try {
    return await session.append(drafts, { ...around, beside: record })
  } catch (error) {
    session.forgetHeld()
    if (!(error instanceof HeldLost)) throw error
    const entries = await session.append(drafts, around)
    await record()
    return entries
  }
}
