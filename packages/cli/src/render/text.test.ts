import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clean, firstLine, fit, pad, widthOfText, wrap } from './text.ts'

const anyText = fc.string({ unit: 'binary', maxLength: 60 })

describe('clean', () => {
  it('takes out escape sequences and writes out other control characters', () => {
    expect(clean('\u001b[31mred\u001b[0m')).toBe('red')
    expect(clean('\u001b]0;title\u0007text')).toBe('text')
    expect(clean('a\u0007b\u0085c\u202ed\u2028e\u200bf')).toBe(
      'a\\x07b\\x85c\\u{202e}d\\u{2028}e\\u{200b}f',
    )
  })

  it('replaces lone surrogates', () => {
    expect(clean('a\ud800b')).toBe('a\ufffdb')
  })

  it('never leaves anything that can steer a terminal', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(clean(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u)
      }),
    )
  })
})

describe('firstLine', () => {
  it('is the first line that is not blank, with single spaces', () => {
    expect(firstLine('\n  \r\n\t  one\t two  \nthree')).toBe('one two')
    expect(firstLine(' \n ')).toBe('')
  })
})

describe('widths', () => {
  it('knows wide characters, marks and colours', () => {
    expect(widthOfText('abc')).toBe(3)
    expect(widthOfText('日本語')).toBe(6)
    expect(widthOfText('e\u0301')).toBe(1)
    expect(widthOfText('\u{1f600}')).toBe(2)
    expect(widthOfText('\u001b[1mabc\u001b[22m')).toBe(3)
  })

  it('cuts with an ellipsis, never beyond the width', () => {
    expect(fit('abcdef', 6)).toBe('abcdef')
    expect(fit('abcdef', 5)).toBe('abcd…')
    expect(fit('日本語', 4)).toBe('日…')
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 40 }), (text, width) => {
        expect(widthOfText(fit(clean(text), width))).toBeLessThanOrEqual(width)
      }),
    )
  })

  it('fills up on either side', () => {
    expect(pad('日', 4, 'left')).toBe('日  ')
    expect(pad('7', 3, 'right')).toBe('  7')
  })
})

describe('wrap', () => {
  it('breaks between words and cuts the last line', () => {
    expect(wrap('one two three four', 9, 3)).toEqual(['one two', 'three', 'four'])
    expect(wrap('one two three four', 9, 2)).toEqual(['one two', 'three fo…'])
    expect(wrap('', 9, 2)).toEqual([])
    expect(wrap('enormously', 5, 2)).toEqual(['enor…'])
  })

  it('keeps every line within the width', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 4, max: 30 }), (text, width) => {
        const lines = wrap(clean(text), width, 3)
        expect(lines.length).toBeLessThanOrEqual(3)
        for (const line of lines) expect(widthOfText(line)).toBeLessThanOrEqual(width)
      }),
    )
  })
})
