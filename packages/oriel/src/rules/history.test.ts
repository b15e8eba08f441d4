import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { describe, expect, it } from 'vitest'
import { applyHistoryPolicy } from '../compat/history-policy.ts'
import type { PolicyInput } from '../policy/schema.ts'
import { project } from '../project.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'

const system = { role: 'system', content: 'S' }
const user = (n: number) => ({ role: 'user', content: `U${n}` })
const assistant = (n: number) => ({ role: 'assistant', content: `A${n}` })
const call = (n: number, ...ids: string[]) => ({
  role: 'assistant',
  content: `A${n}`,
  tool_calls: ids.map((id) => ({
    id,
    type: 'function',
    function: { name: 'look', arguments: '{}' },
  })),
})
const result = (id: string, content = `T(${id})`) => ({ role: 'tool', tool_call_id: id, content })
const turns = (count: number) =>
  Array.from({ length: count }, (_, index) => [user(index + 1), assistant(index + 1)]).flat()

const four = [system, ...turns(4)]

/** Contents in order: enough to tell which messages stayed. */
const show = (messages: readonly { content?: unknown }[]): string =>
  messages.map((message) => String(message.content)).join(' ')

const view = (messages: readonly { content?: unknown }[], policy: PolicyInput): string =>
  show(project(messages, policy).messages)

describe('the window over user turns (document 002, table b)', () => {
  const rows: [string, { content?: unknown }[], PolicyInput, string][] = [
    ['nothing at all', [], { history: {} }, ''],
    ['lastN 3 keeps three turns', four, { history: { length: 3 } }, 'S U2 A2 U3 A3 U4 A4'],
    ['lastN 2 keeps two turns', four, { history: { length: 2 } }, 'S U3 A3 U4 A4'],
    ['lastN 0 means 1', four, { history: { length: 0 } }, 'S U4 A4'],
    ['lastN 10 of four keeps all', four, { history: { length: 10 } }, show(four)],
    ['none keeps the current turn', four, { history: { policy: 'none' } }, 'S U4 A4'],
    [
      'none without system messages',
      four,
      { history: { policy: 'none', preserveSystemMessages: false } },
      'U4 A4',
    ],
    ['all keeps everything', four, { history: { policy: 'all' } }, show(four)],
    [
      'all keeps system messages in any case',
      four,
      { history: { policy: 'all', preserveSystemMessages: false } },
      show(four),
    ],
    [
      'what stands before the first user message stays while no turn is dropped',
      [assistant(0), user(1), assistant(1)],
      { history: { length: 1 } },
      'A0 U1 A1',
    ],
    [
      'what stands before the first user message goes with the first dropped turn',
      [assistant(0), user(1), assistant(1), user(2)],
      { history: { length: 1 } },
      'U2',
    ],
    [
      'a system message in the middle keeps its position',
      [user(1), system, assistant(1)],
      { history: { length: 5 } },
      'U1 S A1',
    ],
    [
      'a system message of a dropped turn stays',
      [user(1), system, assistant(1), user(2)],
      { history: { length: 1 } },
      'S U2',
    ],
    ['system messages alone', [system], { history: {} }, 'S'],
    [
      'calls and results of a dropped turn go with it',
      [user(1), call(1, 'a'), result('a'), assistant(2), user(2)],
      { history: { length: 1 } },
      'U2',
    ],
    [
      'an exchange that began before the window is dropped whole',
      [user(1), call(1, 'a'), user(2), result('a'), assistant(2)],
      { history: { length: 1 } },
      'U2 A2',
    ],
    ['zero user messages keep everything', [assistant(1)], { history: { length: 1 } }, 'A1'],
    ['the length is 20 when nothing is said', turns(22), { history: {} }, show(turns(22).slice(4))],
  ]
  it.each(rows)('[H1] %s', (_name, messages, policy, expected) => {
    expect(view(messages, policy)).toBe(expected)
  })

  it('[H1] names rule and reason for every message it drops', () => {
    const { trace } = project(four, { history: { length: 3 } })
    expect(trace.map(({ index, form, rule, reason }) => ({ index, form, rule, reason }))).toEqual(
      [1, 2].map((index) => ({
        index,
        form: 'dropped',
        rule: 'history',
        reason: 'before the last 3 user turns',
      })),
    )
  })
})

describe('what begins a turn', () => {
  const given = { type: 'tool-result', callId: 'a', content: 'T(a)' }
  it.each([
    ['results alone', { content: [given] }, 'tool'],
    ['a text that names its tool', { content: 'T(a)', tool: 'look' }, 'tool'],
    ['a text of the kind tool-result', { content: 'T(a)', kind: 'tool-result' }, 'tool'],
    ['what the host says', { content: 'note', origin: 'host' }, 'host'],
  ])('[H1] in the user role %s do not', async (_, fields, origin) => {
    const thread = await openThread({ store: memoryStore(), policy: { history: { length: 1 } } })
    const asks = { type: 'tool-call', callId: 'a', name: 'look', arguments: '{}' }
    const entries = await thread.append([
      user(1),
      { role: 'assistant', content: [asks] },
      { role: 'user', ...fields },
      assistant(2),
    ])
    expect(entries.map(({ turn }) => turn)).toEqual([1, 1, 1, 1])
    expect(entries[2]?.origin).toBe(origin)
    expect((await thread.view<{ content: string }>()).messages[0]?.content).toBe('U1')
  })

  it('[H1] a text of the user beside results does', async () => {
    const thread = await openThread({ store: memoryStore() })
    const text = { type: 'text', text: 'U2' }
    const [, second] = await thread.append([user(1), { role: 'user', content: [given, text] }])
    expect(second).toMatchObject({ turn: 2, origin: 'user' })
  })
})

describe('the cap on messages (document 004)', () => {
  const rounds = (count: number) =>
    Array.from({ length: count }, (_, index) => [
      call(index, `c${index}`),
      result(`c${index}`),
    ]).flat()

  it('[H2] keeps the newest messages up to the cap', () => {
    const messages = Array.from({ length: 30 }, (_, index) => [
      { role: 'user', content: `Message ${index}` },
      { role: 'assistant', content: `Response ${index}` },
    ]).flat()
    const { messages: kept } = project(messages, {
      history: { policy: 'all', maxMessages: 20, keepRecentMessages: 20 },
    })
    expect(kept).toEqual(messages.slice(40))
  })

  it('[H2] never cuts inside an exchange and keeps the user message of a cut turn', () => {
    const messages = [system, user(1), ...rounds(10)]
    const { messages: kept } = project(messages, { history: { policy: 'all', maxMessages: 20 } })
    expect(kept).toEqual([system, user(1), ...rounds(10).slice(2)])
  })

  it('[H2] starts at the turn in which the cut falls', () => {
    const messages = [user(1), ...rounds(3), assistant(9), user(2), assistant(2)]
    const { messages: kept } = project(messages, { history: { policy: 'all', maxMessages: 4 } })
    expect(show(kept)).toBe('U1 A9 U2 A2')
  })

  it('[H2] a newest exchange larger than the cap stays whole', () => {
    const ids = Array.from({ length: 9 }, (_, index) => `p${index}`)
    const messages = [user(1), ...rounds(3), call(9, ...ids), ...ids.map((id) => result(id))]
    const { messages: kept } = project(messages, { history: { policy: 'all', maxMessages: 5 } })
    expect(kept).toEqual([user(1), ...messages.slice(7)])
  })

  it('[H4] waits while an open tool loop carries signed reasoning, and catches up at the next turn', () => {
    const signed = (n: number) => ({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: `s${n}` },
        { type: 'tool_use', id: `c${n}`, name: 'look', input: {} },
      ],
    })
    const answer = (n: number) => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `c${n}`, content: 'ok' }],
    })
    const loop = [user(1), signed(1), answer(1), signed(2), answer(2), signed(3), answer(3)]
    const policy = { history: { policy: 'all', maxMessages: 3 } } as const
    expect(project(loop, policy, { format: 'anthropic' }).messages).toEqual(loop)
    const next = [...loop, { role: 'assistant', content: 'done' }, user(2)]
    const { messages: kept } = project(next, policy, { format: 'anthropic' })
    expect(kept).toEqual([user(1), { role: 'assistant', content: 'done' }, user(2)])
  })

  it('[H2] 0 means no cap', () => {
    const messages = turns(60)
    const { messages: kept } = project(messages, { history: { policy: 'all', maxMessages: 0 } })
    expect(kept).toEqual(messages)
  })

  it('[H2] the newest messages named by keepRecentMessages outlive a smaller cap', () => {
    const { messages: kept } = project(turns(10), {
      history: { policy: 'all', maxMessages: 2, keepRecentMessages: 6 },
    })
    expect(show(kept)).toBe('U8 A8 U9 A9 U10 A10')
  })
})

describe("document 002's own function", () => {
  it.each([[null], [undefined], [[]]])('[H3] gives an empty list for %s', (messages) => {
    expect(applyHistoryPolicy(messages, {})).toEqual([])
  })

  it('[H3] keeps the very objects of the input', () => {
    const kept = applyHistoryPolicy(four, { historyPolicy: 'lastN', historyLength: 1 })
    expect(kept).toEqual([system, user(4), assistant(4)])
    expect(kept[0]).toBe(four[0])
  })

  it("[H3] Anthropic's tool_result starts no turn, and its exchange stays whole", () => {
    const messages = [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 's', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'found' }] },
      { role: 'assistant', content: 'done' },
      { role: 'user', content: 'two' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c2', name: 's', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c2', content: 'found' }] },
    ]
    const kept = applyHistoryPolicy(messages, { historyLength: 1 })
    expect(kept).toEqual([messages[0], ...messages.slice(5)])
    expect(applyHistoryPolicy(messages, { historyLength: 2 })).toEqual(messages)
  })

  it('[H3] a negative length means 1, an endless one means all', () => {
    expect(show(applyHistoryPolicy(four, { historyLength: -5 }))).toBe('S U4 A4')
    expect(applyHistoryPolicy(four, { historyLength: Infinity })).toEqual(four)
  })

  it('[H3] refuses a length that is no whole number', () => {
    expect(() => applyHistoryPolicy(four, { historyLength: Number.NaN })).toThrow(/historyLength/)
    expect(() => applyHistoryPolicy(four, { historyLength: 2.5 })).toThrow(/historyLength/)
  })

  it('[H3] all gives the very array', () => {
    expect(applyHistoryPolicy(four, { historyPolicy: 'all' })).toBe(four)
  })

  it('[H3] an endless length still leaves out system messages that are not preserved', () => {
    const options = { historyLength: Infinity, preserveSystemMessages: false }
    expect(applyHistoryPolicy(four, options)).toEqual(four.slice(1))
  })

  it('[H3] drops an exchange that began before the window, whole, in the messages of the AI SDK', () => {
    const part = { toolCallId: 'a', toolName: 'look' }
    const messages = [
      user(1),
      { role: 'assistant', content: [{ type: 'tool-call', ...part, input: {} }] },
      user(2),
      { role: 'tool', content: [{ type: 'tool-result', ...part, result: 'T(a)' }] },
      assistant(2),
    ]
    const kept = applyHistoryPolicy<object>(messages, { historyLength: 1 })
    expect(kept).toEqual([user(2), assistant(2)])
    expect(kept[0]).toBe(messages[2])
  })

  it('[H3] and in the messages of LangChain, instances or written down', () => {
    const written = [
      { type: 'human', content: 'U1' },
      { type: 'ai', content: '', tool_calls: [{ id: 'a', name: 'look', args: {} }] },
      { type: 'human', content: 'U2' },
      { type: 'tool', tool_call_id: 'a', content: 'T(a)' },
      { type: 'ai', content: 'A2' },
    ]
    expect(show(applyHistoryPolicy(written, { historyLength: 1 }))).toBe('U2 A2')
    const instances = [
      new HumanMessage('U1'),
      new AIMessage({ content: '', tool_calls: [{ id: 'a', name: 'look', args: {} }] }),
      new HumanMessage('U2'),
      new ToolMessage({ tool_call_id: 'a', content: 'T(a)' }),
      new AIMessage('A2'),
    ]
    const kept = applyHistoryPolicy(instances, { historyLength: 1 })
    expect(kept.map((message) => instances.indexOf(message))).toEqual([2, 4])
  })

  it('[H3] a role that no format knows is an ordinary message', () => {
    const data = (n: number) => ({ role: 'data', content: `D${n}`, data: { n } })
    const messages = [system, data(0), user(1), data(1), assistant(1), user(2), data(2)]
    expect(show(applyHistoryPolicy(messages, { historyLength: 1 }))).toBe('S U2 D2')
    expect(applyHistoryPolicy(messages, { historyLength: 2 })).toEqual(messages)
  })

  it('[H3] fields that an application adds to its messages may hold anything', () => {
    const own = { createdAt: new Date(0), render: () => '', owner: undefined, size: 1n }
    const messages = four.map((message, index) => ({ ...message, id: index, ...own }))
    expect(show(applyHistoryPolicy(messages, { historyLength: 1 }))).toBe('S U4 A4')
  })

  it.each([
    ['historyPolicy', 'last', /historyPolicy must be one of lastN, all, none, got 'last'/],
    ['historyLength', '5', /historyLength must be a whole number, got '5'/],
    ['preserveSystemMessages', 1, /preserveSystemMessages must be true or false, got 1/],
  ])('[H3] names the option %s that is wrong', (path, value, message) => {
    const attempt = () => applyHistoryPolicy(four, { [path]: value } as object)
    expect(attempt).toThrow(message)
    expect(attempt).toThrow(expect.objectContaining({ code: 'invalid-option', path }))
  })
})
