import { describe, expect, it } from 'vitest'
import { indexOfValue, plain, suffixesOf, valuesIn, wholeValue } from './values.ts'

const found = (text: string) => [...valuesIn(text)]

describe('valuesIn', () => {
  it('[W2] finds ids, paths, addresses, numbers of four digits, names in snake, camel and dotted form', () => {
    expect(found('cancel 4WQ150 for mia.li@example.com')).toEqual(['4WQ150', 'mia.li@example.com'])
    expect(found('sed -n 1,20p src/core/log.ts')).toEqual(['src/core/log.ts'])
    expect(found('order #W2378156 costs 1250 or 99')).toEqual(['#W2378156', '1250'])
    expect(found('np.linalg.norm, user_id and readFile of QuerySet')).toEqual([
      'np.linalg.norm',
      'user_id',
      'readFile',
      'QuerySet',
    ])
  })

  it('[W2] never takes plain words', () => {
    expect(found('Please cancel the order and refund the customer. Thanks - now')).toEqual([])
  })

  it('[W2] takes quoted phrases of 6 to 60 characters', () => {
    expect(found('say "no such file" or "short" or \'two words\'')).toEqual([
      'no such file',
      'two words',
    ])
    expect(found(`"${'x y '.repeat(20)}"`)).toEqual([])
  })
})

describe('wholeValue', () => {
  it('[W2] takes a whole argument of one line and 3 to 80 characters that is no plain word', () => {
    expect(wholeValue(' Omar Davis ')).toBe('Omar Davis')
    expect(wholeValue('JFK')).toBe('JFK')
    for (const leaf of ['no', 'economy', 'Economy', 'two\nlines', 'x y '.repeat(21), '---']) {
      expect(wholeValue(leaf)).toBeUndefined()
    }
  })
})

describe('indexOfValue', () => {
  it('[W2] finds a value only as a whole', () => {
    expect(indexOfValue('id 12345, id 1234', '1234')).toBe(13)
    expect(indexOfValue('user_ids', 'user_id')).toBe(-1)
    expect(indexOfValue('(user_id)', 'user_id')).toBe(1)
  })

  it('[W2] sees through line ends and quotes that JSON has escaped', () => {
    expect(indexOfValue(plain('{"a":"x\\nuser_id\\ty"}'), 'user_id')).toBeGreaterThan(0)
    expect(plain('say \\"hi\\"')).toBe('say "hi"')
    expect(plain('C:\\dir')).toBe('C:\\dir')
  })
})

describe('suffixesOf', () => {
  it('[W2] shortens a path from its front, down to a name with an extension', () => {
    expect(suffixesOf('/a/b/c.py')).toEqual(['/a/b/c.py', 'a/b/c.py', 'b/c.py', 'c.py'])
    expect(suffixesOf('src/core')).toEqual(['src/core'])
  })
})
