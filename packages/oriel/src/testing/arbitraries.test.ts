import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isObject } from '../core/log/json.ts'
import type { Schema } from '../core/schema/schema.ts'
import { presets } from '../policy/presets.ts'
import { parsePolicy, policySchema } from '../policy/schema.ts'
import { assertTogether } from '../propose.ts'
import { formatNames } from '../providers/registry.ts'
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

  it('sign no two thoughts alike', () => {
    const signed = /"(?:signature|redactedData|data|\w*[eE]ncrypted_?[cC]ontent)":"(sig\+[^"]*)"/g
    for (const messages of conversations) {
      const signatures = [...JSON.stringify(messages).matchAll(signed)].map(([, one]) => one)
      expect(new Set(signatures).size).toBe(signatures.length)
    }
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
  ['gemini', ['"thought":true', '"thoughtSignature"', '"executableCode"', '"codeExecutionResult"']],
  ['gemini', ['"futureData"', '"functionCall":{"name"', '"functionResponse":{"name"', '"fileUri"']],
] as const)('conversations of %s contain %s', (format, pieces) => {
  const text = JSON.stringify(fc.sample(conversationOf(format), sample))
  expect(pieces.filter((piece) => !text.includes(piece))).toEqual([])
})

describe('policies', () => {
  const policies = fc.sample(policyArbitrary(), 1000)

  it('shrink to none', () => {
    const { counterexample } = fc.check(fc.property(policyArbitrary(), () => false))
    expect(counterexample).toEqual([undefined])
  })

  it('are accepted, also by what checks that their parts fit together', () => {
    for (const policy of policies) expect(() => assertTogether(parsePolicy(policy))).not.toThrow()
  })

  it('hold every value that the schema names, and the extremes of every number', () => {
    const inputs = policies.filter((policy) => typeof policy === 'object')
    const seen = new Set(inputs.flatMap(({ preset: _, ...parts }) => valuesIn(parts)))
    const wanted = valuesOf(policySchema).filter((value) => !value.startsWith(paths))
    expect(wanted.length).toBeGreaterThan(80)
    expect(wanted.filter((value) => !seen.has(value))).toEqual([])
  })

  it('name every preset, alone and below other parts', () => {
    const names = Object.keys(presets)
    expect(names.filter((name) => !policies.some((policy) => policy === name))).toEqual([])
    const refined = policies.flatMap((policy) =>
      typeof policy === 'object' && Object.keys(policy).length > 1 ? [policy.preset] : [],
    )
    expect(names.filter((name) => !refined.some((preset) => preset === name))).toEqual([])
  })

  it('never name a path', () => {
    expect(JSON.stringify(policies)).not.toContain('directory')
  })
})

/** No generator may make a test write to a place of its own choice. */
const paths = 'toolOutput.directory'

/** What samples must hold for a schema: `path: value` for each choice, and for numbers the smallest, a usual one, a huge one. */
function valuesOf(schema: Schema, path = ''): readonly string[] {
  if (schema.isNullable === true) {
    return [`${path}: null`, ...valuesOf({ ...schema, isNullable: false }, path)]
  }
  switch (schema.type) {
    case 'object':
      return Object.entries(schema.fields).flatMap(([name, value]) =>
        valuesOf(value, path === '' ? name : `${path}.${name}`),
      )
    case 'record':
      return valuesOf(schema.value, `${path}.*`)
    case 'choice':
      return schema.choices.map((choice) => `${path}: ${choice}`)
    case 'boolean':
      return [`${path}: true`, `${path}: false`]
    case 'list':
    case 'text':
      return [`${path}: ${schema.type}`]
    case 'number': {
      const between = schema.isInteger ? ['usual', 'huge'] : ['1', 'share']
      return [schema.min, ...between].map((value) => `${path}: ${value}`)
    }
    default:
      throw new Error(`Nothing is known of the kind of ${path}.`)
  }
}

/** The same of a policy. */
function valuesIn(value: unknown, path = ''): readonly string[] {
  if (Array.isArray(value)) return [`${path}: list`]
  if (isObject(value)) {
    return Object.entries(value).flatMap(([name, inner]) => {
      const step = /^expiry\.(tools|kinds|toolDefaults)$/.test(path) ? '*' : name
      return valuesIn(inner, path === '' ? step : `${path}.${step}`)
    })
  }
  const kinds = [`${path}: ${value}`]
  if (typeof value === 'string') kinds.push(`${path}: text`)
  if (typeof value !== 'number') return kinds
  if (!Number.isInteger(value)) kinds.push(`${path}: share`)
  return [...kinds, value >= 1_000_000 ? `${path}: huge` : `${path}: usual`]
}

it('budgets are whole tokens, from very few to very many', () => {
  const budgets = fc.sample(budgetArbitrary(), sample)
  expect(budgets.every((budget) => Number.isInteger(budget) && budget > 0)).toBe(true)
  expect(Math.min(...budgets)).toBeLessThan(100)
  expect(Math.max(...budgets)).toBe(1_000_000)
})
