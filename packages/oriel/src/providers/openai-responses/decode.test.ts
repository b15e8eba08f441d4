import { describe, expect, test } from 'vitest'
import type { Draft } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { openaiResponses } from './index.ts'

function draftsOf(items: readonly unknown[]): readonly Draft[] {
  return openaiResponses.decode(items, 'input').map(({ draft }) => draft)
}

const user = { role: 'user', content: 'Hello' }

function call(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'function_call', call_id: id, name: 'search', arguments: '{}', ...fields }
}

function output(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'function_call_output', call_id: id, output: 'done', ...fields }
}

function said(text: string, fields: JsonObject = {}): JsonObject {
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  return { type: 'message', role: 'assistant', content: [part], ...fields }
}

function reasoning(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'reasoning', id, summary: [{ type: 'summary_text', text: 'Hmm.' }], ...fields }
}

describe('decode', () => {
  test('what the model made between two inputs is one message', () => {
    const items = [
      user,
      reasoning('rs_1'),
      said('Look.'),
      call('a'),
      call('b'),
      output('b'),
      output('a'),
      said('Done.'),
    ]
    expect(
      openaiResponses.decode(items, 'input').map(({ from, to, draft }) => [draft.role, from, to]),
    ).toEqual([
      ['user', 0, 1],
      ['assistant', 1, 5],
      ['tool', 5, 6],
      ['tool', 6, 7],
      ['assistant', 7, 8],
    ])
  })

  test('a run is not divided where words or reasoning follow a call', () => {
    const items = [call('a'), said('b'), reasoning('rs_1'), call('c'), output('a'), output('c')]
    expect(draftsOf(items).map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool'])
  })

  test('blocks of a step', () => {
    const source = { format: 'openai-responses' }
    const items = [
      reasoning('rs_1', { encrypted_content: 'c2ln' }),
      said('Look.', { id: 'msg_1' }),
      call('a', { id: 'fc_1' }),
      { type: 'web_search_call', id: 'ws_1' },
      output('a', { status: 'completed' }),
    ]
    expect(draftsOf(items)).toEqual([
      {
        role: 'assistant',
        origin: 'assistant',
        source,
        content: [
          { type: 'reasoning', text: 'Hmm.', signature: 'c2ln', extra: { id: 'rs_1' } },
          {
            type: 'text',
            text: 'Look.',
            extra: {
              item: { type: 'message', role: 'assistant', id: 'msg_1' },
              type: 'output_text',
              annotations: [],
              logprobs: [],
            },
          },
          {
            type: 'tool-call',
            callId: 'a',
            name: 'search',
            arguments: '{}',
            extra: { id: 'fc_1' },
          },
          {
            type: 'opaque',
            format: 'openai-responses',
            value: { type: 'web_search_call', id: 'ws_1' },
          },
        ],
      },
      {
        role: 'tool',
        origin: 'tool',
        source,
        content: [{ type: 'tool-result', callId: 'a', content: 'done' }],
        extra: { status: 'completed' },
      },
    ])
  })

  test('the text of reasoning is its summaries, or its content where there are none', () => {
    const summary = [
      { type: 'summary_text', text: 'a' },
      { type: 'summary_text', text: 'b' },
    ]
    const content = [{ type: 'reasoning_text', text: 'c' }]
    const texts = (item: Json) =>
      draftsOf([item]).map(({ content }) => (content[0] as { text?: string }).text)
    expect(texts(reasoning('rs_1', { summary, content }))).toEqual(['a\n\nb'])
    expect(texts(reasoning('rs_1', { summary: [], content }))).toEqual(['c'])
    expect(texts(reasoning('rs_1', { summary: [] }))).toEqual([undefined])
  })

  test.each<[string, unknown, string]>([
    ['a list that is no list', 'hello', 'input'],
    ['an item that is no object', ['hello'], 'input[0]'],
    ['an item without type and role', [user, { content: 'a' }], 'input[1]'],
    [
      'a message of an unknown role',
      [{ type: 'message', role: 'critic', content: 'a' }],
      'input[0]',
    ],
    ['content that is a number', [{ role: 'user', content: 1 }], 'input[0].content'],
    ['a part that is a text', [{ role: 'user', content: ['a'] }], 'input[0].content[0]'],
    ['an output part that is a text', [output('a', { output: ['a'] })], 'input[0].output[0]'],
  ])('%s is an error that names the path', (_, items, path) => {
    let error: unknown
    try {
      openaiResponses.decode(items as readonly unknown[], 'input')
    } catch (caught) {
      error = caught
    }
    expect(OrielError.is(error, 'invalid-input') && error.path).toBe(path)
  })
})
