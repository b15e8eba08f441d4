import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NameLookup } from './name-lookup.ts'

/** The rule as it is written: slow, and plain. */
function expected(settings: Readonly<Record<string, number>>, name: string): number | undefined {
  const plain = (text: string) => text.trim().toLowerCase()
  const keys = Object.keys(settings)
  const exact = keys.find((key) => plain(key) === plain(name))
  if (exact !== undefined) return settings[exact]
  const matching = keys.filter((key) => {
    const parts = plain(key)
      .split('*')
      .map((part) => part.replace(/[^a-z]/g, '\\$&'))
    return parts.length > 1 && new RegExp(`^${parts.join('.*')}$`, 's').test(plain(name))
  })
  const longest = Math.max(...matching.map((key) => plain(key).length))
  const found = matching.find((key) => plain(key).length === longest)
  return found === undefined ? undefined : settings[found]
}

const letters = (most: number, ...more: readonly string[]) =>
  fc.array(fc.constantFrom('a', 'b', 'A', ...more), { maxLength: most }).map((all) => all.join(''))

describe('settings by name or pattern', () => {
  it('[D3] finds the exact name, else the longest pattern that matches, without case', () => {
    const keys = fc.uniqueArray(letters(8, '*', '*', '-', ' '), { maxLength: 8 })
    fc.assert(
      fc.property(keys, fc.array(letters(10, '-', '*')), (patterns, names) => {
        const settings = Object.fromEntries(patterns.map((key, index) => [key, index]))
        const lookup = new NameLookup(settings)
        for (const name of [...names, ...names]) {
          expect([name, lookup.find(name)]).toEqual([name, expected(settings, name)])
        }
      }),
      { numRuns: 500 },
    )
  })

  it('[D3] takes names that no tool has as a whole', () => {
    const long = `read_${'x'.repeat(300)}`
    expect(new NameLookup({ 'read_*': 1, '*': 2 }).find(long)).toBe(2)
    expect(new NameLookup({ 'read_*': 1, [long]: 2 }).find(long)).toBe(2)
    expect(new NameLookup({ 'read_*': 1 }).find(long)).toBeUndefined()
  })

  it('[D3] looks at a pattern once for each name, however many results there are', () => {
    let compared = 0
    const name = new Proxy(new String('read'), {
      get(target, key) {
        if (key === 'trim') compared += 1
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const lookup = new NameLookup({ 're*': 1 })
    // A name is looked up by its identity here, so that what is asked of it can be counted.
    for (let result = 0; result < 100; result++) lookup.find(name as unknown as string)
    expect(compared).toBe(1)
  })
})
