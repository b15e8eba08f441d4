// What one more step of a thread looks at: counted in entries of the log, since time is noisy.

import { describe, expect, it } from 'vitest'
import type { Draft } from '../src/core/log/entry.ts'
import { presets } from '../src/index.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import { Journal } from '../src/thread/journal/journal.ts'
import { threadOver } from '../src/thread/thread.ts'

const messagesPerTurn = 4

/** A turn of a tool-using agent: a question, a call, its result, an answer. */
function turnOf(turn: number): readonly Draft[] {
  const callId = `call-${turn}`
  const line = `line of output ${turn} with order W${turn}42 in src/part-${turn % 7}.ts\n`
  // Of some, the first 500 characters and a notice would be longer than the whole: no rule can shorten them.
  const output = line.repeat(turn % 3 === 0 ? 10 : 12)
  return [
    { role: 'user', content: `Question ${turn} about part ${turn % 7}` },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', callId, name: 'read', arguments: `{"part":${turn}}` }],
    },
    { role: 'tool', content: [{ type: 'tool-result', callId, content: output }] },
    { role: 'assistant', content: `Answer ${turn}` },
  ]
}

interface Visits {
  /** Entries that a step visited, in the middle of the last ones. */
  readonly visits: number
  readonly visible: number
}

/** What a step visits at each length, in a thread that is viewed at each turn. */
async function visitsAt(
  lengths: readonly [number, number],
  policy: keyof typeof presets | undefined,
  budget: number | undefined,
): Promise<readonly [Visits, Visits]> {
  const key = { tenant: 'default', thread: 'visited' }
  const options = { id: key.thread, store: memoryStore(), now: () => 0, snapshotEvery: 0 }
  const journal = await Journal.open({ ...options, key, tokens: undefined })
  const thread = threadOver({ ...options, ...(policy === undefined ? {} : { policy }) }, journal)
  const all: number[] = []
  const grow = async (length: number): Promise<Visits> => {
    for (; all.length * messagesPerTurn < length; ) {
      const before = journal.state.visits
      await thread.append(turnOf(all.length))
      await thread.view(budget === undefined ? {} : { budget })
      all.push(journal.state.visits - before)
    }
    // A checkpoint now and then reads what it folds: the usual step counts.
    const visits = all.slice(-40).sort((a, b) => a - b)[20] as number
    return { visits, visible: journal.state.visibleCount }
  }
  return [await grow(lengths[0]), await grow(lengths[1])]
}

const names = [undefined, ...(Object.keys(presets) as (keyof typeof presets)[])]

describe('entries visited by a step', () => {
  it.each(names.flatMap((name) => [[name, undefined] as const, [name, 3000] as const]))(
    '[I19] do not grow with the log: %s, budget %s',
    async (name, budget) => {
      const [short, long] = await visitsAt([240, 1000], name, budget)
      // With a checkpoint the ladder walks what is visible, which the window of the schedule bounds.
      const isWalked = name === 'recommended' && budget !== undefined
      const most = isWalked ? 3 * long.visible + short.visits : 1.5 * short.visits
      expect(long.visits).toBeLessThanOrEqual(most)
    },
    60_000,
  )
})
