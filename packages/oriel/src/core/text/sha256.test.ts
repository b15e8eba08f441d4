import { hash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sha256 } from './sha256.ts'

describe('SHA-256', () => {
  it('[B2] equals that of Node for texts of every length around a block', () => {
    for (let length = 0; length < 200; length++) {
      const text = 'é'.repeat(length % 7) + 'a'.repeat(length)
      expect(sha256(text)).toBe(hash('sha256', text))
    }
  })

  it('[B2] equals that of Node for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1000 }), (text) => {
        expect(sha256(text)).toBe(hash('sha256', text))
      }),
    )
  })

  it('[B2] equals that of Node for lone surrogates and long texts', () => {
    for (const text of ['\ud800', 'a\udc00b', 'long '.repeat(300_000)]) {
      expect(sha256(text)).toBe(hash('sha256', text))
    }
  })
})
