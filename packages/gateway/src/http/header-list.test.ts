import { describe, expect, it } from 'vitest'
import { HeaderList } from './header-list.ts'
import { pairsOf } from './response.ts'

describe('a list of headers', () => {
  it('knows names in lower case, in the order in which they came, and joins values of one name', () => {
    const list = HeaderList.ofRaw(['X-B', '1', 'Accept', 'text/html', 'x-b', '2'])
    expect([...list]).toEqual([
      ['x-b', '1, 2'],
      ['accept', 'text/html'],
    ])
    expect([list.get('x-b'), list.has('accept'), list.get('host')]).toEqual(['1, 2', true, null])
  })

  it('reads as the standard class does', () => {
    const raw = ['Host', 'a:1', 'X-Two', 'a', 'x-two', 'b, c', 'Via', '1.1 proxy', 'Empty', '']
    const standard = new Headers()
    for (let at = 0; at < raw.length; at += 2) standard.append(raw[at] ?? '', raw[at + 1] ?? '')
    const list = HeaderList.ofRaw(raw)
    expect(Object.fromEntries(list)).toEqual(Object.fromEntries(standard))
    for (const name of list.keys()) expect(list.get(name)).toBe(standard.get(name))
  })

  it('keeps cookies apart, which cannot be joined', () => {
    const list = new HeaderList()
    list.append('Set-Cookie', 'a=1; Expires=Tue, 17 Nov 2026 00:00:00 GMT')
    list.append('set-cookie', 'b=2')
    list.append('vary', 'origin')
    list.set('vary', 'accept')
    expect(pairsOf(list)).toEqual([
      ['vary', 'accept'],
      ['set-cookie', 'a=1; Expires=Tue, 17 Nov 2026 00:00:00 GMT'],
      ['set-cookie', 'b=2'],
    ])
  })
})
