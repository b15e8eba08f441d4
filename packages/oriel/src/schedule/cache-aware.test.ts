import { describe, expect, test } from 'vitest'
import type { Draft, Edit } from '../core/log/entry.ts'
import { prepare } from '../core/log/prepare.ts'
import { State } from '../core/state/state.ts'
import { estimate } from '../core/tokens/estimate.ts'
import { decide } from './cache-aware.ts'

const prices = { read: 0.1, write: 1.25, coldMs: 300_000 }
const warm = { cache: { sent: 1000, idleMs: 1000 }, prices }

/** Exchanges whose results have about `size` tokens each. */
function conversation(exchanges: number, size = 500): State {
  const state = new State({ counter: estimate, salt: 'x' })
  const drafts: Draft[] = [{ role: 'user', content: 'go' }]
  for (let index = 0; index < exchanges; index++) {
    const callId = `c${index}`
    drafts.push({
      role: 'assistant',
      content: [{ type: 'tool-call', callId, name: 'read', arguments: '{}' }],
    })
    const content = 'word '.repeat(size)
    drafts.push({ role: 'tool', content: [{ type: 'tool-result', callId, content }] })
  }
  for (const entry of prepare(state, drafts, 0)) state.apply(entry)
  return state
}

/** Omits the result of exchange `index`. */
const omit = (state: State, index: number): Edit => {
  const seq = index * 2 + 3
  const tokensBefore = state.item(seq)?.tokens[0] ?? 0
  const target = { seq, block: 0 }
  return {
    rule: 'toolResults',
    form: 'omitted',
    target,
    text: '[Omitted]',
    reason: 'old',
    tokensBefore,
    tokensAfter: 4,
  }
}

describe('the cache-aware schedule', () => {
  test('[EC1] everything waits while it would cost more than it brings', () => {
    const state = conversation(8)
    const decision = decide(state, [omit(state, 0)], warm)
    expect(decision).toMatchObject({ edits: [], cause: 'none', inputs: { pending: 1, taken: 0 } })
  })

  test('[DA2] a window never waits, and what stands behind its cut comes along', () => {
    const state = conversation(8)
    const window: Edit = {
      rule: 'history',
      form: 'dropped',
      target: { ranges: [[4, 5]] },
      reason: 'before the last 1 user turn',
      tokensBefore: 500,
      tokensAfter: 0,
      window: { turn: 1 },
    }
    const [before, behind] = [omit(state, 0), omit(state, 4)]
    const decision = decide(state, [before, window, behind], warm)
    expect(decision).toMatchObject({ edits: [window, behind], cause: 'policy' })
  })

  test('[EC1] it is applied together once it pays', () => {
    const state = conversation(24)
    const edits = Array.from({ length: 20 }, (_, index) => omit(state, index))
    const decision = decide(state, edits, warm)
    expect(decision).toMatchObject({ cause: 'worth', inputs: { taken: 20 } })
    expect(decision.edits).toEqual(edits)
  })

  test('[EC1] what is reduced before it is sent is not weighed as what must be written again', () => {
    const state = conversation(24)
    const edits = Array.from({ length: 24 }, (_, index) => omit(state, index))
    // Most results are not sent yet: what is left behind the first edit is next to nothing.
    const decision = decide(state, edits, { cache: { sent: 12, idleMs: 1000 }, prices })
    expect(decision).toMatchObject({ cause: 'worth', inputs: { pending: 5, taken: 5 } })
  })

  test('[EC1] nothing is rewritten for an old edit in front of much that stays', () => {
    const state = conversation(60)
    const late = Array.from({ length: 16 }, (_, index) => omit(state, 40 + index))
    const decision = decide(state, [omit(state, 0), ...late], warm)
    expect(decision.cause).toBe('worth')
    expect(decision.edits).toEqual(late)
  })

  test('[EC1] what was not sent yet is reduced at once: no cache holds it', () => {
    const state = conversation(8)
    const decision = decide(state, [omit(state, 7)], { ...warm, cache: { sent: 10, idleMs: 0 } })
    expect(decision).toEqual({ edits: [omit(state, 7)], cause: 'policy' })
  })

  test.each([
    ['the cache is surely gone', { sent: 100, idleMs: 300_001 }],
    ['nothing was sent, or its prefix breaks anyway', { idleMs: 0 }],
  ])('[EC1] everything pending is applied when %s', (_, cache) => {
    const state = conversation(8)
    const decision = decide(state, [omit(state, 0)], { cache, prices })
    expect(decision).toMatchObject({ edits: [omit(state, 0)], cause: 'cold' })
  })

  test('[EC1] what was sent as it was takes effect now, whenever it fell due: reasoning since then saw the original', () => {
    const state = conversation(24)
    const due = Array.from({ length: 20 }, (_, index) => ({ ...omit(state, index), since: 9 }))
    const { edits } = decide(state, due, warm)
    expect(edits.every((edit) => !('since' in edit))).toBe(true)
    const cold = decide(state, due, { ...warm, cache: { newest: 10, idleMs: 0 } })
    expect(cold.edits.map(({ since }) => since)).toEqual(
      due.map(({ target }) => ('seq' in target && target.seq > 10 ? 9 : undefined)),
    )
  })
})
