import { describe, expect, it } from 'vitest'
import { parseArguments } from './arguments.ts'

describe('parseArguments', () => {
  it('reads a JSON object', () => {
    expect(parseArguments('{"a": [1, {"b": null}]}', 'anthropic')).toEqual({ a: [1, { b: null }] })
  })

  it('takes no text for an empty object', () => {
    expect(parseArguments('', 'anthropic')).toEqual({})
    expect(parseArguments(' \n', 'anthropic')).toEqual({})
  })

  it('wraps text that is not a JSON object', () => {
    for (const text of ['{"a": 1', '[1]', '"x"', 'null', 'ls -la', '{"a":1e999}']) {
      expect(parseArguments(text, 'anthropic')).toEqual({ _raw: text })
    }
  })

  it('wraps what is nested too deep to be sent as JSON', () => {
    const text = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect(parseArguments(text, 'anthropic')).toEqual({ _raw: text })
  })

  it('writes integers that a number cannot hold as strings', () => {
    const text = '{"id": 9007199254740993, "n": [-12345678901234567891, 9007199254740992, 1.5e20]}'
    expect(parseArguments(text, 'anthropic')).toEqual({
      id: '9007199254740993',
      n: ['-12345678901234567891', 9007199254740992, 1.5e20],
    })
  })

  it('leaves digits inside strings alone', () => {
    const value = { text: 'say \\"9007199254740993\\" \\\\', '9007199254740993': true }
    expect(parseArguments(JSON.stringify(value), 'anthropic')).toEqual(value)
  })

  it('keeps __proto__ as data', () => {
    const input = parseArguments('{"__proto__": {"admin": true}}', 'anthropic')
    expect(Object.keys(input)).toEqual(['__proto__'])
    expect(JSON.stringify(input)).toBe('{"__proto__":{"admin":true}}')
  })
})
