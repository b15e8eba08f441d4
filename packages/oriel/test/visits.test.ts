// What one more step looks at: counted in entries of the log, since time is noisy.

import { describe, expect, it } from 'vitest'
import { assemble } from '../src/assemble.ts'
import type { Draft, EditEntry } from '../src/core/log/entry.ts'
import { entryId, fixedSalt } from '../src/core/log/ids.ts'
import { prepare } from '../src/core/log/prepare.ts'
import { State } from '../src/core/state/state.ts'
import { resolveCounter } from '../src/counters.ts'
import { presets } from '../src/index.ts'
import { plan } from '../src/plan.ts'
import { parsePolicy } from '../src/policy/schema.ts'
import { formatNamed } from '../src/providers/registry.ts'
import { sha256 } from '../src/sha256.ts'

const messagesPerStep = 4

/** A turn of a tool-using agent: a question, a call, its result, an answer. */
function turnOf(turn: number): readonly Draft[] {
  const callId = `call-${turn}`
  const line = `line of output ${turn} with order W${turn}42 in src/part-${turn % 7}.ts\n`
  return [
    { role: 'user', content: `Question ${turn} about part ${turn % 7}` },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', callId, name: 'read', arguments: `{"part":${turn}}` }],
    },
    { role: 'tool', content: [{ type: 'tool-result', callId, content: line.repeat(12) }] },
    { role: 'assistant', content: `Answer ${turn}` },
  ]
}

/** The entries that a step visited, in the middle of the last ones, in a thread that was viewed at each step. */
function visitsAt(
  count: number,
  policyName: keyof typeof presets | undefined,
  budget: number | undefined,
): { readonly visits: number; readonly visible: number } {
  const policy = parsePolicy(policyName)
  const { profile } = formatNamed('openai-chat')
  const state = new State({ counter: resolveCounter('estimate'), salt: fixedSalt })
  let sent: number | undefined
  const most: number[] = []
  for (let turn = 0; turn < count / messagesPerStep; turn++) {
    const before = state.visits
    for (const entry of prepare(state, turnOf(turn), 0)) state.apply(entry)
    const cache = () => ({ idleMs: 0, ...(sent === undefined ? {} : { sent }) })
    const context = { now: 0, frameTokens: 0, sha256, cache }
    const { edits } = plan(state, policy, context)
    assemble(state, edits, { profile, budget })
    for (const edit of edits) {
      const seq = state.version + 1
      const id = entryId(fixedSalt, seq)
      const entry: EditEntry = { ...edit, type: 'edit', id, seq, at: 0, epoch: 'p' }
      state.apply(entry)
    }
    sent = state.version
    most.push(state.visits - before)
  }
  // A checkpoint now and then reads what it folds: the usual step counts.
  const visits = most.slice(-40).sort((a, b) => a - b)[20] ?? 0
  return { visits, visible: state.visibleCount }
}

const names = [undefined, ...(Object.keys(presets) as (keyof typeof presets)[])]

describe('entries visited by a step', () => {
  it.each(names.flatMap((name) => [[name, undefined] as const, [name, 3000] as const]))(
    '[I19] do not grow with the log: %s, budget %s',
    (name, budget) => {
      const few = visitsAt(240, name, budget)
      const many = visitsAt(1000, name, budget)
      // A checkpoint that must be shortened: the ladder walks what is visible, which the window of the schedule bounds.
      const isWalked = name === 'recommended' && budget !== undefined
      const most = isWalked ? 2 * many.visible + few.visits : 1.5 * few.visits
      expect(many.visits).toBeLessThanOrEqual(most)
    },
    60_000,
  )
})
