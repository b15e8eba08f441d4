// Text of the newest tool result in a request, in any of the three formats.

import type { WireFormat } from '../record/reply.ts'

type Fields = Readonly<Record<string, unknown>>

export function lastResult(format: WireFormat, body: Fields): string {
  const list = (format === 'openai-responses' ? body.input : body.messages) as readonly Fields[]
  const texts = list.flatMap((message) => {
    if (format === 'openai-chat') return message.role === 'tool' ? [text(message.content)] : []
    if (format === 'openai-responses') {
      return String(message.type).endsWith('_call_output') ? [text(message.output)] : []
    }
    const blocks = Array.isArray(message.content) ? (message.content as readonly Fields[]) : []
    return blocks.filter(({ type }) => type === 'tool_result').map(({ content }) => text(content))
  })
  return texts.at(-1) ?? ''
}

function text(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content)
}
