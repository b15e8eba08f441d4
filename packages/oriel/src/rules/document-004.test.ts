// Every row of the tables of document 004 (placeholders, message cap, pictures) that is not shown elsewhere, in its own words.

import { describe, expect, it } from 'vitest'
import type { PolicyInput } from '../policy/schema.ts'
import { project } from '../project.ts'
import { validate } from '../providers/registry.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'

interface Chat {
  readonly role: string
  readonly content: unknown
  readonly tool_call_id?: string
  readonly tool_calls?: readonly { readonly id: string }[]
}

const long = (n: number) => `Result ${n} ${'lorem ipsum dolor sit amet '.repeat(20)}`
const user = (text = 'go'): Chat => ({ role: 'user', content: text })
const round = (n: number, id = `c${n}`): readonly Chat[] => [
  {
    role: 'assistant',
    content: `step ${n}`,
    tool_calls: [
      { id, type: 'function', function: { name: 'look', arguments: '{}' } } as { id: string },
    ],
  },
  { role: 'tool', tool_call_id: id, content: long(n) },
]
const rounds = (count: number): readonly Chat[] =>
  Array.from({ length: count }, (_, n) => round(n)).flat()
const plain = (toolResults: object): PolicyInput =>
  ({ toolResults: { placeholder: 'plain', cutoff: 0, ...toolResults } }) as PolicyInput
const tools = (messages: readonly Chat[]) =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => content)

describe('placeholders, row by row', () => {
  it('[G1] every result keeps its call id, no message is removed, and no repair is needed', () => {
    const messages = [user(), ...rounds(6)]
    const { messages: sent, trace } = project(messages, plain({ max: 1 }))
    expect(sent.map(({ role, tool_call_id }) => [role, tool_call_id])).toEqual(
      messages.map(({ role, tool_call_id }) => [role, tool_call_id]),
    )
    expect(trace.every(({ rule, form }) => rule === 'toolResults' && form === 'omitted')).toBe(true)
    expect(validate('openai-chat', sent)).toEqual([])
  })

  it('[G1] the reasoning of the agent stays: assistant messages are as they were', () => {
    const messages = [user(), ...rounds(4)]
    const { messages: sent } = project(messages, plain({ strategy: 'keepOne' }))
    expect(sent.filter(({ role }) => role === 'assistant')).toEqual(
      messages.filter(({ role }) => role === 'assistant'),
    )
  })

  it('[G1] results that share an id are told apart by their place', () => {
    const messages = [user(), ...round(0, 'same'), ...round(1, 'same'), ...round(2, 'same')]
    const { messages: sent } = project(messages, plain({ max: 1 }))
    expect(tools(sent)).toEqual(['[Omitted]', '[Omitted]', long(2)])
  })

  it('[G1] keepSuccessful with a limit keeps the newest successes', () => {
    const use = (n: number) => ({
      role: 'assistant',
      content: [{ type: 'tool_use', id: `t${n}`, name: 'look', input: {} }],
    })
    const answer = (n: number, isError: boolean) => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `t${n}`, content: long(n), is_error: isError }],
    })
    const flags = [false, true, false, false, true]
    const messages = [user(), ...flags.flatMap((isError, n) => [use(n), answer(n, isError)])]
    const done = { role: 'assistant', content: 'done' }
    const { trace } = project(
      [...messages, done, user('next')] as Chat[],
      plain({ strategy: 'keepSuccessful', max: 2 }),
      { format: 'anthropic' },
    )
    expect(trace.map(({ index }) => index)).toEqual([2, 4, 10])
  })

  it('[G4] without pictures at all, a message that held only one says so', () => {
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
    const messages = [
      { role: 'user', content: [picture] },
      { role: 'assistant', content: 'seen' },
      { role: 'user', content: 'and?' },
    ]
    const { messages: sent } = project(messages, {
      toolResults: { strategy: 'keepAll', maxImages: 0, cutoff: 0 },
    })
    expect(JSON.stringify(sent[0])).toMatch(/\[Image omitted; expand e\w+\]/)
    expect(JSON.stringify(sent)).not.toContain('image_url')
    const literal = project(messages, plain({ maxImages: 0 })).messages[0]
    expect(JSON.stringify(literal)).toContain('[Image omitted]')
  })

  it('[V1] the log line counts what stays and what gives way', async () => {
    const lines: string[] = []
    const thread = await openThread({
      id: 't',
      store: memoryStore(),
      policy: 'placeholders',
      verbose: true,
      log: (line) => lines.push(line),
    })
    await thread.append([user(), ...rounds(10)], { format: 'openai-chat' })
    await thread.view()
    expect(lines).toContain(
      '[ToolResults] Tool result filtering: 10 tool messages, 4 kept full, 6 replaced with placeholders (no repair needed)',
    )
    expect(lines).toContain('[History] History selection: 21 → 21 messages (no repair needed)')
    await thread.view()
    expect(lines.filter((line) => line.startsWith('[ToolResults]'))).toHaveLength(1)
  })
})

describe('the preset placeholders', () => {
  it('[P1] [H2] keeps fifty messages, four results full, and a valid start', () => {
    const pairs = Array.from({ length: 40 }, (_, n) => [
      user(`question ${n}`),
      ...round(n),
      { role: 'assistant', content: `answer ${n}` },
    ]).flat()
    const { messages } = project(pairs, 'placeholders')
    expect(messages.length).toBeLessThanOrEqual(50)
    expect(messages[0]?.role).toBe('user')
    expect(tools(messages).filter((content) => content !== '[Omitted]')).toHaveLength(4)
    expect(validate('openai-chat', messages)).toEqual([])
  })

  it('[H2] an aggressive cap over twenty rounds is valid, with at most one full result', () => {
    const policy = {
      history: { policy: 'all', maxMessages: 5, keepRecentMessages: 2 },
      toolResults: { strategy: 'keepOne', placeholder: 'plain', cutoff: 0 },
    } as const
    const { messages } = project([user(), ...rounds(20)], policy)
    expect(messages.length).toBeLessThanOrEqual(10)
    expect(tools(messages).filter((content) => content !== '[Omitted]')).toHaveLength(1)
    expect(validate('openai-chat', messages)).toEqual([])
  })
})
