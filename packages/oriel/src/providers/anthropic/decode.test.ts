import { describe, expect, it } from 'vitest'
import type { Draft } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { decodeMessages } from './decode.ts'

const source = { format: 'anthropic' }

const draftsOf = (...messages: readonly unknown[]): readonly Draft[] =>
  decodeMessages(messages, 'messages').map(({ draft }) => draft)

const blocksOf = (role: string, ...content: readonly unknown[]): Draft['content'] | undefined =>
  draftsOf({ role, content })[0]?.content

describe('a message', () => {
  it('with a string is a draft with that string', () => {
    expect(draftsOf({ role: 'user', content: 'hi' })).toEqual([
      { role: 'user', origin: 'user', content: 'hi', source },
    ])
  })

  it('keeps unknown fields of the message and of its blocks', () => {
    const message = {
      role: 'user',
      content: [{ type: 'text', text: 'hi', citations: [] }],
      name: 'ann',
    }
    expect(draftsOf(message)).toEqual([
      {
        role: 'user',
        origin: 'user',
        content: [{ type: 'text', text: 'hi', extra: { citations: [] } }],
        source,
        extra: { name: 'ann' },
      },
    ])
  })

  it('remembers that a lone text came as a block', () => {
    expect(blocksOf('user', { type: 'text', text: 'hi' })).toEqual([
      { type: 'text', text: 'hi', extra: {} },
    ])
  })

  it('with only results is one tool message', () => {
    const results = [
      { type: 'tool_result', tool_use_id: 'a', content: 'x', is_error: true },
      { type: 'tool_result', tool_use_id: 'b', content: [{ type: 'text', text: 'y' }] },
      { type: 'tool_result', tool_use_id: 'c', cache_control: { type: 'ephemeral' } },
    ]
    expect(draftsOf({ role: 'user', content: results })).toEqual([
      {
        role: 'tool',
        origin: 'tool',
        content: [
          { type: 'tool-result', callId: 'a', content: 'x', isError: true },
          { type: 'tool-result', callId: 'b', content: [{ type: 'text', text: 'y' }] },
          {
            type: 'tool-result',
            callId: 'c',
            content: [],
            extra: { cache_control: { type: 'ephemeral' } },
          },
        ],
        source,
      },
    ])
  })

  it('with results and more is a tool message and a user message of the same index', () => {
    const content = [
      { type: 'tool_result', tool_use_id: 'a', content: 'x' },
      { type: 'text', text: 'go on' },
      { type: 'text', text: 'please' },
    ]
    const decoded = decodeMessages(
      [
        { role: 'user', content: 'hi' },
        { role: 'user', content },
      ],
      'm',
    )
    expect(decoded.slice(1)).toEqual([
      {
        draft: {
          role: 'tool',
          origin: 'tool',
          content: [{ type: 'tool-result', callId: 'a', content: 'x' }],
          source,
        },
        from: 1,
        to: 2,
      },
      {
        draft: {
          role: 'user',
          origin: 'user',
          content: [
            { type: 'text', text: 'go on' },
            { type: 'text', text: 'please' },
          ],
          source,
        },
        from: 1,
        to: 2,
      },
    ])
  })

  it('of the system inside the conversation is a system message', () => {
    expect(
      draftsOf({ role: 'system', content: 'be brief', clear_at: 'next_user_message' }),
    ).toEqual([
      {
        role: 'system',
        origin: 'system',
        content: 'be brief',
        source,
        extra: { clear_at: 'next_user_message' },
      },
    ])
  })
})

describe('a block', () => {
  it('of thinking keeps text and signature; redacted thinking has only the sealed part', () => {
    expect(
      blocksOf(
        'assistant',
        { type: 'thinking', thinking: 'hm', signature: 'sig' },
        { type: 'redacted_thinking', data: 'sealed' },
      ),
    ).toEqual([
      { type: 'reasoning', text: 'hm', signature: 'sig' },
      { type: 'reasoning', signature: 'sealed' },
    ])
  })

  it('of a call keeps its input as text', () => {
    const input = { path: 'a.ts', lines: [1, 2] }
    expect(blocksOf('assistant', { type: 'tool_use', id: 'a', name: 'read', input })).toEqual([
      { type: 'tool-call', callId: 'a', name: 'read', arguments: '{"path":"a.ts","lines":[1,2]}' },
    ])
  })

  it('of an image or a document keeps its source', () => {
    const text = { type: 'text', media_type: 'text/plain', data: 'h\u00e9' }
    expect(
      blocksOf(
        'user',
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
        {
          type: 'document',
          source: { type: 'base64', media_type: 'application/pdf', data: 'BBBB' },
          title: 'a.pdf',
          citations: { enabled: true },
        },
        { type: 'document', source: { type: 'url', url: 'https://x.test/a.pdf' } },
        { type: 'document', source: text },
      ),
    ).toEqual([
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      { type: 'image', url: 'https://x.test/a.png' },
      {
        type: 'file',
        mediaType: 'application/pdf',
        name: 'a.pdf',
        data: 'BBBB',
        extra: { citations: { enabled: true } },
      },
      { type: 'file', url: 'https://x.test/a.pdf' },
      { type: 'file', mediaType: 'text/plain', data: 'aMOp' },
    ])
  })

  it.each([
    { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
    { type: 'mcp_tool_use', id: 'm', name: 'list', server_name: 'files', input: {} },
    { type: 'compaction', content: null, encrypted_content: 'sealed' },
    { type: 'image', source: { type: 'file', file_id: 'file_1' } },
    { type: 'image', source: { type: 'url', url: 'https://x.test', detail: 'low' } },
    { type: 'document', source: { type: 'content', content: 'x' } },
    { type: 'document', source: { type: 'text', media_type: 'text/csv', data: 'x' } },
    { type: 'tool_use', id: 1, name: 'read', input: {} },
    { type: 'tool_result', tool_use_id: 'a' },
    { type: 'text', text: null },
    { type: 'thinking' },
    { kind: 'untyped' },
  ])('that is not understood is kept whole: %j', (block) => {
    expect(blocksOf('assistant', block)).toEqual([
      { type: 'opaque', format: 'anthropic', value: block },
    ])
  })

  it('that only the assistant can send is not taken for a call when a user sends it', () => {
    const call = { type: 'tool_use', id: 'a', name: 'read', input: {} }
    expect(blocksOf('user', call)).toEqual([{ type: 'opaque', format: 'anthropic', value: call }])
  })
})

describe('the original', () => {
  it('is kept only where the blocks would not give it back', () => {
    const message = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'a', name: 'add', input: { x: -0 } }],
    }
    expect(draftsOf(message)[0]?.native).toEqual({ format: 'anthropic', value: [message] })
    const plain = { ...message, content: [{ ...message.content[0], input: { x: 0 } }] }
    expect(draftsOf(plain)[0]?.native).toBeUndefined()
  })

  it('says that results stood behind other content, without a copy of that content', () => {
    const result = { type: 'tool_result', tool_use_id: 'a' }
    const text = { type: 'text', text: 'x' }
    const [results, others] = draftsOf({ role: 'user', content: [text, result, text] })
    const native = { format: 'anthropic', value: [{ role: 'user', content: [null, result] }] }
    expect(results?.native).toEqual(native)
    expect(others?.native).toBeUndefined()
    expect(draftsOf({ role: 'user', content: [result, text] })[0]?.native).toBeUndefined()
  })

  it('is not touched, and nothing of it is shared', () => {
    const block = { type: 'custom', value: { list: [1] } }
    const messages = [{ role: 'user', content: [block] }]
    const before = structuredClone(messages)
    const [draft] = draftsOf(...messages)
    expect(messages).toEqual(before)
    block.value.list.push(2)
    expect(draft?.content).toEqual([
      { type: 'opaque', format: 'anthropic', value: { type: 'custom', value: { list: [1] } } },
    ])
  })
})

describe('what is not a message', () => {
  it.each([
    ['a string', ['hi'], 'messages[0]'],
    ['null', [null], 'messages[0]'],
    ['no role', [{ content: 'hi' }], 'messages[0].role'],
    [
      'another role',
      [
        { role: 'user', content: 'hi' },
        { role: 'tool', content: 'x' },
      ],
      'messages[1].role',
    ],
    ['no content', [{ role: 'user' }], 'messages[0].content'],
    ['content that is null', [{ role: 'assistant', content: null }], 'messages[0].content'],
    ['a block that is no object', [{ role: 'user', content: ['hi'] }], 'messages[0].content[0]'],
  ])('is refused with its path: %s', (_, messages, path) => {
    const error = errorOf(() => decodeMessages(messages, 'messages'))
    expect(OrielError.is(error, 'invalid-input') && error.path).toBe(path)
  })

  it('is refused when it is not JSON', () => {
    const cyclic: Record<string, unknown> = { type: 'custom' }
    cyclic.self = cyclic
    for (const block of [cyclic, { type: 'custom', value: Number.NaN }]) {
      const error = errorOf(() => decodeMessages([{ role: 'user', content: [block] }], 'messages'))
      expect(OrielError.is(error, 'not-json')).toBe(true)
    }
  })
})

function errorOf(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}
