import { describe, expect, it } from 'vitest'
import { OrielError } from '../core/errors.ts'
import { policyFields } from '../policy-fields.ts'
import { resolvePolicy } from './settings.ts'

const history = (options: Parameters<typeof resolvePolicy>[0]) => {
  const { policy, sources } = resolvePolicy(options)
  return {
    policy: policy.history?.policy,
    length: policy.history?.length,
    from: [sources['history.policy'], sources['history.length']],
  }
}

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
      const text = field.choices?.[0] ?? (field.kind === 'boolean' ? 'true' : '3')
      const { sources } = resolvePolicy({ env: { [field.variable]: text } })
      expect(sources[field.path]).toBe('environment')
    }
    expect(policyFields.map((field) => field.variable)).toContain('ORIEL_TOOL_OUTPUT_MAX_LINES')
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

  it('[C3] no request may name a directory of the server', () => {
    const request = { body: { toolOutput: { directory: '/etc', maxLines: 5 } } }
    const { policy, warnings } = resolvePolicy({ request })
    expect(policy.toolOutput).toMatchObject({ maxLines: 5 })
    expect(policy.toolOutput).not.toHaveProperty('directory')
    expect(warnings).toEqual(['toolOutput.directory is set by the operator only: ignored.'])
    const query = new URLSearchParams('toolOutputDirectory=/etc')
    expect(resolvePolicy({ request: query }).policy.toolOutput).toBeUndefined()
    const env = { ORIEL_TOOL_OUTPUT_DIRECTORY: '/var/oriel' }
    expect(resolvePolicy({ env, request }).policy.toolOutput).toMatchObject({
      directory: '/var/oriel',
    })
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
