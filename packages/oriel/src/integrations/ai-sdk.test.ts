import * as ai7 from 'ai'
import * as test7 from 'ai/test'
import * as ai6 from 'ai-6'
import * as test6 from 'ai-6/test'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'
import { expandTool, orielMiddleware, searchTool, withOriel } from './ai-sdk.ts'

type Part = Readonly<Record<string, unknown>> & { readonly type: string }

/** One answer of the scripted model: what it says, or an error it throws. */
type Answer = readonly Part[] | Error

const usage = {
  inputTokens: { total: 100, noCache: 20, cacheRead: 70, cacheWrite: 10 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}

function call(id: string, input: object = {}, toolName = 'read'): Part {
  return { type: 'tool-call', toolCallId: id, toolName, input: JSON.stringify(input) }
}

const say = (text: string): Part => ({ type: 'text', text })

function finishReason(parts: readonly Part[]): { unified: 'stop' | 'tool-calls'; raw: string } {
  const isCalling = parts.some(({ type }) => type === 'tool-call')
  return { unified: isCalling ? 'tool-calls' : 'stop', raw: 'raw' }
}

/** What a provider says when a request is too long. */
function tooLong(): Error {
  return new ai7.APICallError({
    message:
      "This model's maximum context length is 1000 tokens. However, your messages resulted in 4000 tokens.",
    url: 'http://127.0.0.1/v1',
    requestBodyValues: {},
    statusCode: 400,
    responseBody: '{"error":{"code":"context_length_exceeded"}}',
    isRetryable: false,
  })
}

/** A model of the SDK's own test kit that follows a script. */
function scripted(
  answers: readonly Answer[],
  Model: typeof test7.MockLanguageModelV4,
  provider = 'mock',
) {
  let next = 0
  const take = (): readonly Part[] => {
    const answer = answers[next++]
    if (answer === undefined) throw new Error('the script is over')
    if (answer instanceof Error) throw answer
    return answer
  }
  return new Model({
    provider,
    modelId: 'scripted',
    supportedUrls: { '*/*': [/.*/] },
    doGenerate: async () => {
      const content = take()
      return { content, finishReason: finishReason(content), usage, warnings: [] } as never
    },
    doStream: async () => {
      const content = take()
      const chunks = content.flatMap((part, index): Part[] =>
        part.type === 'text'
          ? [
              { type: 'text-start', id: String(index) },
              ...(String(part.text).match(/.{1,4}/gs) ?? []).map((delta) => ({
                type: 'text-delta',
                id: String(index),
                delta,
              })),
              { type: 'text-end', id: String(index) },
            ]
          : [part],
      )
      const end = { type: 'finish', finishReason: finishReason(content), usage }
      const stream = ai7.simulateReadableStream({
        chunks: [{ type: 'stream-start', warnings: [] }, ...chunks, end],
        initialDelayInMs: null,
        chunkDelayInMs: null,
      })
      return { stream } as never
    },
  })
}

// The two versions have the same functions; their types differ in names only.
const versions = [
  { name: 'AI SDK 7', ai: ai7, Model: test7.MockLanguageModelV4 },
  {
    name: 'AI SDK 6',
    ai: ai6 as unknown as typeof ai7,
    Model: test6.MockLanguageModelV3 as unknown as typeof test7.MockLanguageModelV4,
  },
]

const page = (name: string): string => `${name}: ${'a long page of text. '.repeat(60)}`
const read = {
  description: 'Reads',
  inputSchema: z.object({ path: z.string().optional() }),
  execute: async ({ path }: { path?: string | undefined }) => page(path ?? 'x'),
}
const policy = { toolResults: { strategy: 'keepRecent', max: 1, cutoff: 0 } } as const

async function thread(options: object = {}) {
  return openThread({ store: memoryStore(), policy, ...options })
}

/** The messages of a whole run: version 7 gives those of one step in `response`. */
function messagesOf(result: {
  readonly responseMessages?: readonly ai7.ModelMessage[]
  readonly response: { readonly messages: readonly ai7.ModelMessage[] }
}): readonly ai7.ModelMessage[] {
  return result.responseMessages ?? result.response.messages
}

function resultsIn(prompt: readonly unknown[]): readonly string[] {
  return (prompt as { role: string; content: { output: { value: string } }[] }[])
    .filter(({ role }) => role === 'tool')
    .flatMap(({ content }) => content.map(({ output }) => output.value))
}

describe.each(versions)('$name', ({ ai, Model }) => {
  const { generateText, streamText, stepCountIs } = ai
  const loop = [
    [call('a', { path: 'one' })],
    [call('b', { path: 'two' }), call('c', { path: 'three' })],
    [call('d', { path: 'four' })],
    [say('Done.')],
  ]
  const ask = { prompt: 'Read all', tools: { read }, stopWhen: stepCountIs(9) }

  it('[AI9] the model receives the view, the SDK keeps the originals, the thread has everything', async () => {
    const own = await thread()
    const model = scripted(loop, Model)
    const result = await generateText({
      ...ask,
      model: withOriel(model, { thread: own }),
      system: 'Be brief.',
    })
    expect(result.text).toBe('Done.')
    const prompts = model.doGenerateCalls.map(({ prompt }) => prompt)
    expect(prompts.map(({ length }) => length)).toEqual([2, 4, 6, 8])
    const last = resultsIn(prompts[3] as [])
    expect(last.map((text) => text.startsWith('[Omitted'))).toEqual([true, true, true, false])
    expect(last[3]).toBe(page('four'))
    const kept = resultsIn(messagesOf(result))
    expect(kept).toEqual(['one', 'two', 'three', 'four'].map(page))
    const log = await own.log()
    const spoken = log.flatMap((entry) => (entry.type === 'message' ? [entry.role] : []))
    expect(spoken).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ])
    expect(log.filter(({ type }) => type === 'usage').length).toBe(4)
    expect(await own.requestAt(4)).toMatchObject({ exact: true })
  })

  it('[AI9] streams pass as they come, and are recorded when they end', async () => {
    const own = await thread()
    const model = scripted(loop, Model)
    const result = streamText({ ...ask, model: withOriel(model, { thread: own }) })
    let text = ''
    for await (const delta of result.textStream) text += delta
    expect(text).toBe('Done.')
    expect(resultsIn(model.doStreamCalls[3]?.prompt ?? [])[0]).toMatch(/^\[Omitted/)
    const log = await own.log()
    expect(log.filter(({ type }) => type === 'message').length).toBe(8)
    const samples = log.flatMap((entry) => (entry.type === 'usage' ? [entry.sample] : []))
    expect(samples[0]).toEqual({ uncached: 20, cacheRead: 70, cacheWrite: 10, output: 5 })
  })

  it('[AI10] a second run goes on with the stored thread, resent or not', async () => {
    const store = memoryStore()
    const first = await openThread({ id: 't', store, policy })
    const begun = await generateText({
      ...ask,
      model: withOriel(scripted(loop, Model), { thread: first }),
    })
    const messages = [{ role: 'user', content: 'Read all' } as const, ...messagesOf(begun)]
    const resent = await openThread({ id: 't', store })
    const model = scripted([[say('Again.')], [call('e', { path: 'five' })], [say('Third.')]], Model)
    await generateText({
      model: withOriel(model, { thread: resent }),
      messages: [...messages, { role: 'user', content: 'And now?' }] as never,
    })
    expect(resent.id).toBe('t')
    expect(model.doGenerateCalls[0]?.prompt.length).toBe(9)
    const kept = await openThread({ id: 't', store })
    const result = await generateText({
      ...ask,
      model: withOriel(model, { thread: kept }),
      prompt: 'Only this is sent',
    })
    expect(result.text).toBe('Third.')
    expect(kept.id).toBe('t')
    expect(model.doGenerateCalls[1]?.prompt.length).toBe(11)
    expect(model.doGenerateCalls[2]?.prompt.length).toBe(13)
    const log = await kept.log()
    expect(log.filter((entry) => entry.type === 'message').length).toBe(14)
  })

  it('[AI11] after an overflow the view is smaller and the call is tried once', async () => {
    const events: string[] = []
    const own = await openThread({ store: memoryStore(), on: ({ type }) => events.push(type) })
    const model = scripted([[call('a')], [call('b')], tooLong(), [say('Fits.')]], Model)
    const result = await generateText({
      ...ask,
      model: withOriel(model, { thread: own }),
      maxRetries: 0,
    })
    expect(result.text).toBe('Fits.')
    const sizes = model.doGenerateCalls.map(({ prompt }) => JSON.stringify(prompt).length)
    expect(sizes.length).toBe(4)
    expect(sizes[3]).toBeLessThan((sizes[2] as number) / 2)
    expect(events).toContain('recovery')
    const twice = scripted([tooLong(), tooLong(), [say('never')]], Model)
    const again = generateText({
      model: withOriel(twice, { thread: await thread() }),
      prompt: 'x '.repeat(3000),
      maxRetries: 0,
    })
    await expect(again).rejects.toThrow('maximum context length')
    expect(twice.doGenerateCalls.length).toBeLessThanOrEqual(2)
  })

  it('[AI11] an overflow that is told in the stream counts too', async () => {
    const own = await openThread({ store: memoryStore() })
    const model = scripted(
      [[call('a')], [call('b')], [{ type: 'error', error: tooLong() }], [say('Fits.')]],
      Model,
    )
    const result = streamText({ ...ask, model: withOriel(model, { thread: own }) })
    expect(await result.text).toBe('Fits.')
    expect(model.doStreamCalls.length).toBe(4)
  })

  it('other errors pass as they are, and a retry of the SDK adds nothing', async () => {
    const own = await thread()
    const busy = new ai7.APICallError({
      message: 'busy',
      url: 'x',
      requestBodyValues: {},
      statusCode: 503,
      isRetryable: true,
      responseHeaders: { 'retry-after-ms': '1' },
    })
    const model = scripted([busy, [say('Later.')]], Model)
    const result = await generateText({
      model: withOriel(model, { thread: own }),
      prompt: 'Hi',
      maxRetries: 1,
    })
    expect(result.text).toBe('Later.')
    const refused = scripted([new Error('no')], Model)
    await expect(
      generateText({ model: withOriel(refused, { thread: own }), prompt: 'And?', maxRetries: 0 }),
    ).rejects.toThrow('no')
    const log = await own.log()
    expect(
      log.filter(({ type }) => type === 'message').map((entry) => (entry as { role: string }).role),
    ).toEqual(['user', 'assistant', 'user'])
  })

  it('an abort stops the stream, and half an answer is not recorded', async () => {
    const own = await thread()
    const controller = new AbortController()
    const model = new Model({
      doStream: async ({ abortSignal }) => {
        const parts: Part[] = [
          { type: 'stream-start', warnings: [] },
          { type: 'text-start', id: '1' },
          { type: 'text-delta', id: '1', delta: 'half' },
        ]
        const stream = new ReadableStream<Part>({
          async pull(controller) {
            const part = parts.shift()
            if (part !== undefined) return controller.enqueue(part)
            await new Promise((resolve) => abortSignal?.addEventListener('abort', resolve))
            controller.error(abortSignal?.reason)
          },
        })
        return { stream } as never
      },
    })
    const result = streamText({
      model: withOriel(model, { thread: own }),
      prompt: 'Hi',
      abortSignal: controller.signal,
      onError: () => {},
    })
    let heard = ''
    for await (const part of result.fullStream) {
      if (part.type === 'text-delta') heard += part.text
      if (heard === 'half') controller.abort()
    }
    expect(heard).toBe('half')
    expect(model.doStreamCalls[0]?.abortSignal?.aborted).toBe(true)
    const log = await own.log()
    expect(log.filter(({ type }) => type === 'message').length).toBe(1)
  })

  it('[AI12] without a thread each call is projected by itself', async () => {
    const model = scripted(loop, Model)
    const views: number[] = []
    await generateText({
      ...ask,
      model: withOriel(model, { policy, onView: ({ trace }) => views.push(trace.length) }),
    })
    expect(
      resultsIn(model.doGenerateCalls[3]?.prompt ?? []).filter((text) =>
        text.startsWith('[Omitted'),
      ).length,
    ).toBe(3)
    expect(views).toEqual([0, 0, 1, 3])
  })

  it('[AI13] the end of the stable prefix is marked for the cache of Anthropic', async () => {
    const model = scripted(loop, Model, 'anthropic.messages')
    await generateText({
      ...ask,
      system: 'Be brief.',
      model: withOriel(model, { thread: await thread() }),
    })
    const marks = model.doGenerateCalls.map(({ prompt }) =>
      prompt.map(({ providerOptions }) => providerOptions?.anthropic?.cacheControl !== undefined),
    )
    expect(marks[0]).toEqual([false, false])
    expect(marks[1]).toEqual([true, false, false, true])
    expect(marks[2]).toEqual([true, false, false, false, false, true])
  })

  it('[AI14] files, reasoning and options of providers reach the model as the SDK made them', async () => {
    const own = await thread()
    const signed = {
      type: 'reasoning',
      text: 'hm',
      providerMetadata: { anthropic: { signature: 'sig' } },
    }
    const model = scripted([[signed, call('a')], [say('ok')]], Model)
    const messages = [
      {
        role: 'user' as const,
        content: [
          { type: 'text' as const, text: 'look', providerOptions: { openai: { x: 1 } } },
          { type: 'file' as const, data: new Uint8Array([1, 2, 3]), mediaType: 'image/png' },
          {
            type: 'file' as const,
            data: new URL('https://example.com/a.pdf'),
            mediaType: 'application/pdf',
          },
        ],
      },
    ]
    await generateText({
      model: withOriel(model, { thread: own }),
      messages,
      tools: { read },
      stopWhen: stepCountIs(3),
    })
    const plain = scripted([[signed, call('a')], [say('ok')]], Model)
    await generateText({
      model: plain,
      messages,
      tools: { read },
      stopWhen: stepCountIs(3),
    })
    expect(model.doGenerateCalls.map(({ prompt }) => prompt)).toEqual(
      plain.doGenerateCalls.map(({ prompt }) => prompt),
    )
  })

  it.each([false, true])(
    '[AI16] the model looks up what was reduced within one step (streamed: %s)',
    async (isStream) => {
      const own = await thread()
      const prompts: { readonly prompt: readonly unknown[]; readonly tools: string }[] = []
      const lookUp = (): Answer => {
        const [id = ''] =
          /\be[0-9a-z]{3,}(?=\])/.exec(resultsIn(prompts.at(-1)?.prompt ?? [])[0] ?? '') ?? []
        return [say('Looking.'), call('x', { id }, 'expand_message')]
      }
      const script: readonly (() => Answer)[] = [
        () => [call('a', { path: 'one' })],
        () => [call('b', { path: 'two' })],
        lookUp,
        () => [call('c', { path: 'three' })],
        lookUp,
        () => [say('Seen.')],
        () => [say('Again.')],
      ]
      const model = scripted([], Model)
      const { doGenerate, doStream } = model
      const asked = (options: {
        readonly prompt: readonly unknown[]
        readonly tools?: unknown
      }) => {
        prompts.push({ prompt: options.prompt, tools: JSON.stringify(options.tools ?? []) })
        return scripted([(script[prompts.length - 1] as () => Answer)()], Model)
      }
      model.doGenerate = (async (options: never) =>
        asked(options).doGenerate(options)) as typeof doGenerate
      model.doStream = (async (options: never) =>
        asked(options).doStream(options)) as typeof doStream
      const managed = withOriel(model, { thread: own })
      const run = { ...ask, model: managed, tools: { read } }
      const result = isStream ? streamText(run) : await generateText(run)
      if (isStream) await (result as unknown as ReturnType<typeof streamText>).consumeStream()
      const steps = await result.steps
      expect(steps.flatMap(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName))).toEqual([
        'read',
        'read',
        'read',
      ])
      expect(JSON.stringify(steps.map(({ content }) => content))).not.toContain('expand_message')
      expect(await result.text).toBe('Looking.Seen.')
      const counts = steps.map((step) => step.usage.inputTokens)
      expect(counts).toEqual([100, 100, 200, 200])
      expect(prompts.map(({ tools }) => tools.includes('expand_message'))).toEqual([
        false,
        false,
        true,
        true,
        true,
        true,
      ])
      // The lookups are in the next prompts, where the model made them.
      expect(JSON.stringify(prompts[3]?.prompt)).toContain(page('one'))
      expect(JSON.stringify(prompts[5]?.prompt)).toContain('expand_message')
      const first = JSON.stringify(prompts[3]?.prompt)
      expect(JSON.stringify(prompts[4]?.prompt).startsWith(first.slice(0, 200))).toBe(true)
      const { response, responseMessages } = result as {
        response: unknown
        responseMessages?: unknown
      }
      const whole = { response: await response, responseMessages: await responseMessages }
      const said = messagesOf(whole as never)
      expect(JSON.stringify(said)).not.toContain('expand_message')
      const history = [
        { role: 'user', content: 'Read all' },
        ...said,
        { role: 'user', content: 'Again?' },
      ]
      const more = await generateText({
        model: managed,
        tools: { read },
        messages: history as never,
      })
      expect(more.text).toBe('Again.')
      const last = prompts.at(-1)
      expect(last?.tools).toContain('expand_message')
      expect(JSON.stringify(last?.prompt)).toContain('"toolName":"expand_message"')
      expect(
        new Set(
          (await own.log()).flatMap((entry) =>
            entry.type === 'setting' && entry.name.startsWith('fork/') ? [entry.name] : [],
          ),
        ).size,
      ).toBe(0)
    },
  )

  it('[AI16] an answer that must be one document, and a tool of the application with that name, stay as they are', async () => {
    for (const extra of [
      { output: ai.Output.object({ schema: z.object({ a: z.number() }) }) },
      { tools: { read, expand_message: read } },
      {},
    ]) {
      const own = await thread()
      const lists: string[] = []
      const model = scripted(
        [[call('a', { path: 'one' })], [call('b', { path: 'two' })], [say('{"a":1}')]],
        Model,
      )
      const generate = model.doGenerate.bind(model)
      model.doGenerate = (async (options: {
        readonly tools?: readonly { readonly name: string }[]
      }) => {
        lists.push((options.tools ?? []).map(({ name }) => name).join())
        return generate(options as never)
      }) as typeof model.doGenerate
      const expand = Object.keys(extra).length === 0 ? { expand: false } : {}
      await generateText({
        ...ask,
        model: withOriel(model, { thread: own, ...expand }),
        ...{ tools: { read }, ...(extra as object) },
      })
      expect(new Set(lists).size).toBe(1)
    }
  })

  it('[AI15] the model can ask for an original', async () => {
    const own = await thread()
    let id = ''
    const steps: Answer[] = [
      [call('a', { path: 'one' })],
      [call('b', { path: 'two' })],
      [call('c', { path: 'three' })],
    ]
    const model = scripted(steps, Model)
    const generate = model.doGenerate.bind(model)
    let count = 0
    model.doGenerate = async (options) => {
      count += 1
      if (count <= 3) return generate(options)
      id =
        /expand_message|id[: ]+(e\w+)/.exec(resultsIn(options.prompt)[0] ?? '')?.[1] ??
        /\be[0-9a-z]{3,}\b/.exec(resultsIn(options.prompt)[0] ?? '')?.[0] ??
        ''
      const content = count === 4 ? [call('x', { id }, 'expand_message')] : [say('Seen.')]
      return { content, finishReason: finishReason(content), usage, warnings: [] } as never
    }
    const result = await generateText({
      ...ask,
      model: withOriel(model, { thread: own }),
      tools: { read, expand_message: expandTool(own) },
    })
    const all = JSON.stringify(result.steps.map(({ toolResults }) => toolResults))
    expect(id).not.toBe('')
    expect(all).toContain(JSON.stringify(page('one')))
  })
})

it.each(versions)('[LK1] $name runs the search tool as one of its own', async ({ ai, Model }) => {
  const own = await openThread({ store: memoryStore() })
  await own.append({ role: 'user', content: 'The invoice of May is INV-4711.' })
  const asking = [call('s', { query: 'invoice of May' }, 'search_conversation')]
  const result = await ai.generateText({
    model: scripted([asking, [say('INV-4711')]], Model),
    tools: { search_conversation: searchTool(own) },
    stopWhen: ai.stepCountIs(3),
    prompt: 'Which invoice was it?',
  })
  const [first] = result.steps
  expect(JSON.stringify(first?.toolResults)).toContain('The invoice of May is INV-4711.')
  expect(result.text).toBe('INV-4711')
})

it('also as middleware, beside others', async () => {
  const own = await thread()
  const model = scripted([[say('ok')]], test7.MockLanguageModelV4)
  const wrapped = ai7.wrapLanguageModel({ model, middleware: orielMiddleware({ thread: own }) })
  const { text } = await ai7.generateText({ model: wrapped, prompt: 'Hi' })
  expect(text).toBe('ok')
  expect((await own.log()).filter(({ type }) => type === 'message').length).toBe(2)
})

it('a name in place of a model is refused with a next step', () => {
  expect(() => withOriel('openai/gpt-5' as never, { policy: {} })).toThrow(/not the name/)
})

it('keeps the type of the model', () => {
  const model = new test7.MockLanguageModelV4()
  expectTypeOf(withOriel(model, { policy: {} })).toEqualTypeOf<test7.MockLanguageModelV4>()
  expectTypeOf(withOriel(model, { policy: {} })).toExtend<ai7.LanguageModel>()
})
