import { describe, expect, it } from 'vitest'
import { decode, encode } from './registry.ts'

describe('encode', () => {
  it('gives back what decode read, broken conversations too', () => {
    const call = { type: 'tool_use', id: 'a', name: 'read', input: {} }
    const messages = [
      { role: 'user', content: 'Read it.' },
      { role: 'assistant', content: [call] },
    ]
    const drafts = decode('anthropic', messages).map(({ draft }) => draft)
    expect(encode('anthropic', drafts)).toEqual({ messages })
    const chat = encode('openai-chat', [{ role: 'system', content: 'Be brief.' }, ...drafts])
    expect(chat.messages).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Read it.' },
      { role: 'assistant', tool_calls: [{ id: 'a' }] },
    ])
    const system = { role: 'system', content: 'Be brief.' } as const
    expect(encode('anthropic', [system, ...drafts])).toMatchObject({ system: 'Be brief.' })
  })
})
