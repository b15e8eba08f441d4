import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { minPackedLength, packBytes, packText, unpackBytes, unpackText } from './packed-text.ts'

const request = (step: number): string =>
  JSON.stringify({
    type: 'request',
    step,
    format: 'openai-chat',
    view: 'vcc287e65d01c4f0b9854',
    frameHash: '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
    policyHash: '412862a81da8e9d19ea2240bfd77351c0ed238bf58739fa98f6948a45eef136f',
    bodyHash: 'dce8616466045a5108e6b5b7a925ef551e331b1183dede8eaccc6d5517358dc1',
    encoderVersion: 1,
    details: { tokens: 11815 },
    id: 'e2hp6w',
    seq: 3229,
    at: 1795009348647,
    by: 'TvuHnHqFlXA51jc',
  })

describe('packed text', () => {
  it('[SQ6] gives back every text that it takes, byte for byte', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 3000 }), fc.nat(20), (text, times) => {
        const long = text.repeat(times)
        const packed = packText(long)
        if (packed === undefined) return
        expect(unpackText(packed)).toBe(long)
        expect(packed.length).toBeLessThan(Buffer.byteLength(long))
      }),
    )
  })

  it('[SQ6] makes the record of a request less than half as long', () => {
    const packed = packText(request(996))
    expect(packed?.length).toBeLessThan(request(996).length / 2)
  })

  it('[SQ6] leaves short texts and content that does not get smaller as they are', () => {
    expect(packText('x'.repeat(minPackedLength - 1))).toBeUndefined()
    const noise = Uint8Array.from({ length: 5000 }, (_, at) => (at * at * 7919 + at * 31) % 251)
    const random = crypto.getRandomValues(noise)
    expect(packBytes(random)).toBeUndefined()
  })

  it('[SQ6] gives nothing for damaged bytes or an unknown dictionary, and never throws', () => {
    const packed = packText(request(1)) as Uint8Array
    expect(unpackText(Uint8Array.of(200, ...packed.subarray(1)))).toBeUndefined()
    expect(unpackText(new Uint8Array())).toBeUndefined()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = unpackBytes(bytes)
        expect(text === undefined || text instanceof Uint8Array).toBe(true)
      }),
    )
  })
})
