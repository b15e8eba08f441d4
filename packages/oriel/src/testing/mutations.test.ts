import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatNames, validate } from '../providers/registry.ts'
import { conversationOf } from './arbitraries.ts'
import {
  aiSdkMessage,
  anthropicMessage,
  chatMessage,
  geminiContent,
  langchainMessage,
  responsesItem,
} from './builders.ts'
import { exactText, frozen } from './compare.ts'
import { brokenConversation, type Mutation, mutate, mutationsArbitrary } from './mutations.ts'

const { user, calls, result, assistant } = chatMessage
const conversation = [
  user('one'),
  calls({ id: 'a' }, { id: 'b' }),
  result('a', 'first'),
  result('b', 'second'),
  assistant('done'),
]

it.each<[Mutation, readonly unknown[]]>([
  [{ kind: 'drop', at: 2 }, conversation.toSpliced(2, 1)],
  [{ kind: 'duplicate', at: 0 }, [user('one'), ...conversation]],
  [
    { kind: 'swap', at: 0, other: 4 },
    [assistant('done'), ...conversation.slice(1, 4), user('one')],
  ],
  [{ kind: 'move', at: 2, to: 4 }, [...conversation.toSpliced(2, 1), result('a', 'first')]],
  [{ kind: 'truncate', at: 1 }, conversation.slice(0, 2)],
  [{ kind: 'behead', at: 2 }, conversation.slice(2)],
  [{ kind: 'insert', at: 1, message: user('two') }, conversation.toSpliced(1, 0, user('two'))],
  [{ kind: 're-id', at: 2, id: 'c' }, conversation.with(2, result('c', 'first'))],
  [
    { kind: 'reuse-id', at: 1, other: 0 },
    conversation.with(1, calls({ id: 'a' }, { id: 'a' })).with(3, result('a', 'second')),
  ],
  [
    { kind: 'strange-id', at: 0, id: '?' },
    conversation.with(1, calls({ id: '?' }, { id: 'b' })).with(2, result('?', 'first')),
  ],
  [{ kind: 'set-text', at: 0, text: '' }, conversation.with(0, user(''))],
  [
    { kind: 'set-content', at: 0, content: null },
    conversation.with(0, { role: 'user', content: null }),
  ],
  [{ kind: 'set-content', at: 5, content: undefined }, conversation.with(0, { role: 'user' })],
  [
    { kind: 'add-field', at: 4, fields: { role: 'other', x: 1 } },
    conversation.with(4, { ...assistant('done'), x: 1 }),
  ],
  [
    { kind: 'add-block', at: 0, block: { type: 'x' } },
    conversation.with(0, { role: 'user', content: [{ type: 'text', text: 'one' }, { type: 'x' }] }),
  ],
  [
    { kind: 'merge', at: 4 },
    conversation.slice(0, 3).concat({
      ...result('b', 'second'),
      content: [
        { type: 'text', text: 'second' },
        { type: 'text', text: 'done' },
      ],
    }),
  ],
])('mutation %j does what it says', (mutation, expected) => {
  expect(mutate(frozen(conversation), [mutation])).toEqual(expected)
})

it('mutations are applied one after the other, also to nothing', () => {
  const drop: Mutation = { kind: 'drop', at: 0 }
  expect(mutate(conversation, [drop, drop])).toEqual(conversation.slice(2))
  expect(mutate([user('one')], [drop, drop, { kind: 'swap', at: 3, other: 1 }])).toEqual([])
})

describe.each(formatNames)('broken conversations of %s', (format) => {
  it('leave the conversation they are made from as it was', () => {
    fc.assert(
      fc.property(conversationOf(format), mutationsArbitrary(format), (messages, mutations) => {
        const before = exactText(messages)
        mutate(frozen(messages), mutations)
        expect(exactText(messages)).toBe(before)
      }),
    )
  })

  it('break every rule about messages that the provider has', () => {
    const broken = fc.sample(brokenConversation(format), { numRuns: 1000, seed: 42 })
    const found = broken.map((messages) => validate(format, messages))
    expect(found.filter(({ length }) => length > 0).length).toBeGreaterThan(broken.length / 2)
    const rules = new Set(found.flat().map(({ rule }) => rule))
    expect(rulesOf[format].filter((rule) => !rules.has(rule))).toEqual([])
  })
})

/** Those that a list of messages can break; A5 and A13 to A17 are about the end of a request, its settings or its size. */
const rulesOf = {
  'openai-chat': ['O1', 'O2', 'O3', 'O4', 'O5', 'O6'],
  'openai-responses': ['R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'R7'],
  'ai-sdk': ['AI1', 'AI2', 'AI3', 'AI4', 'AI5', 'AI6'],
  langchain: ['LC1', 'LC2', 'LC3', 'LC4', 'LC5'],
  gemini: [
    'GC1',
    'GC2',
    'GC3',
    'GC4',
    'GC5',
    'GC6',
    'GC7',
    'GC8',
    'GC9',
    'GC10',
    'GC11',
    'GC12',
    'GC13',
  ],
  anthropic: [
    'A1',
    'A2',
    'A3',
    'A4',
    'A6',
    'A7',
    'A8',
    'A9',
    'A10',
    'A11',
    'A12',
    'A14',
    'A17',
    'A18',
  ],
}

it('builders make conversations that the providers accept', () => {
  expect(validate('openai-chat', [chatMessage.system('s'), ...conversation])).toEqual([])
  const claude = anthropicMessage
  const turns = [claude.user('one'), claude.assistant('two'), claude.user('three')]
  const loop = [claude.calls({ id: 'a' }), claude.results({ id: 'a', text: 'found' })]
  expect(validate('anthropic', [...turns, ...loop])).toEqual([])
  const items = [
    responsesItem.system('s'),
    responsesItem.user('one'),
    responsesItem.call({ id: 'a', name: 'read', input: { path: 'x' } }),
    responsesItem.result('a', 'found'),
    responsesItem.assistant('two'),
  ]
  expect(validate('openai-responses', items)).toEqual([])
  const { system, results } = aiSdkMessage
  const loops = [aiSdkMessage.calls({ id: 'a' }), results({ id: 'a', text: 'found' })]
  expect(validate('ai-sdk', [system('s'), aiSdkMessage.user('one'), ...loops])).toEqual([])
  const chain = langchainMessage
  const answered = [chain.calls({ id: 'a' }), chain.result('a', 'found'), chain.assistant('two')]
  expect(validate('langchain', [chain.system('s'), chain.user('one'), ...answered])).toEqual([])
  const { calls, model, results: responses, user: ask } = geminiContent
  const asked = [ask('one'), calls({ id: 'a' }), responses({ id: 'a', text: 'found' })]
  expect(validate('gemini', [...asked, model('two'), ask('three')])).toEqual([])
})
