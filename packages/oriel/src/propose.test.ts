import { describe, expect, it } from 'vitest'
import { project } from './project.ts'

const think = (text: string) => ({ type: 'thinking', thinking: text, signature: `signed ${text}` })
const use = (id: string) => ({ type: 'tool_use', id, name: 'read', input: {} })
const result = (id: string) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: `${id} `.repeat(200),
})

describe('edits that waited', () => {
  it('[H4] are news to the reasoning that was made while they waited', () => {
    const messages = [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [think('one'), use('a'), use('b')] },
      { role: 'user', content: [result('a'), result('b')] },
      { role: 'assistant', content: [think('two'), use('c')] },
      { role: 'user', content: [result('c')] },
      { role: 'assistant', content: [think('three'), { type: 'text', text: 'Seen.' }] },
      { role: 'user', content: 'And now?' },
      { role: 'assistant', content: [think('four'), { type: 'text', text: 'The same.' }] },
      { role: 'user', content: 'Thanks.' },
    ]
    const policy = { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } } as const
    const seen = JSON.stringify(project(messages, policy, { format: 'anthropic' }).messages)
    // 'one' stands before the change; 'two' and 'three' were made before it, though it fell due in their loop; 'four' saw it.
    expect(
      ['one', 'two', 'three', 'four'].filter((text) => seen.includes(`signed ${text}`)),
    ).toEqual(['one', 'four'])
  })
})
