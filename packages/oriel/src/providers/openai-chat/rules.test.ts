import { describe, expect, test } from 'vitest'
import type { Json } from '../../core/log/json.ts'
import { openaiChat } from './index.ts'

const user = { role: 'user', content: 'hello' }

function call(id: string, fields: Record<string, Json> = {}): Json {
  return { id, type: 'function', function: { name: 'search', arguments: '{}' }, ...fields }
}

function calls(...list: Json[]): Json {
  return { role: 'assistant', content: null, tool_calls: list }
}

function answer(id: string): Json {
  return { role: 'tool', tool_call_id: id, content: 'done' }
}

/** The rules broken and where, in order. */
function broken(messages: unknown, rest: Record<string, unknown> = {}): string[] {
  return openaiChat.validate({ messages, ...rest }).map(({ rule, path }) => `${rule} ${path}`)
}

describe('calls and answers', () => {
  test('[O1] every call answered directly after it is accepted, in any order', () => {
    expect(broken([user, calls(call('a'), call('b')), answer('b'), answer('a'), user])).toEqual([])
  })

  test('[O1] a call without an answer is refused, with the ids that lack one', () => {
    const violations = openaiChat.validate({
      messages: [user, calls(call('a'), call('b')), answer('b')],
    })
    expect(violations).toEqual([
      {
        rule: 'O1',
        path: 'messages[1]',
        message: expect.stringMatching(/must be followed by tool messages.*: a$/),
      },
    ])
    expect(broken([user, calls(call('a'))])).toEqual(['O1 messages[1]'])
  })

  test('[O1] a message between a call and its answer is refused', () => {
    expect(broken([calls(call('a')), user, answer('a')])).toEqual([
      'O1 messages[0]',
      'O2 messages[2]',
    ])
    const between = [
      calls(call('a'), call('b')),
      answer('a'),
      { role: 'system', content: '' },
      answer('b'),
    ]
    expect(broken(between)).toEqual(['O1 messages[0]', 'O2 messages[3]'])
  })

  test('[O1] a deprecated function call is answered by the function of its name', () => {
    const called = {
      role: 'assistant',
      content: null,
      function_call: { name: 'search', arguments: '{}' },
    }
    const result = { role: 'function', name: 'search', content: 'done' }
    expect(broken([user, called, result, called, result])).toEqual([])
    expect(broken([user, called, user])).toEqual(['O1 messages[1]'])
    expect(broken([called, { ...result, name: 'other' }])).toEqual([
      'O2 messages[1]',
      'O1 messages[0]',
    ])
  })

  test('[O2] an answer to the call before it is accepted', () => {
    expect(broken([calls(call('a')), answer('a'), calls(call('b')), answer('b')])).toEqual([])
  })

  test('[O2] an answer to no call, or to a call of an earlier message, is refused', () => {
    expect(broken([answer('a')])).toEqual(['O2 messages[0]'])
    expect(broken([user, answer('a')])).toEqual(['O2 messages[1]'])
    const late = [calls(call('a')), answer('a'), calls(call('b')), answer('b'), answer('a')]
    expect(broken(late)).toEqual(['O2 messages[4]'])
    expect(broken([{ role: 'function', name: 'search', content: '' }])).toEqual(['O2 messages[0]'])
  })

  test('[O6] one call, one answer is accepted', () => {
    expect(broken([calls(call('a')), answer('a')])).toEqual([])
  })

  test('[O6] a second answer to a call is refused', () => {
    expect(broken([calls(call('a')), answer('a'), answer('a')])).toEqual(['O6 messages[2]'])
  })

  test('[O6] an id used by two calls is refused, in one message or far apart', () => {
    expect(broken([calls(call('a'), call('a')), answer('a')])).toEqual([
      'O6 messages[0].tool_calls[1].id',
    ])
    expect(broken([calls(call('a')), answer('a'), user, calls(call('a')), answer('a')])).toEqual([
      'O6 messages[3].tool_calls[0].id',
    ])
  })
})

describe('ids', () => {
  const longest = 'i'.repeat(40)

  test('[O3] an id of 1 to 40 characters is accepted', () => {
    expect(broken([calls(call(longest), call('b')), answer(longest), answer('b')])).toEqual([])
  })

  test('[O3] an id that is longer, empty or missing is refused', () => {
    const long = `${longest}i`
    expect(broken([calls(call(long)), answer(long)])).toEqual([
      'O3 messages[0].tool_calls[0].id',
      'O3 messages[1].tool_call_id',
    ])
    expect(broken([calls(call('')), answer('')])).toEqual([
      'O3 messages[0].tool_calls[0].id',
      'O3 messages[1].tool_call_id',
    ])
    const { id, ...without } = call('a') as Record<string, Json>
    expect(broken([calls(without)])).toEqual(['O3 messages[0].tool_calls[0].id'])
  })
})

describe('content', () => {
  test.each<[string, unknown]>([
    ['a text', user],
    ['an empty text', { role: 'user', content: '' }],
    ['parts', { role: 'user', content: [{ type: 'text', text: '' }, { type: 'future' }] }],
    ['a refusal in place of content', { role: 'assistant', content: null, refusal: 'No.' }],
    ['audio in place of content', { role: 'assistant', audio: { id: 'audio_1' } }],
    ['an undefined list of calls', { role: 'assistant', content: 'a', tool_calls: undefined }],
  ])('[O4] %s is accepted', (_, message) => {
    expect(broken([message])).toEqual([])
  })

  test('[O4] no content beside a call, and parts of text in an answer, are accepted', () => {
    const parts = { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'done' }] }
    expect(broken([calls(call('a')), parts])).toEqual([])
    expect(broken([{ role: 'assistant', tool_calls: [call('a')] }, answer('a')])).toEqual([])
  })

  test.each<[string, unknown, string]>([
    ['no content of a user', { role: 'user' }, 'content'],
    ['null content of a system', { role: 'system', content: null }, 'content'],
    ['null content of an assistant without calls', { role: 'assistant', content: null }, 'content'],
    ['an empty list of parts', { role: 'user', content: [] }, 'content'],
    ['a number as content', { role: 'user', content: 1 }, 'content'],
    ['an empty list of calls', { role: 'assistant', content: 'a', tool_calls: [] }, 'tool_calls'],
    ['null in place of calls', { role: 'assistant', content: 'a', tool_calls: null }, 'tool_calls'],
  ])('[O4] %s is refused', (_, message, field) => {
    expect(broken([message])).toEqual([`O4 messages[0].${field}`])
  })

  test('[O4] an image in an answer is refused', () => {
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
    const result = {
      role: 'tool',
      tool_call_id: 'a',
      content: [{ type: 'text', text: 'a' }, image],
    }
    expect(broken([calls(call('a')), result])).toEqual(['O4 messages[1].content[1]'])
  })

  test('[O4] a body without a list of messages is refused, and nothing is thrown', () => {
    for (const body of [undefined, null, 1, 'text', {}, { messages: {} }, { messages: null }]) {
      expect(openaiChat.validate(body)).toMatchObject([{ rule: 'O4', path: 'messages' }])
    }
  })

  test('[O4] a bare list of messages is read like a body', () => {
    expect(openaiChat.validate([user])).toEqual([])
    expect(openaiChat.validate([{ role: 'user' }])).toMatchObject([
      { rule: 'O4', path: 'messages[0].content' },
    ])
  })
})

describe('shapes', () => {
  test('[O5] every role, and names of 64 letters, are accepted', () => {
    const name = 'n'.repeat(64)
    const called = call('a', { function: { name, arguments: 'not even JSON {' } })
    const custom = call('b', { type: 'custom', custom: { name: 'patch', input: '' } })
    const future = { id: 'c', type: 'future', future: {} }
    const messages = [
      { role: 'system', content: 'a' },
      { role: 'developer', content: 'b' },
      user,
      calls(called, custom, future),
      answer('a'),
      answer('b'),
      answer('c'),
    ]
    const tool = { type: 'function', function: { name } }
    expect(broken(messages, { tools: new Array(128).fill(tool) })).toEqual([])
  })

  test.each<[string, unknown, string]>([
    ['a message that is no object', null, ''],
    ['an unknown role', { role: 'critic', content: 'a' }, '.role'],
    ['a missing role', { content: 'a' }, '.role'],
    ['a part without a type', { role: 'user', content: [{ text: 'a' }] }, '.content[0]'],
    ['a part that is no object', { role: 'user', content: ['a'] }, '.content[0]'],
    ['a text part without text', { role: 'user', content: [{ type: 'text' }] }, '.content[0].text'],
    ['calls of a user', { role: 'user', content: 'a', tool_calls: [] }, '.tool_calls'],
    ['a call that is no object', calls('a'), '.tool_calls[0]'],
    ['half a surrogate pair', { role: 'user', content: 'a\ud800b' }, '.content'],
    ['half a surrogate pair in an unknown field', { ...user, x: { y: ['\udc00'] } }, '.x.y[0]'],
  ])('[O5] %s is refused', (_, message, path) => {
    expect(broken([message])).toEqual([`O5 messages[0]${path}`])
  })

  test.each<[string, Json, string]>([
    [
      'arguments that are an object',
      { function: { name: 'search', arguments: {} } },
      'function.arguments',
    ],
    ['no arguments', { function: { name: 'search' } }, 'function.arguments'],
    ['a name with a dot', { function: { name: 'a.b', arguments: '' } }, 'function.name'],
    ['an empty name', { function: { name: '', arguments: '' } }, 'function.name'],
    [
      'a name of 65 letters',
      { function: { name: 'n'.repeat(65), arguments: '' } },
      'function.name',
    ],
    ['a call without a function', { function: null }, 'function'],
    ['a call without a type', { type: null }, 'type'],
    [
      'custom input that is no text',
      { type: 'custom', custom: { name: 'a', input: 1 } },
      'custom.input',
    ],
  ])('[O5] %s is refused', (_, fields, path) => {
    const list = [calls(call('a', fields as Record<string, Json>)), answer('a')]
    expect(broken(list)).toEqual([`O5 messages[0].tool_calls[0].${path}`])
  })

  test('[O5] too many tools, or one with a bad name, are refused', () => {
    const tool = { type: 'function', function: { name: 'search' } }
    expect(broken([user], { tools: new Array(129).fill(tool) })).toEqual(['O5 tools'])
    expect(
      broken([user], { tools: [tool, { type: 'function', function: { name: 'a b' } }] }),
    ).toEqual(['O5 tools[1].function.name'])
  })

  test('[O5] deprecated function calls have names and arguments too', () => {
    const message = {
      role: 'assistant',
      content: null,
      function_call: { name: 'a b', arguments: {} },
    }
    const result = { role: 'function', name: 'a b', content: '' }
    expect(broken([message, result])).toEqual([
      'O5 messages[0].function_call.name',
      'O5 messages[0].function_call.arguments',
    ])
  })

  test("[O7] length is the provider's to judge: a very long conversation breaks no rule", () => {
    const long = { role: 'user', content: 'word '.repeat(1_000_000) }
    expect(broken([long, { role: 'assistant', content: 'a' }, long])).toEqual([])
  })

  test('a cyclic body is judged, not walked for ever', () => {
    const message: Record<string, unknown> = { role: 'user', content: 'a' }
    message.self = message
    expect(broken([message])).toEqual([])
  })
})
