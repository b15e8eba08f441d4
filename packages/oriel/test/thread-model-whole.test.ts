// Every operation on a thread, with content of every format and whole policies, in any order: what always holds. ORIEL_RUNS=10 runs
// ten times as many.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { startPostgres } from '../../../scripts/postgres.ts'
import type { Block } from '../src/core/log/block.ts'
import type { MessageEntry } from '../src/core/log/entry.ts'
import type { JsonObject } from '../src/core/log/json.ts'
import { isLasting } from '../src/core/view/audience.ts'
import { formatNames } from '../src/providers/registry.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import { postgresStore } from '../src/stores/postgres/index.ts'
import { sqliteStore } from '../src/stores/sqlite/index.ts'
import type { Store } from '../src/stores/store.ts'
import { eraseThread } from '../src/thread/erase.ts'
import { originalText } from '../src/thread/expand/expand.ts'
import type { Thread } from '../src/thread/thread.ts'
import { factor, scaledRuns } from './scaled-runs.ts'
import { type Act, actsArbitrary, moodyModel } from './thread-model/acts.ts'
import {
  type Check,
  coverageCheck,
  prefixCheck,
  requestCheck,
  scratchCheck,
} from './thread-model/checks.ts'
import { foldLog, isTurnStart } from './thread-model/naive.ts'
import { expectValid, ifAny, performAct, secret, type Whole } from './thread-model/perform.ts'
import { bytesOf, dryView, type Scenario, Session } from './thread-model/session.ts'
import { worldOf } from './thread-model/world.ts'
import { wildPolicyArbitrary } from './wild-rule.ts'

const directory = mkdtempSync(join(tmpdir(), 'oriel-thread-whole-'))
const database = sqliteStore(join(directory, 'threads.db'))
const server = await startPostgres()
const remote = postgresStore(server.url, { schema: `whole_${process.pid}`, timeoutMs: 30_000 })
let tenantCount = 0

afterAll(async () => {
  await database.close()
  await remote.close()
  await server.close()
  rmSync(directory, { recursive: true, force: true })
})

const stores = [
  { name: 'memory', store: memoryStore(), runs: 20 },
  { name: 'sqlite', store: database, runs: 4 },
  { name: 'postgres', store: remote, runs: 3 },
]

interface Case {
  readonly policy: Scenario['policy']
  readonly snapshotEvery: number
  readonly moods: readonly number[]
  readonly acts: readonly Act[]
}

const cases: fc.Arbitrary<Case> = fc.record({
  policy: wildPolicyArbitrary(),
  snapshotEvery: fc.nat({ max: 12 }),
  moods: fc.array(fc.nat({ max: 7 }), { maxLength: 3 }),
  acts: actsArbitrary(),
})

const thought = { type: 'thinking', thinking: 'the', signature: 'signed' }
const search = { type: 'tool_use', id: 'c1', name: 'search', input: {} }
const found = { type: 'tool_result', tool_use_id: 'c1', content: '' }
const thinking = [
  { role: 'user', content: 'the' },
  { role: 'assistant', content: [thought, search] },
  { role: 'user', content: [found] },
  { role: 'assistant', content: 'the' },
  { role: 'user', content: 'the' },
]

/** Cases that were found once. */
const examples: readonly (Case & { readonly name: string })[] = [
  {
    name: '[I3] stops making checkpoints that gain nothing, also for an object that was opened later',
    policy: { compaction: { maxTokens: 1 } },
    snapshotEvery: 0,
    moods: [],
    acts: [
      {
        type: 'talk',
        who: 0,
        format: 'anthropic',
        messages: [
          { role: 'user', content: 'the' },
          ...used('c1'),
          ...used('c2'),
          { role: 'assistant', content: 'the' },
          { role: 'user', content: 'the' },
          ...used('c3'),
          ...used('c4'),
          ...used('c5'),
          ...used('c6'),
        ],
        isWatched: true,
      },
      { type: 'mark', who: 0, pick: 0, mark: 'pin' },
      { type: 'reload', who: 0 },
    ],
  },
  {
    name: '[I3] rebuilds a request whose tool loop begins where the same view dropped messages',
    policy: { history: { policy: 'none' }, schedule: 'cache-aware' },
    snapshotEvery: 0,
    moods: [],
    acts: [
      {
        type: 'resend',
        who: 0,
        format: 'openai-chat',
        keep: 0,
        isEdited: false,
        more: [
          { role: 'user', content: 'the' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'call_1', type: 'function', function: { name: 'search', arguments: '{}' } },
            ],
          },
          { role: 'tool', tool_call_id: 'call_1', content: '' },
          { role: 'user', content: 'the' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'call_2', type: 'function', function: { name: 'search', arguments: '{}' } },
            ],
          },
          { role: 'tool', tool_call_id: 'call_2', content: '' },
        ],
        isRequest: true,
      },
      { type: 'undo', who: 0, pick: 0, isEpoch: false },
      {
        type: 'talk',
        who: 0,
        format: 'langchain',
        messages: [
          { role: 'user', content: 'the' },
          { role: 'assistant', content: 'the' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'the' },
              { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
            ],
          },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'the', signature: 'sig+iVBORw0KGgoAAAANSUhEUg==' },
            ],
            tool_calls: [{ name: 'search', args: {}, id: 'call_1', type: 'tool_call' }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: '' },
          { role: 'user', content: 'the' },
        ],
        isWatched: false,
      },
      {
        type: 'talk',
        who: 0,
        format: 'anthropic',
        messages: [
          { role: 'user', content: 'the' },
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 'toolu_1', name: 'search', input: {} }],
          },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '' }] },
        ],
        isWatched: true,
      },
      { type: 'view', who: 0, options: { format: 'openai-chat' } },
    ],
  },
  {
    name: '[I5] covers a pinned exchange by one checkpoint',
    policy: { compaction: { maxTokens: 6 } },
    snapshotEvery: 0,
    moods: [],
    acts: [
      { type: 'note', who: 0, notes: [{ kind: 'user', audience: 0 }] },
      {
        type: 'talk',
        who: 0,
        format: 'openai-chat',
        messages: [
          { role: 'system', content: 'the' },
          { role: 'user', content: 'the' },
          { role: 'assistant', content: 'the' },
          { role: 'user', content: 'the' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              {
                id: 'call_1',
                type: 'function',
                function: {
                  name: 'search',
                  arguments: '{"big":9007199254740991,"small":-0.5,"e":1e+21}',
                },
              },
            ],
          },
          { role: 'tool', tool_call_id: 'call_1', content: '' },
          { role: 'assistant', content: 'the' },
        ],
        isWatched: false,
      },
      { type: 'mark', who: 0, pick: 3, mark: 'pin' },
      { type: 'compact', who: 0 },
    ],
  },
  {
    name: '[I5] drops a message once that expires and is over the cap at the same time',
    policy: { history: { maxMessages: 1 }, expiry: { override: { mode: 'remove' } } },
    snapshotEvery: 0,
    moods: [],
    acts: [
      { type: 'note', who: 0, notes: [{ kind: 'expiring', after: 0 }] },
      {
        type: 'talk',
        who: 0,
        format: 'openai-chat',
        messages: [
          { role: 'user', content: 'the' },
          { role: 'assistant', content: 'the' },
        ],
        isWatched: false,
      },
      { type: 'view', who: 0, options: { format: 'openai-chat' } },
    ],
  },
  {
    name: '[I3] knows after reopening from a snapshot where a signed thought was said first',
    policy: { history: { maxMessages: 1 } },
    snapshotEvery: 6,
    moods: [],
    acts: [
      { type: 'note', who: 0, notes: [{ kind: 'expiring', after: 0 }] },
      { type: 'talk', who: 0, format: 'anthropic', messages: thinking, isWatched: false },
      { type: 'note', who: 0, notes: [{ kind: 'exchange', calls: 1, results: 0, shape: 0 }] },
      { type: 'view', who: 0, options: { format: 'openai-chat' } },
      { type: 'view', who: 0, options: { format: 'openai-chat' } },
      {
        type: 'talk',
        who: 1,
        format: 'anthropic',
        messages: thinking.slice(0, 3),
        isWatched: true,
      },
      { type: 'tick', by: 1 },
      { type: 'tick', by: 1 },
      { type: 'tick', by: 1 },
    ],
  },
  {
    name: '[PG9] erases a fork and leaves the branches that its parent had before',
    policy: { preset: 'plugin-retention' },
    snapshotEvery: 0,
    moods: [],
    acts: [
      { type: 'note', who: 0, notes: [{ kind: 'user', audience: 0 }] },
      {
        type: 'resend',
        who: 0,
        format: 'openai-chat',
        keep: 0,
        isEdited: false,
        more: [{ role: 'user', content: 'the' }],
        isRequest: false,
      },
      { type: 'erase', who: 1, at: 60 },
      { type: 'erase', who: 1, at: 4 },
      { type: 'view', who: 0, options: { format: 'openai-chat' } },
    ],
  },
]

function used(id: string): readonly JsonObject[] {
  return [
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'search', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: '' }] },
  ]
}

describe.each(stores)('a whole thread on $name', ({ store, runs }) => {
  for (const given of examples) it(given.name, () => keepsPromises(store, given))

  it(
    '[I1] [I2] [I3] [I4] [I5] [I7] [I10] [I11] [I12] [I13] keeps every promise',
    { timeout: 300_000 * factor },
    () =>
      fc.assert(
        fc.asyncProperty(cases, (given) => keepsPromises(store, given)),
        { numRuns: scaledRuns(runs) },
      ),
  )
})

describe('whole threads on different stores', () => {
  it('[I3] hold the same bytes after the same operations', { timeout: 300_000 * factor }, () =>
    fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const tenant = nextTenant()
        const worlds: string[] = []
        for (const store of [memoryStore(), database, remote]) {
          const { session } = await play(store, tenant, given)
          worlds.push(await worldOf(session))
        }
        expect(worlds[1]).toBe(worlds[0])
        expect(worlds[2]).toBe(worlds[0])
      }),
      { numRuns: scaledRuns(6) },
    ),
  )
})

function nextTenant(): string {
  tenantCount += 1
  return `tenant-${tenantCount}`
}

async function play(
  store: Store,
  tenant: string,
  given: Case,
  after: (whole: Whole, act: Act) => Promise<void> = async () => undefined,
): Promise<Whole> {
  const { policy, snapshotEvery, moods, acts } = given
  const summarize = moods.length === 0 ? undefined : moodyModel(moods)
  const session = await Session.open(store, tenant, { policy, snapshotEvery, summarize })
  const whole: Whole = { session, clients: new Map(), count: 0 }
  for (const act of acts) {
    await performAct(whole, act)
    // What is done behind an operation is done: the same in every world.
    for (const who of [0, 1] as const) await session.thread(who).settled()
    await after(whole, act)
  }
  return whole
}

async function keepsPromises(store: Store, given: Case): Promise<void> {
  const checks: readonly Check[] = [prefixCheck(), coverageCheck(), scratchCheck(), viewCheck()]
  const { session } = await play(store, nextTenant(), given, async ({ session: now }, act) => {
    const who = 'who' in act ? act.who : 0
    for (const check of checks) await check.after(now, who)
  })
  for (const who of [0, 1] as const) {
    await requestCheck().after(session, who)
    await expandsOriginals(session.thread(who))
  }
  const { tenant, faulty } = session
  const isWritten = (await session.log('t')).length > 0
  await eraseThread({ store: faulty.store, tenant, id: 't', family: true })
  for (const who of isWritten ? ([0, 1] as const) : []) {
    await expect(session.thread(who).view()).rejects.toMatchObject({ code: 'not-found' })
  }
  expect(await faulty.store.list(tenant)).toEqual([])
}

/** Views are valid, the same for every object, and show what they must and nothing that they must not. */
function viewCheck(): Check {
  let count = 0
  return {
    async after(session, who) {
      const thread = session.thread(who)
      const { thread: reloaded } = await session.openActor(thread.id)
      const other = session.thread(who === 0 ? 1 : 0)
      const folded = await session.folded(who)
      // Where no view waits for the model, what it failed at is known only to the object that asked it: another one asks first.
      const { schedule } = folded.policy
      const isShared = session.scenario.summarize === undefined || schedule !== 'cache-aware'
      // One format after each operation, so that each meets every kind of them.
      count += 1
      for (const format of [formatNames[count % formatNames.length] ?? 'openai-chat']) {
        const viewed = (one: Thread) => ifAny(dryView(one, { format }), 'cannot-project')
        const bytes = async (one: Thread): Promise<string> => {
          const found = await viewed(one)
          return found === undefined ? 'none' : bytesOf(found, session.scenario)
        }
        const first = await bytes(thread)
        expect(await bytes(thread)).toBe(first)
        if (isShared) expect(await bytes(reloaded)).toBe(first)
        if (isShared && other.id === thread.id) expect(await bytes(other)).toBe(first)
        const view = await viewed(thread)
        if (view === undefined) continue
        expectValid(format, view)
        expect(first).not.toContain(secret)
        const strings = stringsIn(view.messages).concat(stringsIn(view.system))
        for (const text of verbatimIn(folded)) {
          expect(strings.some((one) => one.includes(text.toWellFormed()))).toBe(true)
        }
        for (const { tokensBefore, tokensAfter, reason } of view.trace) {
          expect(reason).not.toBe('')
          expect(tokensAfter).toBeLessThanOrEqual(tokensBefore + 12)
        }
      }
      if (isShared) expect(reloaded.estimate()).toBe(thread.estimate())
    },
  }
}

/** Texts of the newest user message and of pinned ones. */
function verbatimIn({ messages, pinned, excluded }: ReturnType<typeof foldLog>): readonly string[] {
  const newest = messages.findLast(isTurnStart)
  const kept = messages.filter(
    ({ seq, role }) =>
      (seq === newest?.seq || pinned.has(seq)) && !excluded.has(seq) && role === 'user',
  )
  return kept.flatMap(({ blocks, audience }) =>
    audience === undefined ? blocks.flatMap(plainText) : [],
  )
}

function plainText(block: Block): readonly string[] {
  const isPlain = block.type === 'text' && block.audience === undefined && block.text.trim() !== ''
  return isPlain ? [block.text] : []
}

/** Every original can be read back, unless models may not read it: it was not preserved, was excluded, or is for others. */
async function expandsOriginals(thread: Thread): Promise<void> {
  const { messages, excluded } = foldLog(await thread.log())
  for (const message of messages) {
    for (const block of message.blocks) {
      const found = await thread.expand(block.id ?? '')
      const isShown = isLasting(message) && isLasting(block) && !excluded.has(message.seq)
      if (found.ok) {
        expect(isShown).toBe(true)
        const original = originalText({ ...message, blocks: [forModels(block)] } as MessageEntry)
        expect(found.text).toBe(original)
      } else {
        expect(found.reason).toMatch(
          isShown
            ? /not preserved/
            : /not for models|people only|excluded|one request|not preserved/,
        )
      }
    }
  }
}

/** A result without what models may not read of it. */
function forModels(block: Block): Block {
  const isWhole = block.type !== 'tool-result' || typeof block.content === 'string'
  return isWhole ? block : { ...block, content: block.content.filter(isLasting) }
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(stringsIn) : []
}
