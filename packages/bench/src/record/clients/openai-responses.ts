// The OpenAI package on /v1/responses: output items echoed back, the stream helper, the parser, the runner, and chaining.

import OpenAI from 'openai'
import { ResponsesToolRunner } from 'openai/helpers/responses-tool-runner'
import { zodResponsesFunction } from 'openai/helpers/zod'
import type {
  FunctionTool,
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
} from 'openai/resources/responses/responses'
import type { Recording, Talker } from '../recording.ts'
import { converse } from '../recording.ts'
import { editedQuestion, firstQuestion, instructions, secondQuestion, thanks } from '../scenario.ts'
import { citiesSchema, runTool, weatherSchema } from './tools.ts'

type Item = ResponseInputItem
type Request = Omit<ResponseCreateParamsNonStreaming, 'tools' | 'stream'>
type Ask = (client: OpenAI, request: Request) => Promise<Response>

const parsingTools = [
  zodResponsesFunction({ name: 'get_weather', parameters: weatherSchema }),
  zodResponsesFunction({ name: 'list_cities', parameters: citiesSchema }),
]
const tools = parsingTools.map(({ type, name, parameters, strict }) => ({
  type,
  name,
  parameters,
  strict,
}))

const base: Request = {
  model: 'gpt-5.6-terra',
  instructions,
  store: false,
  include: ['reasoning.encrypted_content'],
}

export const openaiResponses: readonly Recording[] = [
  echoing(
    'loop',
    'By hand: response.output is pushed into the input, reasoning items with encrypted_content included.',
    (client, request) => client.responses.create({ ...request, tools }),
  ),
  echoing(
    'stream',
    'responses.stream(): the output of the final response is pushed back.',
    (client, request) => client.responses.stream({ ...request, tools }).finalResponse(),
  ),
  echoing(
    'parse',
    'responses.parse() with zod tools: the parsed output is pushed back.',
    (client, request) => client.responses.parse({ ...request, tools: parsingTools }),
  ),
  {
    ...recording(
      'text-only',
      'By hand: calls are echoed, reasoning is not, texts go back as plain messages.',
    ),
    run: (url) => converse(textOnly(connect(url))),
  },
  {
    ...recording(
      'runner',
      'The ResponsesToolRunner helper; the next turn continues from its history.',
    ),
    run: (url) => converse(toolRunner(connect(url))),
  },
  {
    ...recording(
      'chained',
      'previous_response_id: the provider holds the history, only new items are sent. The edited turn chains to an older id.',
    ),
    run: (url) => chain(connect(url)),
  },
]

function recording(name: string, description: string): Omit<Recording, 'run'> {
  return {
    name: `openai-responses-${name}`,
    client: 'openai',
    format: 'openai-responses',
    description,
  }
}

function connect(url: string): OpenAI {
  return new OpenAI({ apiKey: 'dummy', baseURL: `${url}/v1`, maxRetries: 1 })
}

function echoing(name: string, description: string, ask: Ask): Recording {
  return {
    ...recording(name, description),
    run(url) {
      const client = connect(url)
      return converse<Item>({
        user,
        async run(history) {
          const input = [...history]
          for (;;) {
            const response = await ask(client, { ...base, input })
            input.push(...(response.output as Item[]))
            const outputs = toolOutputs(response)
            if (outputs.length === 0) return input
            input.push(...outputs)
          }
        },
      })
    },
  }
}

function textOnly(client: OpenAI): Talker<Item> {
  return {
    user,
    async run(history) {
      const input = [...history]
      for (;;) {
        const response = await client.responses.create({ ...base, input, tools })
        const text = response.output_text
        if (text !== '') input.push({ role: 'assistant', content: text })
        const outputs = toolOutputs(response)
        if (outputs.length === 0) return input
        input.push(...response.output.filter((item) => item.type === 'function_call'), ...outputs)
      }
    },
  }
}

function toolRunner(client: OpenAI): Talker<Item> {
  const runner = new ResponsesToolRunner({
    functions: parsingTools.map(({ name }, index) => ({
      tool: tools[index] as FunctionTool,
      execute: (args) => runTool(name, JSON.stringify(args)),
    })),
  })
  return {
    user,
    async run(history) {
      const input = [...history]
      const iterator = runner.iterate(
        client,
        { ...base, input: [...history] },
        { requestOptions: { maxRetries: 1 } },
      )
      for await (const turn of iterator) {
        input.push(...(turn.response.output as Item[]), ...toolOutputs(turn.response))
      }
      return input
    },
  }
}

/** The weather conversation again, with the provider holding the history. */
async function chain(client: OpenAI): Promise<void> {
  const ask = async (text: string, previous?: string): Promise<string> => {
    let input: Item[] = [user(text)]
    let previousId = previous
    for (;;) {
      const link = previousId === undefined ? {} : { previous_response_id: previousId }
      const response = await client.responses.create({
        ...base,
        store: true,
        input,
        tools,
        ...link,
      })
      previousId = response.id
      input = [...toolOutputs(response)]
      if (input.length === 0) return response.id
    }
  }
  const first = await ask(firstQuestion)
  await ask(secondQuestion, first)
  await ask(editedQuestion, first)
  const fresh = await ask(firstQuestion)
  await ask(thanks, fresh)
}

function user(content: string): Item {
  return { role: 'user', content }
}

function toolOutputs(response: Response): readonly Item[] {
  return response.output
    .filter((item) => item.type === 'function_call')
    .map((call) => ({
      type: 'function_call_output',
      call_id: call.call_id,
      output: runTool(call.name, call.arguments),
    }))
}
