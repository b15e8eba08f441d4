// Runs a list of operations on a store and looks at the thread after each of them.

import { expect } from 'vitest'
import type { Entry } from '../../src/core/log/entry.ts'
import { OrielError } from '../../src/core/log/errors.ts'
import { canonicalJson, type Json } from '../../src/core/log/json.ts'
import type { Store } from '../../src/stores/store.ts'
import { type Action, newEntries } from './action.ts'
import { actionOf, isCheckpoint } from './actions.ts'
import type { Check } from './checks.ts'
import { covers, type Folded, foldLog, framedGists, gistOfChat, shownGists } from './naive.ts'
import type { Operation, Request } from './operations.ts'
import { bytesOf, dryView, linesOf, type Scenario, Session } from './session.ts'

export interface Run {
  readonly store: Store
  readonly tenant: string
  readonly scenario: Scenario
  readonly operations: readonly Operation[]
  readonly checks: readonly Check[]
}

/** Ends with the session, for what a test wants to know of it. */
export async function run({ store, tenant, scenario, operations, checks }: Run): Promise<Session> {
  const session = await Session.open(store, tenant, scenario)
  for (const operation of operations) {
    await perform(session, operation)
    const who = 'who' in operation ? operation.who : 0
    for (const check of checks) await check.after(session, who)
  }
  for (const check of checks) for (const who of [0, 1] as const) await check.after(session, who)
  return session
}

async function perform(session: Session, operation: Operation): Promise<void> {
  switch (operation.type) {
    case 'tick':
      session.clock = Math.max(0, session.clock + operation.by)
      return
    case 'reload':
      session.replace(operation.who, await session.openActor(session.thread(operation.who).id))
      return
    case 'race':
      return performRace(session, operation.both)
    case 'fault':
      return performFault(session, operation)
    default: {
      const before = await session.folded(operation.who)
      const { id } = session.thread(operation.who)
      const action = await actionOf(session, operation)
      await action.run()
      await action.verify(before, foldLog(await session.log(id)))
    }
  }
}

/** Both objects act at once: everything that was acknowledged is in the log, once, and each view is one of some moment. */
async function performRace(session: Session, both: readonly [Request, Request]): Promise<void> {
  const { id } = session.thread(0)
  if (session.thread(1).id !== id) session.replace(1, await session.openActor(id))
  const before = foldLog(await session.log(id))
  const actions: Action[] = []
  for (const request of both) actions.push(await actionOf(session, request))
  await Promise.all(actions.map((action) => action.run()))
  const after = foldLog(await session.log(id))
  const moments = Array.from({ length: newEntries(before, after).length + 1 }, (_, more) =>
    foldLog(after.log.slice(0, before.log.length + more)),
  )
  for (const [index, action] of actions.entries()) {
    verifyRaced(action, both[index] as Request, { before, after, moments })
  }
}

function verifyRaced(
  action: Action,
  request: Request,
  { before, after, moments }: { before: Folded; after: Folded; moments: readonly Folded[] },
): void {
  const view = action.viewed?.()
  if (request.type === 'view' && view !== undefined && request.choice.format === 'openai-chat') {
    const gists = canonicalJson(view.messages.map(gistOfChat) as unknown as Json)
    const shown = moments.map((moment) =>
      canonicalJson(framedGists(shownGists(moment), request.choice) as unknown as Json),
    )
    if (request.choice.dryRun !== true) expect(shown).toContain(gists)
  }
  // An append is one batch: without the entries of others it is exactly what was asked for.
  if (request.type === 'append' || request.type === 'usage') {
    const added = newEntries(before, after)
    const isThere = moments.some((_, from) =>
      moments.some((__, to) => isExact(action, before, added.slice(from, to))),
    )
    expect(isThere).toBe(true)
  }
}

function isExact(action: Action, before: Folded, added: readonly Folded['log'][number][]): boolean {
  try {
    void action.verify(before, foldLog([...before.log, ...added]))
    return true
  } catch {
    return false
  }
}

/** A store that fails changes nothing that can be seen, and a retry does the work once. */
async function performFault(
  session: Session,
  { fault, request, isReloaded }: Operation & { readonly type: 'fault' },
): Promise<void> {
  const { who } = request
  const thread = session.thread(who)
  const { id } = thread
  const before = foldLog(await session.log(id))
  // A checkpoint that was due is an epoch of its own, whether the view fails or not.
  const shown = async (): Promise<string> => {
    const epoch = { id: '', applied: 0, cause: 'none' } as const
    return bytesOf({ ...(await dryView(thread)), epoch }, session.scenario)
  }
  const bytes = await shown()
  const action = await actionOf(session, request)
  const failedBefore = session.failedTasks.length
  session.faulty.arm(fault)
  const error = await action.run().catch((reason: unknown) => reason)
  const hasFailed = session.faulty.disarm()
  // The checkpoint at the end of a turn is a background task: an event reports its failure, and what was appended stays.
  const isTurnEnd = request.type === 'append' || request.type === 'sync'
  const failedTasks = session.failedTasks.slice(failedBefore)
  if (!hasFailed || (isTurnEnd && failedTasks.includes('checkpoint'))) {
    if (error !== undefined) throw error
    return await action.verify(before, foldLog(await session.log(id)))
  }
  expect(OrielError.is(error, 'storage-failed')).toBe(true)
  expect(thread.id).toBe(id)
  if (!fault.isWritten) {
    const after = (await session.log(id)).filter(({ seq }) => seq <= before.log.length)
    expect(linesOf(after)).toEqual(linesOf(before.log))
    const added = (await session.log(id)).slice(before.log.length)
    expect(added.filter(isTelling)).toEqual([])
    expect(await shown()).toBe(bytes)
  }
  const between = foldLog(await session.log(id))
  if (isReloaded) session.replace(who, await session.openActor(id))
  await action.run().catch((reason: unknown) => {
    // What was written all the same is already undone.
    if (!(request.type === 'undo' && OrielError.is(reason, 'cannot-undo'))) throw reason
  })
  const after = foldLog(await session.log(id))
  if (request.type === 'view' && between.log.length > before.log.length) verifySingle(after)
  else await action.verify(before, after)
}

/** A header, the note of a fork that was not used, and a checkpoint that was due anyway change nothing that can be seen. */
function isTelling(entry: Entry): boolean {
  if (isCheckpoint(entry)) return false
  return !(entry.type === 'setting' && (entry.name === 'thread' || entry.name.startsWith('fork/')))
}

/** No message is dropped by two live edits. */
function verifySingle({ messages, live }: Folded): void {
  const doubled = messages.filter(({ seq }) => live.filter((edit) => covers(edit, seq)).length > 1)
  expect(doubled).toEqual([])
}
