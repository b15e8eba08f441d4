import { describe, expect, test } from 'vitest'
import type { Draft } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import type { Json } from '../../core/log/json.ts'
import { openaiChat } from './index.ts'

function draftsOf(messages: readonly unknown[]): readonly Draft[] {
  return openaiChat.decode(messages, 'messages').map(({ draft }) => draft)
}

function draftOf(message: unknown): Draft {
  return draftsOf([message])[0] as Draft
}

function functionCall(id: string, text = '{}'): Json {
  return { id, type: 'function', function: { name: 'search', arguments: text } }
}

describe('decode', () => {
  test('roles, origins and blocks', () => {
    const source = { format: 'openai-chat' }
    const messages = [
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }],
      },
      {
        role: 'assistant',
        reasoning_content: 'Hmm.',
        content: 'Look.',
        tool_calls: [functionCall('a', '{"q": 1}')],
      },
      { role: 'tool', tool_call_id: 'a', content: 'done', name: 'search' },
    ]
    expect(draftsOf(messages)).toEqual([
      {
        role: 'system',
        origin: 'system',
        content: [{ type: 'text', text: 'Be brief.' }],
        source,
        extra: { role: 'developer' },
      },
      {
        role: 'user',
        origin: 'user',
        content: [{ type: 'image', mediaType: 'image/png', data: 'AA' }],
        source,
      },
      {
        role: 'assistant',
        origin: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hmm.' },
          { type: 'text', text: 'Look.' },
          { type: 'tool-call', callId: 'a', name: 'search', arguments: '{"q": 1}' },
        ],
        source,
      },
      {
        role: 'tool',
        origin: 'tool',
        tool: 'search',
        content: [{ type: 'tool-result', callId: 'a', content: 'done' }],
        source,
        extra: { name: 'search' },
      },
    ])
  })

  test('what the model said instead of content is text', () => {
    expect(draftOf({ role: 'assistant', content: null, refusal: 'No.' }).content).toEqual([
      { type: 'text', text: 'No.' },
    ])
    expect(
      draftOf({ role: 'assistant', audio: { id: 'audio_1', transcript: 'Hi' } }).content,
    ).toEqual([{ type: 'text', text: 'Hi' }])
  })

  test('a deprecated call and its result find each other by name', () => {
    const [call, result] = draftsOf([
      { role: 'assistant', content: null, function_call: { name: 'search', arguments: '{}' } },
      { role: 'function', name: 'search', content: 'done' },
    ])
    expect(call?.content).toMatchObject([
      { type: 'tool-call', callId: 'function_call:search', name: 'search' },
    ])
    expect(result).toMatchObject({
      role: 'tool',
      tool: 'search',
      content: [{ type: 'tool-result', callId: 'function_call:search' }],
    })
  })

  test('calls and results without ids are read, broken as they are', () => {
    const call = { role: 'assistant', content: null, tool_calls: [{ type: 'function' }] }
    expect(draftOf(call).content).toEqual([
      { type: 'tool-call', callId: '', name: '', arguments: '' },
    ])
    expect(draftOf({ role: 'tool', content: 'a' }).content).toEqual([
      { type: 'tool-result', callId: '', content: 'a' },
    ])
  })

  test.each<[string, unknown, string]>([
    ['a list that is no list', { 0: 'a' }, 'messages'],
    ['a message that is no object', [null], 'messages[0]'],
    ['a message without a role', [{ content: 'a' }], 'messages[0].role'],
    ['an unknown role', [{ role: 'critic', content: 'a' }], 'messages[0].role'],
    ['content that is a number', [{ role: 'user', content: 1 }], 'messages[0].content'],
    ['content that is an object', [{ role: 'tool', content: {} }], 'messages[0].content'],
    ['a part that is a text', [{ role: 'user', content: ['a'] }], 'messages[0].content[0]'],
    ['calls that are no list', [{ role: 'assistant', tool_calls: {} }], 'messages[0].tool_calls'],
    [
      'a call that is no object',
      [{ role: 'assistant', tool_calls: [1] }],
      'messages[0].tool_calls[0]',
    ],
  ])('%s is an error that names the path', (_, messages, path) => {
    let error: unknown
    try {
      openaiChat.decode(messages as readonly unknown[], 'messages')
    } catch (caught) {
      error = caught
    }
    expect(OrielError.is(error, 'invalid-input') && error.path).toBe(path)
  })
})
