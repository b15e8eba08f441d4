import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  leaderOf,
  minPackedLength,
  packBytes,
  packFollower,
  packText,
  packTokens,
  unpackBytes,
  unpackRow,
  unpackText,
  unpackTokens,
} from './packed-text.ts'

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

  it('[SQ6] compresses a text with one before it, and gives it back from that one only', () => {
    const base = { seq: 7, text: request(1), depth: 0 }
    const packed = packFollower(request(2), base) as Uint8Array
    expect(leaderOf(packed)).toBe(7)
    expect(packed.length).toBeLessThan((packText(request(2))?.length ?? 0) / 2)
    const at = (seq: number, depth = 0) => (seq === 7 ? { text: request(1), depth } : undefined)
    expect(unpackRow(packed, at)).toEqual({ text: request(2), depth: 1 })
    // A follower is never what another one follows.
    expect(unpackRow(packed, (seq) => at(seq, 1))).toBeUndefined()
    expect(unpackRow(packed, () => undefined)).toBeUndefined()
    expect(unpackRow(packed.subarray(0, 5), at)).toBeUndefined()
    expect(unpackRow(packed.subarray(0, 10), at)).toBeUndefined()
    // Nothing in common: alone.
    const other = request(2).split('').reverse().join('')
    expect(leaderOf(packFollower(other, { ...base, text: 'x' }))).toBeUndefined()
  })

  it('[SQ6] gives back as many of each token as it takes', () => {
    const token = fc.oneof(
      fc.constantFrom('read', 'src/index.ts', '404', ':a1b2', '日本', 'w7342'),
      fc.stringMatching(/^[a-z0-9][a-z0-9_.+#:/@-]{0,9}$/),
    )
    const sorted = (tokens: string): readonly string[] => tokens.split(' ').sort()
    fc.assert(
      fc.property(fc.array(token, { maxLength: 200 }), (tokens) => {
        const text = tokens.join(' ')
        expect(sorted(unpackTokens(packTokens(text)))).toEqual(sorted(text))
      }),
    )
    expect(unpackTokens(packTokens(':a1 :b2 read file read'))).toBe(':a1 :b2 read file read')
    // As versions before 7 wrote them.
    expect(unpackTokens(Uint8Array.of(0, ...Buffer.from('read file read')))).toBe('read file read')
  })
})
