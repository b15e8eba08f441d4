import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { base64ToText, bytesToBase64, textToBase64 } from './bytes.ts'

describe('base64', () => {
  it('[PV4] of a text is that of Node', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(textToBase64(text)).toBe(Buffer.from(text).toString('base64'))
      }),
    )
  })

  it('[PV4] is read as Node reads it, also where it is broken or of the kind for addresses', () => {
    const bytes = fc.uint8Array().map((one) => Buffer.from(one))
    const written = fc.oneof(
      bytes.map((one) => one.toString('base64')),
      bytes.map((one) => one.toString('base64url')),
      fc.string({ unit: fc.constantFrom(...'AZaz09+/-_ \n!é=') }),
      fc.string().map((text) => Buffer.from(`\ufeff${text}`).toString('base64')),
    )
    fc.assert(
      fc.property(written, (base64) => {
        const read = Buffer.from(base64, 'base64')
        const text = read.toString()
        const isExact = Buffer.from(text).equals(read)
        expect(base64ToText(base64)).toEqual({ text, isExact })
      }),
    )
  })

  it('[PV4] of bytes is that of Node, however many there are', () => {
    for (const length of [0, 1, 2, 3, 0x8000, 0x8001, 100_000]) {
      const bytes = new Uint8Array(length).map((_, index) => index * 7)
      expect(bytesToBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
    }
  })
})
