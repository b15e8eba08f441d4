import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatNames } from '../formats/format.ts'
import { parsePolicy } from '../policy.ts'
import { budgetArbitrary, conversationOf, policyArbitrary } from './arbitraries.ts'

/** Enough conversations that everything the grammar can make is among them. */
const sample = { numRuns: 400, seed: 42 }

describe.each(formatNames)('conversations of %s', (format) => {
  const conversations = fc.sample(conversationOf(format), sample)
  const text = conversations.map((messages) => JSON.stringify(messages)).join('\n')

  it('shrink to one user message', () => {
    const { counterexample } = fc.check(
      fc.property(conversationOf(format), () => false),
      { seed: 7 },
    )
    expect(counterexample?.[0]).toEqual([expect.objectContaining({ role: 'user' })])
  })

  it('are short and long, with several turns and parallel calls', () => {
    const lengths = conversations.map(({ length }) => length)
    expect(Math.min(...lengths)).toBe(1)
    expect(Math.max(...lengths)).toBeGreaterThan(15)
    const turns = conversations.map(
      (messages) => messages.filter(({ role }) => role === 'user').length,
    )
    expect(Math.max(...turns)).toBeGreaterThanOrEqual(4)
  })

  it.each([
    'example.com/a.png',
    'iVBORw0KGgo',
    '"__proto__"',
    'x_user',
    'x_assistant',
    '[Omitted',
    '\\u0000',
    '日本語',
    '👍',
    '<|endoftext|>',
  ])('contain %s', (piece) => {
    expect(text.includes(piece)).toBe(true)
  })

  it('are well-formed JSON that shares nothing', () => {
    expect(text.isWellFormed()).toBe(true)
    const [first, second] = conversations
    expect(first?.[0]).not.toBe(second?.[0])
  })
})

it.each([
  ['openai-chat', ['"developer"', '"function_call"', '"reasoning_content"', '"refusal":null']],
  ['openai-chat', ['"content":null', '"input_audio"', '"custom"', '"cache_control"', '"index":0']],
  ['anthropic', ['"thinking"', '"redacted_thinking"', '"is_error":true', '"cache_control"']],
  ['anthropic', ['"server_tool_use"', '"future_block"', '"document"', '"citations"']],
  [
    'openai-responses',
    ['"developer"', '"encrypted_content"', '"summary_text"', '"custom_tool_call"'],
  ],
  ['openai-responses', ['"web_search_call"', '"refusal"', '"input_file"', '"status":"completed"']],
  ['ai-sdk', ['"providerExecuted":true', '"tool-approval-request"', '"execution-denied"']],
  ['ai-sdk', ['"error-json"', '"signature"', '"redactedData"', '"cacheControl"', '"image-data"']],
  ['langchain', ['"lc":1', '"kwargs"', '"data":{"content"', '"type":"human"', '"tool_use"']],
  ['langchain', ['"thinking"', '"status":"error"', '"artifact"', '"image_url":"http']],
] as const)('conversations of %s contain %s', (format, pieces) => {
  const text = JSON.stringify(fc.sample(conversationOf(format), sample))
  expect(pieces.filter((piece) => !text.includes(piece))).toEqual([])
})

it('policies are accepted, and every history setting is among them', () => {
  const policies = fc.sample(policyArbitrary(), sample)
  for (const policy of policies) expect(parsePolicy(policy)).toEqual(policy ?? {})
  const keys = new Set(policies.flatMap((policy) => Object.keys(policy?.history ?? {})))
  expect(keys.size).toBe(5)
})

it('budgets are whole tokens, from very few to very many', () => {
  const budgets = fc.sample(budgetArbitrary(), sample)
  expect(budgets.every((budget) => Number.isInteger(budget) && budget > 0)).toBe(true)
  expect(Math.min(...budgets)).toBeLessThan(100)
  expect(Math.max(...budgets)).toBe(1_000_000)
})
