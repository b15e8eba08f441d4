import { describe, expect, it } from 'vitest'
import { OrielError } from '../core/log/errors.ts'
import { defineRule } from '../rules/custom.ts'
import { operatorPaths } from './caller-policy.ts'
import { policyFields } from './fields.ts'
import { resolvePolicy } from './resolve.ts'

const history = (options: Parameters<typeof resolvePolicy>[0]) => {
  const { policy, sources } = resolvePolicy(options)
  return {
    policy: policy.history?.policy,
    length: policy.history?.length,
    from: [sources['history.policy'], sources['history.length']],
  }
}

const row = { after: 1, mode: 'remove' } as const
const manyTools = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`tool-${n}-*`, row]))

describe('where a setting comes from (document 002, table b)', () => {
  it('[C1] the environment wins over the request, field by field', () => {
    const env = {
      NEXT_PUBLIC_DEFAULT_HISTORY_POLICY: 'lastN',
      NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH: '20',
    }
    expect(history({ env, request: { historyPolicy: 'all' } })).toEqual({
      policy: 'lastN',
      length: 20,
      from: ['environment', 'environment'],
    })
    expect(
      history({
        env: { ORIEL_HISTORY_LENGTH: '7' },
        request: new URLSearchParams('historyPolicy=all'),
      }),
    ).toEqual({ policy: 'all', length: 7, from: ['request', 'environment'] })
  })

  it('[C1] the request wins over the agent, the agent over the default', () => {
    const agent = { chatSettings: { historyPolicy: 'lastN', historyLength: 9 } }
    expect(history({ request: { historyLength: '5' }, agent })).toEqual({
      policy: 'lastN',
      length: 5,
      from: ['agent', 'request'],
    })
    expect(history({ agent: { chatSettings: { historyPolicy: 'lastN' } } })).toEqual({
      policy: 'lastN',
      length: 20,
      from: ['agent', 'default'],
    })
    expect(history({ defaults: { history: { length: 3 } } })).toEqual({
      policy: 'lastN',
      length: 3,
      from: ['default', 'default'],
    })
  })

  it('[C1] an environment length of 0 cannot be overridden', () => {
    expect(
      history({ env: { ORIEL_HISTORY_LENGTH: '0' }, request: { historyLength: '5' } }).length,
    ).toBe(0)
  })

  it('[C1] our variables win over those of document 002', () => {
    const env = { ORIEL_HISTORY_LENGTH: '4', NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH: '9' }
    expect(history({ env }).length).toBe(4)
  })

  it('[C1] what cannot be set field by field knows its source too', () => {
    const tools = { read: { after: 1, mode: 'remove' } } as const
    const agent = { policy: { expiry: { tools, relevance: {} } } }
    const own = { expiry: { tools: { read: { after: 2, mode: 'remove' } } } } as const
    const resolved = resolvePolicy({
      agent,
      request: { body: own },
      defaults: { expiry: { kinds: {} } },
    })
    expect(resolved.policy.expiry).toMatchObject({ ...own.expiry, relevance: {}, kinds: {} })
    expect(resolved.sources).toMatchObject({
      'expiry.tools': 'request',
      'expiry.relevance': 'agent',
      'expiry.kinds': 'default',
      'expiry.disable': 'default',
    })
  })

  it('[C1] a part that nobody mentions stays off', () => {
    expect(resolvePolicy({})).toEqual({ policy: {}, sources: {}, warnings: [] })
  })

  it('[C1] every scalar field has a variable of its own', () => {
    for (const field of policyFields) {
      const texts = { integer: '3', share: '0.3', boolean: 'true', text: '3', choice: '' }
      const text = field.choices?.[0] ?? texts[field.kind]
      const { sources } = resolvePolicy({ env: { [field.variable]: text } })
      expect(sources[field.path]).toBe('environment')
    }
    const variables = policyFields.map((field) => field.variable)
    expect(variables).toContain('ORIEL_TOOL_OUTPUT_MAX_LINES')
    expect(new Set(variables).size).toBe(variables.length)
  })

  it('[C1] fields of an object inside a part are fields of their own', () => {
    const env = {
      ORIEL_EXPIRY_DUPLICATES_SIMILARITY: '0.8',
      ORIEL_EXPIRY_RELEVANCE_THRESHOLD: '1',
      ORIEL_EXPIRY_OVERRIDE_AFTER: '3',
    }
    const agent = { expiry: { duplicates: {}, override: { after: 9, length: 5, mode: 'remove' } } }
    const body = { expiry: { override: { mode: null, unit: 'turns' } } }
    const request = { body, query: { expiryOverrideCompact: 'summary' } }
    const { policy, sources } = resolvePolicy({ env, agent, request })
    expect(policy.expiry).toMatchObject({
      duplicates: { similarity: 0.8 },
      relevance: { threshold: 1 },
      override: { after: 3, unit: 'turns', mode: null, compact: 'summary', length: 5 },
    })
    expect(sources).toMatchObject({
      'expiry.duplicates': 'agent',
      'expiry.duplicates.similarity': 'environment',
      'expiry.override.after': 'environment',
      'expiry.override.mode': 'request',
      'expiry.override.length': 'agent',
    })
  })

  it('[C1] an object that is there without fields stays', () => {
    const expiry = { duplicates: {}, relevance: {} }
    expect(resolvePolicy({ defaults: { expiry } }).policy.expiry).toMatchObject(expiry)
  })
})

describe('wrong values', () => {
  it.each([['5abc'], ['1e3'], ['-1'], ['2.5'], ['many']])(
    '[C2] an environment length of %s stops the start',
    (text) => {
      const attempt = () => resolvePolicy({ env: { ORIEL_HISTORY_LENGTH: text } })
      expect(attempt).toThrow(/ORIEL_HISTORY_LENGTH/)
      try {
        attempt()
      } catch (error) {
        expect(OrielError.is(error, 'invalid-setting')).toBe(true)
      }
    },
  )

  it.each([['1.1'], ['.5'], ['-0.1'], ['1e-1'], ['half']])(
    '[C2] an environment similarity of %s stops the start',
    (text) => {
      const env = { ORIEL_EXPIRY_DUPLICATES_SIMILARITY: text }
      expect(() => resolvePolicy({ env })).toThrow(/SIMILARITY .* a number from 0 to 1/)
    },
  )

  it('[C2] an environment value of 0 is refused where 1 is the least', () => {
    const env = { ORIEL_EXPIRY_OVERRIDE_LENGTH: '0' }
    expect(() => resolvePolicy({ env })).toThrow(/OVERRIDE_LENGTH .* a whole number, 1 or more/)
  })

  it('[C2] an invalid query value is ignored with a warning', () => {
    const agent = { chatSettings: { historyPolicy: 'lastN', historyLength: 9 } }
    const resolved = resolvePolicy({
      request: { historyPolicy: 'foo', historyLength: '-1' },
      agent,
    })
    expect(resolved.policy.history).toMatchObject({ policy: 'lastN', length: 9 })
    expect(resolved.warnings).toHaveLength(2)
    expect(resolved.warnings[0]).toMatch(/historyPolicy is 'foo'; allowed: lastN, all, none/)
  })

  it('[C2] an invalid header or body value is an error, unless told otherwise', () => {
    const request = { body: { history: { length: -1 } } }
    expect(() => resolvePolicy({ request })).toThrow(/body.history.length/)
    expect(() => resolvePolicy({ request: { header: '{"history":{"lenght":1}}' } })).toThrow(
      /did you mean 'length'/,
    )
    expect(resolvePolicy({ request, onInvalid: { body: 'ignore' } }).warnings).toHaveLength(1)
    expect(() =>
      resolvePolicy({ request: { historyPolicy: 'foo' }, onInvalid: { query: 'error' } }),
    ).toThrow(/historyPolicy/)
  })

  it.each([
    ['onInvalid', { onInvalid: 'error' }],
    ['onInvalid', { onInvalid: null }],
    ['onInvalid.query', { onInvalid: { query: 'throw' } }],
    ['onInvalid.address', { onInvalid: { address: 'error' } }],
    ['ceilings', { ceilings: 50 }],
    ['ceilings.history.length', { ceilings: { 'history.length': '50' } }],
    ['ceilings.history.lenght', { ceilings: { 'history.lenght': 50 } }],
    ['ceilings.history.policy', { ceilings: { 'history.policy': 50 } }],
    ['requestOverrides', { requestOverrides: 'never' }],
    ['options', 'recommended'],
  ])('[C2] a wrong %s is refused, not ignored: %j', (path, options) => {
    const resolve = (): unknown => resolvePolicy(options as Parameters<typeof resolvePolicy>[0])
    expect(resolve).toThrow(expect.objectContaining({ code: 'invalid-option', path }))
  })

  it('[C5] no request may name a directory of the server', () => {
    const body = { toolOutput: { directory: '/etc', maxLines: 5 } }
    const problem = { code: 'invalid-setting', message: expect.stringContaining('operator') }
    for (const request of [{ body }, { header: JSON.stringify(body) }]) {
      expect(() => resolvePolicy({ request })).toThrow(expect.objectContaining(problem))
    }
    const query = new URLSearchParams('toolOutputDirectory=/etc')
    const { policy, warnings } = resolvePolicy({ request: query })
    expect(policy.toolOutput).toBeUndefined()
    expect(warnings).toEqual(['toolOutput.directory is set by the operator only: ignored.'])
    const env = { ORIEL_TOOL_OUTPUT_DIRECTORY: '/var/oriel' }
    const own = { body: { toolOutput: { maxLines: 5 } } }
    expect(resolvePolicy({ env, request: own }).policy.toolOutput).toMatchObject({
      directory: '/var/oriel',
      maxLines: 5,
    })
  })

  it('[C5] every text of a policy is either a name or the operator’s to set', () => {
    const texts = policyFields.filter(({ kind }) => kind === 'text').map(({ path }) => path)
    // A new text in a policy belongs to one of the two: what names a place on the disk is in operatorPaths.
    expect(texts.filter((path) => !operatorPaths.has(path))).toEqual(['expiry.override.prompt'])
  })

  it.each([
    ['characters', { expiry: { kinds: { note: { after: 1, mode: 'x'.repeat(70_000) } } } }],
    ['names', { expiry: { tools: manyTools(101) } }],
    ['length of a name', { expiry: { tools: { ['t'.repeat(201)]: row } } }],
    ['length of a prompt', { expiry: { tools: { t: { ...row, prompt: 'p'.repeat(201) } } } }],
    ['tools that are kept', { tools: { keep: Object.keys(manyTools(101)) } }],
    ['the name of a kept tool', { tools: { keep: ['x'.repeat(5000)] } }],
  ])('[C6] the policy of a request is bounded: %s', (_what, body) => {
    const refusal = expect.objectContaining({ code: 'invalid-setting' })
    expect(() => resolvePolicy({ request: { body } })).toThrow(refusal)
  })

  it('[C6] the bound is for requests only', () => {
    const expiry = { tools: manyTools(101) }
    expect(resolvePolicy({ agent: { policy: { expiry } } }).policy.expiry?.tools).toEqual(
      expiry.tools,
    )
    const body = { expiry: { tools: manyTools(100) } }
    expect(resolvePolicy({ request: { body } }).policy.expiry?.tools).toEqual(body.expiry.tools)
  })

  it('[C3] [DA5] a ceiling bounds what means no limit: the whole history, and 0', () => {
    const ceilings = {
      'history.length': 50,
      'history.maxMessages': 100,
      'toolOutput.maxBytes': 900,
    }
    const body = { history: { maxMessages: 0 }, toolOutput: { maxBytes: 0 } }
    const { policy, warnings } = resolvePolicy({
      request: { query: { historyPolicy: 'all' }, body },
      ceilings,
    })
    expect(policy).toMatchObject({
      history: { policy: 'lastN', length: 50, maxMessages: 100 },
      toolOutput: { maxBytes: 900 },
    })
    expect(warnings).toEqual([
      'toolOutput.maxBytes 0 (no limit) is above the ceiling: 900 is used.',
      'history.maxMessages 0 (no limit) is above the ceiling: 100 is used.',
      'history.policy all is above the ceiling: the last 50 turns are used.',
    ])
    const agent = { policy: { history: { policy: 'all' } } } as const
    expect(resolvePolicy({ agent, ceilings }).policy.history?.policy).toBe('all')
  })

  it('[C3] a ceiling bounds what a request may ask for, never the operator', () => {
    const ceilings = { 'history.length': 50 }
    const asked = resolvePolicy({ request: { historyLength: '900' }, ceilings })
    expect(asked.policy.history?.length).toBe(50)
    expect(asked.warnings).toHaveLength(1)
    const operator = resolvePolicy({ env: { ORIEL_HISTORY_LENGTH: '900' }, ceilings })
    expect(operator.policy.history?.length).toBe(900)
  })

  it('[C3] requests may be denied, or need a scoped key', () => {
    const request = { historyLength: '2' }
    const agent = { history: { length: 8 } }
    const length = (extra: object) =>
      resolvePolicy({ request, agent, ...extra }).policy.history?.length
    expect(length({ requestOverrides: 'deny' })).toBe(8)
    expect(length({ requestOverrides: 'scoped-key' })).toBe(8)
    expect(length({ requestOverrides: 'scoped-key', hasScopedKey: true })).toBe(2)
  })
})

describe('rules of one’s own', () => {
  const own = defineRule({ name: 'own', defaults: { most: 3, words: 'a' }, propose: () => [] })
  const rules = [own] as const

  it('[UR1] have settings from the request, the agent and the defaults, field by field', () => {
    const defaults = { own: { most: 1, words: 'default' }, history: { length: 2 } }
    const { policy, sources } = resolvePolicy({
      rules,
      defaults,
      agent: { own: { words: 'agent' } },
      request: { own: { most: 5 } },
    })
    expect(policy).toMatchObject({ own: { most: 5, words: 'agent' }, history: { length: 2 } })
    expect([sources['own.most'], sources['own.words']]).toEqual(['request', 'agent'])
  })

  it('[UR1] are refused where they are wrong or not given', () => {
    expect(() => resolvePolicy({ rules, request: { body: { own: { most: 'a' } } } })).toThrow(
      expect.objectContaining({ code: 'invalid-setting', path: 'body.own.most' }),
    )
    expect(() => resolvePolicy({ request: { body: { own: {} } } })).toThrow(/unknown key 'own'/)
  })
})
