// Operations made concrete: what is called, and what must be true of the log and the answer afterwards.

import { expect } from 'vitest'
import type { EditEntry, Entry } from '../../src/core/log/entry.ts'
import { OrielError } from '../../src/core/log/errors.ts'
import type { Json } from '../../src/core/log/json.ts'
import type { HistoryPolicy, Policy } from '../../src/policy/schema.ts'
import type { View, ViewOptions } from '../../src/thread/view/view.ts'
import { type Action, newEntries, sayAll } from './action.ts'
import {
  covers,
  droppedByWindow,
  type Folded,
  foldLog,
  forkOf,
  framedGists,
  type Gist,
  gistOfChat,
  gistsOf,
  isTurnStart,
  shownGists,
  widened,
} from './naive.ts'
import type { Request, ViewChoice } from './operations.ts'
import { dryView, linesOf, type Session } from './session.ts'
import { syncAction } from './sync-action.ts'
import { hasNeighbours, type Saying, write } from './talk.ts'

type Of<T extends Request['type']> = Request & { readonly type: T }

/** Fixes everything random about a request, so that it can be made again. */
export async function actionOf(session: Session, request: Request): Promise<Action> {
  const folded = await session.folded(request.who)
  switch (request.type) {
    case 'append':
      return appendAction(session, request, folded)
    case 'sync':
      return syncAction(session, request, folded)
    case 'view':
      return viewAction(session, request)
    case 'undo':
      return undoAction(session, request, folded)
    case 'fork':
      return forkAction(session, request, folded)
    case 'mark':
      return markAction(session, request, folded)
    case 'policy':
      return policyAction(session, request)
    case 'compact':
      return compactAction(session, request)
    case 'usage':
      return usageAction(session, request, folded)
  }
}

function appendAction(session: Session, request: Of<'append'>, folded: Folded): Action {
  const sayings = sayAll(session, request.pieces, folded.messages)
  const known = folded.messages.flatMap(({ externalId }) => externalId ?? [])
  const repeated = known.slice(0, request.repeated)
  const isNeutral =
    request.hasIds ||
    repeated.length > 0 ||
    hasNeighbours(sayings, 'assistant') ||
    hasNeighbours(sayings, 'tool') ||
    sayings.some(({ speaker }) => speaker === 'host' || speaker === 'system')
  const format = isNeutral ? 'neutral' : request.format
  const ids = sayings.map(() => session.nextId())
  const messages: readonly unknown[] = [
    ...repeated.map((id) => ({ id, role: 'user', content: 'said before' })),
    ...write(sayings, format).map((message, index) =>
      request.hasIds ? { ...message, id: ids[index] } : message,
    ),
  ]
  return {
    async run() {
      await session.thread(request.who).append(messages, format === 'neutral' ? {} : { format })
    },
    verify(before, after) {
      const added = newEntries(before, after).filter((entry) => entry.type === 'message')
      expect(added.flatMap(gistsOf)).toEqual(sayings.map(gistOf))
      if (request.hasIds) expect(added.map(({ externalId }) => externalId)).toEqual(ids)
    },
  }
}

/** What sayings are in the log. */
function gistOf({ speaker, text, calls, answers }: Saying): Gist {
  const role = speaker === 'host' ? 'user' : speaker
  return { role, text, calls, ...(answers === undefined ? {} : { answers }) }
}

function viewAction(session: Session, { who, choice }: Of<'view'>): Action {
  let view: View | undefined
  return {
    async run() {
      view = await orCannotProject(session.thread(who).view(optionsOf(choice)))
    },
    verify(before, after) {
      const isKept = choice.dryRun !== true && choice.policy === undefined && view !== undefined
      const policy = choice.policy ?? before.policy
      // A checkpoint that was due, and a wider window, are written by themselves: they stay where no view fits the budget.
      const isLeft = (entry: Entry): boolean =>
        view !== undefined || !(isCheckpoint(entry) || isWidening(entry))
      const dropped = newEdits(before, after).filter(isLeft)
      if (!isKept) expect(dropped).toEqual([])
      if (choice.dryRun === true) expect(after.log).toEqual(before.log)
      if (view === undefined) expect(newEntries(before, after).filter(isLeft)).toEqual([])
      const found = widened(before, policy)
      verifyEdits(found, dropped, isKept ? policy : {})
      if (view !== undefined) verifyShown(isKept ? after : found, view, { choice, policy })
    },
    viewed: () => (choice.budget === undefined && choice.policy === undefined ? view : undefined),
  }
}

function optionsOf(choice: ViewChoice): ViewOptions {
  const { system, ...options } = choice
  return { ...options, ...(system === undefined ? {} : { frame: { system } }) }
}

/** Whether an entry puts a summary in the place of what it drops. */
export function isCheckpoint(entry: Entry): boolean {
  return entry.type === 'edit' && 'ranges' in entry.target && entry.text !== undefined
}

/** Whether a rule takes its own edit back. */
function isWidening(entry: Entry): boolean {
  return entry.type === 'undo' && entry.rule !== undefined
}

/** What the model must see: compared for chat; for other formats see the checks. */
function verifyShown(
  folded: Folded,
  view: View,
  { choice, policy }: { readonly choice: ViewChoice; readonly policy: Policy },
): void {
  const { budget = Infinity, format } = choice
  expect(view.tokens.after).toBeLessThanOrEqual(budget)
  if (budget !== Infinity || format !== 'openai-chat') return
  const window = windowOf(policy)
  // What other rules do is taken from the log, where it was logged.
  const isLogged = choice.policy === undefined && choice.dryRun !== true
  if (window === undefined && !isLogged) return
  const hidden = window === undefined ? undefined : droppedByWindow(folded, window)
  const gists = shownGists(folded, hidden)
  expect(view.messages.map(gistOfChat)).toEqual(framedGists(gists, choice))
}

/** The edits of one view: exactly the window where there is nothing else, and never what is protected. */
function verifyEdits(before: Folded, edits: readonly EditEntry[], policy: Policy): void {
  const dropped = before.visible.filter(({ seq }) => edits.some((edit) => covers(edit, seq)))
  const seqs = dropped.map(({ seq }) => seq)
  const newest = before.messages.findLast(isTurnStart)?.seq
  const isSafe = (seq: number): boolean =>
    seq === newest || before.pinned.has(seq) || before.vetoed.has(seq)
  expect(seqs.filter(isSafe)).toEqual([])
  const window = windowOf(policy)
  if (window === undefined) return
  expect(new Set(seqs)).toEqual(droppedByWindow(before, window))
  expect(edits.filter(({ target }) => 'seq' in target)).toEqual([])
}

/** The window of a policy that has no other rule. */
function windowOf({ history = { policy: 'all' }, ...others }: Policy): HistoryPolicy | undefined {
  const isAlone = Object.keys(others).length === 0 && (history.maxMessages ?? 0) === 0
  return isAlone ? history : undefined
}

function newEdits(before: Folded, after: Folded): readonly EditEntry[] {
  return newEntries(before, after).filter((entry) => entry.type === 'edit')
}

function undoAction(session: Session, request: Of<'undo'>, folded: Folded): Action {
  const edit = folded.live[request.pick % Math.max(1, folded.live.length)]
  const id = edit === undefined ? 'e9zz' : request.isEpoch ? edit.epoch : edit.id
  const isMeant = (one: EditEntry): boolean => one.id === id || one.epoch === id
  const meant = folded.live.filter(isMeant)
  // A checkpoint stands for all that older ones covered, so they cannot be taken from under it.
  const oldest = meant.find(isCheckpoint)
  const isBelow =
    oldest !== undefined &&
    folded.live.some((one) => isCheckpoint(one) && one.seq > oldest.seq && !meant.includes(one))
  const undone = new Set(isBelow ? [] : meant.map((one) => one.id))
  return {
    async run() {
      const call = session.thread(request.who).undo(id)
      if (undone.size === 0) await expect(call).rejects.toMatchObject({ code: 'cannot-undo' })
      else await call
    },
    verify(before, after) {
      expect(after.live).toEqual(before.live.filter(({ id: one }) => !undone.has(one)))
      expect(after.messages).toEqual(before.messages)
    },
  }
}

function forkAction(session: Session, request: Of<'fork'>, folded: Folded): Action {
  const at = request.at % (folded.log.length + 1)
  let fork: Awaited<ReturnType<typeof session.openActor>>['thread'] | undefined
  return {
    async run() {
      fork = await session.thread(request.who).fork(at)
    },
    async verify(before, after) {
      if (fork === undefined) throw new Error('The fork was not made.')
      session.branches.add(fork.id)
      expect(after.messages).toEqual(before.messages)
      const log = await session.log(fork.id)
      const kept = before.log.slice(0, Math.max(1, at))
      expect(linesOf(log.slice(0, kept.length))).toEqual(linesOf(kept))
      const own = foldLog(log)
      const expected = forkOf(before, at)
      expect(own.pinned).toEqual(expected.pinned)
      expect(own.excluded).toEqual(expected.excluded)
      expect(own.vetoed).toEqual(expected.vetoed)
      const view = await dryView(fork, { policy: {} })
      expect(view.messages.map(gistOfChat)).toEqual(
        shownGists(widened({ ...expected, leading: own.leading }, {})),
      )
      if (request.isStaying) session.replace(request.who, { thread: fork })
    },
  }
}

function markAction(session: Session, request: Of<'mark'>, folded: Folded): Action {
  const { messages } = folded
  const message = messages[request.pick % Math.max(1, messages.length)]
  const id = message?.externalId ?? message?.id ?? 'e9zz'
  const isOn = request.mark === 'pin' || request.mark === 'exclude'
  const isPin = request.mark === 'pin' || request.mark === 'unpin'
  return {
    async run() {
      const thread = session.thread(request.who)
      const call = isPin ? thread.pin(id, { pinned: isOn }) : thread.exclude(id, { excluded: isOn })
      if (message === undefined) await expect(call).rejects.toMatchObject({ code: 'not-found' })
      else await call
    },
    verify(before, after) {
      const expected = new Set(isPin ? before.pinned : before.excluded)
      if (message !== undefined && isOn) expected.add(message.seq)
      if (message !== undefined && !isOn) expected.delete(message.seq)
      expect(isPin ? after.pinned : after.excluded).toEqual(expected)
      expect(after.messages).toEqual(before.messages)
    },
  }
}

function policyAction(session: Session, { who, policy }: Of<'policy'>): Action {
  return {
    async run() {
      await session.thread(who).setPolicy(policy)
    },
    verify(before, after) {
      expect(after.policy).toEqual(policy)
      expect(after.visible).toEqual(before.visible)
    },
  }
}

function compactAction(session: Session, { who }: Of<'compact'>): Action {
  return {
    async run() {
      await session.thread(who).compact()
    },
    verify(before, after) {
      expect(newEntries(before, after).filter(({ type }) => type !== 'edit')).toEqual([])
      verifyEdits(before, newEdits(before, after), { compaction: {} })
    },
  }
}

function usageAction(session: Session, request: Of<'usage'>, folded: Folded): Action {
  const sent = folded.log.findLast((entry) => entry.type === 'request')
  const view = sent?.type === 'request' ? sent.view : 'v0'
  return {
    async run() {
      await session.thread(request.who).usage({ prompt_tokens: request.tokens }, view)
    },
    verify(before, after) {
      const added = newEntries(before, after).filter((entry) => entry.type === 'usage')
      const sample: Json = { uncached: request.tokens, cacheRead: 0, cacheWrite: 0, output: 0 }
      expect(added).toMatchObject([{ view, sample }])
    },
  }
}

/** Undefined where no view fits the budget; any other error is a failure. */
async function orCannotProject(call: Promise<View>): Promise<View | undefined> {
  try {
    return await call
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return undefined
    throw error
  }
}
