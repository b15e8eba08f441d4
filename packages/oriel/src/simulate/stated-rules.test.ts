import { describe, expect, it } from 'vitest'
import { resolveCounter } from '../counters.ts'
import { judgeRules } from './judge-rules.ts'
import { generateChat, placements } from './stated-rules.ts'

const counter = resolveCounter('estimate')

describe('generated conversations with stated rules', () => {
  it('are the same for the same seed, and have rules at every position, in many languages and places', () => {
    const options = { seed: 7, tokens: 30_000, style: 'chat' } as const
    const chat = generateChat(options)
    expect(generateChat(options)).toEqual(chat)
    expect(generateChat({ ...options, seed: 8 })).not.toEqual(chat)
    const text = JSON.stringify(chat.turns)
    for (const rule of chat.rules) expect(text).toContain(JSON.stringify(rule.text).slice(1, -1))
    expect(new Set(chat.rules.map(({ language }) => language)).size).toBeGreaterThan(8)
    expect(new Set(chat.rules.map(({ placement }) => placement))).toEqual(new Set(placements))
  })

  it.each(['agent', 'chat'] as const)(
    '[DR2] [DR3] [DR5] a view has all rules that hold after ten checkpoints, for at most 3 % of it: %s',
    async (style) => {
      const chat = generateChat({ seed: 5, tokens: 60_000, style })
      const judged = await judgeRules(chat, { policy: 'recommended', counter })
      expect(judged.folds).toBeGreaterThanOrEqual(10)
      expect(judged.rules.filter(({ isKept }) => !isKept)).toEqual([])
      expect(judged).toMatchObject({ stale: 0, decoys: 0 })
      expect(judged.listTokens).toBeGreaterThan(0)
      expect(judged.listTokens / judged.viewTokens).toBeLessThan(0.03)
    },
  )
})
