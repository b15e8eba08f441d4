import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  type BaseMessageLike,
  coerceMessageLikeToMessage,
  HumanMessage,
  mapChatMessagesToStoredMessages,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { describe, expect, it } from 'vitest'
import { project } from '../../project.ts'
import { langchainMessage } from '../../testing/builders.ts'
import { validate } from '../registry.ts'

const { user, assistant, calls, result } = langchainMessage
const format = { format: 'langchain' } as const

function rulesOf(messages: readonly unknown[]): readonly string[] {
  return validate('langchain', messages).map(({ rule }) => rule)
}

function expectRefused(messages: readonly unknown[], rule: string): void {
  expect(rulesOf(messages)).toContain(rule)
  expect(rulesOf(project<unknown>(messages, undefined, format).messages)).toEqual([])
}

describe('what is refused, and repaired in a projection', () => {
  it('[LC1] a call without a result', () => {
    expectRefused([user('q'), calls({ id: 'a' }), user('again')], 'LC1')
  })

  it('[LC2] a result without a call', () => {
    expectRefused([user('q'), result('a', 'x')], 'LC2')
  })

  it('[LC3] an id that is used twice', () => {
    expectRefused([user('q'), calls({ id: 'a' }, { id: 'a' }), result('a', 'x')], 'LC3')
  })

  it('[LC4] a message without content', () => {
    expectRefused([{ role: 'user' }], 'LC4')
  })

  it('[LC5] half a character', () => {
    expectRefused([user('\ud800')], 'LC5')
  })
})

const long = 'line of a log\n'.repeat(400)
const conversation: BaseMessage[] = [
  new SystemMessage('Be brief.'),
  new HumanMessage({ content: 'Read it', id: 'h1' }),
  new AIMessage({
    content: [
      { type: 'text', text: 'I will.' },
      { type: 'tool_use', id: 'a', name: 'read', input: { path: 'x' } },
    ],
    tool_calls: [{ id: 'a', name: 'read', args: { path: 'x' }, type: 'tool_call' }],
  }),
  new ToolMessage({ content: long, tool_call_id: 'a', name: 'read', artifact: new Map() }),
  new AIMessageChunk({ content: 'It is a log.' }),
  new HumanMessage('Thanks'),
]
const policy = { toolResults: { strategy: 'dropAll' } } as const

describe('instances', () => {
  it('[LC6] come back as the very ones that went in', () => {
    const { messages, trace } = project(conversation, undefined, format)
    expect(trace).toEqual([])
    messages.forEach((message, index) => {
      expect(message).toBe(conversation[index])
    })
    expect(rulesOf(conversation)).toEqual([])
  })

  it('[LC6] are new ones of their class where they changed, and the input stays', () => {
    const { messages } = project(conversation, policy, format)
    const changed = messages[3] as ToolMessage
    expect(ToolMessage.isInstance(changed)).toBe(true)
    expect(changed.tool_call_id).toBe('a')
    expect(changed.text.startsWith('[Omitted')).toBe(true)
    expect(conversation[3]?.text).toBe(long)
    expect(messages[2]).toBe(conversation[2])
  })

  it('[LC6] and of the right class where Oriel speaks itself', () => {
    const many = Array.from({ length: 30 }, (_, index) => [
      new HumanMessage(`question ${index} ${'x'.repeat(400)}`),
      new AIMessage(`answer ${index} ${'x'.repeat(400)}`),
    ]).flat()
    const { messages } = project<BaseMessage>([...many, new HumanMessage('last')], undefined, {
      ...format,
      budget: 1500,
    })
    expect(messages.length).toBeLessThan(many.length)
    expect(messages.every((message) => typeof message.getType() === 'string')).toBe(true)
  })
})

describe('serialized forms', () => {
  const constructors = JSON.parse(JSON.stringify(conversation.slice(0, 3))) as object[]
  const stored = mapChatMessagesToStoredMessages(conversation.slice(0, 3))
  const typed = [
    { type: 'human', content: 'Read it', id: 'h1' },
    {
      type: 'ai',
      content: '',
      tool_calls: [{ id: 'a', name: 'read', args: {}, type: 'tool_call' }],
    },
    { type: 'tool', content: long, tool_call_id: 'a', status: 'success' },
    { type: 'ai', content: 'Done.' },
    { type: 'human', content: 'Thanks' },
  ]

  it.each<[string, readonly object[]]>([
    ['constructors', JSON.parse(JSON.stringify(conversation)) as object[]],
    ['stored messages', JSON.parse(JSON.stringify(mapChatMessagesToStoredMessages(conversation)))],
    ['typed messages', typed],
    ['roles', [user('q'), calls({ id: 'a' }), result('a', long), assistant('b'), user('c')]],
  ])('[LC6] %s come back exactly, and reduced in the same form', (_, messages) => {
    expect(project(messages, undefined, format).messages).toEqual(messages)
    const reduced = project<object>(messages, policy, format).messages
    expect(reduced.map((message) => Object.keys(message).sort())).toEqual(
      messages.map((message) => Object.keys(message).sort()),
    )
    expect(JSON.stringify(reduced)).toContain('[Omitted')
    expect(rulesOf(reduced)).toEqual([])
  })

  it('[LC6] a role counts more than a type, as LangChain itself reads it', () => {
    const message = { role: 'user', content: 'q', type: 'text', text: 'not a block' }
    // Its types do not have both, but it takes both.
    const read = coerceMessageLikeToMessage(message as unknown as BaseMessageLike)
    expect(read.getType()).toBe('human')
    expect(project([message], undefined, format)).toMatchObject({ messages: [message], trace: [] })
  })

  it('a call is found whichever way it is written', () => {
    for (const messages of [constructors, stored]) {
      const { messages: chat } = project<unknown>(messages, undefined, {
        ...format,
        to: 'openai-chat',
      })
      // The call still waits for its result.
      expect(chat.map((message) => (message as { role: string }).role)).toEqual(['system', 'user'])
    }
  })

  it('what comes from other formats is taken by LangChain itself', () => {
    const chat = [
      { role: 'user', content: 'q' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'read', arguments: '{"p":1}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
    ]
    const { messages } = project<unknown>(chat, undefined, { to: 'langchain' })
    const taken = messages.map((message) => coerceMessageLikeToMessage(message as never))
    expect(taken.map((message) => message.getType())).toEqual(['human', 'ai', 'tool'])
    expect((taken[1] as AIMessage).tool_calls).toEqual([
      { id: 'a', name: 'read', args: { p: 1 }, type: 'tool_call' },
    ])
  })
})
