import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { analyse } from './analysis.ts'
import { analyseQuery } from './query.ts'

describe('[RK1] the analysis of text', () => {
  it.each([
    ['Plans PLANNED planning', ['plan', 'plan', 'plan']],
    ['fetchUserProfile', ['fetch', 'user', 'profil', 'fetchuserprofil']],
    ['HTTPServer2', ['http', 'server', '2', 'httpserver2']],
    ['snake_case_name', ['snak', 'case', 'name', 'snake_case_name']],
    [
      'src/api/user-client.ts',
      ['src', 'api', 'user', 'client', 'ts', 'src/api/user-client.ts', 'user-client.ts'],
    ],
    ['v1.2.3', ['v', '1', '2', '3', 'v1.2.3']],
    ['Müller, Ａlpha', ['muller', 'alpha']],
    ["Anna's", ['anna']],
    ["I've seen Lee, doesn't she", ['i', 'seen', 'lee', 'doe', 'she']],
    ['⅐ ⑴', ['1', '7', '1']],
    ['iPhone, YouTube', ['i', 'phon', 'iphon', 'you', 'tube', 'youtub']],
    ['東京都', ['東京', '京都']],
    ['서울에서 온 편지', ['서울', '울에', '에서', '온', '편지']],
    ['1,234.56 and 1,2', ['1234', '56', '1234.56', 'and', '1', '2']],
    ['12,345,678', ['12345678']],
    [
      'b98e13a7c0ffee12',
      [
        'b98e13a',
        'b98e13a7',
        'b98e13a7c',
        'b98e13a7c0',
        'b98e13a7c0f',
        'b98e13a7c0ff',
        'b98e13a7c0ffee12',
      ],
    ],
    [
      'sha256:b98e13a7c0ffee12',
      [
        ...['sha', '256', 'b98e13a', 'b98e13a7', 'b98e13a7c', 'b98e13a7c0', 'b98e13a7c0f'],
        ...['b98e13a7c0ff', 'b98e13a7c0ffee12', 'sha256:b98e13a7c0ffee12'],
      ],
    ],
    ['', []],
    ['?! ...', []],
  ])('%j', (text, tokens) => {
    expect(analyse(text)).toEqual(tokens)
  })

  it('[RK1] gives tokens that every database takes as they are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (left, right) => {
        for (const token of analyse(`${left} ${right}`)) {
          expect(token).toMatch(/^[\p{L}\p{N}][\p{L}\p{N}\p{M}_.\-/:@#+]*$/u)
          expect(token.length).toBeLessThanOrEqual(64)
          expect(token).toBe(token.toWellFormed())
        }
      }),
    )
  })

  it('[RK1] finds in a text what the same text asks for', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (text) => {
        const tokens = new Set(analyse(text))
        for (const term of analyseQuery(text)) expect(tokens.has(term)).toBe(true)
      }),
    )
  })
})
