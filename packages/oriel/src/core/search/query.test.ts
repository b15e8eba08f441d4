import { describe, expect, it } from 'vitest'
import { passagesOf } from './passages.ts'
import { analyseQuery, matchedTokens, termsOf } from './query.ts'
import { relatedTo } from './related-words.ts'

describe('the terms of a query', () => {
  it('leaves words that tell nothing out of a query, unless there are no others', () => {
    expect(analyseQuery('What did you tell me about the invoice?')).toEqual(['invoic'])
    expect(analyseQuery('who are you')).toEqual(['who', 'are', 'you'])
  })

  it.each([
    [
      'fetchUserProfile',
      { fetch: 'fetchuserprofil', user: 'fetchuserprofil', profil: 'fetchuserprofil' },
    ],
    ['app_4711 user', { app: 'app_4711', 4711: 'app_4711' }],
    ['user of fetchUser', { fetch: 'fetchuser' }],
    ['a must-read and/or not', {}],
    [
      'src/api/x.ts',
      { src: 'src/api/x.ts', api: 'src/api/x.ts', x: 'src/api/x.ts', ts: 'src/api/x.ts' },
    ],
  ])('[RK9] knows the parts of identifiers in %j', (query, parts) => {
    const found = termsOf(query).flatMap(({ token, within }) =>
      within === undefined || token.includes('.') ? [] : [[token, within]],
    )
    expect(Object.fromEntries(found)).toEqual(parts)
  })

  it.each([
    ['doctor', 'dr', 1],
    ['dr', 'doctor', 1],
    ['physician', 'doctor', 0.5],
    ['buy', 'bought', 1],
    ['purchas', 'buy', 0.5],
    ['repo', 'repository', 1],
  ])('[RK9] takes for %s also %s', (token, other, share) => {
    expect(relatedTo(token).get(other)).toBe(share)
    expect(relatedTo(other).get(token)).toBe(share)
    expect(matchedTokens(other).has(token)).toBe(true)
  })

  it('relates no word to one that is left out of every query', () => {
    for (const word of ['doctor', 'go', 'see', 'tell', 'make', 'old'])
      for (const other of relatedTo(word).keys())
        expect(analyseQuery(`${other} x`)).toContain(other)
  })
})

it('hints keep whether the user speaks and about how long it is', () => {
  const entry = (role: 'user' | 'assistant', words: number) =>
    ({
      ...{ type: 'message', id: 'e1', seq: 1, at: 0, turn: 1, step: 1, role },
      origin: role === 'user' ? 'user' : 'model',
      blocks: [{ type: 'text', text: 'word '.repeat(words) }],
    }) as unknown as Parameters<typeof passagesOf>[0]
  const hint = (role: 'user' | 'assistant', words: number) =>
    passagesOf(entry(role, words), 0).map((one) => one.hint)
  expect(hint('user', 3)).toEqual([8])
  expect(hint('user', 60)).toEqual([11])
  expect(hint('assistant', 60)).toEqual([3])
})
