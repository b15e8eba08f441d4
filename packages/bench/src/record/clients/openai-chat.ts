// The OpenAI package on /v1/chat/completions: by hand, with its stream helper, its parser and its tool runner.

import OpenAI from 'openai'
import { zodFunction } from 'openai/helpers/zod'
import type {
  ChatCompletionFunctionTool,
  ChatCompletionMessage,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import type { Recording, Talker } from '../recording.ts'
import { converse, converseBriefly } from '../recording.ts'
import {
  brokenSteps,
  firstQuestion,
  getWeather,
  instructions,
  listCities,
  secondQuestion,
  thanks,
  twinSteps,
} from '../scenario.ts'
import { citiesSchema, runTool, weatherSchema } from './tools.ts'

type Message = ChatCompletionMessageParam
type Ask = (client: OpenAI, messages: Message[]) => Promise<ChatCompletionMessage>

const model = 'gpt-5.6-terra'
const system: Message = { role: 'system', content: instructions }

const tools: ChatCompletionFunctionTool[] = [
  zodFunction({ name: 'get_weather', parameters: weatherSchema }),
  zodFunction({ name: 'list_cities', parameters: citiesSchema }),
].map(({ type, function: definition }) => ({ type, function: definition }))

const parsingTools = [
  zodFunction({ name: 'get_weather', parameters: weatherSchema }),
  zodFunction({ name: 'list_cities', parameters: citiesSchema }),
]

export const openaiChat: readonly Recording[] = [
  byHand('loop', 'By hand: the answer is pushed back as the SDK returned it.', create),
  byHand(
    'rebuilt',
    'By hand: the answer is pushed back rebuilt from content and tool_calls, as many examples do.',
    async (client, messages) => {
      const { content, tool_calls } = await create(client, messages)
      return { role: 'assistant', content, ...(tool_calls ? { tool_calls } : {}), refusal: null }
    },
  ),
  byHand(
    'stream',
    'chat.completions.stream(): the final message of the helper is pushed back.',
    async (client, messages) =>
      answerOf(
        await client.chat.completions.stream({ model, messages, tools }).finalChatCompletion(),
      ),
  ),
  byHand(
    'parse',
    'chat.completions.parse() with zod tools: the parsed message is pushed back.',
    async (client, messages) =>
      answerOf(await client.chat.completions.parse({ model, messages, tools: parsingTools })),
  ),
  {
    ...byHand('broken-arguments', 'By hand, with a call whose arguments are not JSON.', create),
    steps: brokenSteps(),
    run: (url) => converseBriefly(handTalker(connect(url), create)),
  },
  {
    ...byHand(
      'twins',
      'By hand: two conversations at once with the same opening words and the same call ids; one answer is lost and asked for again.',
      create,
    ),
    steps: twinSteps(),
    hasWeakIds: true,
    run: (url) => converseTwice(connect(url)),
  },
  runner('run-tools', 'The runTools helper; the next turn continues from runner.messages.', false),
  runner('run-tools-stream', 'The runTools helper with stream: true.', true),
]

async function create(client: OpenAI, messages: Message[]): Promise<ChatCompletionMessage> {
  return answerOf(await client.chat.completions.create({ model, messages, tools }))
}

function answerOf(completion: {
  readonly choices: readonly { readonly message: ChatCompletionMessage }[]
}): ChatCompletionMessage {
  const message = completion.choices[0]?.message
  if (message === undefined) throw new Error('No choice in the answer')
  return message
}

function connect(url: string): OpenAI {
  return new OpenAI({ apiKey: 'dummy', baseURL: `${url}/v1`, maxRetries: 1 })
}

function byHand(name: string, description: string, ask: Ask): Recording {
  return {
    name: `openai-chat-${name}`,
    client: 'openai',
    format: 'openai-chat',
    description,
    run: (url) => converse(handTalker(connect(url), ask)),
  }
}

function handTalker(client: OpenAI, ask: Ask): Talker<Message> {
  return {
    user: (content) => ({ role: 'user', content }),
    async run(history) {
      const messages: Message[] =
        history[0]?.role === 'system' ? [...history] : [system, ...history]
      while (await step(client, ask, messages));
      return messages
    },
  }
}

/** One request and its tools; false when the model is done. */
async function step(client: OpenAI, ask: Ask, messages: Message[]): Promise<boolean> {
  const answer = await ask(client, messages)
  messages.push(answer)
  const calls = (answer.tool_calls ?? []).filter((call) => call.type === 'function')
  for (const call of calls) {
    const content = runTool(call.function.name, call.function.arguments)
    messages.push({ role: 'tool', tool_call_id: call.id, content })
  }
  return calls.length > 0
}

/** See `twinSteps`. */
async function converseTwice(client: OpenAI): Promise<void> {
  const twins: Message[][] = [firstQuestion, firstQuestion].map((content) => [
    system,
    { role: 'user', content },
  ])
  const everyone = async (): Promise<void> => {
    for (const messages of twins) await step(client, create, messages)
  }
  await everyone()
  await everyone()
  for (const question of [secondQuestion, thanks]) {
    for (const messages of twins) messages.push({ role: 'user', content: question })
    await everyone()
  }
}

function runner(name: string, description: string, stream: boolean): Recording {
  return {
    name: `openai-chat-${name}`,
    client: 'openai',
    format: 'openai-chat',
    description,
    run(url) {
      const client = connect(url)
      return converse<Message>({
        user: (content) => ({ role: 'user', content }),
        async run(history) {
          const messages = history[0]?.role === 'system' ? [...history] : [system, ...history]
          const options = { model, messages, tools: runnableTools() }
          const run = stream
            ? client.chat.completions.runTools({ ...options, stream: true })
            : client.chat.completions.runTools(options)
          await run.finalChatCompletion()
          return run.messages
        },
      })
    },
  }
}

function runnableTools() {
  return [
    zodFunction({
      name: 'get_weather',
      parameters: weatherSchema,
      // This runner stops at an error that a tool throws, so the tool reports it as its result.
      function: ({ city }) => (city === 'Kraków' ? 'Error: no station' : getWeather(city)),
    }),
    zodFunction({ name: 'list_cities', parameters: citiesSchema, function: () => listCities() }),
  ]
}
