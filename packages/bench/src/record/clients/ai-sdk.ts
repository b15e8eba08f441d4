// The AI SDK with four providers: generateText, streamText, and UI messages converted for every turn.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModel, ModelMessage, UIMessage } from 'ai'
import {
  convertToModelMessages,
  generateText,
  isStepCount,
  pruneMessages,
  readUIMessageStream,
  streamText,
  tool,
  toUIMessageStream,
} from 'ai'
import type { Recording, Talker } from '../recording.ts'
import { converse, converseBriefly } from '../recording.ts'
import type { WireFormat } from '../reply.ts'
import { brokenSteps, getWeather, instructions, listCities, shortenedSteps } from '../scenario.ts'
import { citiesSchema, weatherSchema } from './tools.ts'

interface Provider {
  readonly name: string
  readonly client: string
  readonly format: WireFormat
  readonly note: string
  connect(url: string): LanguageModel
  readonly providerOptions?: Record<string, Record<string, string | boolean | string[] | object>>
}

const apiKey = 'dummy'

const providers: readonly Provider[] = [
  {
    name: 'compatible',
    client: '@ai-sdk/openai-compatible',
    format: 'openai-chat',
    note: 'with the openai-compatible provider',
    connect: (url) =>
      createOpenAICompatible({ name: 'local', baseURL: `${url}/v1`, apiKey })('local-model'),
  },
  {
    name: 'openai-chat',
    client: '@ai-sdk/openai',
    format: 'openai-chat',
    note: 'with the chat model of the openai provider',
    connect: (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey }).chat('gpt-5.6-terra'),
  },
  {
    name: 'responses',
    client: '@ai-sdk/openai',
    format: 'openai-responses',
    note: 'with the openai provider as it comes: answers return as references to stored items',
    connect: (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey })('gpt-5.6-terra'),
  },
  {
    name: 'responses-unstored',
    client: '@ai-sdk/openai',
    format: 'openai-responses',
    note: 'with the openai provider, store: false and encrypted reasoning',
    connect: (url) => createOpenAI({ baseURL: `${url}/v1`, apiKey })('gpt-5.6-terra'),
    providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
  },
  {
    name: 'anthropic',
    client: '@ai-sdk/anthropic',
    format: 'anthropic',
    note: 'with the anthropic provider and thinking',
    connect: (url) => createAnthropic({ baseURL: `${url}/v1`, apiKey })('claude-opus-5'),
    providerOptions: { anthropic: { thinking: { type: 'adaptive' } } },
  },
]

const tools = {
  get_weather: tool({
    description: 'Weather of a city',
    inputSchema: weatherSchema,
    execute: ({ city }) => getWeather(city),
  }),
  list_cities: tool({
    description: 'Known cities',
    inputSchema: citiesSchema,
    execute: () => listCities(),
  }),
}

export const aiSdk: readonly Recording[] = providers.flatMap((provider): Recording[] => [
  ...(provider.name === 'compatible' ? [brokenArguments(provider), pruning(provider)] : []),
  {
    ...recording(
      provider,
      'generate',
      'generateText; the next turn continues from its response messages',
    ),
    run: (url) => converse(generating(provider, url)),
  },
  {
    ...recording(
      provider,
      'stream',
      'streamText; the next turn continues from its response messages',
    ),
    run: (url) => converse(streaming(provider, url)),
  },
  {
    ...recording(
      provider,
      'ui',
      'streamText into UI messages, kept as JSON and converted by convertToModelMessages for every turn',
    ),
    run: (url) => converse(interfaced(provider, url)),
  },
])

function brokenArguments(provider: Provider): Recording {
  return {
    ...recording(
      provider,
      'broken-arguments',
      'generateText, with a call whose arguments are not JSON',
    ),
    steps: brokenSteps(),
    run: (url) => converseBriefly(generating(provider, url)),
  }
}

function pruning(provider: Provider): Recording {
  return {
    ...recording(
      provider,
      'pruned',
      'generateText; pruneMessages removes the calls of the first turn',
    ),
    steps: shortenedSteps({ fork: 'listed', at: 2 }, { hasSummary: false }),
    run(url) {
      const talker = generating(provider, url)
      const run: Talker<ModelMessage>['run'] = (history) =>
        talker.run(pruneMessages({ messages: [...history], toolCalls: 'before-last-2-messages' }))
      return converseBriefly({ ...talker, run })
    },
  }
}

function recording(provider: Provider, mode: string, description: string): Omit<Recording, 'run'> {
  return {
    name: `ai-sdk-${provider.name}-${mode}`,
    client: provider.client,
    format: provider.format,
    description: `ai 7.0.169 ${provider.note}: ${description}.`,
  }
}

function options(provider: Provider, url: string) {
  return {
    model: provider.connect(url),
    instructions,
    tools,
    stopWhen: isStepCount(10),
    ...(provider.providerOptions === undefined
      ? {}
      : {
          providerOptions: provider.providerOptions as Parameters<
            typeof generateText
          >[0]['providerOptions'] & {},
        }),
  }
}

function generating(provider: Provider, url: string): Talker<ModelMessage> {
  return {
    user: (content) => ({ role: 'user', content }),
    async run(history) {
      const result = await generateText({ ...options(provider, url), messages: [...history] })
      return [...history, ...result.responseMessages]
    },
  }
}

function streaming(provider: Provider, url: string): Talker<ModelMessage> {
  return {
    user: (content) => ({ role: 'user', content }),
    async run(history) {
      const result = streamText({ ...options(provider, url), messages: [...history] })
      await result.consumeStream()
      return [...history, ...(await result.responseMessages)]
    },
  }
}

function interfaced(provider: Provider, url: string): Talker<UIMessage> {
  let count = 0
  const nextId = (): string => {
    count += 1
    return `ui-${count}`
  }
  return {
    user: (text) => ({ id: nextId(), role: 'user', parts: [{ type: 'text', text }] }),
    async run(history) {
      const messages = await convertToModelMessages([...history], { tools })
      const result = streamText({ ...options(provider, url), messages })
      const stream = toUIMessageStream({ stream: result.stream, generateMessageId: nextId })
      let answer: UIMessage | undefined
      for await (const message of readUIMessageStream({ stream })) answer = message
      if (answer === undefined) throw new Error('The stream held no message')
      return [...history, JSON.parse(JSON.stringify(answer)) as UIMessage]
    },
  }
}
