import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, test } from 'vitest'
import { OrielError } from './core/log/errors.ts'
import type { Counter } from './core/tokens/counter.ts'
import { estimate } from './core/tokens/estimate.ts'
import type { TokensOption } from './counters.ts'
import { resolveCounter } from './counters.ts'

const options = { disallowedSpecial: new Set<string>() }
const library = (text: string): number => countTokens(text, options)
const o200k = resolveCounter('o200k')

describe('resolving the option', () => {
  test('without an option it is the estimate', () => {
    expect(resolveCounter(undefined)).toBe(estimate)
    expect(resolveCounter('estimate')).toBe(estimate)
  })

  test('o200k is one and the same counter each time', () => {
    expect(o200k.name).toBe('o200k')
    expect(resolveCounter('o200k')).toBe(o200k)
  })

  test('a counter of the caller comes back as it is', () => {
    const words: Counter = { name: 'words', count: (text) => text.split(' ').length }
    expect(resolveCounter(words)).toBe(words)
  })

  const one = (): number => 1

  test.each<readonly [string, unknown]>([
    ['an unknown name', 'cl100k'],
    ['an empty name', ''],
    ['null', null],
    ['a number', 4],
    ['a function', one],
    ['an empty object', {}],
    ['a counter without a name', { count: one }],
    ['a counter with an empty name', { name: '', count: one }],
    ['a counter whose name is no text', { name: 7, count: one }],
    ['a counter that cannot count', { name: 'mine', count: 3 }],
  ])('%s is refused, with the path', (_, option) => {
    const error = thrownBy(() => resolveCounter(option as TokensOption))
    expect(OrielError.is(error, 'invalid-option')).toBe(true)
    expect((error as OrielError).path).toBe('tokens')
    expect((error as OrielError).message).toContain("'estimate', 'o200k'")
  })
})

describe('loading the tokenizer', () => {
  test('happens at the first count, not on import', () => {
    const script = `
      import { createRequire } from 'node:module'
      const { resolveCounter } = await import(${JSON.stringify(new URL('./counters.ts', import.meta.url).href)})
      const { cache } = createRequire(import.meta.url)
      const isLoaded = () => Object.keys(cache).some((path) => path.includes('gpt-tokenizer'))
      const counter = resolveCounter('o200k')
      console.log(JSON.stringify([isLoaded(), counter.count('hello world'), isLoaded()]))`
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', script])
    expect(JSON.parse(output.toString())).toEqual([false, 2, true])
  })
})

const word = fc.oneof(
  fc.lorem({ maxCount: 1 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }),
  fc.integer().map(String),
  fc.json({ maxDepth: 1 }),
  fc.constantFrom(
    'camelCaseName',
    'snake_case',
    "don't",
    '中文字符',
    'ひらがな',
    '한국어',
    '🎉',
    '=>',
  ),
  fc.constantFrom(
    '\n',
    '\n\n',
    '    ',
    '\t',
    '\r\n',
    '--------',
    '//',
    '});\n',
    'e\u0301',
    'Привет',
  ),
)
const ordinaryText = fc.array(word, { maxLength: 120 }).map((words) => words.join(' '))

describe('counting exactly', () => {
  test('ordinary texts of any length count as the library counts them', () => {
    fc.assert(
      fc.property(ordinaryText, (text) => {
        expect(o200k.count(text)).toBe(library(text))
      }),
      { numRuns: 500 },
    )
  })

  test('a run is left whole up to its limit', () => {
    for (const character of ['a', ' ', '\n', '!', '中', 'é', '\u0301', '\u200d']) {
      const text = `x ${character.repeat(200)} y`
      expect(o200k.count(text)).toBe(library(text))
    }
  })

  test('nothing is nothing', () => {
    expect(o200k.count('')).toBe(0)
  })

  test.each(['<|endoftext|>', '<|endofprompt|>', '<|im_start|>', '<|fim_prefix|>'])(
    'the special token %s is text like any other',
    (special) => {
      expect(o200k.count(special)).toBe(library(special))
      expect(o200k.count(special)).toBeGreaterThan(3)
      expect(o200k.count(`before ${special} after`)).toBeGreaterThan(5)
    },
  )

  test.each(['\ud800', '\udc00', 'a\ud83d', '\ude00b', '\ud800'.repeat(1000), '\u0000', '\uffff'])(
    'takes %j without complaint',
    (text) => {
      expect(o200k.count(text)).toBeGreaterThanOrEqual(1)
    },
  )
})

describe('runs that would stall the tokenizer', () => {
  // Uncut, each of these would take from minutes to days: finishing at all is half of the test.
  test.each([
    ['a letter', 'a', 0.125],
    ['a CJK character', '中', 1],
    ['spaces', ' ', 1 / 128],
    ['punctuation', '!', 1 / 16],
    ['line breaks', '\n', 1 / 16],
    ['accents', '\u0301', 1],
    ['emoji', '😀', 0.5],
    ['lone surrogates', '\ud800', 0.125],
    ['line breaks and slashes', '/\n', 0.5],
    ['symbols with marks', '!!\u0301', 2 / 3],
    ['letters beyond the first plane', '中\u{20000}', 4 / 3],
  ])('a million characters of %s', (_, unit, perCharacter) => {
    const length = 1_000_000
    const tokens = o200k.count(`!${unit.repeat(Math.ceil(length / unit.length))}`)
    expect(tokens / length).toBeGreaterThan(perCharacter * 0.9)
    expect(tokens / length).toBeLessThan(perCharacter * 1.1)
  })

  test('one rare word, again and again', () => {
    // The library's cache alone made this take seconds once it held many other words.
    const others = Array.from({ length: 20_000 }, (_, index) => `zq${index.toString(36)}xv`).join(
      ' ',
    )
    const text = ' zqxwvk'.repeat(150_000)
    expect(o200k.count(others)).toBeGreaterThan(20_000)
    expect(o200k.count(text)).toBe(150_000 * library(' zqxwvk'))
  })

  test('each cut costs at most two tokens', () => {
    const letters = fc.string({
      unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'),
      minLength: 257,
      maxLength: 1500,
    })
    fc.assert(
      fc.property(letters, (text) => {
        const cuts = Math.floor(text.length / 256)
        expect(Math.abs(o200k.count(text) - library(text))).toBeLessThanOrEqual(2 * cuts)
      }),
      { numRuns: 30 },
    )
  })

  test('a cut never halves a character', () => {
    for (const shift of ['', '!']) {
      const text = `${shift}${'😀'.repeat(2000)}`
      expect(Math.abs(o200k.count(text) - library(text))).toBeLessThanOrEqual(16)
    }
  })
})

function thrownBy(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  return undefined
}
