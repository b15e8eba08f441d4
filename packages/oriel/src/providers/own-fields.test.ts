import { describe, expect, it } from 'vitest'
import { project } from '../project.ts'

const long = 'a long line of output '.repeat(40)
const ask = { role: 'user', content: 'go' }
const answer = { role: 'assistant', content: 'ok' }
const call = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
}

describe("Oriel's own fields on foreign messages", () => {
  it('[DB9] expiry of a tool message acts, and is not sent', () => {
    const expiry = { after: 0, mode: 'compact', length: 40 }
    const messages = [
      ask,
      call,
      { role: 'tool', tool_call_id: 'c', content: long, expiry, kind: 'search', meta: { a: 1 } },
      answer,
    ]
    const { messages: sent, trace } = project<object>(messages)
    expect(trace).toMatchObject([{ index: 2, rule: 'expiry', form: 'clipped' }])
    expect(Object.keys(sent[2] ?? {}).sort()).toEqual(['content', 'role', 'tool_call_id'])
    // Nothing falls due: the message goes out as it came, without them.
    const { messages: whole } = project<object>(messages.slice(0, 3))
    expect(whole[2]).toEqual({ role: 'tool', tool_call_id: 'c', content: long })
  })

  it('[DB9] kinds and tools of user messages are matched by the policy', () => {
    const note = { role: 'user', origin: 'host', kind: 'note', content: long }
    const expiry = { kinds: { note: { after: 0, mode: 'remove' } } } as const
    const { messages } = project<object>([ask, note, answer], { expiry })
    expect(messages).toEqual([ask, answer])
  })

  it.each(['openai-chat', 'anthropic'] as const)('[DB9] lifetimes of parts in %s', (format) => {
    const fading = { type: 'text', text: 'screen', lifetime: { turns: 0 } }
    const said = { role: 'user', content: [{ type: 'text', text: 'look' }, fading] }
    const now = project<object>([said], undefined, { format })
    expect(JSON.stringify(now.messages)).toContain('screen')
    expect(JSON.stringify(now.messages)).not.toContain('lifetime')
    const later = project<object>([said, answer, ask], undefined, { format })
    expect(JSON.stringify(later.messages)).not.toContain('screen')
    expect(later.trace).toMatchObject([{ index: 0, rule: 'retention', form: 'dropped' }])
  })

  it('[DB9] wrong ones are refused with their path', () => {
    const wrong = (message: object) => () => project([ask, { ...ask, ...message }])
    expect(wrong({ expiry: { after: 1 } })).toThrow(/messages\[1\]\.expiry\.mode/)
    expect(wrong({ kind: 7 })).toThrow(/messages\[1\]\.kind/)
    const content = [{ type: 'text', text: 'x', lifetime: { days: 1 } }]
    expect(wrong({ content })).toThrow(/messages\[1\]\.content\[0\]\.lifetime/)
  })
})
