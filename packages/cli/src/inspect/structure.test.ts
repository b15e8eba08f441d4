import { type FormatName, resolveCounter } from 'oriel'
import { describe, expect, it } from 'vitest'
import { toConversation } from '../transcript/conversation.ts'
import { projectUnchanged } from './savings.ts'
import { compareIds, examine, type Structure } from './structure.ts'

const counter = resolveCounter('estimate')

function structureOf(messages: readonly unknown[], format: FormatName, fields = {}): Structure {
  const conversation = toConversation({ fields, messages }, { number: 1, file: 'test', format })
  return examine(conversation, projectUnchanged(conversation, counter))
}

const hello = { role: 'user', content: 'Hello.' }
const call = (id: string): object => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
})
const result = (id: string): object => ({ role: 'tool', tool_call_id: id, content: 'found' })

describe('examine', () => {
  it('finds nothing in a sound conversation', () => {
    const messages = [hello, call('a'), result('a'), { role: 'assistant', content: 'Done.' }]
    expect(structureOf(messages, 'openai-chat')).toEqual({ breaks: [], repairs: [], left: 0 })
  })

  it('groups violations by rule, with the place of the first, and names the repairs', () => {
    const { breaks, repairs, left } = structureOf(
      [hello, call('a'), hello, call('b'), hello],
      'openai-chat',
    )
    expect(breaks).toEqual([
      {
        rule: 'O1',
        count: 2,
        path: expect.stringContaining('messages[1]'),
        message: expect.any(String),
      },
    ])
    expect(repairs).toEqual([
      { rule: 'O1', what: 'no result was recorded, a notice stands in for it', count: 2 },
    ])
    expect(left).toBe(0)
  })

  it('does not blame a transcript for ending with the answer', () => {
    const messages = [hello, { role: 'assistant', content: 'Good morning. ' }]
    expect(structureOf(messages, 'anthropic')).toEqual({ breaks: [], repairs: [], left: 0 })
  })

  it('looks at items of Responses', () => {
    const item = { type: 'function_call', call_id: 'a', name: 'look', arguments: '{}' }
    const { breaks, left } = structureOf([hello, item, hello], 'openai-responses')
    expect(breaks.map(({ rule }) => rule)).toContain('R1')
    expect(left).toBe(0)
  })
})

describe('compareIds', () => {
  it('sorts rules as people do', () => {
    expect(['A10', 'O1', 'A2'].sort(compareIds)).toEqual(['A2', 'A10', 'O1'])
  })
})
