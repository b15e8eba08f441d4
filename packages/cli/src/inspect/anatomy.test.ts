import fc from 'fast-check'
import type { FormatName } from 'oriel'
import { describe, expect, it } from 'vitest'
import { toConversation } from '../transcript/conversation.ts'
import { type Anatomy, dissect, unknownTool } from './anatomy.ts'

/** A counter whose numbers are easy to see. */
const letters = { name: 'letters', count: (text: string): number => text.length }

function anatomyOf(
  messages: readonly unknown[],
  fields: Readonly<Record<string, unknown>> = {},
  format?: FormatName,
): Anatomy {
  return dissect(toConversation({ fields, messages }, { number: 1, file: 'test', format }), letters)
}

function call(id: string, name: string, text = '{}'): object {
  return { id, type: 'function', function: { name, arguments: text } }
}

const user = (content: string): object => ({ role: 'user', content })
const calls = (...tool_calls: object[]): object => ({
  role: 'assistant',
  content: null,
  tool_calls,
})
const result = (id: string, content: string): object => ({
  role: 'tool',
  tool_call_id: id,
  content,
})

describe('dissect', () => {
  it('sorts tokens by part: four around each message, eight around each call and result', () => {
    const anatomy = anatomyOf([
      { role: 'system', content: 'abc' },
      user('abcde'),
      { role: 'assistant', content: 'ab', tool_calls: [call('1', 'f', '{"x":1}')] },
      result('1', 'abcdefgh'),
    ])
    expect(anatomy.parts).toEqual({
      system: 4 + 3,
      'tool definitions': 0,
      user: 4 + 5,
      'assistant text': 4 + 2,
      reasoning: 0,
      'tool calls': 8 + 1 + 7,
      'tool results': 4 + 8 + 8,
    })
    expect(anatomy).toMatchObject({ messages: 4, turns: 1, steps: 1, tokens: 7 + 9 + 6 + 16 + 20 })
  })

  it('counts the frame: system text and tool definitions', () => {
    const tools = [{ name: 'f', input_schema: {} }]
    const { parts, tokens } = anatomyOf([user('a')], { system: 'abc', tools, messages: [] })
    expect(parts.system).toBe(4 + 3)
    expect(parts['tool definitions']).toBe(4 + JSON.stringify(tools).length)
    expect(tokens).toBe(parts.system + parts['tool definitions'] + parts.user)
  })

  it('knows the tool of each result by its call, also with parallel calls answered in another order', () => {
    const { tools, results } = anatomyOf([
      user('a'),
      calls(call('1', 'read'), call('2', 'search')),
      result('2', 'abcd'),
      result('1', 'ab'),
      result('3', 'a'),
    ])
    expect(
      tools.map(({ tool, calls: count, resultTokens }) => [tool, count, resultTokens]),
    ).toEqual([
      ['search', 1, 16],
      ['read', 1, 14],
      [unknownTool, 0, 13],
    ])
    expect(results.map(({ index, tool }) => [index, tool])).toEqual([
      [2, 'search'],
      [3, 'read'],
      [4, unknownTool],
    ])
  })

  it('takes a reused id for the newest call', () => {
    const { results } = anatomyOf([
      user('a'),
      calls(call('1', 'read')),
      result('1', 'one'),
      calls(call('1', 'search')),
      result('1', 'two'),
    ])
    expect(results.map(({ tool }) => tool)).toEqual(['read', 'search'])
  })

  it('counts failures by the error flag only', () => {
    const use = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: '1', name: 'f', input: {} }],
    }
    const failure = { type: 'tool_result', tool_use_id: '1', content: 'no', is_error: true }
    const anthropic = anatomyOf([user('a'), use, { role: 'user', content: [failure] }])
    expect(anthropic.tools[0]?.failed).toBe(1)
    const chat = anatomyOf([user('a'), calls(call('1', 'f')), result('1', 'Error: no')])
    expect(chat.tools[0]?.failed).toBe(0)
  })

  it('lists turns, with what stands before the first one as turn 0', () => {
    const { turnList } = anatomyOf([
      { role: 'system', content: 'abc' },
      user('a'),
      calls(call('1', 'f')),
      user('wait'),
      result('1', 'ok'),
      { role: 'assistant', content: 'done' },
    ])
    expect(turnList).toEqual([
      { turn: 0, from: 0, to: 0, steps: 0, tokens: 7 },
      // The result belongs to the turn of its call, although the user spoke in between.
      { turn: 1, from: 1, to: 4, steps: 1, tokens: 5 + (4 + 8 + 1 + 2) + (4 + 8 + 2) },
      { turn: 2, from: 3, to: 5, steps: 1, tokens: 8 + 8 },
    ])
  })

  it('shows the context of each step, and what all steps sent together', () => {
    const answer = { role: 'assistant', content: 'b' }
    const { growth, sentTokens, tokens } = anatomyOf([user('a'), answer, user('a'), answer])
    expect(growth).toEqual([5, 15])
    expect(sentTokens).toBe(20)
    expect(tokens).toBe(20)
  })

  it('does not take two pictures for a repetition', () => {
    const use = (id: string): object => ({
      role: 'assistant',
      content: [{ type: 'tool_use', id, name: 'screenshot', input: {} }],
    })
    const picture = (id: string, data: string): object => {
      const source = { type: 'base64', media_type: 'image/png', data }
      const content = [
        { type: 'text', text: 'The screen as it is now.' },
        { type: 'image', source },
      ]
      return { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] }
    }
    const { results, repeats } = anatomyOf([
      user('a'),
      use('1'),
      picture('1', 'aGk='),
      use('2'),
      picture('2', 'aG8='),
    ])
    expect(results).toHaveLength(2)
    expect(repeats).toEqual([])
  })

  it('refuses what is not a message, with its path', () => {
    expect(() => anatomyOf([user('a'), { role: 'wizard', content: '' }])).toThrow(
      'messages[1].role',
    )
  })

  it('puts every token into one part and, the frame aside, into one turn', () => {
    const message = fc.oneof(
      fc.string().map(user),
      fc.string().map((content) => ({ role: 'assistant', content })),
      fc.tuple(fc.constantFrom('1', '2'), fc.string()).map(([id, name]) => calls(call(id, name))),
      fc.tuple(fc.constantFrom('1', '2', '3'), fc.string()).map(([id, text]) => result(id, text)),
    )
    fc.assert(
      fc.property(fc.array(message, { minLength: 1 }), (messages) => {
        const { parts, turnList, tokens, tools } = anatomyOf(messages, {}, 'openai-chat')
        const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
        expect(sum(Object.values(parts))).toBe(tokens)
        expect(sum(turnList.map((turn) => turn.tokens))).toBe(tokens)
        expect(sum(tools.map((use) => use.callTokens))).toBe(parts['tool calls'])
      }),
    )
  })
})
