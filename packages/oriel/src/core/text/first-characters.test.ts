import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { beginningOf } from './first-characters.ts'

describe('the first characters', () => {
  it('[D7] of plain text are exactly as many as asked for, and no character is split', () => {
    expect(beginningOf('a'.repeat(900), 500)).toEqual({ text: 'a'.repeat(500), count: 500 })
    expect(beginningOf('😀'.repeat(50), 31).text).toBe('😀'.repeat(15))
  })

  it('[D7] of a JSON array are whole items, and it says how many', () => {
    const items = Array.from({ length: 47 }, (_, id) => ({
      id,
      title: `result ${id}`,
      tags: ['a'],
    }))
    for (const text of [JSON.stringify(items), JSON.stringify(items, null, 2)]) {
      const found = beginningOf(text, 300)
      const shown = JSON.parse(found.text)
      expect(found.text.length).toBeLessThanOrEqual(300)
      const isWhole = JSON.stringify(shown.at(-1)) === JSON.stringify(items[shown.length - 1])
      expect(found.items).toEqual([isWhole ? shown.length : shown.length - 1, 47])
      expect(items.slice(0, shown.length - 1)).toEqual(shown.slice(0, -1))
      expect(text.startsWith(found.text.slice(0, found.count))).toBe(true)
    }
  })

  it.each([
    ['numbers', Array.from({ length: 300 }, (_, n) => n), 22],
    ['words', Array.from({ length: 300 }, (_, n) => n % 2 === 0), 10],
    ['texts', Array.from({ length: 300 }, () => 'a, b'), 8],
    ['lists', Array.from({ length: 300 }, (_, n) => [n, [n]]), 7],
    ['one long text first', ['x'.repeat(500), 'y'], 0],
    ['a long text in the second item', [{ id: 1 }, { id: 2, text: 'x'.repeat(500) }], 1],
  ])('[D7] of a JSON array of %s count the items that are whole', (_name, items, whole) => {
    const { text, items: counted } = beginningOf(JSON.stringify(items), 60)
    expect(counted).toEqual([whole, items.length])
    expect(JSON.parse(text).slice(0, whole)).toEqual(items.slice(0, whole))
  })

  it('[D7] of a JSON object with one long string are still JSON', () => {
    const text = JSON.stringify({ ok: true, body: `say "hi" \\ \n ${'word '.repeat(500)}` })
    const { text: shown } = beginningOf(text, 200)
    expect(JSON.parse(shown)).toMatchObject({
      ok: true,
      body: expect.stringMatching(/^say "hi" .*…$/s),
    })
  })

  it('[D7] of a table are whole rows', () => {
    const rows = Array.from({ length: 50 }, (_, n) => `${n},name ${n},${n * 7}`)
    const { text } = beginningOf(['id,name,price', ...rows].join('\n'), 100)
    expect(text.split('\n').every((row) => row.split(',').length === 3)).toBe(true)
    const bars = Array.from({ length: 50 }, (_, n) => `| ${n} | name ${n} |`)
    expect(beginningOf(['| id | name |', '|---|---|', ...bars].join('\n'), 100).text).toMatch(
      / \|$/,
    )
  })

  it('[D7] of text that only begins like JSON are plain', () => {
    const text = `[INFO] started\n${'x'.repeat(900)}`
    expect(beginningOf(text, 500).count).toBe(500)
  })

  it('[D7] are valid JSON and a beginning of it, whatever the value', () => {
    const value = fc.oneof(
      fc.array(fc.jsonValue(), { minLength: 3 }),
      fc.dictionary(fc.string(), fc.jsonValue()),
    )
    fc.assert(
      fc.property(
        value,
        fc.integer({ min: 1, max: 200 }),
        fc.boolean(),
        (json, length, isPretty) => {
          const text = JSON.stringify(json, null, isPretty ? 2 : undefined)
          if (text.length <= length) return
          const { text: shown, count } = beginningOf(text, length)
          expect(shown.length).toBeLessThanOrEqual(
            Math.max(length, shown.length === count ? length : 0),
          )
          expect(text.startsWith(shown.slice(0, count))).toBe(true)
          if (shown.length > count) expect(() => JSON.parse(shown)).not.toThrow()
        },
      ),
      { numRuns: 500 },
    )
  })
})
