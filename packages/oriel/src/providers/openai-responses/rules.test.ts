import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { openaiResponses } from './index.ts'

const user = { role: 'user', content: 'hello' }
const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }

function call(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'function_call', call_id: id, name: 'search', arguments: '{}', ...fields }
}

function output(id: string, fields: JsonObject = {}): JsonObject {
  return { type: 'function_call_output', call_id: id, output: 'done', ...fields }
}

function reasoning(id: string): JsonObject {
  return { type: 'reasoning', id, summary: [] }
}

/** The rules broken and where, in order. */
function broken(input: unknown, rest: Record<string, unknown> = {}): string[] {
  return openaiResponses.validate({ input, ...rest }).map(({ rule, path }) => `${rule} ${path}`)
}

describe('calls and outputs', () => {
  test('[R1] a call with an output is accepted, also a custom one', () => {
    const custom = { type: 'custom_tool_call', call_id: 'b', name: 'patch', input: '' }
    const patched = { type: 'custom_tool_call_output', call_id: 'b', output: 'done' }
    expect(broken([user, call('a'), custom, patched, output('a'), user])).toEqual([])
  })

  test('[R1] a call without an output is refused', () => {
    expect(openaiResponses.validate([user, call('a'), call('b'), output('b'), user])).toEqual([
      { rule: 'R1', path: 'input[1]', message: 'No tool output found for function call a.' },
    ])
    expect(broken([call('a')])).toEqual(['R1 input[0]'])
    expect(broken([{ type: 'custom_tool_call', call_id: 'a', name: 'patch', input: '' }])).toEqual([
      'R1 input[0]',
    ])
  })

  test('[R4] an output behind its call is accepted', () => {
    expect(broken([call('a'), output('a'), call('b'), output('b')])).toEqual([])
  })

  test('[R4] an output of no call, or before its call, is refused', () => {
    expect(broken([user, output('a')])).toEqual(['R4 input[1]'])
    expect(broken([output('a'), call('a'), output('a')])).toEqual(['R4 input[0]'])
  })

  test('[R4] an output may answer a call that the provider holds', () => {
    expect(broken([output('a')], { previous_response_id: 'resp_1' })).toEqual([])
    expect(broken([output('a')], { conversation: { id: 'conv_1' } })).toEqual([])
    expect(broken([{ type: 'item_reference', id: 'fc_1' }, output('a')])).toEqual([])
    expect(broken([output('a')], { previous_response_id: null })).toEqual(['R4 input[0]'])
  })

  test('[R5] ids that are there once are accepted', () => {
    expect(broken([call('a', { id: 'fc_1' }), output('a', { id: 'fco_1' })])).toEqual([])
  })

  test('[R5] a call id of two calls, or a second output, is refused', () => {
    expect(broken([call('a'), output('a'), call('a'), output('a')])).toEqual([
      'R5 input[2].call_id',
    ])
    expect(broken([call('a'), output('a'), output('a')])).toEqual(['R5 input[2]'])
    expect(broken([call('a'), output('a'), user, output('a')])).toEqual(['R5 input[3]'])
  })

  test('[R5] an item id that is there twice is refused', () => {
    const items = [reasoning('rs_1'), said, user, reasoning('rs_1'), said]
    expect(broken(items)).toEqual(['R5 input[3].id'])
  })

  test('[R7] outputs directly behind the run are accepted, in any order', () => {
    expect(
      broken([reasoning('rs_1'), call('a'), said, call('b'), output('b'), output('a'), said]),
    ).toEqual([])
  })

  test('[R7] an output behind a message or behind a later run is refused', () => {
    expect(broken([call('a'), user, output('a')])).toEqual(['R7 input[2]'])
    expect(broken([call('a'), call('b'), output('a'), said, output('b')])).toEqual(['R7 input[4]'])
  })
})

describe('reasoning', () => {
  test('[R2] reasoning before a message, a call or a hosted call is accepted', () => {
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' }
    expect(broken([user, reasoning('rs_1'), said])).toEqual([])
    expect(broken([reasoning('rs_1'), reasoning('rs_2'), call('a'), output('a')])).toEqual([])
    expect(broken([reasoning('rs_1'), search, reasoning('rs_2'), said])).toEqual([])
  })

  test('[R2] reasoning that leads to nothing the model made is refused', () => {
    expect(broken([user, reasoning('rs_1')])).toEqual(['R2 input[1]'])
    expect(broken([reasoning('rs_1'), user])).toEqual(['R2 input[0]'])
    expect(broken([call('a'), reasoning('rs_1'), output('a')])).toEqual(['R2 input[1]'])
    const click = { type: 'computer_call', id: 'cu_1', call_id: 'c', action: {} }
    const screen = { type: 'computer_call_output', call_id: 'c', output: {} }
    expect(broken([click, reasoning('rs_1'), screen])).toEqual(['R2 input[1]'])
    expect(broken([reasoning('rs_1'), reasoning('rs_2'), user])).toEqual([
      'R2 input[0]',
      'R2 input[1]',
    ])
  })

  test('[R3] a call with an item id behind its reasoning, or where there is none, is accepted', () => {
    expect(broken([reasoning('rs_1'), call('a', { id: 'fc_1' }), output('a')])).toEqual([])
    expect(broken([call('a', { id: 'fc_1' }), output('a')])).toEqual([])
    expect(broken([call('a'), reasoning('rs_1'), said, output('a')])).toEqual([])
  })

  test('[R3] a call with an item id before the reasoning of its run is refused', () => {
    const items = [call('a', { id: 'fc_1' }), reasoning('rs_1'), said, output('a')]
    expect(broken(items)).toEqual(['R3 input[0]'])
  })
})

describe('shapes', () => {
  test.each<[string, Json]>([
    ['a short message', user],
    ['a developer message', { type: 'message', role: 'developer', content: 'a' }],
    [
      'a message with a picture',
      { role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] },
    ],
    ['an empty text', { role: 'assistant', content: '' }],
    ['a refusal', { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }],
    ['a part of the future', { role: 'user', content: [{ type: 'input_smell' }] }],
    ['an item of the future', { type: 'teleport_call', id: 'tp_1' }],
    ['a compaction', { type: 'compaction', encrypted_content: 'c2ln' }],
  ])('[R6] %s is accepted', (_, item) => {
    expect(broken([item])).toEqual([])
  })

  test('[R6] a text in place of items, and an output in parts, are accepted', () => {
    expect(broken('hello')).toEqual([])
    const parts = [
      { type: 'input_text', text: 'a' },
      { type: 'input_image', image_url: 'https://example.com/a.png' },
    ]
    const longest = 'i'.repeat(64)
    expect(broken([call(longest), output(longest, { output: parts })])).toEqual([])
  })

  test.each<[string, unknown, string]>([
    ['an item that is no object', 'a', ''],
    ['an item without type and role', {}, ''],
    ['a message of an unknown role', { type: 'message', role: 'critic', content: 'a' }, ''],
    ['a type that is no text', { type: 1 }, ''],
    ['a message without content', { role: 'user' }, '.content'],
    ['a message without parts', { role: 'user', content: [] }, '.content'],
    ['a part that is no object', { role: 'user', content: ['a'] }, '.content[0]'],
    [
      'a part of the chat format',
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      '.content[0].type',
    ],
    [
      'output text of a user',
      { role: 'user', content: [{ type: 'output_text', text: '' }] },
      '.content[0].type',
    ],
    [
      'input text of the model',
      { role: 'assistant', content: [{ type: 'input_text', text: '' }] },
      '.content[0].type',
    ],
    [
      'a text part without text',
      { role: 'user', content: [{ type: 'input_text' }] },
      '.content[0].text',
    ],
    ['reasoning without a summary', { type: 'reasoning', id: 'rs_1' }, '.summary'],
    ['half a surrogate pair', { role: 'user', content: '\ud800' }, '.content'],
    ['half a surrogate pair in an unknown item', { type: 'x', a: [{ b: '\udc00' }] }, '.a[0].b'],
  ])('[R6] %s is refused', (_, item, path) => {
    expect(broken([item, said])).toEqual([`R6 input[0]${path}`])
  })

  test.each<[string, JsonObject, string]>([
    ['arguments that are an object', { arguments: {} }, 'arguments'],
    ['a name with a dot', { name: 'a.b' }, 'name'],
    ['a name that is no text', { name: null }, 'name'],
    ['custom input that is no text', { type: 'custom_tool_call', input: null }, 'input'],
  ])('[R6] %s is refused', (_, fields, path) => {
    expect(broken([call('a', fields), output('a')])).toEqual([`R6 input[0].${path}`])
  })

  test('[R6] a call id that is empty, missing or too long is refused', () => {
    const long = 'i'.repeat(65)
    expect(broken([call(long), output(long)])).toEqual([
      'R6 input[0].call_id',
      'R6 input[1].call_id',
    ])
    expect(broken([call(''), output('')])).toEqual(['R6 input[0].call_id', 'R6 input[1].call_id'])
    const { call_id, ...without } = call('a')
    expect(broken([without])).toEqual(['R6 input[0].call_id'])
  })

  test('[R6] an output that is no text is refused', () => {
    expect(broken([call('a'), output('a', { output: { ok: true } })])).toEqual([
      'R6 input[1].output',
    ])
  })

  test('[R6] a body without input is refused, and nothing is thrown', () => {
    for (const body of [undefined, null, 1, 'text', {}, { input: {} }, { input: null }]) {
      expect(openaiResponses.validate(body)).toMatchObject([{ rule: 'R6', path: 'input' }])
    }
    expect(openaiResponses.validate({ input: '\ud800' })).toMatchObject([
      { rule: 'R6', path: 'input' },
    ])
  })
})
