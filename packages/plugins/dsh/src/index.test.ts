import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openThread, sqliteStore } from 'oriel'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { apply, type DshContext } from './index.ts'
import { type DshMessage, toAiSdk } from './messages.ts'

// The real harness runs in packages/bench (`npm run plugins:dsh`); this is its interface alone.
const folder = mkdtempSync(join(tmpdir(), 'oriel-dsh-'))
afterAll(() => rmSync(folder, { recursive: true }))
let stores = 0
beforeEach(() => {
  process.env.ORIEL_STORE = join(folder, `${stores++}.db`)
})

const said = (text: string): DshMessage => ({ role: 'user', content: [{ type: 'text', text }] })
const step = (id: string, isError = false): readonly DshMessage[] => [
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: `Reading ${id}.` },
      { type: 'tool-call', id, name: 'bash', arguments: `{"command":"cat ${id}"}` },
    ],
  },
  {
    role: 'user',
    content: [
      {
        type: 'tool-result',
        toolCallId: id,
        content: [
          { type: 'text', text: `code of ${id} is ${id}4711\n`.repeat(40) },
          { type: 'image' },
        ],
        isError,
      },
    ],
  },
]
const history: readonly DshMessage[] = [
  said('Read all. Never touch main.'),
  ...step('c1'),
  ...step('c2', true),
]

interface Tool {
  readonly name: string
  execute(input: unknown, run: { agent?: unknown }): Promise<string>
}
type Listener = (...args: readonly unknown[]) => unknown

function loaded(engine: object = { summarize: async () => 'by a model' }) {
  const listeners = new Map<string, Listener>()
  const tools = new Map<string, Tool>()
  const told: string[] = []
  const ends: (() => unknown)[] = []
  let command: { handler(invocation: object): Promise<{ text: string }> } | undefined
  const context = {
    compaction: engine,
    logger: { warn: (text: string) => told.push(text) },
    tools: { register: (tool: Tool) => tools.set(tool.name, tool) },
    commands: {
      register: (own: never) => {
        command = own
      },
    },
    inject: (_services: unknown, use: (own: unknown) => void) => use(context),
    effect: (set: () => () => unknown) => ends.push(set()),
    on: (name: string, listener: Listener) => listeners.set(name, listener),
  }
  apply(context as unknown as DshContext)
  const session = { id: 's1', messages: history, deriveMessages: () => session.messages }
  return {
    ...{ engine, tools, told, session, agent: { session } },
    fire: (name: string, ...args: readonly unknown[]) => listeners.get(name)?.(...args),
    command: async (rawInput: string) =>
      (await command?.handler({ agent: { session }, rawInput }))?.text ?? '',
    end: async () => {
      for (const one of ends.reverse()) await one()
    },
  }
}
type Loaded = ReturnType<typeof loaded>

async function streamed(plugin: Loaded, request: object): Promise<readonly unknown[]> {
  const next = async function* (): AsyncGenerator<object> {
    yield { type: 'text-delta' }
    yield { type: 'usage', usage: { inputTokens: 10, outputTokens: 5, cacheReadTokens: 90 } }
    yield { type: 'finish' }
  }
  const chunks: unknown[] = []
  const stream = plugin.fire('llm/stream', request, next) as AsyncIterable<{ type: string }>
  for await (const { type } of stream) chunks.push(type)
  return chunks
}

function summaryOf(plugin: Loaded, messages: readonly DshMessage[]): Promise<unknown> {
  const { summarize } = plugin.engine as {
    summarize(input: object, agent: object): Promise<unknown>
  }
  return summarize({ messages }, plugin.agent)
}

const request = { sessionId: 's1', model: 'deepseek-v4', system: 'Be brief.', messages: history }

describe('the plugin of the DeepSeek Harness', () => {
  it('[DS1] every request and its usage are in the thread, and the stream is passed on as it is', async () => {
    const plugin = loaded()
    expect(await streamed(plugin, request)).toEqual(['text-delta', 'usage', 'finish'])
    await streamed(plugin, { ...request, purpose: 'session-title', messages: [said('Title?')] })
    plugin.session.messages = [
      ...history,
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    ]
    plugin.fire('session/event', plugin.session, { type: 'turn/end' })
    expect(await plugin.command('')).toMatch(/^Thread dsh-s1: /)
    await plugin.end()
    const store = sqliteStore({ path: process.env.ORIEL_STORE ?? '' })
    const thread = await openThread({ tenant: 'local', id: 'dsh-s1', store })
    const types = (await thread.log()).map(({ type }) => type)
    expect(types.filter((type) => type === 'usage')).toHaveLength(1)
    const { messages } = await thread.view<{ role: string }>({ format: 'ai-sdk' })
    expect(messages.map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'assistant', 'tool', 'assistant'],
    ])
    await store.close()
    expect(plugin.told).toEqual([])
  })

  it('[DS2] a compaction asks no model, continues the summary before it, and originals are found after it', async () => {
    const plugin = loaded()
    await streamed(plugin, request)
    const { summary } = (await summaryOf(plugin, history.slice(0, 3))) as {
      summary: [{ text: string }]
    }
    const [{ text }] = summary
    expect(text).toContain('Never touch main.')
    expect(text).not.toContain('Hm.')
    expect(await summaryOf(plugin, history.slice(0, 3))).toEqual({
      ...{ summary, provider: 'oriel', model: 'checkpoint' },
    })
    const checkpoint: DshMessage = {
      role: 'user',
      content: [
        { type: 'text', text: 'This is a checkpoint.\n\n<compacted-summary>' },
        { type: 'text', text },
        { type: 'text', text: '</compacted-summary>' },
      ],
    }
    plugin.session.messages = [checkpoint, ...step('c9')]
    const again = (await summaryOf(plugin, plugin.session.messages)) as {
      summary: [{ text: string }]
    }
    expect(again.summary[0].text.startsWith(text)).toBe(true)
    const search = plugin.tools.get('search_conversation')
    expect(await search?.execute({ query: 'c14711' }, { agent: plugin.agent })).toContain('c14711')
    expect(await search?.execute({ query: 'c14711' }, {})).toMatch(/no conversation/)
    await plugin.end()
    expect(await summaryOf(plugin, history)).toBe('by a model')
  })

  it('[DS3] where Oriel fails the harness continues and is told once', async () => {
    process.env.ORIEL_STORE = '/dev/null/agents.db'
    const plugin = loaded()
    expect(await streamed(plugin, request)).toEqual(['text-delta', 'usage', 'finish'])
    expect(await summaryOf(plugin, history)).toBe('by a model')
    expect(plugin.told).toEqual([expect.stringMatching(/^Oriel: .* works as without it\.$/)])
    await plugin.end()
    process.env.ORIEL_STORE = join(folder, 'other.db')
    expect(loaded({}).told[0]).toContain('no hook for summaries')
  })

  it('[DS1] messages of the harness as those of the AI SDK', () => {
    const broken: DshMessage = {
      role: 'assistant',
      content: [{ type: 'tool-call', id: 'x', name: 'bash', arguments: '{"a":' }, { type: 'own' }],
    }
    expect(toAiSdk([...step('c1', true), broken])).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.' },
          { type: 'text', text: 'Reading c1.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'bash', input: { command: 'cat c1' } },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            ...{ type: 'tool-result', toolCallId: 'c1', toolName: 'bash' },
            output: {
              type: 'error-text',
              value: `${'code of c1 is c14711\n'.repeat(40)}\n[image]`,
            },
          },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', toolCallId: 'x', toolName: 'bash', input: '{"a":' }],
      },
    ])
  })
})
