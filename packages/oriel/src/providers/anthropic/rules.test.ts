import { describe, expect, it } from 'vitest'
import { anthropic } from './index.ts'

type Message = Readonly<Record<string, unknown>>

const { validate } = anthropic

/** The rules that a body breaks, each once, in the order they are reported. */
const broken = (body: unknown): readonly string[] => [
  ...new Set(validate(body).map(({ rule }) => rule)),
]

const user = (content: unknown): Message => ({ role: 'user', content })
const assistant = (content: unknown): Message => ({ role: 'assistant', content })
const text = (value: string, more: Message = {}): Message => ({
  type: 'text',
  text: value,
  ...more,
})
const call = (id: string, more: Message = {}): Message => ({
  type: 'tool_use',
  id,
  name: 'search',
  input: {},
  ...more,
})
const result = (id: string, more: Message = {}): Message => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'found',
  ...more,
})
const thinking = { type: 'thinking', thinking: 'let me see', signature: 'sig' }
const redacted = { type: 'redacted_thinking', data: 'sealed' }
const cached = { cache_control: { type: 'ephemeral' } }

const loop = (...content: readonly Message[]): readonly Message[] => [
  user('go'),
  assistant([...content, call('a')]),
  user([result('a')]),
]

describe('a valid request', () => {
  it('breaks no rule', () => {
    const body = {
      model: 'claude',
      max_tokens: 100,
      system: [text('be brief', cached)],
      tools: [{ name: 'search', input_schema: {} }],
      thinking: { type: 'enabled', budget_tokens: 1024 },
      messages: [
        user('hello'),
        assistant([thinking, text('searching'), call('a'), call('b')]),
        user([result('b'), result('a', { content: [text('x')] }), text('and then?', cached)]),
        assistant([redacted, text('done')]),
        user([text('thanks')]),
      ],
    }
    expect(validate(body)).toEqual([])
    expect(validate(body.messages)).toEqual([])
  })

  it('says where a rule is broken, in the words of the provider', () => {
    expect(validate([user('go'), assistant([call('a')]), user('never mind')])).toEqual([
      {
        rule: 'A7',
        path: 'messages[1]',
        message:
          'messages.1: tool_use ids were found without tool_result blocks immediately after: a. Each tool_use block must have a corresponding tool_result block in the next message.',
      },
    ])
  })
})

describe('roles', () => {
  it('[A1] roles are user and assistant', () => {
    expect(broken([user('hi'), assistant('hello'), user('bye')])).toEqual([])
    expect(broken([user('hi'), { role: 'tool', content: 'x' }, user('bye')])).toEqual(['A1'])
  })

  it('[A1] system text stands outside the messages', () => {
    expect(broken({ system: 'be brief', messages: [user('hi')] })).toEqual([])
    expect(broken([user('hi'), { role: 'system', content: 'be brief' }, user('x')])).toEqual(['A1'])
  })

  it('[A1] a block stands only where its kind is allowed', () => {
    expect(broken([user([call('a')])])).toEqual(['A1'])
    expect(broken([user([thinking])])).toEqual(['A1'])
    expect(broken([user('x'), assistant([result('a')]), user('y')])).toEqual(['A1'])
    expect(broken(loop().with(2, user([result('a', { content: [thinking] })])))).toEqual(['A1'])
    expect(broken({ system: [{ type: 'image', source: {} }], messages: [user('x')] })).toEqual([
      'A1',
    ])
  })

  it('[A2] the first message is a user message', () => {
    expect(broken([user('hi')])).toEqual([])
    expect(broken([assistant('hello'), user('hi')])).toEqual(['A2'])
  })

  it('[A2] a whole request has a message', () => {
    expect(broken({ messages: [] })).toEqual([])
    expect(broken({ model: 'claude', messages: [] })).toEqual(['A2'])
  })

  it('[A3] roles alternate', () => {
    expect(broken([user('a'), assistant('b'), user('c')])).toEqual([])
    expect(validate([user('a'), user('b')])).toEqual([
      {
        rule: 'A3',
        path: 'messages[1].role',
        message:
          'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
      },
    ])
  })

  it('[A6] the last message is a user message', () => {
    expect(broken([user('a'), assistant('b'), user('c')])).toEqual([])
    expect(broken([user('a'), assistant('b')])).toEqual(['A6'])
    // What the provider paused goes back to it as it is.
    const call = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
    expect(broken([user('a'), assistant([call])])).toEqual([])
  })
})

describe('content', () => {
  it('[A4] messages have content', () => {
    expect(broken([user('x')])).toEqual([])
    expect(broken([user('')])).toEqual(['A4'])
    expect(broken([user([])])).toEqual(['A4'])
    expect(broken([user('x'), assistant([]), user('y')])).toEqual(['A4'])
  })

  it('[A4] the final assistant message may be empty', () => {
    expect(broken([user('x'), assistant('')])).toEqual(['A6'])
  })

  it('[A4] texts are neither empty nor blank', () => {
    expect(broken([user([text('x'), text('y')])])).toEqual([])
    expect(broken([user([text('x'), text('')])])).toEqual(['A4'])
    expect(broken([user('\n\t ')])).toEqual(['A4'])
    expect(broken(loop().with(2, user([result('a', { content: [text(' ')] })])))).toEqual(['A4'])
    expect(broken({ system: ' ', messages: [user('x')] })).toEqual(['A4'])
    expect(broken({ system: [text('')], messages: [user('x')] })).toEqual(['A4'])
  })

  it('[A4] a result may be empty', () => {
    for (const content of [undefined, '', ' ', []]) {
      expect(broken(loop().with(2, user([result('a', { content })])))).toEqual([])
    }
  })

  it('[A5] a final assistant message does not end with whitespace', () => {
    expect(broken([user('x'), assistant('so')])).toEqual(['A6'])
    expect(broken([user('x'), assistant('so ')])).toEqual(['A6', 'A5'])
    expect(broken([user('x'), assistant('so '), user('y')])).toEqual([])
  })

  it('[A14] thinking carries its text and signature', () => {
    expect(broken(loop(thinking))).toEqual([])
    expect(broken(loop({ type: 'thinking', thinking: 'hm' }))).toEqual(['A14'])
    expect(broken(loop({ ...thinking, signature: '' }))).toEqual(['A14'])
    expect(broken(loop({ type: 'thinking', signature: 'sig' }))).toEqual(['A14'])
  })

  it('[A14] redacted thinking carries its data', () => {
    expect(broken(loop(redacted))).toEqual([])
    expect(broken(loop({ type: 'redacted_thinking' }))).toEqual(['A14'])
    expect(broken(loop({ ...redacted, data: '' }))).toEqual(['A14'])
  })
})

describe('calls and results', () => {
  it('[A7] each call is answered in the next message', () => {
    expect(
      broken([user('x'), assistant([call('a'), call('b')]), user([result('b'), result('a')])]),
    ).toEqual([])
    expect(broken([user('x'), assistant([call('a'), call('b')]), user([result('a')])])).toEqual([
      'A7',
    ])
    expect(broken([user('x'), assistant([call('a')])])).toEqual(['A6', 'A7'])
  })

  it('[A8] each result answers a call of the previous message', () => {
    expect(broken(loop())).toEqual([])
    expect(broken([user([result('a')])])).toEqual(['A8'])
    expect(broken([...loop(), assistant('ok'), user([result('a')])])).toEqual(['A8'])
    expect(broken([user([{ type: 'tool_result', content: 'x' }])])).toEqual(['A8'])
  })

  it('[A8] a result of a server tool follows its call in the same content', () => {
    const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
    const remote = { type: 'mcp_tool_use', id: 'm', name: 'list', server_name: 'files', input: {} }
    const listed = { type: 'mcp_tool_result', tool_use_id: 'm', content: [] }
    expect(broken([user('x'), assistant([search, found]), user('y')])).toEqual([])
    expect(broken([user('x'), assistant([remote, listed]), user('y')])).toEqual([])
    expect(broken([user('x'), assistant([found, search]), user('y')])).toEqual(['A8'])
    expect(
      broken([user('x'), assistant([search]), user('y'), assistant([found]), user('z')]),
    ).toEqual(['A8'])
  })

  it('[A8] a server tool that calls client tools is answered when they have answered it', () => {
    const code = { type: 'server_tool_use', id: 's', name: 'code_execution', input: {} }
    const ran = { type: 'code_execution_tool_result', tool_use_id: 's', content: {} }
    const caller = { caller: { type: 'code_execution_20250825', tool_id: 's' } }
    const steps = (more: Message): readonly Message[] => [
      user('x'),
      assistant([code, call('a', more)]),
      user([result('a')]),
      assistant([call('b', more)]),
      user([result('b')]),
      assistant([ran]),
      user('y'),
    ]
    expect(broken(steps(caller))).toEqual([])
    expect(broken(steps({}))).toEqual(['A8'])
  })

  it('[A9] a call has one result', () => {
    expect(broken(loop())).toEqual([])
    expect(broken(loop().with(2, user([result('a'), result('a')])))).toEqual(['A9'])
  })

  it('[A10] call ids are unique', () => {
    const again = (id: string): readonly Message[] => [assistant([call(id)]), user([result(id)])]
    expect(broken([...loop(), ...again('b')])).toEqual([])
    expect(broken([...loop(), ...again('a')])).toEqual(['A10'])
    expect(broken([user('x'), assistant([call('a'), call('a')]), user([result('a')])])).toEqual([
      'A10',
    ])
  })

  it('[A10] call ids are of few characters, and short', () => {
    const withId = (id: string): readonly Message[] => [
      user('x'),
      assistant([call(id)]),
      user([result(id)]),
    ]
    expect(broken(withId('toolu_01-AZ'))).toEqual([])
    expect(broken(withId('a.b'))).toEqual(['A10'])
    expect(broken(withId('x'.repeat(64)))).toEqual([])
    expect(broken(withId('x'.repeat(65)))).toEqual(['A10'])
    expect(broken([user('x'), assistant([{ type: 'tool_use' }]), user('y')])).toEqual(['A10'])
  })

  it('[A11] results come first in a user message', () => {
    expect(broken(loop().with(2, user([result('a'), text('x')])))).toEqual([])
    expect(broken(loop().with(2, user([text('x'), result('a')])))).toEqual(['A11'])
  })

  it('[A12] no text follows a call', () => {
    const answered = user([result('a')])
    expect(broken([user('x'), assistant([text('y'), call('a')]), answered])).toEqual([])
    expect(broken([user('x'), assistant([call('a'), text('y')]), answered])).toEqual(['A12'])
  })

  it('[A12] thinking between calls is fine', () => {
    const content = [thinking, call('a'), thinking, call('b')]
    expect(broken([user('x'), assistant(content), user([result('a'), result('b')])])).toEqual([])
  })
})

describe('thinking', () => {
  const on = { type: 'enabled', budget_tokens: 1024 }

  it('[A13] with thinking on, a tool loop starts with thinking', () => {
    expect(broken({ thinking: on, messages: loop(thinking) })).toEqual([])
    expect(broken({ thinking: on, messages: loop(redacted) })).toEqual([])
    expect(broken({ thinking: on, messages: loop() })).toEqual(['A13'])
    expect(broken({ thinking: { type: 'adaptive' }, messages: loop() })).toEqual([])
    expect(broken({ thinking: on, messages: loop(text('hm'), thinking) })).toEqual(['A13'])
    expect(broken({ thinking: { type: 'disabled' }, messages: loop() })).toEqual([])
    expect(broken({ messages: loop() })).toEqual([])
  })

  it('[A13] only the start of the newest loop counts', () => {
    const next = [assistant([call('b')]), user([result('b')])]
    expect(broken({ thinking: on, messages: [...loop(thinking), ...next] })).toEqual([])
    expect(broken({ thinking: on, messages: [...loop(), ...next] })).toEqual(['A13'])
    expect(broken({ thinking: on, messages: [...loop(), assistant('ok'), user('y')] })).toEqual([])
  })

  it('[A15] with thinking off, a final assistant message has none', () => {
    const messages = [user('x'), assistant([thinking, text('so')])]
    expect(broken({ thinking: on, messages })).toEqual(['A6'])
    expect(broken({ messages })).toEqual(['A6', 'A15'])
    expect(broken({ thinking: { type: 'disabled' }, messages })).toEqual(['A6', 'A15'])
    expect(broken({ messages: [...messages, user('y')] })).toEqual([])
  })
})

describe('the body', () => {
  it('[A16] a whole request with calls defines tools', () => {
    const tools = [{ name: 'search', input_schema: {} }]
    expect(broken({ model: 'claude', tools, messages: loop() })).toEqual([])
    expect(broken({ model: 'claude', messages: loop() })).toEqual(['A16'])
    expect(broken({ max_tokens: 1, tools: null, messages: loop() })).toEqual(['A16'])
    expect(broken({ tools: [], messages: loop() })).toEqual(['A16'])
    expect(broken({ model: 'claude', messages: [user('x')] })).toEqual([])
  })

  it('[A16] messages alone are judged without their tools', () => {
    expect(broken(loop())).toEqual([])
    expect(broken({ messages: loop() })).toEqual([])
  })

  it('[A17] a request has at most four cache breakpoints', () => {
    const body = (count: number): unknown => ({
      tools: [{ name: 'search', ...cached }],
      system: [text('s', cached)],
      messages: [user([...Array(count)].map(() => text('x', cached)))],
    })
    expect(broken(body(2))).toEqual([])
    expect(broken(body(3))).toEqual(['A17'])
    expect(broken({ ...cached, messages: [user(Array(4).fill(text('x', cached)))] })).toEqual([
      'A17',
    ])
  })

  it('[A17] breakpoints inside results count, what a call was given does not', () => {
    const input = { input: { list: Array(5).fill(cached) } }
    const inside = [text('x', cached), text('y', cached)]
    const messages = (content: readonly Message[]): readonly Message[] => [
      user([text('x', cached), text('y', cached)]),
      assistant([call('a', input)]),
      user([result('a', { content })]),
    ]
    expect(broken(messages(inside))).toEqual([])
    expect(broken(messages([...inside, text('z', cached)]))).toEqual(['A17'])
  })

  it('[A17] a request has at most 100,000 messages', () => {
    const messages = (count: number): readonly Message[] =>
      [...Array(count)].map((_, index) => (index % 2 === 0 ? user('x') : assistant('y')))
    expect(broken(messages(99_999))).toEqual([])
    expect(broken(messages(100_001))).toEqual(['A17'])
  })

  it('[A17] a request has at most 32 MB', () => {
    const half = 'x'.repeat(16 * 1024 * 1024)
    expect(broken([user(half)])).toEqual([])
    expect(broken([user([text(half), text(half)])])).toEqual(['A17'])
    expect(broken([user(`${half}${half}!`)])).toEqual(['A17'])
    // Fewer characters than bytes.
    expect(broken([user('€'.repeat(12 * 1024 * 1024))])).toEqual(['A17'])
  })

  it('[A18] every string is well formed', () => {
    expect(broken([user('\u{1F600}')])).toEqual([])
    expect(validate([user([text('x\uD83D')])])).toMatchObject([
      { rule: 'A18', path: 'messages[0].content[0].text' },
    ])
    expect(broken({ system: '\uDE00', messages: [user('x')] })).toEqual(['A18'])
  })

  it('[A19] a compaction has content, and a signed one comes first and alone', () => {
    const compaction = (more: Message = {}): Message => ({
      ...{ type: 'compaction', content: 'So far.', encrypted_content: null, ...more },
    })
    const signed = compaction({ signature: 'sig' })
    const after = [user('And then?')]
    expect(broken([assistant([signed]), ...after])).toEqual([])
    expect(broken([user('One'), assistant([compaction(), text('Two')]), ...after])).toEqual([])
    expect(broken([user('One'), assistant([compaction()])])).toEqual([])
    expect(broken([assistant([compaction({ content: null }), text('Two')]), ...after])).toEqual([
      'A2',
    ])
    expect(broken([user('One'), assistant([signed, text('Two')]), ...after])).toEqual(['A19'])
    expect(broken([assistant([signed, signed]), ...after])).toEqual(['A19'])
    expect(broken([user('One'), assistant([compaction({ content: '' })]), ...after])).toEqual([
      'A19',
    ])
  })

  it('[A18] the body is JSON', () => {
    const cyclic: Record<string, unknown> = { type: 'custom' }
    cyclic.self = cyclic
    expect(broken([user([{ type: 'custom', value: 1 }])])).toEqual([])
    expect(broken([user([cyclic])])).toEqual(['A18'])
    expect(broken([user([{ type: 'custom', value: Number.NaN }])])).toEqual(['A18'])
    expect(broken([user([{ type: 'custom', value: () => 1 }])])).toEqual(['A18'])
  })

  it('[A18] a message, a block and their fields have the right shape', () => {
    expect(broken([user('x'), assistant([text('y')]), user('z')])).toEqual([])
    expect(broken([user(null)])).toEqual(['A18'])
    expect(broken([user([42])])).toEqual(['A18'])
    expect(broken([user([{ type: 'text' }])])).toEqual(['A18'])
    expect(broken([user([{ type: 'image' }])])).toEqual(['A18'])
    expect(broken(loop().with(1, assistant([call('a', { input: [] })])))).toEqual(['A18'])
    expect(broken(loop().with(1, assistant([call('a', { name: 1 })])))).toEqual(['A18'])
    expect(broken(loop().with(2, user([result('a', { content: null })])))).toEqual(['A18'])
    expect(broken({ system: 1, messages: [user('x')] })).toEqual(['A18'])
  })

  it('[A18] anything else is refused without throwing', () => {
    const hostile = {
      get messages(): never {
        throw new Error('no')
      },
    }
    for (const body of [null, undefined, 1, 'x', true, {}, { messages: 'x' }, hostile]) {
      expect(broken(body)).toEqual(['A18'])
    }
    for (const messages of [[null], [1], [[]], [{}], new Array(2)]) {
      expect(broken(messages)).toContain('A18')
    }
  })
})
