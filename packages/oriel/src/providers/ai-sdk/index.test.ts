import { generateText, type ModelMessage } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import { project } from '../../project.ts'
import { aiSdkMessage } from '../../testing/builders.ts'
import { validate } from '../registry.ts'

const { user, assistant, calls, results, system } = aiSdkMessage
const format = { format: 'ai-sdk' } as const

function rulesOf(messages: readonly unknown[]): readonly string[] {
  return validate('ai-sdk', messages).map(({ rule }) => rule)
}

function expectRefused(messages: readonly unknown[], rule: string): void {
  expect(rulesOf(messages)).toContain(rule)
  expect(rulesOf(project<unknown>(messages, undefined, format).messages)).toEqual([])
}

describe('what is refused, and repaired in a projection', () => {
  it('[AI1] a call without a result', () => {
    expectRefused([user('q'), calls({ id: 'a' }), user('again')], 'AI1')
  })

  it('[AI2] a result without a call', () => {
    expectRefused([user('q'), results({ id: 'a', text: 'x' })], 'AI2')
  })

  it('[AI3] an id that is used twice', () => {
    const twice = [calls({ id: 'a' }, { id: 'a' }), results({ id: 'a', text: 'x' })]
    expectRefused([user('q'), ...twice], 'AI3')
  })

  it('[AI4] system content that is no text', () => {
    expectRefused([{ role: 'system', content: [] }, user('q')], 'AI4')
  })

  it('[AI5] half a character', () => {
    expectRefused([user('\ud800')], 'AI5')
  })

  it('[AI6] an approval that was not asked for', () => {
    const request = { type: 'tool-approval-request', approvalId: 'ask', toolCallId: 'a' }
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: {} }
    const answer = { type: 'tool-approval-response', approvalId: 'other', approved: true }
    const messages = [
      user('q'),
      { role: 'assistant', content: [call, request] },
      { role: 'tool', content: [answer] },
    ]
    expectRefused(messages, 'AI6')
  })

  it('[AI6] an approval that is answered before it is asked for', () => {
    const request = { type: 'tool-approval-request', approvalId: 'ask', toolCallId: 'a' }
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: {} }
    const answer = { type: 'tool-approval-response', approvalId: 'ask', approved: true }
    const messages = [
      user('q'),
      calls({ id: 'b' }),
      { role: 'tool', content: [answer] },
      results({ id: 'b', text: 'x' }),
      { role: 'assistant', content: [call, request] },
    ]
    expectRefused(messages, 'AI6')
  })
})

/** A call that waits for a person, and what the person said. */
const asked: ModelMessage[] = [
  { role: 'user', content: 'Delete it' },
  {
    role: 'assistant',
    content: [
      { type: 'tool-call', toolCallId: 'a', toolName: 'delete', input: { path: 'x' } },
      { type: 'tool-approval-request', approvalId: 'ask', toolCallId: 'a' },
    ],
  },
  {
    role: 'tool',
    content: [{ type: 'tool-approval-response', approvalId: 'ask', approved: true }],
  },
]
const done: ModelMessage[] = [
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'a',
        toolName: 'delete',
        output: { type: 'text', value: 'deleted' },
      },
    ],
  },
  { role: 'assistant', content: 'Done.' },
  { role: 'user', content: 'Thanks' },
]

describe('approvals', () => {
  it('[AI1] [AI6] a call that waits for a person stays, with request and answer', () => {
    expect(project(asked.slice(0, 2), undefined, format).messages).toEqual(asked.slice(0, 2))
    const { messages, trace } = project(asked, undefined, format)
    expect(messages).toEqual(asked)
    expect(trace).toEqual([])
  })

  it('[AI1] only the calls that a request names wait', () => {
    const [question, answer] = asked as [ModelMessage, { content: object[] }]
    const [call, request] = answer.content
    const other = { ...call, toolCallId: 'b' }
    const messages = [question, { role: 'assistant', content: [call, other, request] }]
    expect(rulesOf(messages)).toContain('AI1')
    expect(project<unknown>(messages, undefined, format).messages).toEqual([question])
  })

  it('[AI1] [AI3] a request names its call by the id that it is sent with', () => {
    const before = [calls({ id: 'a' }), results({ id: 'a', text: 'x' })]
    const { messages } = project([user('q'), ...before, ...asked], undefined, format)
    expect(rulesOf(messages)).toEqual([])
    const [call, request] = (messages[4] as { content: { toolCallId: string }[] }).content
    expect(call?.toolCallId).not.toBe('a')
    expect(request?.toolCallId).toBe(call?.toolCallId)
  })

  it('[AI6] request, answer and result go together when their turn leaves', () => {
    const whole = [...asked, ...done]
    expect(project(whole, undefined, format).messages).toEqual(whole)
    const { messages } = project(whole, { history: { length: 1 } }, format)
    expect(messages).toEqual([{ role: 'user', content: 'Thanks' }])
    const reduced = project(whole, { toolResults: { strategy: 'dropAll' } }, format).messages
    expect(reduced.map(({ role }) => role)).toEqual(whole.map(({ role }) => role))
    expect(rulesOf(reduced)).toEqual([])
  })

  it('[AI1] a call that was never approved gets a notice once the user goes on', () => {
    const { messages } = project(
      [...asked.slice(0, 2), { role: 'user', content: 'Stop' }],
      {},
      format,
    )
    expect(rulesOf(messages)).toEqual([])
    expect(JSON.stringify(messages)).toContain('No result was recorded')
  })
})

it('[AI7] calls that the provider runs stay as they came, beside reduced ones', () => {
  const searched: ModelMessage = {
    role: 'assistant',
    content: [
      {
        type: 'tool-call',
        toolCallId: 's1',
        toolName: 'web_search',
        input: { query: 'x' },
        providerExecuted: true,
      },
      {
        type: 'tool-result',
        toolCallId: 's1',
        toolName: 'web_search',
        output: { type: 'json', value: [{ url: 'https://example.com' }] },
      },
      { type: 'text', text: 'Found.' },
    ],
  }
  const messages = [
    user('one'),
    searched,
    user('two'),
    calls({ id: 'a' }),
    results({ id: 'a', text: 'long '.repeat(500) }),
    assistant('three'),
    user('four'),
  ]
  const policy = { toolResults: { strategy: 'dropAll' } } as const
  const reduced = project<unknown>(messages, policy, format).messages
  expect(reduced[1]).toEqual(searched)
  expect(JSON.stringify(reduced[4])).toContain('[Omitted')
  expect(rulesOf(reduced)).toEqual([])
})

it('[AI8] bytes and URLs come back as the objects they were', () => {
  const bytes = new Uint8Array([1, 2, 3])
  const pictured: ModelMessage = {
    role: 'user',
    content: [
      { type: 'image', image: bytes },
      { type: 'file', data: new URL('https://example.com/a.pdf'), mediaType: 'application/pdf' },
    ],
  }
  const messages: ModelMessage[] = [pictured, { role: 'assistant', content: 'Seen.' }]
  const shown = project(messages, undefined, format).messages
  expect(shown[0]).toBe(pictured)
  const chat = project<unknown>(messages, undefined, { ...format, to: 'openai-chat' }).messages
  expect(JSON.stringify(chat)).toContain('data:image/png;base64,AQID')
})

describe('results', () => {
  const json = { rows: Array.from({ length: 200 }, (_, id) => ({ id, name: `row ${id}` })) }
  const result = (output: unknown): readonly unknown[] => [
    system('s'),
    user('one'),
    calls({ id: 'a' }),
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'search', output }],
    },
    assistant('two'),
    user('three'),
  ]

  it('JSON stays JSON while it is whole, and becomes text when it is reduced', () => {
    const messages = result({ type: 'json', value: json })
    expect(project(messages, undefined, format).messages).toEqual(messages)
    const reduced = project<unknown>(messages, { toolOutput: { maxChars: 400 } }, format).messages
    expect(reduced[3]).toMatchObject({ content: [{ output: { type: 'text' } }] })
  })

  it('a failure stays one when it is reduced', () => {
    const messages = result({ type: 'error-text', value: 'failed at line 7\n'.repeat(300) })
    const reduced = project<unknown>(messages, { toolOutput: { maxChars: 400 } }, format).messages
    expect(reduced[3]).toMatchObject({ content: [{ output: { type: 'error-text' } }] })
  })
})

it('what comes from other formats is accepted by the SDK itself', async () => {
  const chat = [
    { role: 'system', content: 'Be brief.' },
    {
      role: 'user',
      content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'read', arguments: '{"path":"x"}' } },
        { id: 'b', type: 'function', function: { name: 'list', arguments: 'broken {' } },
      ],
    },
    { role: 'tool', tool_call_id: 'a', content: 'one' },
    { role: 'tool', tool_call_id: 'b', content: 'two' },
    { role: 'user', content: 'go on' },
  ]
  const { messages } = project<unknown>(chat, undefined, { to: 'ai-sdk' })
  expect(rulesOf(messages)).toEqual([])
  const model = new MockLanguageModelV4({
    doGenerate: {
      content: [{ type: 'text', text: 'ok' }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      warnings: [],
    },
    supportedUrls: { '*/*': [/.*/] },
  })
  const [first, ...rest] = messages as ModelMessage[]
  const { text } = await generateText({
    model,
    system: String(first?.content),
    messages: rest,
  })
  expect(text).toBe('ok')
  expect(model.doGenerateCalls[0]?.prompt).toMatchObject([
    { role: 'system' },
    { role: 'user', content: [{ type: 'file' }] },
    {
      role: 'assistant',
      content: [{ toolName: 'read', input: { path: 'x' } }, { toolName: 'list' }],
    },
    { role: 'tool', content: [{ toolName: 'read' }, { toolName: 'list' }] },
    { role: 'user' },
  ])
})
