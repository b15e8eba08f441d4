// The Anthropic package on /v1/messages: by hand with thinking, its stream helper, its tool runner, its held threads.

import Anthropic from '@anthropic-ai/sdk'
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod'
import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta/messages/messages'
import type {
  ContentBlockParam,
  Message,
  MessageCreateParamsNonStreaming,
  MessageParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import { z } from 'zod'
import type { Recording, Talker } from '../recording.ts'
import { converse } from '../recording.ts'
import {
  editedQuestion,
  firstQuestion,
  getWeather,
  instructions,
  listCities,
  secondQuestion,
  thanks,
  weatherSteps,
} from '../scenario.ts'
import type { Step } from '../script.ts'
import { citiesSchema, runTool, weatherSchema } from './tools.ts'

type Ask = (client: Anthropic, messages: readonly MessageParam[]) => Promise<Message>

const base = {
  model: 'claude-opus-5',
  max_tokens: 4000,
  system: instructions,
  thinking: { type: 'adaptive' },
} as const

const tools = [
  { name: 'get_weather', input_schema: schemaOf(weatherSchema) },
  { name: 'list_cities', input_schema: schemaOf(citiesSchema) },
]

export const anthropic: readonly Recording[] = [
  byHand(
    'loop',
    'By hand: response.content is pushed back whole, thinking included.',
    (client, messages) => client.messages.create(request(messages)),
  ),
  byHand(
    'stream',
    'messages.stream(): finalMessage() is pushed back with role and content.',
    (client, messages) => client.messages.stream(request(messages)).finalMessage(),
  ),
  byHand(
    'cache-control',
    'By hand with one cache marker that moves to the newest message of each request.',
    (client, messages) => client.messages.create(request(withMarker(messages))),
  ),
  byHand(
    'no-thinking',
    'By hand: thinking blocks are dropped from what is pushed back, and a lone text becomes a string.',
    async (client, messages) => withoutThinking(await client.messages.create(request(messages))),
  ),
  {
    ...recording(
      'tool-runner',
      'beta.messages.toolRunner() as it comes: within a turn the provider holds the history; the next turn sends runner.params.messages whole.',
    ),
    run: (url) => converse(toolRunner(connect(url), {})),
  },
  {
    ...recording('tool-runner-stream', 'beta.messages.toolRunner() with stream: true.'),
    run: (url) => converse(toolRunner(connect(url), { stream: true })),
  },
  {
    ...recording('tool-runner-whole', 'beta.messages.toolRunner() with thread: false.'),
    run: (url) => converse(toolRunner(connect(url), { thread: false })),
  },
  {
    ...recording(
      'tool-runner-refused',
      'beta.messages.toolRunner() against a server that refuses to hold threads: each run falls back to the whole history.',
    ),
    steps: refusedSteps(),
    run: (url) => converse(toolRunner(connect(url), {})),
  },
  {
    ...recording(
      'held-thread',
      'beta.messages.thread(): the provider holds the history, only new messages are sent. The edited turn is a fork of the thread, which sends everything once.',
    ),
    run: (url) => heldThread(connect(url)),
  },
]

function recording(name: string, description: string): Omit<Recording, 'run'> {
  return {
    name: `anthropic-${name}`,
    client: '@anthropic-ai/sdk',
    format: 'anthropic',
    description,
  }
}

function connect(url: string): Anthropic {
  return new Anthropic({ apiKey: 'dummy', baseURL: url, maxRetries: 1 })
}

function schemaOf(schema: z.ZodType): { type: 'object' } {
  return { ...z.toJSONSchema(schema, { io: 'input' }), type: 'object' }
}

function request(messages: readonly MessageParam[]): MessageCreateParamsNonStreaming {
  return { ...base, tools, messages: [...messages] }
}

function byHand(name: string, description: string, ask: Ask): Recording {
  return {
    ...recording(name, description),
    run(url) {
      const client = connect(url)
      return converse<MessageParam>({
        user: (content) => ({ role: 'user', content }),
        async run(history) {
          const messages = [...history]
          for (;;) {
            const answer = await ask(client, messages)
            messages.push({ role: answer.role, content: answer.content })
            const results = toolResults(answer)
            if (results.length === 0) return messages
            messages.push({ role: 'user', content: results })
          }
        },
      })
    },
  }
}

function toolResults(answer: Message): ToolResultBlockParam[] {
  if (typeof answer.content === 'string') return []
  return answer.content
    .filter((block) => block.type === 'tool_use')
    .map((block): ToolResultBlockParam => {
      const content = runTool(block.name, JSON.stringify(block.input))
      const isError = content.startsWith('Error')
      return {
        type: 'tool_result',
        tool_use_id: block.id,
        content,
        ...(isError ? { is_error: true } : {}),
      }
    })
}

function withMarker(messages: readonly MessageParam[]): readonly MessageParam[] {
  const last = messages.at(-1)
  if (last === undefined) return messages
  const blocks =
    typeof last.content === 'string'
      ? [{ type: 'text' as const, text: last.content }]
      : last.content
  const marked = blocks.map((block, index) =>
    index === blocks.length - 1 ? { ...block, cache_control: { type: 'ephemeral' } } : block,
  )
  return [
    ...messages.slice(0, -1),
    { role: 'user', content: marked as string | ContentBlockParam[] },
  ]
}

function withoutThinking(answer: Message): Message {
  const content = answer.content.filter((block) => block.type !== 'thinking')
  const [only] = content
  if (content.length === 1 && only?.type === 'text') {
    // The request accepts a string where the answer's type has only blocks.
    return { ...answer, content: only.text as unknown as Message['content'] }
  }
  return { ...answer, content }
}

function runnableTools() {
  return [
    betaZodTool({
      name: 'get_weather',
      description: 'Weather of a city',
      inputSchema: weatherSchema,
      run: ({ city }) => JSON.stringify(getWeather(city)),
    }),
    betaZodTool({
      name: 'list_cities',
      description: 'Known cities',
      inputSchema: citiesSchema,
      run: () => listCities(),
    }),
  ]
}

function toolRunner(
  client: Anthropic,
  extra: { readonly stream?: true; readonly thread?: false },
): Talker<BetaMessageParam> {
  return {
    user: (content) => ({ role: 'user', content }),
    async run(history) {
      const options = { ...base, messages: [...history], tools: runnableTools() }
      const runner = client.beta.messages.toolRunner({ ...options, ...extra })
      await runner.runUntilDone()
      return runner.params.messages
    },
  }
}

/** The weather conversation with every run's first request refused, then sent again without a thread. */
function refusedSteps(): readonly Step[] {
  const errorDetails = { error_code: 'thread_unsupported_request', unsupported: ['thread'] }
  const beginnings = ['ask', 'second', 'edited', 'same words', 'thanks']
  return weatherSteps().flatMap((step): Step[] => {
    if (!beginnings.includes(step.name)) return [step]
    const name = `refused ${step.name}`
    return [
      { name, truth: step.truth, reply: { failWith: 400, errorDetails } },
      { ...step, truth: { retry: name } },
    ]
  })
}

async function heldThread(client: Anthropic): Promise<void> {
  const open = () => client.beta.messages.thread({ ...base, tools: runnableTools() })
  const say = async (thread: ReturnType<typeof open>, text: string): Promise<void> => {
    thread.append({ role: 'user', content: text })
    await thread.toolRunner().runUntilDone()
  }
  const thread = open()
  await say(thread, firstQuestion)
  const copy = thread.fork()
  await say(thread, secondQuestion)
  await say(copy, editedQuestion)
  const other = open()
  await say(other, firstQuestion)
  await say(other, thanks)
}
