// LangChain's createAgent over its OpenAI and Anthropic models, its state kept as messages or as stored JSON.

import { ChatAnthropic } from '@langchain/anthropic'
import type { BaseMessage } from '@langchain/core/messages'
import {
  HumanMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
} from '@langchain/core/messages'
import { ChatOpenAI, ChatOpenAICompletions } from '@langchain/openai'
import type { AgentMiddleware } from 'langchain'
import {
  ClearToolUsesEdit,
  contextEditingMiddleware,
  createAgent,
  summarizationMiddleware,
  tool,
} from 'langchain'
import type { Recording, Talker } from '../recording.ts'
import { converse, converseBriefly } from '../recording.ts'
import type { WireFormat } from '../reply.ts'
import { brokenSteps, getWeather, instructions, listCities, shortenedSteps } from '../scenario.ts'
import { citiesSchema, weatherSchema } from './tools.ts'

interface Model {
  readonly name: string
  readonly client: string
  readonly format: WireFormat
  readonly note: string
  connect(url: string, streaming: boolean): ChatOpenAI | ChatAnthropic
}

const apiKey = 'dummy'
const maxRetries = 1

const models: readonly Model[] = [
  {
    name: 'openai-chat',
    client: '@langchain/openai',
    format: 'openai-chat',
    note: 'ChatOpenAI on chat completions',
    connect(url, streaming) {
      const configuration = { baseURL: `${url}/v1` }
      const fields = { model: 'gpt-4.1', apiKey, maxRetries, streaming, configuration }
      const completions = new ChatOpenAICompletions(fields)
      // The real counter downloads its vocabulary; what is sent does not depend on it.
      completions.getNumTokens = async (content) => JSON.stringify(content).length
      return new ChatOpenAI({ ...fields, completions })
    },
  },
  {
    name: 'openai-responses',
    client: '@langchain/openai',
    format: 'openai-responses',
    note: 'ChatOpenAI on responses, zero data retention with encrypted reasoning',
    connect: (url, streaming) =>
      new ChatOpenAI({
        model: 'gpt-5.6-terra',
        apiKey,
        maxRetries,
        streaming,
        useResponsesApi: true,
        zdrEnabled: true,
        modelKwargs: { include: ['reasoning.encrypted_content'] },
        configuration: { baseURL: `${url}/v1` },
      }),
  },
  {
    name: 'anthropic',
    client: '@langchain/anthropic',
    format: 'anthropic',
    note: 'ChatAnthropic with thinking',
    connect: (url, streaming) =>
      new ChatAnthropic({
        model: 'claude-opus-5',
        apiKey,
        maxRetries,
        streaming,
        maxTokens: 4000,
        thinking: { type: 'adaptive' },
        anthropicApiUrl: url,
      }),
  },
]

const tools = [
  tool(({ city }) => getWeather(city) as object, {
    name: 'get_weather',
    description: 'Weather of a city',
    schema: weatherSchema,
  }),
  tool(() => listCities(), {
    name: 'list_cities',
    description: 'Known cities',
    schema: citiesSchema,
  }),
]

export const langchain: readonly Recording[] = models.flatMap((model): Recording[] => [
  ...(model.format === 'openai-chat'
    ? [brokenArguments(model), clearing(model), summarizing(model)]
    : []),
  {
    ...recording(model, 'invoke', 'invoke; the next turn continues from the messages of the state'),
    run: (url) => converse(agentTalker(model.connect(url, false), false)),
  },
  {
    ...recording(
      model,
      'stream',
      'streaming model; between turns the messages are stored as JSON and loaded',
    ),
    run: (url) => converse(agentTalker(model.connect(url, true), true)),
  },
])

function brokenArguments(model: Model): Recording {
  return {
    ...recording(model, 'broken-arguments', 'invoke, with a call whose arguments are not JSON'),
    // The agent does not run such a call: its turn ends there.
    steps: brokenSteps().filter(({ name }) => name !== 'second'),
    run: (url) => converseBriefly(agentTalker(model.connect(url, false), false)),
  }
}

function clearing(model: Model): Recording {
  const edit = new ClearToolUsesEdit({ trigger: { tokens: 1 }, keep: { messages: 1 } })
  const middleware = contextEditingMiddleware({ edits: [edit] })
  return {
    ...recording(
      model,
      'clearing',
      'contextEditingMiddleware clears all tool results but the newest',
    ),
    steps: shortenedSteps({ extends: 'listed' }, { hasSummary: false }),
    run: (url) => converseBriefly(agentTalker(model.connect(url, false), false, [middleware])),
  }
}

function summarizing(model: Model): Recording {
  return {
    ...recording(
      model,
      'summarizing',
      'summarizationMiddleware replaces the first turn by a summary',
    ),
    steps: shortenedSteps({ fork: 'listed', at: 1 }, { hasSummary: true }),
    run(url) {
      const chat = model.connect(url, false)
      const settings = { model: chat, trigger: { messages: 8 }, keep: { messages: 2 } }
      // The published type of the settings resolves to never unless zod 3 is installed.
      const middleware = summarizationMiddleware(settings as never)
      return converseBriefly(agentTalker(chat, false, [middleware]))
    },
  }
}

function recording(model: Model, mode: string, description: string): Omit<Recording, 'run'> {
  return {
    name: `langchain-${model.name}-${mode}`,
    client: model.client,
    format: model.format,
    description: `langchain 1.5.14 createAgent, ${model.note}: ${description}.`,
  }
}

function agentTalker(
  model: ChatOpenAI | ChatAnthropic,
  isStored: boolean,
  middleware: readonly AgentMiddleware[] = [],
): Talker<BaseMessage> {
  const agent = createAgent({
    model,
    tools,
    systemPrompt: instructions,
    middleware: [...middleware],
  })
  return {
    user: (text) => new HumanMessage(text),
    async run(history) {
      const state = await agent.invoke({ messages: [...history] })
      if (!isStored) return state.messages
      const stored = JSON.stringify(mapChatMessagesToStoredMessages(state.messages))
      return mapStoredMessagesToChatMessages(JSON.parse(stored))
    },
  }
}
