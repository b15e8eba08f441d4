// What users of the frameworks rely on or suffer from, run with the frameworks themselves, and the same with Oriel.

import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { ChatResult } from '@langchain/core/outputs'
import { generateText, type ModelMessage, pruneMessages } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import {
  type AgentMiddleware,
  AIMessage,
  type BaseMessage,
  ClearToolUsesEdit,
  contextEditingMiddleware,
  createAgent,
  HumanMessage,
  summarizationMiddleware,
  ToolMessage,
  tool,
} from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { orielMiddleware } from '../src/integrations/langchain.ts'
import { project } from '../src/project.ts'
import { validate } from '../src/providers/registry.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import { openThread } from '../src/thread/thread.ts'

/** Reads a page at each step until it has read enough. */
class Reader extends BaseChatModel {
  readonly shown: BaseMessage[][] = []
  readonly #steps: number

  constructor(steps: number) {
    super({})
    this.#steps = steps
  }

  _llmType(): string {
    return 'reader'
  }

  override bindTools(): this {
    return this
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    this.shown.push(messages)
    const step = this.shown.length
    const message =
      step > this.#steps
        ? new AIMessage('Done.')
        : new AIMessage({
            content: '',
            tool_calls: [{ id: `c${step}`, name: 'read', args: { page: step }, type: 'tool_call' }],
          })
    return { generations: [{ message, text: message.text }] }
  }
}

const read = tool(async ({ page }) => `page ${page} ${'words '.repeat(400)}`, {
  name: 'read',
  description: 'Reads a page',
  schema: z.object({ page: z.number() }),
})

async function readAll(middleware: AgentMiddleware): Promise<Reader> {
  const model = new Reader(29)
  const agent = createAgent({ model, tools: [read], middleware: [middleware] })
  await agent.invoke({ messages: [new HumanMessage('Read all')] }, { recursionLimit: 200 })
  return model
}

/** Requests that do not begin with the one before them. */
function rewrites({ shown }: Reader): number {
  const texts = shown.map((messages) => messages.map(({ text }) => text))
  return texts.filter((now, index) => {
    const before = texts[index - 1] ?? []
    return before.some((text, at) => text !== now[at])
  }).length
}

describe('clearing tool results', () => {
  const edit = new ClearToolUsesEdit({ trigger: { tokens: 2000 }, keep: { messages: 3 } })
  const keep = { toolResults: { strategy: 'keepRecent', max: 3, cutoff: 0 } } as const

  it("LangChain's clears anew at every call; here edits are made together, when that pays", async () => {
    const theirs = rewrites(await readAll(contextEditingMiddleware({ edits: [edit] })))
    const thread = await openThread({
      store: memoryStore(),
      policy: { ...keep, schedule: 'cache-aware' },
    })
    const ours = rewrites(await readAll(orielMiddleware({ thread })))
    expect(theirs).toBeGreaterThanOrEqual(20)
    expect(ours * 2).toBeLessThan(theirs)
  })

  it('shows as much of the newest results, and says more of the others', async () => {
    const theirs = (await readAll(contextEditingMiddleware({ edits: [edit] }))).shown.at(-1) ?? []
    const thread = await openThread({ store: memoryStore(), policy: keep })
    const ours = (await readAll(orielMiddleware({ thread }))).shown.at(-1) ?? []
    const results = (messages: readonly BaseMessage[]): readonly string[] =>
      messages.filter((message) => ToolMessage.isInstance(message)).map(({ text }) => text)
    expect(results(ours).slice(-3)).toEqual(results(theirs).slice(-3))
    expect(results(theirs)[0]).toBe('[cleared]')
    expect(results(ours)[0]).toMatch(/^\[Omitted: read result, 2\d+ characters.*; expand \w+\]$/)
  })
})

describe('summaries', () => {
  const history = Array.from({ length: 12 }, (_, index) => [
    new HumanMessage(`question ${index} ${'x '.repeat(80)}`),
    new AIMessage(`answer ${index} ${'y '.repeat(80)}`),
  ]).flat()
  const question = new HumanMessage('And now?')

  it("a summary that fails becomes LangChain's history; here it changes nothing but an event", async () => {
    class Broken extends Reader {
      override async _generate(): Promise<ChatResult> {
        throw new Error('429 busy')
      }
    }
    const theirs = new Reader(0)
    const settings = { model: new Broken(0), trigger: { tokens: 500 }, keep: { messages: 2 } }
    // Its types do not hold under exactOptionalPropertyTypes.
    const summarizing = summarizationMiddleware(settings as never) as unknown as AgentMiddleware
    const agent = createAgent({ model: theirs, tools: [], middleware: [summarizing] })
    const { messages } = await agent.invoke({ messages: [...history, question] })
    expect(theirs.shown[0]?.map(({ text }) => text).join()).toContain('Error generating summary')
    expect(messages.length).toBeLessThan(history.length)

    const events: string[] = []
    const ours = new Reader(0)
    const thread = await openThread({
      store: memoryStore(),
      policy: { compaction: { maxTokens: 500, keepRecent: 2, keepRecentTokens: 100 } },
      summarize: async () => {
        throw new Error('429 busy')
      },
      on: ({ type }) => events.push(type),
    })
    const kept = createAgent({ model: ours, tools: [], middleware: [orielMiddleware({ thread })] })
    const state = await kept.invoke({ messages: [...history, question] })
    const shown = ours.shown[0] ?? []
    expect(shown.length).toBeLessThan(history.length)
    expect(shown.map(({ text }) => text).join()).not.toContain('429')
    expect(events).toContain('job-failed')
    expect(state.messages.length).toBe(history.length + 2)
  })

  it('whoever summarizes gets all of it, as it was written', async () => {
    let text = ''
    const thread = await openThread({
      store: memoryStore(),
      policy: { compaction: { maxTokens: 500, keepRecent: 2, keepRecentTokens: 100 } },
      summarize: async (job) => {
        text += job.text
        return ''
      },
    })
    const paid = new HumanMessage("They paid $& and $' twice.")
    const said = [new HumanMessage('Hello'), new AIMessage('Hi'), paid, new AIMessage('I see')]
    await thread.append([...said, ...history, question], { format: 'langchain' })
    await thread.view({ format: 'langchain' })
    expect(text).toContain("They paid $& and $' twice.")
    expect(text).toContain('answer 9')
  })
})

describe('calls without a result', () => {
  const dangling: ModelMessage[] = [
    { role: 'user', content: 'Delete it' },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', toolCallId: 'a', toolName: 'delete', input: {} }],
    },
    { role: 'user', content: 'Wait' },
  ]
  const model = new MockLanguageModelV4({
    doGenerate: async () => ({
      content: [{ type: 'text', text: 'ok' }],
      finishReason: { unified: 'stop', raw: undefined },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      warnings: [],
    }),
  })

  it('stop the AI SDK, and not what `project` makes of them', async () => {
    await expect(generateText({ model, messages: dangling })).rejects.toThrow(/result/i)
    const { messages } = project(dangling, {}, { format: 'ai-sdk' })
    expect((await generateText({ model, messages })).text).toBe('ok')
  })
})

describe('pruning', () => {
  const messages: ModelMessage[] = [
    { role: 'user', content: 'one' },
    {
      role: 'assistant',
      content: [
        { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: { q: 'x' } },
        { type: 'tool-call', toolCallId: 'b', toolName: 'search', input: { q: 'y' } },
      ],
    },
    {
      role: 'tool',
      content: ['a', 'b'].map((toolCallId) => ({
        type: 'tool-result',
        toolCallId,
        toolName: 'search',
        output: { type: 'text', value: 'found '.repeat(100) },
      })),
    },
    { role: 'assistant', content: 'two' },
    { role: 'user', content: 'three' },
  ]

  it("the AI SDK's removes calls with their results; here the calls stay and the pair is whole", () => {
    const pruned = pruneMessages({ messages, toolCalls: 'before-last-message' })
    expect(JSON.stringify(pruned)).not.toContain('search')
    const policy = { toolResults: { strategy: 'dropAll', cutoff: 0 } } as const
    const { messages: shown } = project(messages, policy, { format: 'ai-sdk' })
    expect(shown[1]).toEqual(messages[1])
    expect(JSON.stringify(shown[2]).length).toBeLessThan(JSON.stringify(messages[2]).length / 2)
    expect(validate('ai-sdk', shown)).toEqual([])
  })

  it('projecting what was projected changes nothing more', () => {
    const toolResults = { strategy: 'dropAll', placeholder: 'plain', cutoff: 0 } as const
    const policy = { toolResults }
    const once = project(messages, policy, { format: 'ai-sdk' }).messages
    expect(project(once, policy, { format: 'ai-sdk' }).messages).toEqual(once)
  })
})
