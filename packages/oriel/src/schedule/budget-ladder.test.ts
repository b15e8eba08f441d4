import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scaledRuns } from '../../test/scaled-runs.ts'
import type { Draft } from '../core/log/entry.ts'
import { fixedSalt } from '../core/log/ids.ts'
import { prepare } from '../core/log/prepare.ts'
import { State } from '../core/state/state.ts'
import { messagesIn, segmentsOf } from '../core/view/segments.ts'
import { resolveCounter } from '../counters.ts'
import { formatNamed, formatNames } from '../providers/registry.ts'
import { neutralConversation } from '../testing/arbitraries.ts'
import { fitToBudget, walkLadder } from './budget-ladder.ts'
import type { Fitted } from './fitted-view.ts'

function textOf(fitted: () => Fitted): string {
  try {
    const { segments, tokens, folded, digest, edits } = fitted()
    const sorted = edits.map((edit) => JSON.stringify(edit)).sort()
    const seqs = folded.map(({ entry }) => entry?.seq)
    const messages = messagesIn(segments).map(({ blocks, role }) => ({ role, blocks }))
    return JSON.stringify({ messages, tokens, seqs, digest, sorted })
  } catch (error) {
    return String(error)
  }
}

describe('the budget ladder', () => {
  it('[I18] takes the same steps whether it starts from the last view or from nothing', () => {
    const drafts = fc
      .array(neutralConversation('openai-chat'), { minLength: 1, maxLength: 8 })
      .map((all) => all.flat())
    const cases = fc.record({
      drafts,
      shares: fc.array(fc.double({ min: 0.02, max: 1, noNaN: true }), {
        minLength: 1,
        maxLength: 6,
      }),
      format: fc.constantFrom(...formatNames),
    })
    fc.assert(
      fc.property(cases, ({ drafts: all, shares, format }) => {
        const { profile } = formatNamed(format)
        const state = new State({ counter: resolveCounter('estimate'), salt: fixedSalt })
        const size = Math.ceil(all.length / shares.length)
        for (const [part, share] of shares.entries()) {
          const added: readonly Draft[] = all.slice(part * size, (part + 1) * size)
          for (const entry of prepare(state, added, 0)) state.apply(entry)
          const segments = segmentsOf(state, [], { profile, checkpoint: undefined })
          const options = { budget: Math.max(1, Math.round(state.totalTokens * share)), frame: 0 }
          expect(textOf(() => fitToBudget(state, segments, options))).toBe(
            textOf(() => walkLadder(state, messagesIn(segments), options)),
          )
        }
      }),
      { numRuns: scaledRuns(100) },
    )
  })
})
