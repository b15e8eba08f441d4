// How much of a log is looked at when a thread goes one step further.

import type { Draft, Entry } from '../../src/core/log/entry.ts'
import { prepare } from '../../src/core/log/prepare.ts'
import type { Policy } from '../../src/policy/schema.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { type EntryBody, Journal, type JournalOptions } from '../../src/thread/journal/journal.ts'
import { threadOver } from '../../src/thread/thread.ts'
import { watchedStore } from './faulty-store.ts'

/** Entries looked at when one more step is appended and viewed after `count` messages. */
export async function workOfOneStep(
  count: number,
  parts: Policy = {},
): Promise<{ seen: number; read: number; visits: number }> {
  const inner = memoryStore()
  const key = { tenant: 'default', thread: `long-${count}` }
  const options = { id: key.thread, now: () => 0, snapshotEvery: 0 }
  await writeTurns({ ...options, store: inner, key, tokens: undefined }, count / turnLength)
  const { store, visits } = watchedStore(inner)
  const journal = await Journal.open({ ...options, store, key, tokens: undefined })
  const policy = { ...parts, history: { length: windowLength } }
  const thread = threadOver({ ...options, store, policy }, journal)
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
