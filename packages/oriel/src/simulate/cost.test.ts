import { describe, expect, it } from 'vitest'
import { CacheMeter } from './cost.ts'
import { piecesOf } from './pieces.ts'

/** A token for each character, so that costs can be read. */
const characters = { name: 'characters', count: (text: string) => text.length }
const overhead = 4

function request(...texts: readonly string[]) {
  return piecesOf(texts.map((content) => ({ role: 'user', content })))
}
const tokens = (...texts: readonly string[]) => texts.join('').length + overhead * texts.length

describe('CacheMeter', () => {
  it('[W4] reads the common prefix at the price of reading and writes the rest', () => {
    const meter = new CacheMeter(characters)
    expect(meter.send(request('aaaa', 'bb'))).toMatchObject({ cached: 0, tokens: 14, cost: 17.5 })
    const next = meter.send(request('aaaa', 'bb', 'cc'))
    expect(next).toMatchObject({ cached: 14, tokens: 20, cost: 0.1 * 14 + 1.25 * 6 })
    expect(next).not.toHaveProperty('broken')
  })

  it('[W4] loses everything behind the first changed block', () => {
    const meter = new CacheMeter(characters)
    meter.send(request('aaaa', 'bb', 'cc'))
    expect(meter.send(request('aaaa', 'B', 'cc', 'd'))).toMatchObject({
      cached: tokens('aaaa'),
      broken: 'edit',
      lost: tokens('bb', 'cc'),
    })
  })

  it('[W4] holds nothing after its time to live, and no prefix that is too short', () => {
    const meter = new CacheMeter(characters, { ttlMs: 1000, minimumTokens: 10 })
    meter.send(request('aaaa', 'bb'), 0)
    expect(meter.send(request('aaaa', 'bb'), 1000)).toMatchObject({ cached: 14 })
    expect(meter.send(request('aaaa', 'bb'), 2001)).toMatchObject({ cached: 0, broken: 'ttl' })
    expect(meter.send(request('aaaa', 'x'), 2002)).toMatchObject({ cached: 0, broken: 'edit' })
  })

  it('[W4] looks at blocks, and not at how they are grouped or marked', () => {
    const meter = new CacheMeter(characters)
    const text = (value: string) => ({ type: 'text', text: value })
    meter.send(piecesOf([{ role: 'user', content: [text('aa'), text('bb')] }]))
    const marked = { ...text('bb'), cache_control: { type: 'ephemeral' } }
    const split = piecesOf([
      { role: 'user', content: [text('aa')] },
      { role: 'user', content: [marked] },
      { role: 'user', content: [text('cc')] },
    ])
    expect(meter.send(split)).not.toHaveProperty('broken')
  })
})
