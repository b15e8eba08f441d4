// How a client without any SDK keeps a conversation in each of the formats: what it sends, what it keeps of an answer.

import { type WireFormat, wireFormats } from 'oriel'

/** Those whose bodies say whether they want a stream, and whose words the suites here know. Gemini has a suite of its own. */
export const spokenFormats = wireFormats.filter((format) => format !== 'gemini')

type Fields = Readonly<Record<string, unknown>>

export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: Fields
}

export interface MadeCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** What an answer said, and what the client adds to its history for it. */
export interface Told {
  readonly text: string
  readonly calls: readonly MadeCall[]
  readonly messages: readonly Fields[]
}

export interface Dialect {
  readonly path: string
  user(text: string): Fields
  body(history: readonly unknown[], tools: readonly ToolDefinition[]): Fields
  read(answer: Fields): Told
  /** The messages that carry the results of one answer's calls. */
  results(results: readonly { readonly call: MadeCall; readonly text: string }[]): readonly Fields[]
}

const chat: Dialect = {
  path: '/v1/chat/completions',
  user: (text) => ({ role: 'user', content: text }),
  body: (history, tools) => ({
    model: 'gpt-demo',
    messages: history,
    ...(tools.length === 0
      ? {}
      : { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
  }),
  read(answer) {
    const { message } = (answer.choices as [{ message: ChatMessage }])[0]
    const { refusal: _refusal, annotations: _annotations, ...kept } = message
    const calls = (message.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called }))
    return { text: message.content ?? '', calls, messages: [kept as unknown as Fields] }
  },
  results: (results) =>
    results.map(({ call, text }) => ({ role: 'tool', tool_call_id: call.id, content: text })),
}

interface ChatMessage extends Fields {
  readonly content: string | null
  readonly refusal?: unknown
  readonly annotations?: unknown
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
}

const responses: Dialect = {
  path: '/v1/responses',
  user: (text) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }),
  body: (history, tools) => ({
    model: 'gpt-demo',
    input: history,
    store: false,
    include: ['reasoning.encrypted_content'],
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: 'function', ...tool })) }),
  }),
  read(answer) {
    const items = answer.output as readonly Fields[]
    const calls = items.flatMap((item) =>
      item.type === 'function_call'
        ? [{ id: item.call_id, name: item.name, arguments: item.arguments } as MadeCall]
        : [],
    )
    const text = items
      .flatMap((item) => (item.type === 'message' ? (item.content as { text: string }[]) : []))
      .map((part) => part.text)
      .join('\n')
    return { text, calls, messages: items }
  },
  results: (results) =>
    results.map(({ call, text }) => ({
      type: 'function_call_output',
      call_id: call.id,
      output: text,
    })),
}

const anthropic: Dialect = {
  path: '/v1/messages',
  user: (text) => ({ role: 'user', content: [{ type: 'text', text }] }),
  body: (history, tools) => ({
    model: 'claude-demo',
    max_tokens: 4000,
    messages: history,
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ parameters, ...rest }) => ({ ...rest, input_schema: parameters })),
        }),
  }),
  read(answer) {
    const blocks = answer.content as readonly Fields[]
    const calls = blocks.flatMap((block) =>
      block.type === 'tool_use'
        ? [{ id: block.id, name: block.name, arguments: JSON.stringify(block.input) } as MadeCall]
        : [],
    )
    const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
    return { text, calls, messages: [{ role: 'assistant', content: blocks }] }
  },
  results: (results) => [
    {
      role: 'user',
      content: results.map(({ call, text }) => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content: text,
      })),
    },
  ],
}

interface GeminiPart extends Fields {
  readonly text?: string
  readonly thought?: boolean
  readonly functionCall?: { readonly id: string; readonly name: string; readonly args: Fields }
}

const gemini: Dialect = {
  path: '/v1beta/models/gemini-demo:generateContent',
  user: (text) => ({ role: 'user', parts: [{ text }] }),
  body: (history, tools) => ({
    contents: history,
    ...(tools.length === 0
      ? {}
      : {
          tools: [
            {
              functionDeclarations: tools.map(({ parameters, ...tool }) => ({
                ...tool,
                parametersJsonSchema: parameters,
              })),
            },
          ],
        }),
  }),
  read(answer) {
    const { content } = (answer.candidates as [{ content: Fields }])[0]
    const parts = content.parts as readonly GeminiPart[]
    const said = parts.filter(({ thought }) => thought !== true)
    const calls = parts.flatMap(({ functionCall: call }) =>
      call === undefined
        ? []
        : [{ id: call.id, name: call.name, arguments: JSON.stringify(call.args) }],
    )
    // The official client keeps a streamed answer in the pieces that it came in.
    const messages = (answer.pieces ?? [content]) as readonly Fields[]
    return { text: said.map(({ text = '' }) => text).join(''), calls, messages }
  },
  results: (results) => [
    {
      role: 'user',
      parts: results.map(({ call, text }) => ({
        functionResponse: { id: call.id, name: call.name, response: { output: text } },
      })),
    },
  ],
}

/** Where a request goes that wants a stream: most say so in the body. */
export function pathOf(format: WireFormat, isStream: boolean): string {
  const { path } = dialects[format]
  if (format !== 'gemini' || !isStream) return path
  return `${path.replace(':generate', ':streamGenerate')}?alt=sse`
}

export const dialects: Readonly<Record<WireFormat, Dialect>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  anthropic,
  gemini,
}
