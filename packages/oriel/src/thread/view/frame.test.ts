import { describe, expect, it } from 'vitest'
import type { MessageEntry } from '../../core/log/entry.ts'
import { Framing } from './frame.ts'

const none = { leading: [], pluginSystem: [] }
const system: MessageEntry = {
  ...{ type: 'message', id: 'frame' as MessageEntry['id'], seq: 0, at: 0, turn: 0, step: 0 },
  ...{ role: 'system', origin: 'system', blocks: [{ type: 'text', text: 'Be brief.' }] },
}

describe('Framing', () => {
  it('names a frame by what it says, whatever the order of its keys', () => {
    const one = new Framing({ frame: { system: 'a', params: { x: 1, y: 2 } }, ...none })
    const other = new Framing({ frame: { params: { y: 2, x: 1 }, system: 'a' }, ...none })
    const third = new Framing({ frame: { system: 'b', params: { x: 1, y: 2 } }, ...none })
    expect([one.hash === other.hash, one.hash === third.hash]).toEqual([true, false])
  })

  it('is the same without a frame as with an empty one', () => {
    const [absent, empty] = [undefined, {}].map((frame) => new Framing({ frame, ...none }))
    expect(absent?.hash).toBe(empty?.hash)
  })

  it('holds what leads the history and what plugins say behind the system text of the caller', () => {
    const pluginSystem = [{ type: 'text', text: 'A plugin.' }] as const
    const parts = { frame: { system: 'Own.' }, leading: [system], pluginSystem }
    expect(new Framing(parts).frame).toEqual({ system: ['Own.', system.blocks, pluginSystem] })
  })

  it('counts its tokens once', () => {
    let counts = 0
    const counter = {
      name: 'letters',
      count: (text: string) => {
        counts += 1
        return text.length
      },
    }
    const framing = new Framing({ frame: { system: 'four' }, ...none })
    expect([framing.tokens(counter), framing.tokens(counter), counts]).toEqual([8, 8, 1])
  })
})
