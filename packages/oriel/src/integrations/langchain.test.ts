import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { UsageMetadata } from '@langchain/core/messages'
import type { ChatResult } from '@langchain/core/outputs'
import { MemorySaver } from '@langchain/langgraph'
import {
  AIMessage,
  type BaseMessage,
  contextEditingMiddleware,
  createAgent,
  HumanMessage,
  providerStrategy,
  ToolMessage,
  tool,
  toolStrategy,
} from 'langchain'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'
import { orielMiddleware, searchTool } from './langchain.ts'

type Answer = AIMessage | Error | ((messages: readonly BaseMessage[]) => AIMessage)

/** A chat model that follows a script and remembers what it was shown. */
class ScriptedModel extends BaseChatModel {
  readonly shown: BaseMessage[][] = []
  /** The names of the tools of each call. */
  readonly bound: string[][] = []
  readonly #answers: Answer[]

  constructor(answers: readonly Answer[]) {
    super({ maxRetries: 0 })
    this.#answers = [...answers]
  }

  _llmType(): string {
    return 'scripted'
  }

  override bindTools(tools: readonly unknown[]): this {
    this.bound.push(tools.map((one) => (one as { readonly name: string }).name))
    return this
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    this.shown.push(messages)
    const answer = this.#answers.shift()
    if (answer === undefined) throw new Error('the script is over')
    if (answer instanceof Error) throw answer
    const message = typeof answer === 'function' ? answer(messages) : answer
    return { generations: [{ message, text: message.text }] }
  }
}

let count = 0
function call(...paths: readonly string[]): AIMessage {
  return new AIMessage({
    content: '',
    tool_calls: paths.map((path) => ({
      id: `call_${count++}`,
      name: 'read',
      args: { path },
      type: 'tool_call' as const,
    })),
    response_metadata: {},
  })
}

function say(text: string): AIMessage {
  const message = new AIMessage(text)
  const usage: UsageMetadata = {
    input_tokens: 100,
    output_tokens: 5,
    total_tokens: 105,
    input_token_details: { cache_read: 70, cache_creation: 10 },
  }
  return Object.assign(message, { usage_metadata: usage })
}

const page = (path: string): string => `${path}: ${'a long page of text. '.repeat(60)}`
const read = tool(async ({ path }) => page(path), {
  name: 'read',
  description: 'Reads a file',
  schema: z.object({ path: z.string() }),
})
const policy = { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } } as const
const loop = (): Answer[] => [call('one'), call('two', 'three'), call('four'), say('Done.')]
const tooLong = (): Error =>
  Object.assign(
    new Error(
      "This model's maximum context length is 1000 tokens. However, your messages resulted in 2000 tokens.",
    ),
    {
      status: 400,
      code: 'context_length_exceeded',
    },
  )

function resultsIn(messages: readonly BaseMessage[]): readonly string[] {
  return messages.filter((message) => ToolMessage.isInstance(message)).map(({ text }) => text)
}

it('[LK1] an agent runs the search tool as one of its own', async () => {
  const thread = await openThread({ store: memoryStore() })
  await thread.append({ role: 'user', content: 'The invoice of May is INV-4711.' })
  const args = { query: 'invoice of May' }
  const model = new ScriptedModel([
    new AIMessage({ content: '', tool_calls: [{ id: 's', name: 'search_conversation', args }] }),
    new AIMessage('INV-4711'),
  ])
  const agent = createAgent({ model, tools: [searchTool(thread)] })
  const { messages } = await agent.invoke({ messages: [new HumanMessage('Which invoice?')] })
  const [result] = messages.filter((message) => ToolMessage.isInstance(message))
  expect(result?.content).toContain('The invoice of May is INV-4711.')
})

describe('orielMiddleware', () => {
  it('[LC7] the model receives the view, the state keeps the originals, the thread has everything', async () => {
    const thread = await openThread({ store: memoryStore(), policy })
    const model = new ScriptedModel(loop())
    const agent = createAgent({
      model,
      tools: [read],
      systemPrompt: 'Be brief.',
      middleware: [orielMiddleware({ thread })],
    })
    const { messages } = await agent.invoke({ messages: [new HumanMessage('Read all')] })
    const last = resultsIn(model.shown[3] ?? [])
    expect(last.map((text) => text.startsWith('[Omitted'))).toEqual([true, true, true, false])
    expect(resultsIn(messages)).toEqual(['one', 'two', 'three', 'four'].map(page))
    expect(model.shown.map(({ length }) => length)).toEqual([2, 4, 7, 9])
    const log = await thread.log()
    const roles = log.flatMap((entry) => (entry.type === 'message' ? [entry.role] : []))
    expect(roles.filter((role) => role === 'tool').length).toBe(4)
    expect(roles.at(-1)).toBe('assistant')
    const samples = log.flatMap((entry) => (entry.type === 'usage' ? [entry.sample] : []))
    expect(samples).toEqual([{ uncached: 20, cacheRead: 70, cacheWrite: 10, output: 5 }])
  })

  it('[LC7] the model receives answers with the name that their agent puts on them', async () => {
    const thread = await openThread({ store: memoryStore(), policy })
    const model = new ScriptedModel(loop())
    const middleware = [orielMiddleware({ thread })]
    const agent = createAgent({ model, tools: [read], name: 'scout', middleware })
    const { messages } = await agent.invoke({ messages: [new HumanMessage('Read all')] })
    const shown = (model.shown[3] ?? []).filter((message) => AIMessage.isInstance(message))
    expect(shown.map(({ name }) => name)).toEqual(['scout', 'scout', 'scout'])
    expect(shown[0]).toBe(messages[1])
  })

  it('[LC8] threads are told apart by the context, or by the thread of the checkpointer', async () => {
    const store = memoryStore()
    const model = new ScriptedModel([say('A1'), say('B1'), say('A2'), say('C1')])
    const agent = createAgent({
      model,
      tools: [read],
      checkpointer: new MemorySaver(),
      middleware: [orielMiddleware({ threads: { store, policy } })],
    })
    const ask = (text: string, id: string) =>
      agent.invoke({ messages: [new HumanMessage(text)] }, { configurable: { thread_id: id } })
    await ask('first', 'a')
    await ask('other', 'b')
    await ask('second', 'a')
    expect(model.shown.map((messages) => messages.map(({ text }) => text))).toEqual([
      ['first'],
      ['other'],
      ['first', 'A1', 'second'],
    ])
    await agent.invoke({ messages: [new HumanMessage('third')] }, {
      configurable: { thread_id: 'x' },
      context: { thread: 'c' },
    } as never)
    for (const [id, length] of [
      ['a', 4],
      ['b', 2],
      ['c', 2],
    ] as const) {
      const log = await (await openThread({ id, store })).log()
      expect(log.filter(({ type }) => type === 'message').length).toBe(length)
    }
    const nameless = createAgent({
      model,
      tools: [],
      middleware: [orielMiddleware({ threads: { store } })],
    })
    await expect(nameless.invoke({ messages: [new HumanMessage('x')] })).rejects.toThrow(
      /No thread is named/,
    )
  })

  it('[LC8] a second run that sends only what is new goes on with the stored thread', async () => {
    const store = memoryStore()
    const run = async (answers: readonly Answer[], text: string): Promise<ScriptedModel> => {
      const model = new ScriptedModel(answers)
      const thread = await openThread({ id: 't', store, policy })
      const agent = createAgent({ model, tools: [read], middleware: [orielMiddleware({ thread })] })
      await agent.invoke({ messages: [new HumanMessage(text)] })
      expect(thread.id).toBe('t')
      return model
    }
    await run(loop(), 'Read all')
    const model = await run([call('five'), say('Again.')], 'And now?')
    expect(model.shown.map(({ length }) => length)).toEqual([10, 12])
    expect(resultsIn(model.shown[1] ?? []).at(-1)).toBe(page('five'))
  })

  it('[LC9] after an overflow the view is smaller and the call is tried once', async () => {
    const thread = await openThread({ store: memoryStore() })
    const model = new ScriptedModel([call('one'), call('two'), tooLong(), say('Fits.')])
    const agent = createAgent({ model, tools: [read], middleware: [orielMiddleware({ thread })] })
    const { messages } = await agent.invoke({ messages: [new HumanMessage('Read')] })
    expect(messages.at(-1)?.text).toBe('Fits.')
    const sizes = model.shown.map((shown) => shown.map(({ text }) => text).join('').length)
    expect(sizes[3]).toBeLessThan((sizes[2] as number) * 0.6)
    expect(resultsIn(messages)).toEqual(['one', 'two'].map(page))
    const twice = new ScriptedModel([tooLong(), tooLong()])
    const other = createAgent({
      model: twice,
      tools: [],
      middleware: [orielMiddleware({ thread: await openThread({ store: memoryStore() }) })],
    })
    await expect(other.invoke({ messages: [new HumanMessage('x '.repeat(2000))] })).rejects.toThrow(
      'maximum context length',
    )
  })

  it('other errors and aborts pass as they are', async () => {
    const thread = await openThread({ store: memoryStore(), policy })
    const model = new ScriptedModel([new Error('out of order')])
    const agent = createAgent({ model, tools: [], middleware: [orielMiddleware({ thread })] })
    await expect(agent.invoke({ messages: [new HumanMessage('x')] })).rejects.toThrow(
      'out of order',
    )
    const controller = new AbortController()
    const stopped = new ScriptedModel([
      () => {
        controller.abort()
        return call('one')
      },
      say('never'),
    ])
    const other = createAgent({
      model: stopped,
      tools: [read],
      middleware: [orielMiddleware({ thread })],
    })
    await expect(
      other.invoke({ messages: [new HumanMessage('y')] }, { signal: controller.signal }),
    ).rejects.toThrow(/abort/i)
    expect(stopped.shown.length).toBe(1)
  })

  it('records structured answers, with what LangChain says around them, and their usage', async () => {
    const city = z.object({ city: z.string() })
    const said = async (responseFormat: unknown, answer: AIMessage) => {
      const thread = await openThread({ store: memoryStore() })
      const agent = createAgent({
        model: new ScriptedModel([answer, answer, answer]),
        tools: [read],
        responseFormat: responseFormat as ReturnType<typeof providerStrategy<typeof city>>,
        middleware: [orielMiddleware({ thread })],
      })
      const first = await agent.invoke({ messages: [new HumanMessage('Where?')] })
      expect(first.structuredResponse).toEqual({ city: 'Oslo' })
      await agent.invoke({ messages: [new HumanMessage('And now?')] })
      // The same words again are a new question: the one before was answered.
      await agent.invoke({ messages: [new HumanMessage('And now?')] })
      const log = await thread.log()
      expect(log.filter(({ type }) => type === 'usage').length).toBe(3)
      return log.flatMap((entry) => (entry.type === 'message' ? [entry.role] : []))
    }
    const whole = ['user', 'assistant']
    expect(await said(providerStrategy(city), say('{"city":"Oslo"}'))).toEqual([
      ...whole,
      ...whole,
      ...whole,
    ])
    const formats = toolStrategy(city)
    const structure = { id: 'c', name: formats[0]?.name ?? '', args: { city: 'Oslo' } }
    const asked = Object.assign(say(''), { tool_calls: [structure] })
    const around = ['user', 'assistant', 'tool', 'assistant']
    expect(await said(formats, asked)).toEqual([...around, ...around, ...around])
  })

  it('streams updates, with originals in them', async () => {
    const thread = await openThread({ store: memoryStore(), policy })
    const model = new ScriptedModel(loop())
    const agent = createAgent({ model, tools: [read], middleware: [orielMiddleware({ thread })] })
    const texts: string[] = []
    const stream = await agent.stream(
      { messages: [new HumanMessage('Read all')] },
      { streamMode: 'updates' },
    )
    for await (const update of stream) texts.push(JSON.stringify(update))
    expect(texts.some((text) => text.includes(JSON.stringify(page('one')).slice(1, -1)))).toBe(true)
    expect(resultsIn(model.shown[3] ?? [])[0]).toMatch(/^\[Omitted/)
  })

  it('[LC10] the model can ask for an original', async () => {
    const thread = await openThread({ store: memoryStore(), policy })
    const asked = (messages: readonly BaseMessage[]): AIMessage => {
      const id = /\be\d+_?\w*/.exec(resultsIn(messages)[0] ?? '')?.[0] ?? ''
      return new AIMessage({
        content: '',
        tool_calls: [{ id: 'x1', name: 'expand_message', args: { id }, type: 'tool_call' }],
      })
    }
    const model = new ScriptedModel([call('one'), call('two'), call('three'), asked, say('Seen.')])
    const agent = createAgent({ model, tools: [read], middleware: [orielMiddleware({ thread })] })
    const { messages } = await agent.invoke({ messages: [new HumanMessage('Read')] })
    expect(resultsIn(messages).at(-1)).toBe(page('one'))
  })

  it.each([
    ['auto', undefined, [1, 1, 3, 3]],
    ['always', true, [3, 3, 3, 3]],
    ['never', false, [1, 1, 1, 1]],
  ] as const)('[LC11] the model gets the tool: %s', async (_, expand, counts) => {
    const thread = await openThread({ store: memoryStore(), policy })
    const model = new ScriptedModel([call('one'), call('two'), call('three'), say('Done.')])
    const middleware = [orielMiddleware({ thread, ...(expand === undefined ? {} : { expand }) })]
    const agent = createAgent({ model, tools: [read], middleware })
    await agent.invoke({ messages: [new HumanMessage('Read all')] })
    expect(model.bound.map(({ length }) => length)).toEqual(counts)
    for (const [index, messages] of model.shown.entries()) {
      const hasTool = model.bound[index]?.includes('expand_message') === true
      const isReduced = resultsIn(messages).some((text) => text.startsWith('[Omitted'))
      expect(resultsIn(messages).some((text) => /; expand e/.test(text))).toBe(hasTool && isReduced)
    }
  })

  it('without a thread each call is projected by itself', async () => {
    const model = new ScriptedModel(loop())
    const agent = createAgent({ model, tools: [read], middleware: [orielMiddleware({ policy })] })
    await agent.invoke({ messages: [new HumanMessage('Read all')] })
    const last = resultsIn(model.shown[3] ?? [])
    expect(last.filter((text) => text.startsWith('[Omitted')).length).toBe(3)
  })

  it('stands beside the middleware that comes with LangChain', async () => {
    const thread = await openThread({ store: memoryStore(), policy })
    const model = new ScriptedModel(loop())
    const middleware = [orielMiddleware({ thread }), contextEditingMiddleware({})] as const
    const agent = createAgent({ model, tools: [read], middleware })
    const { messages } = await agent.invoke({ messages: [new HumanMessage('Read all')] })
    expect(messages.at(-1)?.text).toBe('Done.')
  })
})
