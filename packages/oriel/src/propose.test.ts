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

describe('a checkpoint that was due when a tool loop began', () => {
  it('[H4] [K2] stays while the loop is open: its reasoning was made on it', () => {
    const words = (text: string) => `${text} ${'some words '.repeat(60)}`
    const talk = Array.from({ length: 6 }, (_, n) => [
      { role: 'user', content: words(`question ${n}`) },
      { role: 'assistant', content: words(`answer ${n}`) },
    ]).flat()
    const policy = { compaction: { maxTokens: 600 } } as const
    const view = (messages: readonly object[]) =>
      project(messages, policy, { format: 'anthropic' }).messages
    const asked = [...talk, { role: 'user', content: 'Look.' }]
    const first = view(asked)
    expect(JSON.stringify(first)).toContain('[Previous conversation summary]')
    const step = (id: string) => [
      { role: 'assistant', content: [think(id), use(id)] },
      { role: 'user', content: [result(id)] },
    ]
    expect(view([...asked, ...step('a')])).toEqual([...first, ...step('a')])
    const steps = [...step('a'), ...step('b')]
    expect(view([...asked, ...steps])).toEqual([...first, ...steps])
  })
})
