import { presets, project, resolveCounter } from 'oriel'
import { describe, expect, it } from 'vitest'
import { type Conversation, toConversation } from '../transcript/conversation.ts'
import { SavingSum, standardTrials, tryPolicy } from './savings.ts'

const counter = resolveCounter('estimate')

function chat(turns: number): Conversation {
  const messages = Array.from({ length: turns }, (_, turn) => [
    { role: 'user', content: `Question ${turn}. ${'And so on. '.repeat(20)}` },
    { role: 'assistant', content: `Answer ${turn}.` },
  ]).flat()
  return toConversation({ fields: {}, messages }, { number: 1, file: 'test' })
}

describe('standardTrials', () => {
  it('holds only what this version can do', () => {
    for (const { policy } of standardTrials()) {
      expect(() => project([{ role: 'user', content: 'Hello.' }], policy)).not.toThrow()
    }
  })

  it('holds every preset, and none twice', () => {
    const names = standardTrials().map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    for (const name of Object.keys(presets)) {
      if (name !== 'history-window') expect(names).toContain(`preset: ${name}`)
    }
  })

  it('tries only the given budget, where one is given', () => {
    const budgets = standardTrials(12_345).filter(({ budget }) => budget !== undefined)
    expect(budgets).toEqual([{ name: 'budget: 12,345 tokens', budget: 12_345 }])
  })
})

describe('tryPolicy', () => {
  it('gives the tokens of the next request and every change with its reason', () => {
    const trial = { name: 'window', policy: { history: { length: 2 } } }
    const outcome = tryPolicy(chat(5), trial, counter)
    const unchanged = tryPolicy(chat(5), { name: 'none' }, counter)
    if (outcome.type !== 'fits' || unchanged.type !== 'fits') throw new Error('expected it to fit')
    expect(outcome.tokens).toBeLessThan(unchanged.tokens / 2)
    expect(unchanged.changes).toEqual([])
    expect(new Set(outcome.changes.map(({ index }) => index))).toEqual(new Set([0, 1, 2, 3, 4, 5]))
    expect(new Set(outcome.changes.map(({ reason }) => reason))).toEqual(
      new Set(['before the last 2 user turns']),
    )
  })

  it('says what would be needed where nothing fits', () => {
    const outcome = tryPolicy(chat(1), { name: 'tiny', budget: 10 }, counter)
    expect(outcome).toEqual({ type: 'cannot-project', needed: expect.any(Number) })
  })

  it('refuses a wrong policy', () => {
    const trial = { name: 'wrong', policy: { history: { length: -1 } } }
    expect(() => tryPolicy(chat(1), trial, counter)).toThrow('policy.history.length')
  })
})

describe('SavingSum', () => {
  it('adds up conversations; one that cannot be projected counts as it was', () => {
    const sum = new SavingSum({ name: 'test', budget: 100 })
    const change = {
      id: 'e1',
      index: 0,
      form: 'omitted',
      rule: 'budget',
      reason: 'over the budget',
      tokensBefore: 50,
      tokensAfter: 10,
      canExpand: true,
      originalLength: 200,
    } as const
    sum.add(120, { type: 'fits', tokens: 80, changes: [change, { ...change, form: 'clipped' }] })
    sum.add(90, { type: 'fits', tokens: 90, changes: [] })
    sum.add(300, { type: 'cannot-project', needed: 140 })
    sum.add(200, { type: 'cannot-project' })
    const kind = { rule: 'budget', count: 1, savedTokens: 40 }
    expect(sum.saving()).toEqual({
      name: 'test',
      budget: 100,
      tokensBefore: 710,
      tokensAfter: 80 + 90 + 300 + 200,
      changedConversations: 1,
      cannotProject: 2,
      needed: 140,
      forms: [
        { ...kind, what: 'clipped' },
        { ...kind, what: 'omitted' },
      ],
      reasons: [{ rule: 'budget', what: 'over the budget', count: 2, savedTokens: 80 }],
    })
  })
})
