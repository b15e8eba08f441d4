// Random operations on threads, compared after each of them with a naive model. ORIEL_RUNS=10 runs ten times as many.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../../../scripts/postgres.ts'
import type { JsonObject } from '../src/core/log/json.ts'
import type { HistoryPolicy } from '../src/policy/schema.ts'
import { project } from '../src/project.ts'
import type { FormatName } from '../src/providers/format.ts'
import { formatNames } from '../src/providers/registry.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import { postgresStore } from '../src/stores/postgres/index.ts'
import { sqliteStore } from '../src/stores/sqlite/index.ts'
import type { Store } from '../src/stores/store.ts'
import { conversationOf, historyArbitrary } from '../src/testing/arbitraries.ts'
import { openThread, type Thread } from '../src/thread/thread.ts'
import { scaledRuns } from './scaled-runs.ts'
import {
  bytesCheck,
  type Check,
  coverageCheck,
  growthCheck,
  naiveCheck,
  prefixCheck,
  requestCheck,
  scratchCheck,
} from './thread-model/checks.ts'
import { exampleChecks, examples } from './thread-model/examples.ts'
import { rangesOf, withIds, withProjectedIds } from './thread-model/feeding.ts'
import { foldLog } from './thread-model/naive.ts'
import {
  type OperationOptions,
  type OperationType,
  operationsArbitrary,
  policyOf,
  type Rules,
} from './thread-model/operations.ts'
import { ifAny } from './thread-model/perform.ts'
import {
  Branches,
  chatOf,
  isPrefix,
  resend,
  resentArbitrary,
  toldArbitrary,
} from './thread-model/resent.ts'
import { run } from './thread-model/run.ts'
import { dryView, type Scenario, Session } from './thread-model/session.ts'
import { workOfOneStep } from './thread-model/work.ts'
import { worldOf } from './thread-model/world.ts'

const directory = mkdtempSync(join(tmpdir(), 'oriel-thread-model-'))
const database = sqliteStore(join(directory, 'threads.db'))
const server = await startPostgres()
const schema = `model_${process.pid}`
const remote = postgresStore(server.url, { schema, timeoutMs: 30_000 })
let tenantCount = 0

afterAll(async () => {
  await database.close()
  await remote.close()
  await server.close()
  rmSync(directory, { recursive: true, force: true })
})

const quiet = ['append', 'append', 'view', 'usage', 'reload', 'tick', 'policy', 'sync'] as const
const forking = ['append', 'append', 'view', 'view', 'undo', 'mark', 'fork', 'policy'] as const
const usual = [
  ...['append', 'append', 'append', 'view', 'view', 'view', 'undo', 'undo'],
  ...['mark', 'policy', 'usage', 'reload', 'tick', 'fork', 'sync', 'compact'],
] as readonly OperationType[]

/** A store of each kind; runs share it, each as its own tenant. Disks are slow: they get fewer runs. */
const stores = [
  { name: 'memory', store: memoryStore(), runs: 60 },
  { name: 'sqlite', store: database, runs: 6 },
  { name: 'postgres', store: remote, runs: 3 },
]

describe.each(stores)('a thread on $name', ({ store, runs }) => {
  for (const { name: behaviour, scenario, operations } of examples) {
    it(behaviour, async () => {
      const checks = exampleChecks.map((make) => make())
      await run({ store, tenant: nextTenant(), scenario, operations, checks })
    })
  }

  it('[I1] never changes the prefix of its log', () =>
    holds(store, { types: usual }, [prefixCheck], runs))

  it('[I5] covers every message once, over checkpoints, windows, undos, marks and forks', () =>
    holds(store, { types: ['compact', ...usual] }, [coverageCheck], runs))

  it('[I13] shows what a naive fold of its log shows', () =>
    holds(store, { types: usual }, [naiveCheck], runs))

  it('[I13] keeps the state that a fold from scratch gives', () =>
    holds(store, { types: usual }, [scratchCheck], runs))

  it('[I3] gives the same bytes again, to every object and after a reload', () =>
    holds(store, { types: usual }, [bytesCheck], runs))

  it('[I3] rebuilds what it sent at every step', () =>
    holds(store, { types: usual }, [requestCheck], runs))

  it('[I9] only grows at its end between epochs', () =>
    holds(store, { types: quiet, isComplete: true }, [growthCheck], runs))

  it('[I11] loses and doubles nothing when two objects act at once', () =>
    holds(store, { types: ['race', 'race', ...usual] }, [prefixCheck, bytesCheck], runs))

  it('[I11] keeps equal messages that two objects append in the same millisecond', async () => {
    const options = { id: 't', tenant: nextTenant(), store, now: () => 1000 }
    const threads = await Promise.all([1, 2, 3].map(() => openThread(options)))
    const message = { role: 'user', content: 'continue' }
    await Promise.all(threads.map((thread) => thread.append(message)))
    expect((await dryView(await openThread(options))).messages).toEqual([message, message, message])
  })

  it('[I11] is unchanged by a store that fails, and a retry does the work once', () =>
    holds(store, { types: ['fault', 'fault', ...usual] }, [prefixCheck, naiveCheck], runs))

  it('[F1] forks with the ids, forms, pins and undos of what it keeps', () =>
    holds(store, { types: forking }, [bytesCheck], runs))

  it('[I10] takes a resent history once, on the branch that it continues', () =>
    fc.assert(
      fc.asyncProperty(resentArbitrary(), async (requests) => {
        const branches = new Branches(store, nextTenant())
        const sent: (readonly string[])[] = [[]]
        const known = { first: await branches.open(), second: await branches.open() }
        for (const { base, keep, more, by } of requests) {
          const told = [...(sent[base % sent.length] ?? []).slice(0, keep), ...more]
          if (told.length === 0) continue
          const thread = by === 'new' ? await branches.open() : known[by]
          await resend(branches, thread, told)
          const again = await thread.sync(told.map(chatOf))
          expect(again).toMatchObject({ thread: thread.id, appended: 0, isForked: false })
          sent.push(told)
        }
      }),
      { numRuns: scaledRuns(runs * 2) },
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
      { numRuns: scaledRuns(runs) },
    ))

  it('[I10] takes histories that come at the same time once each', () =>
    fc.assert(
      fc.asyncProperty(fc.tuple(toldArbitrary(3), toldArbitrary(2), toldArbitrary(2)), (told) =>
        takesBoth(new Branches(store, nextTenant()), told),
      ),
      { numRuns: scaledRuns(runs) },
    ))

  it('[I12] shows after an undo what it showed before the edit', () =>
    fc.assert(
      fc.asyncProperty(
        scenarioArbitrary('windows'),
        operationsArbitrary({ types: usual, rules: 'windows' }),
        fc.boolean(),
        async (scenario, operations, isEpoch) => {
          const tenant = nextTenant()
          const session = await run({ store, tenant, scenario, operations, checks: [] })
          const thread = session.thread(0)
          await thread.append(['user', 'assistant', 'user'].map((role) => ({ role, content: 'x' })))
          await undoesEpoch(thread, isEpoch)
        },
      ),
      { numRuns: scaledRuns(runs) },
    ))
})

describe('threads on different stores', () => {
  it('[I3] hold the same bytes after the same operations', () =>
    fc.assert(
      fc.asyncProperty(
        scenarioArbitrary('all'),
        operationsArbitrary({ types: usual }),
        async (scenario, operations) => {
          const same = { tenant: nextTenant(), scenario, operations, checks: [] }
          const inMemory = await run({ ...same, store: memoryStore() })
          const onDisk = await run({ ...same, store: database })
          const onServer = await run({ ...same, store: remote })
          const world = await worldOf(inMemory)
          expect(await worldOf(onDisk)).toBe(world)
          expect(await worldOf(onServer)).toBe(world)
        },
      ),
      { numRuns: scaledRuns(10) },
    ))

  it('[I3] hold the same bytes after a restart', async () => {
    const path = join(directory, 'restarted.db')
    const worlds: { readonly session: Session; readonly world: string }[] = []
    const first = sqliteStore(path)
    const scenario = { policy: { history: { length: 1 } }, snapshotEvery: 5 }
    const samples = { numRuns: scaledRuns(5), seed: 1 }
    for (const operations of fc.sample(operationsArbitrary({ types: usual }), samples)) {
      const tenant = nextTenant()
      const session = await run({ store: first, tenant, scenario, operations, checks: [] })
      worlds.push({ session, world: await worldOf(session) })
    }
    await first.close()
    const second = sqliteStore(path)
    for (const { session, world } of worlds) {
      const again = await Session.open(second, session.tenant, { snapshotEvery: 5 })
      for (const id of session.branches) again.branches.add(id)
      expect(await worldOf(again)).toBe(world)
    }
    await second.close()
  })

  it('[I11] hold the same bytes whether listeners throw or not', () =>
    fc.assert(
      fc.asyncProperty(
        scenarioArbitrary('all'),
        operationsArbitrary({ types: usual }),
        async (scenario, operations) => {
          const same = { tenant: nextTenant(), operations, checks: [] }
          const good = { ...scenario, isListenerBad: false }
          const bad = { ...scenario, isListenerBad: true }
          const quiet = await run({ ...same, store: memoryStore(), scenario: good })
          const noisy = await run({ ...same, store: memoryStore(), scenario: bad })
          expect(await worldOf(noisy)).toBe(await worldOf(quiet))
        },
      ),
      { numRuns: scaledRuns(30) },
    ))
})

describe('a thread that is fed message by message', () => {
  it.each(formatNames)('[T6] shows what project shows of the whole, in %s', (format) => {
    // Where nobody looked, what a view would have done is done by the next one.
    const unseen = fc.array(fc.nat({ max: 20 }))
    const fed = fc.tuple(conversationOf(format), historyArbitrary(), unseen)
    return fc.assert(
      fc.asyncProperty(fed, ([messages, history, skipped]) =>
        showsTheWhole(format, { messages, history, skipped }),
      ),
      { numRuns: scaledRuns(40) },
    )
  })
})

it('[T6] a cap drops nothing behind an exchange that the model has not seen', () =>
  showsTheWhole('openai-chat', {
    messages: [
      { role: 'user', content: 'one' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'search', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'found' },
      { role: 'user', content: 'two' },
      { role: 'user', content: 'three' },
      { role: 'assistant', content: 'four' },
    ],
    history: { maxMessages: 3 },
    skipped: [],
  }))

it('[T6] takes no word that was said for an id', () => {
  const ids = new Map([['else', 'edw4']])
  const other = [{ content: 'x if y else z' }, { content: '[Omitted: edw4]' }]
  expect(
    withIds([{ content: 'x if y else z' }, { content: '[Omitted: else]' }], other, ids),
  ).toEqual(other)
})

describe('a window in a tool loop with signed reasoning', () => {
  const thought = { type: 'thinking', thinking: 'hm', signature: 'sig' }
  const use = { type: 'tool_use', id: 'c1', name: 'search', input: {} }
  const answered = { type: 'tool_result', tool_use_id: 'c1', content: 'found' }
  const loop = [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
    { role: 'user', content: 'three' },
    { role: 'assistant', content: [thought, use] },
    { role: 'user', content: [answered, { type: 'text', text: 'go on' }] },
  ]
  const unseen = [
    { name: 'after each message', skipped: [] },
    { name: 'only at the end', skipped: [0, 1, 2, 3] },
  ]

  it.each(unseen)('[T6] drops what left before the loop, viewed $name', ({ skipped }) =>
    showsTheWhole('anthropic', { messages: loop, history: { policy: 'none' }, skipped }),
  )

  it.each(unseen)(
    '[T6] drops system messages from before the loop, viewed $name',
    ({ skipped }) => {
      const messages = [
        { role: 'system', content: 'be brief' },
        { role: 'user', content: 'one' },
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'sig' } } },
            { type: 'tool-call', toolCallId: 'c1', toolName: 'search', input: {} },
          ],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c1',
              toolName: 'search',
              output: { type: 'text', value: 'found' },
            },
          ],
        },
        { role: 'user', content: 'go on' },
      ]
      return showsTheWhole('ai-sdk', {
        messages,
        history: { preserveSystemMessages: false },
        skipped,
      })
    },
  )
})

describe('reasoning in the second of two tool loops, behind a window', () => {
  const step = (name: string) => [
    {
      role: 'assistant',
      content: [{ type: 'thinking', thinking: 'the', signature: `sig ${name}` }],
      tool_calls: [{ name: 'search', args: {}, id: name, type: 'tool_call' }],
    },
    { role: 'tool', tool_call_id: name, content: '' },
  ]

  it.each([
    { name: 'after each message', skipped: [] },
    { name: 'only at the end', skipped: [0, 1, 2, 3, 4, 5, 6] },
  ])('[T6] stays, viewed $name', ({ skipped }) => {
    const redacted = { type: 'redacted_thinking', data: 'sig reply' }
    const messages = [
      { role: 'user', content: 'the' },
      ...step('call_1'),
      { role: 'assistant', content: 'the' },
      { role: 'user', content: 'the' },
      ...step('call_2'),
      { role: 'assistant', content: [redacted, { type: 'text', text: 'the' }] },
    ]
    return showsTheWhole('langchain', { messages, history: { length: 0 }, skipped })
  })
})

describe('reasoning behind a system message that is not preserved', () => {
  it('[T6] has never seen it, and stays', () => {
    const thought = { type: 'thinking', thinking: 'hm', signature: 'sig' }
    const messages = [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: [thought, { type: 'text', text: 'two' }] },
      { role: 'user', content: 'three' },
    ]
    const history = { preserveSystemMessages: false }
    return showsTheWhole('anthropic', { messages, history, skipped: [] })
  })
})

describe('reasoning behind a turn that the cap had dropped before the window did', () => {
  it.each([
    { name: 'after each message', skipped: [] },
    { name: 'only at the end', skipped: [0, 1, 2, 3, 4, 5, 6, 7] },
  ])('[T6] has never seen it, and stays, viewed $name', ({ skipped }) => {
    const use = (id: string) => ({
      role: 'assistant',
      content: [{ type: 'tool_use', id, name: 'search', input: {} }],
    })
    const result = (id: string, ...more: readonly JsonObject[]) => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content: '' }, ...more],
    })
    const thought = { type: 'thinking', thinking: 'hm', signature: 'sig' }
    const messages = [
      { role: 'user', content: 'one' },
      use('toolu_1'),
      result('toolu_1', { type: 'text', text: 'two' }),
      ...[use('toolu_2'), result('toolu_2'), use('toolu_3'), result('toolu_3')],
      { role: 'assistant', content: [thought, { type: 'text', text: 'done' }] },
      { role: 'user', content: 'three' },
    ]
    const history = { length: 2, maxMessages: 1, keepRecentMessages: 5 }
    return showsTheWhole('anthropic', { messages, history, skipped })
  })
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

/** Feeds a thread message by message, viewing it except where it is skipped, and compares it with a projection of the whole. */
async function showsTheWhole(
  format: FormatName,
  {
    messages,
    history,
    skipped,
  }: {
    readonly messages: readonly JsonObject[]
    readonly history: HistoryPolicy
    readonly skipped: readonly number[]
  },
): Promise<void> {
  const thread = await openThread({ store: memoryStore(), policy: { history }, now: () => 0 })
  for (const [from, to] of rangesOf(format, messages)) {
    await thread.append(messages.slice(from, to), { format })
    if (!skipped.includes(from)) await ifAny(thread.view({ format }), 'cannot-project')
  }
  // Where nothing is left to send, both refuse.
  const view = await ifAny(thread.view({ format }), 'cannot-project')
  const projecting = (async () => project(messages, { history }, { format }))()
  const projected = await ifAny(projecting, 'cannot-project')
  if (view === undefined || projected === undefined) {
    expect([view, projected]).toEqual([undefined, undefined])
    return
  }
  const shown = await withProjectedIds(thread, view.messages, projected.messages)
  expect(shown).toEqual(projected.messages)
  expect(view.system).toEqual(projected.system)
}

function scenarioArbitrary(rules: Rules): fc.Arbitrary<Scenario> {
  return fc.record(
    {
      policy: policyOf(rules),
      snapshotEvery: fc.integer({ min: 1, max: 20 }),
      isListenerBad: fc.boolean(),
    },
    { requiredKeys: ['policy'], noNullPrototype: true },
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
      scenarioArbitrary(options.rules ?? 'all'),
      operationsArbitrary(options),
      async (scenario, operations) => {
        const made = checks.map((make) => make())
        await run({ store, tenant: nextTenant(), scenario, operations, checks: made })
      },
    ),
    { numRuns: scaledRuns(numRuns) },
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
  const { epoch } = (await ifAny(thread.view(), 'cannot-project')) ?? {}
  if (epoch === undefined || epoch.applied === 0) return
  const { live } = foldLog(await thread.log())
  const edits = live.filter((edit) => edit.epoch === epoch.id)
  // A wider window only takes back what a narrower one did: there is nothing to undo.
  if (edits.length === 0) return
  for (const id of isEpoch ? [epoch.id] : edits.map((edit) => edit.id)) await thread.undo(id)
  expect(await shown()).toEqual(before)
  // What was taken back is not proposed again.
  expect((await thread.view()).epoch.applied).toBe(0)
  expect(await shown()).toEqual(before)
}
