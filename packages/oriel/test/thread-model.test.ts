// Random operations on threads, compared after each of them with a naive model. ORIEL_RUNS=10 runs ten times as many.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { Draft, Entry } from '../src/core/entry.ts'
import { blockId, fixedSalt } from '../src/core/handle.ts'
import { isObject } from '../src/core/json.ts'
import { prepare } from '../src/core/prepare.ts'
import { type FormatName, formatNames } from '../src/formats/format.ts'
import { formatNamed } from '../src/formats/registry.ts'
import { project } from '../src/project.ts'
import { memoryStore } from '../src/stores/memory.ts'
import { sqliteStore } from '../src/stores/sqlite.ts'
import type { Store } from '../src/stores/store.ts'
import { conversationOf, historyArbitrary } from '../src/testing/arbitraries.ts'
import { type EntryBody, Journal, type JournalOptions } from '../src/thread/journal.ts'
import { openThread, Thread } from '../src/thread/thread.ts'
import {
  bytesCheck,
  type Check,
  growthCheck,
  naiveCheck,
  prefixCheck,
  scratchCheck,
} from './thread-model/checks.ts'
import { watchedStore } from './thread-model/faulty-store.ts'
import { foldLog } from './thread-model/naive.ts'
import {
  type OperationOptions,
  type OperationType,
  operationsArbitrary,
  policyOf,
} from './thread-model/operations.ts'
import {
  Branches,
  chatOf,
  isPrefix,
  resend,
  resentArbitrary,
  toldArbitrary,
} from './thread-model/resent.ts'
import { run } from './thread-model/run.ts'
import { dryView, type Scenario } from './thread-model/session.ts'
import { expectTwins, worldOf } from './thread-model/twins.ts'

const factor = Number(process.env.ORIEL_RUNS ?? 1)
const directory = mkdtempSync(join(tmpdir(), 'oriel-thread-model-'))
const databasePath = join(directory, 'threads.db')
const database = sqliteStore(databasePath)
let tenantCount = 0

afterAll(async () => {
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

const quiet = ['append', 'append', 'view', 'usage', 'reload', 'tick', 'policy', 'sync'] as const
const usual = [
  ...['append', 'append', 'append', 'view', 'view', 'view', 'undo'],
  ...['mark', 'policy', 'usage', 'reload', 'tick', 'fork', 'sync'],
] as readonly OperationType[]

/** A store of each kind; runs share it, each as its own tenant. Disks are slow: they get fewer runs. */
const stores = [
  { name: 'memory', store: memoryStore(), runs: 60 },
  { name: 'sqlite', store: database, runs: 6 },
]

describe.each(stores)('a thread on $name', ({ store, runs }) => {
  it('[I1] never changes the prefix of its log', () =>
    holds(store, { types: usual }, [prefixCheck], runs))

  it('[I13] shows what a naive fold of its log shows', () =>
    holds(store, { types: usual }, [naiveCheck], runs))

  it('[I13] keeps the state that a fold from scratch gives', () =>
    holds(store, { types: usual }, [scratchCheck], runs))

  it('[I3] gives the same bytes again, to every object and after a reload', () =>
    holds(store, { types: usual }, [bytesCheck], runs))

  it('[I9] only grows at its end between epochs', () =>
    holds(store, { types: quiet, isComplete: true }, [growthCheck], runs))

  it('[I11] loses and doubles nothing when two objects act at once', () =>
    holds(store, { types: ['race', 'race', ...usual] }, [prefixCheck, bytesCheck], runs))

  it('[I11] is unchanged by a store that fails, and a retry does the work once', () =>
    holds(store, { types: ['fault', 'fault', ...usual] }, [prefixCheck, naiveCheck], runs))

  it('[I10] takes a resent history once, on the branch that it continues', () =>
    fc.assert(
      fc.asyncProperty(resentArbitrary(), async (requests) => {
        const branches = new Branches(store, nextTenant())
        const sent: (readonly string[])[] = [[]]
        let thread = await branches.open()
        for (const { base, keep, more, isFresh } of requests) {
          const told = [...(sent[base % sent.length] ?? []).slice(0, keep), ...more]
          if (told.length === 0) continue
          if (isFresh) thread = await branches.open()
          await resend(branches, thread, told)
          const again = await thread.sync(told.map(chatOf))
          expect(again).toMatchObject({ thread: thread.id, appended: 0, isForked: false })
          sent.push(told)
        }
      }),
      { numRuns: runs * 2 * factor },
    ))

  it('[I10] takes a retry that another process gets once', () =>
    fc.assert(
      fc.asyncProperty(resentArbitrary(), async (requests) => {
        const branches = new Branches(store, nextTenant())
        const thread = await branches.open()
        let told: readonly string[] = []
        for (const { keep, more } of requests) {
          told = [...told.slice(0, keep), ...more]
          if (told.length === 0) continue
          await thread.sync(told.map(chatOf))
          const other = await branches.open()
          const again = await other.sync(told.map(chatOf))
          expect(again).toMatchObject({ appended: 0, isForked: false })
        }
      }),
      { numRuns: runs * factor },
    ))

  it('[I10] takes histories that come at the same time once each', () =>
    fc.assert(
      fc.asyncProperty(fc.tuple(toldArbitrary(3), toldArbitrary(2), toldArbitrary(2)), (told) =>
        takesBoth(new Branches(store, nextTenant()), told),
      ),
      { numRuns: runs * factor },
    ))

  it('[I12] shows after an undo what it showed before the edit', () =>
    fc.assert(
      fc.asyncProperty(
        scenarioArbitrary(false),
        operationsArbitrary({ types: usual, hasCaps: false }),
        fc.boolean(),
        async (scenario, operations, isEpoch) => {
          const tenant = nextTenant()
          const session = await run({ store, tenant, scenario, operations, checks: [] })
          await undoesEpoch(session.thread(0), isEpoch)
        },
      ),
      { numRuns: runs * factor },
    ))
})

describe('threads on different stores', () => {
  it('[I3] hold the same bytes after the same operations', async () => {
    const worlds: { tenant: string; world: string }[] = []
    await fc.assert(
      fc.asyncProperty(
        scenarioArbitrary(true),
        operationsArbitrary({ types: usual }),
        async (scenario, operations) => {
          const same = { tenant: nextTenant(), scenario, operations, checks: [] }
          const onDisk = await run({ ...same, store: database })
          await expectTwins(await run({ ...same, store: memoryStore() }), onDisk)
          worlds.push({ tenant: same.tenant, world: await worldOf(onDisk) })
        },
      ),
      { numRuns: 8 * factor },
    )
  })

  it('[I11] hold the same bytes whether listeners throw or not', () =>
    fc.assert(
      fc.asyncProperty(
        scenarioArbitrary(true),
        operationsArbitrary({ types: usual }),
        async (scenario, operations) => {
          const same = { tenant: nextTenant(), operations, checks: [] }
          const good = { ...scenario, isListenerBad: false }
          const bad = { ...scenario, isListenerBad: true }
          const one = await run({ ...same, store: memoryStore(), scenario: good })
          await expectTwins(one, await run({ ...same, store: memoryStore(), scenario: bad }))
        },
      ),
      { numRuns: 30 * factor },
    ))
})

describe('a thread that is fed message by message', () => {
  it.each(formatNames)('[T6] shows what project shows of the whole, in %s', (format) =>
    fc.assert(
      fc.asyncProperty(conversationOf(format), historyArbitrary(), async (messages, history) => {
        const thread = await openThread({ store: memoryStore(), policy: { history }, now: () => 0 })
        for (const [from, to] of rangesOf(format, messages)) {
          await thread.append(messages.slice(from, to), { format })
          await thread.view({ format })
        }
        const view = await thread.view({ format })
        const projected = project(messages, { history }, { format })
        expect(await withProjectedIds(thread, view.messages)).toEqual(projected.messages)
        expect(view.system).toEqual(projected.system)
      }),
      { numRuns: 25 * factor },
    ),
  )
})

describe('work per step', () => {
  it('[T7] does not grow with the log', async () => {
    const short = await workOfOneStep(1000)
    const long = await workOfOneStep(20_000)
    expect(long.seen).toBeLessThanOrEqual(short.seen)
    expect(long.visits).toBeLessThanOrEqual(short.visits)
    expect(long.read).toBeLessThanOrEqual(short.read)
  })
})

function scenarioArbitrary(hasCaps: boolean): fc.Arbitrary<Scenario> {
  return fc.record(
    {
      policy: policyOf(hasCaps),
      snapshotEvery: fc.integer({ min: 1, max: 20 }),
      isListenerBad: fc.boolean(),
    },
    { requiredKeys: [], noNullPrototype: true },
  )
}

function holds(
  store: Store,
  options: OperationOptions,
  checks: readonly (() => Check)[],
  numRuns: number,
): Promise<void> {
  return fc.assert(
    fc.asyncProperty(
      scenarioArbitrary(options.hasCaps ?? true),
      operationsArbitrary(options),
      async (scenario, operations) => {
        const made = checks.map((make) => make())
        await run({ store, tenant: nextTenant(), scenario, operations, checks: made })
      },
    ),
    { numRuns: numRuns * factor },
  )
}

function nextTenant(): string {
  tenantCount += 1
  return `tenant-${tenantCount}`
}

/** Two processes get histories with the same beginning at the same time. */
async function takesBoth(
  branches: Branches,
  [base, left, right]: readonly [readonly string[], readonly string[], readonly string[]],
): Promise<void> {
  const threads = [await branches.open(), await branches.open()] as const
  if (base.length > 0) await threads[0].sync(base.map(chatOf))
  const histories = [
    [...base, ...left],
    [...base, ...right],
  ] as const
  const results = await Promise.all(
    threads.map((thread, index) => thread.sync((histories[index] ?? []).map(chatOf))),
  )
  for (const [index, { thread }] of results.entries()) {
    branches.add(thread)
    expect(isPrefix(histories[index] ?? [], await branches.told(thread))).toBe(true)
  }
  // Nobody else said anything: every branch holds what one of them sent, once.
  const sent = [base, ...histories].map((told) => told.join())
  for (const told of (await branches.all()).values()) expect(sent).toContain(told.join())
}

/** Applies what the policy proposes, takes it back, and expects the view from before. */
async function undoesEpoch(thread: Thread, isEpoch: boolean): Promise<void> {
  const shown = async (): Promise<unknown> => {
    const views = formatNames.map((format) => dryView(thread, { format, policy: {} }))
    return (await Promise.all(views)).map(({ messages, system }) => ({ messages, system }))
  }
  const before = await shown()
  const { epoch } = await thread.view()
  if (epoch.applied === 0) return
  const { live } = foldLog(await thread.log())
  const edits = live.filter((edit) => edit.epoch === epoch.id)
  for (const id of isEpoch ? [epoch.id] : edits.map((edit) => edit.id)) await thread.undo(id)
  expect(await shown()).toEqual(before)
  // What was taken back is not proposed again.
  expect((await thread.view()).epoch.applied).toBe(0)
  expect(await shown()).toEqual(before)
}

/** What a client would append at a time: a message, or the items of one response. */
function rangesOf(format: FormatName, messages: readonly unknown[]): ReadonlyMap<number, number> {
  const decoded = formatNamed(format).decode(messages, 'messages')
  return new Map(decoded.map(({ from, to }) => [from, to]))
}

/** A thread's ids in messages, replaced by those that `project` gives the same blocks. */
async function withProjectedIds(thread: Thread, messages: readonly unknown[]): Promise<unknown> {
  const [header, ...log] = await thread.log()
  const value = header?.type === 'setting' && isObject(header.value) ? header.value : {}
  let text = JSON.stringify(messages)
  const entries = log.filter((entry) => entry.type === 'message')
  entries.forEach(({ seq, blocks }, index) => {
    blocks.forEach((_, block) => {
      const own = blockId(String(value.salt), seq, block)
      const projected = blockId(fixedSalt, index + 1, block)
      for (const word of ['call_', 'expand ', 'to ']) {
        text = text.replaceAll(`"${word}${own}`, `"${word}!${projected}`)
        text = text.replaceAll(` ${word}${own}`, ` ${word}!${projected}`)
      }
    })
  })
  return JSON.parse(text.replaceAll(/(call_|expand |to )!e/g, '$1e')) as unknown
}

/** Entries looked at when one more step is appended and viewed after `count` messages. */
async function workOfOneStep(
  count: number,
): Promise<{ seen: number; read: number; visits: number }> {
  const inner = memoryStore()
  const key = { tenant: 'default', thread: `long-${count}` }
  const options = { id: key.thread, now: () => 0, snapshotEvery: 0 }
  await writeTurns({ ...options, store: inner, key, tokens: undefined }, count / turnLength)
  const { store, visits } = watchedStore(inner)
  const journal = await Journal.open({ ...options, store, key, tokens: undefined })
  const policy = { history: { length: windowLength } }
  const thread = new Thread({ ...options, store, policy }, journal)
  await thread.view()
  const before = journal.state.visits
  visits.read = 0
  visits.seen.clear()
  await thread.append(turnOf(count))
  await thread.view()
  return { seen: visits.seen.size, read: visits.read, visits: journal.state.visits - before }
}

const turnLength = 4
const windowLength = 10
const turnsAtOnce = 50

/** A log as a window over turns leaves it: one edit for each turn that left. Written without views, which would take long. */
async function writeTurns(options: JournalOptions, turnCount: number): Promise<void> {
  const journal = await Journal.open(options)
  const starts: number[] = []
  for (let turn = 0; turn < turnCount; turn += turnsAtOnce) {
    const drafts = Array.from({ length: turnsAtOnce }, (_, more) => turnOf(turn + more)).flat()
    const written = await journal.commit((state, stamp) => prepare(state, drafts, stamp.at))
    starts.push(...written.filter(({ role }) => role === 'user').map(({ seq }) => seq))
    const gone = starts.splice(0, starts.length - windowLength)
    await journal.commit((_, stamp) => gone.map((from): Entry => stamp.entry(dropOf(from))))
  }
}

function turnOf(turn: number): readonly Draft[] {
  const callId = `c${turn}`
  return [
    { role: 'user', content: `question ${turn}` },
    { role: 'assistant', content: [{ type: 'tool-call', callId, name: 'read', arguments: '{}' }] },
    { role: 'tool', content: [{ type: 'tool-result', callId, content: 'text' }] },
    { role: 'assistant', content: `answer ${turn}` },
  ]
}

function dropOf(from: number): EntryBody {
  const target = { ranges: [[from, from + turnLength - 1] as const] }
  const tokens = { tokensBefore: 20, tokensAfter: 0 }
  const reason = 'before the last 10 user turns'
  return {
    type: 'edit',
    rule: 'history',
    form: 'dropped',
    target,
    reason,
    epoch: `p${from}`,
    ...tokens,
  }
}
