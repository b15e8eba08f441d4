import { readFileSync } from 'node:fs'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { OrielError } from '../core/log/errors.ts'
import type { Infer } from '../core/schema/schema.ts'
import { project } from '../project.ts'
import { validate } from '../providers/registry.ts'
import { policyFields } from './fields.ts'
import { presets } from './presets.ts'
import { type Policy, parsePolicy, type policySchema } from './schema.ts'

const problem = (policy: unknown): { path: string | undefined; message: string } => {
  try {
    parsePolicy(policy)
  } catch (error) {
    if (OrielError.is(error, 'invalid-policy')) return { path: error.path, message: error.message }
    throw error
  }
  throw new Error('The policy was accepted.')
}

describe('a policy', () => {
  it.each(Object.keys(presets))('[P1] the preset %s is a valid policy', (name) => {
    expect(parsePolicy(name)).toEqual(presets[name as keyof typeof presets])
  })

  it.each(Object.keys(presets))('[P1] the preset %s gives a valid view of a long run', (name) => {
    const messages = [
      { role: 'user', content: 'begin' },
      ...Array.from({ length: 60 }, (_, n) => [
        {
          role: 'assistant',
          content: `step ${n}`,
          tool_calls: [
            { id: `c${n}`, type: 'function', function: { name: 'run', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: `c${n}`, content: 'a line of output '.repeat(n * 5) },
      ]).flat(),
    ]
    for (const to of ['openai-chat', 'anthropic', 'openai-responses'] as const) {
      const { messages: sent } = project(messages, name as keyof typeof presets, { to })
      const body = to === 'openai-responses' ? { input: sent } : { messages: sent }
      expect(validate(to, body)).toEqual([])
    }
  })

  it('[P1] a part keeps the fields of its preset that it leaves open', () => {
    const { compaction } = presets.recommended
    expect(parsePolicy({ preset: 'recommended', compaction: { reserveTokens: 1 } })).toEqual({
      ...presets.recommended,
      compaction: { ...compaction, reserveTokens: 1 },
    })
    expect(parsePolicy({ preset: 'recommended', compaction: undefined }).compaction).toBe(undefined)
  })

  it('[P1] parts stand over those of its preset', () => {
    expect(parsePolicy({ preset: 'history-window', history: { length: 3 } })).toEqual({
      history: { length: 3 },
    })
  })

  it('[P2] an unknown key is an error with the nearest known one', () => {
    expect(problem({ histroy: {} })).toEqual({
      path: 'policy.histroy',
      message:
        "Invalid policy at policy.histroy: unknown key 'histroy' (did you mean 'history'?); allowed: toolOutput, retention, expiry, toolResults, deduplication, history, compaction, memory, tools, schedule, preset.",
    })
    expect(problem({ history: { lenght: 3 } })).toEqual({
      path: 'policy.history.lenght',
      message:
        "Invalid policy at policy.history.lenght: unknown key 'lenght' (did you mean 'length'?); allowed: policy, length, preserveSystemMessages, maxMessages, keepRecentMessages.",
    })
    expect(problem({ history: { historyLength: 3 } }).message).toMatch(
      /allowed: policy, length, preserveSystemMessages, maxMessages, keepRecentMessages/,
    )
  })

  it.each([
    [{ history: { length: -1 } }, 'policy.history.length', /got -1, must be at least 0/],
    [{ history: { length: '10' } }, 'policy.history.length', /got '10', expected number/],
    [{ history: { length: Number.NaN } }, 'policy.history.length', /NaN/],
    [{ history: { length: 2.5 } }, 'policy.history.length', /got 2.5, expected an integer/],
    [{ history: { policy: 'last' } }, 'policy.history.policy', /allowed: lastN, all, none/],
    [{ history: null }, 'policy.history', /got null/],
    [
      { expiry: { tools: { a: { lenth: 3 } } } },
      'policy.expiry.tools.a.lenth',
      /unknown key 'lenth' \(did you mean 'length'\?\); allowed: after, unit, mode, compact, length, prompt\./,
    ],
    [
      { expiry: { toolDefaults: { a: { zzzzzzzz: 3 } } } },
      'policy.expiry.toolDefaults.a.zzzzzzzz',
      /unknown key 'zzzzzzzz'; allowed: prompt\./,
    ],
    [
      { expiry: { override: { afer: 3 } } },
      'policy.expiry.override.afer',
      /did you mean 'after'\?\); allowed: after, unit, mode, compact, length, prompt\./,
    ],
    [
      { toolOutput: { directory: '' } },
      'policy.toolOutput.directory',
      /at least 1 characters long/,
    ],
    [
      { expiry: { tools: { read: { after: 1, mode: 'gone' } } } },
      'policy.expiry.tools.read.mode',
      /allowed: none, remove, compact/,
    ],
    ['no-such-preset', 'policy', /no preset is called 'no-such-preset'; allowed: plugin-retention/],
    ['recomended', 'policy', /called 'recomended' \(did you mean 'recommended'\?\); allowed: /],
    [{ preset: 'x' }, 'policy.preset', /no preset/],
    [7, 'policy', /got 7/],
    [[], 'policy', /an array/],
    [null, 'policy', /null/],
  ])('[P2] %j is refused, naming path, value and what is allowed', (policy, path, message) => {
    const found = problem(policy)
    expect(found.path).toBe(path)
    expect(found.message).toMatch(message)
  })

  it('[P3] a part that nothing would act on is refused, never ignored', () => {
    const attempt = () => project([{ role: 'user', content: 'hello' }], { memory: {} })
    expect(attempt).toThrow(/asks for 'memory', which lives in the checkpoint/)
  })
})

describe('the types of a policy', () => {
  it('[P1] allow what the check allows, and nothing else', () => {
    type Checked = Infer<typeof policySchema>
    expectTypeOf<Policy>().toExtend<Checked>()
    expectTypeOf<Checked>().toExtend<Policy>()
    type Keys<T> = { -readonly [Part in keyof T]-?: keyof NonNullable<T[Part]> }
    expectTypeOf<Keys<Policy>>().toEqualTypeOf<Keys<Checked>>()
  })

  /** The file whose types document a part: that of its rule. */
  const fileOf = (part: string): string => {
    if (part === 'schedule') return 'schema.ts'
    const rule = part === 'memory' ? 'compaction' : part
    return `../rules/${rule.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.ts`
  }
  it.each(policyFields)('[P1] document $path with its default', ({ part, field, ...known }) => {
    const source = readFileSync(new URL(fileOf(part), import.meta.url), 'utf8')
    // An object's fields are described with it.
    const [name] = (field ?? part).split('.')
    const written = new RegExp(`@default ([^\\n]*) \\*/\\n  readonly ${name}\\?:`)
    const [, text = ''] = written.exec(source) ?? []
    expect(text).not.toBe('')
    if (known.default !== undefined)
      expect(text.replaceAll("'", '')).toMatch(new RegExp(`^${known.default}\\b`))
    else if (name === field) expect(text).toBe(known.defaultText)
  })
})
