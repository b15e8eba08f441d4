// A request: what a client resends, and the view of it, as one batch.

import { wrongOption } from '../core/log/errors.ts'
import { isObject } from '../core/log/json.ts'
import { assertOptions, assertTokens, type OptionNames } from '../core/log/options.ts'
import { isCall } from '../core/state/exchange.ts'
import { assertFrame } from '../core/view/view.ts'
import { type Policy, parsePolicy } from '../policy/schema.ts'
import { assertTogether } from '../propose.ts'
import { formatNamed } from '../providers/registry.ts'
import type { CustomRule } from '../rules/custom.ts'
import type { ExpiryOverride } from '../rules/expiry.ts'
import type { Branch, Conversation, HistoryMatch } from './branches/conversation.ts'
import { withoutForeignThoughts } from './branches/interrupted.ts'
import { type ResentHistory, resentHistory } from './branches/places.ts'
import type { ReadHistory } from './branches/read-history.ts'
import type { KeyMatch, SyncCounts } from './branches/sync.ts'
import type { Batch } from './journal/batch.ts'
import type { ExpandOffer, RequestOptions, View, ViewOptions } from './view/view.ts'

const viewOptions: OptionNames<ViewOptions> = {
  format: true,
  frame: true,
  expand: true,
  model: true,
  budget: true,
  policy: true,
  threadPolicy: true,
  policyOf: true,
  mayTurnReasoningOff: true,
  sendsCompaction: true,
  limit: true,
  override: true,
  agentName: true,
  dryRun: true,
}
const requestOptions: OptionNames<RequestOptions> = {
  ...viewOptions,
  durable: true,
  isContinuing: true,
}

/** The policy for one view, where its options name one. Throws on options that are wrong. */
export function readViewOptions(
  options: ViewOptions | RequestOptions,
  rules: readonly CustomRule[],
  of: 'view' | 'request' | 'preview' | 'recover',
): Policy | undefined {
  assertOptions(options, of === 'view' || of === 'recover' ? viewOptions : requestOptions, of)
  const { policy, frame, budget, model, expand } = options
  assertTokens(budget, 'budget')
  const own = policy === undefined ? undefined : parsePolicy(policy, 'policy', rules)
  if (own !== undefined) assertTogether(own)
  if (options.override !== undefined) checkOverride(options.override)
  if (options.threadPolicy !== undefined) {
    assertTogether(parsePolicy(options.threadPolicy, 'policy', rules))
  }
  const { agentName } = options
  if (agentName !== undefined && typeof agentName !== 'string') {
    throw wrongOption('agentName', 'a string')
  }
  const { policyOf = 'thread' } = options
  if (policyOf !== 'thread' && policyOf !== 'request')
    throw wrongOption('policyOf', "'thread' or 'request'")
  if (model !== undefined && typeof model !== 'string') throw wrongOption('model', 'a string')
  if (frame !== undefined) assertFrame(frame, of)
  if (expand !== undefined) checkOffer(expand, of)
  return own
}

function checkOffer(expand: ExpandOffer, of: string): void {
  assertOptions<ExpandOffer>(expand, { tool: true, frame: true, isDue: true }, of, 'expand')
  if (typeof expand.tool !== 'string') throw wrongOption('expand.tool', 'a string')
  assertFrame(expand.frame, of, 'expand.frame')
}

/** Refuses an override as its part of a policy would be refused. */
function checkOverride(override: ExpiryOverride): void {
  if (!isObject(override)) throw wrongOption('override', 'an object')
  const { disable, preserveOriginals, ...fields } = override
  for (const [name, flag] of Object.entries({ disable, preserveOriginals })) {
    if (flag != null && typeof flag !== 'boolean') {
      throw wrongOption(`override.${name}`, 'true or false')
    }
  }
  parsePolicy({ expiry: { override: fields } })
}

/** What `sync` answers, and the branch itself. */
export interface Synced extends SyncCounts {
  readonly branch: Branch
  readonly resent: ResentHistory
}

/** A history that is written, or waits in a batch. */
interface Taken {
  readonly synced: Synced
  readonly batch: Batch | undefined
}

/** How a history is taken in. */
interface SyncAround {
  /** Whether it waits in a batch for a view that commits it. @default false */
  readonly isBatched?: boolean
  /** Whether the answer continues with its last message. @default false */
  readonly isContinuing?: boolean
  /** The thread's policy from now on. @default the one in force, wherever the history leads */
  readonly policy?: Policy | undefined
}

/** Appends what is new in a history, to the branch that it continues. */
export async function syncHistory(
  conversation: Conversation,
  from: Branch,
  incoming: ReadHistory,
): Promise<Synced> {
  return (await takeHistory(conversation, from, incoming)).synced
}

async function takeHistory(
  conversation: Conversation,
  from: Branch,
  { parts }: ReadHistory,
  { isBatched = false, isContinuing = false, policy }: SyncAround = {},
): Promise<Taken> {
  const { sent } = parts
  const { branch, isForked, written } = await conversation.resolve(
    from,
    sent,
    async (target) => {
      const isMoved = target !== from
      if (policy !== undefined) target.engine.adopt(policy)
      else if (isMoved) target.engine.adoptFrom(from.engine)
      const history = withoutForeignThoughts(parts, target.brokenOff)
      const meet = (): KeyMatch => target.match(sent)
      const around = { meet, isBatched, isMoved, isContinuing }
      const written = await target.engine.appendHistory(history, around)
      target.noteAppended(written.appended, sent.slice(written.meeting.matched))
      return written
    },
    { isQuick: isBatched },
  )
  const { matched } = written.meeting
  const message = 'A resent history was edited: forked.'
  if (isForked) branch.engine.emit('thread-forked', { message })
  const { key, state } = branch.journal
  const appended = written.appended.length
  const messages = state.messageCount
  const resent = resentHistory(parts, written)
  const synced = { branch, thread: key.thread, matched, appended, isForked, messages, resent }
  return { synced, batch: written.batch }
}

/** What `request` was asked for. */
interface Asked {
  readonly incoming: ReadHistory
  readonly options: RequestOptions
  /** A policy for this view only. */
  readonly own: Policy | undefined
}

/**
 * A history and the view of it as one batch. Where another writer comes in between, or nothing is new, so that no write tells what others
 * have written since, they are taken one after the other.
 */
export async function requestView(
  conversation: Conversation,
  from: Branch,
  { incoming, options, own }: Asked,
): Promise<Synced & { readonly view: View }> {
  const { durable = 'now', dryRun = false, threadPolicy } = options
  const policy =
    threadPolicy === undefined || dryRun
      ? undefined
      : parsePolicy(threadPolicy, 'policy', from.engine.rules)
  const around = { isContinuing: endsOpen(incoming, options), policy }
  const take = (isBatched: boolean): Promise<Taken> =>
    takeHistory(conversation, from, incoming, { ...around, isBatched })
  const view = ({ branch }: Synced): Promise<View> => branch.engine.view(options, own, { durable })
  let isForked = false
  if (!dryRun) {
    const { synced, batch } = await take(true)
    isForked = synced.isForked
    try {
      if (batch?.isEmpty === false) return { ...synced, view: await view(synced) }
    } catch (error) {
      if (batch?.isLost !== true) throw error
    } finally {
      batch?.drop()
    }
  }
  const { synced } = await take(false)
  await synced.branch.journal.refresh()
  return { ...synced, isForked: isForked || synced.isForked, view: await view(synced) }
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

/** Whether the answer continues with the last message of the history. */
function endsOpen({ parts }: ReadHistory, options: RequestOptions): boolean {
  const { isContinuing = false, format = 'openai-chat' } = options
  const last = parts.sent.at(-1)?.message
  const isWhole = last?.role !== 'assistant' || last.blocks.some(isCall)
  return isContinuing && !isWhole && formatNamed(format).profile.endsWithUser
}
