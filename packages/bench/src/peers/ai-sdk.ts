// The AI SDK's pruneMessages, used as documented. Conversion is not timed.

import type { AssistantModelMessage, ModelMessage, ToolModelMessage } from 'ai'
import type { ChatCall, ChatMessage } from '../conversations.ts'

/** The AI SDK's messages for chat messages: all results of an exchange are one tool message, as the SDK itself has them. */
export function toAiSdk(messages: readonly ChatMessage[]): ModelMessage[] {
  const names = new Map<string, string>()
  const converted: ModelMessage[] = []
  for (const message of messages) {
    const content = message.content ?? ''
    if (message.role === 'system' || message.role === 'user') {
      converted.push({ role: message.role, content })
    } else if (message.role === 'assistant') {
      const calls = message.tool_calls ?? []
      for (const call of calls) names.set(call.id, call.function.name)
      converted.push({ role: 'assistant', content: assistantParts(content, calls) })
    } else {
      const toolCallId = message.tool_call_id ?? ''
      const part = {
        type: 'tool-result' as const,
        toolCallId,
        toolName: names.get(toolCallId) ?? 'unknown',
        output: { type: 'text' as const, value: content },
      }
      const last = converted.at(-1)
      if (last?.role === 'tool') last.content.push(part)
      else converted.push({ role: 'tool', content: [part] })
    }
  }
  return converted
}

/** The chat messages that the SDK's OpenAI provider would send for these. */
export function fromAiSdk(messages: readonly ModelMessage[]): readonly ChatMessage[] {
  return messages.flatMap((message): readonly ChatMessage[] => {
    switch (message.role) {
      case 'system':
        return [{ role: 'system', content: message.content }]
      case 'user':
        return [{ role: 'user', content: textOf(message.content) }]
      case 'assistant':
        return [assistantMessage(message)]
      default:
        return toolMessages(message)
    }
  })
}

function assistantParts(content: string, calls: readonly ChatCall[]) {
  return [
    ...(content === '' ? [] : [{ type: 'text' as const, text: content }]),
    ...calls.map(({ id, function: { name, arguments: text } }) => ({
      type: 'tool-call' as const,
      toolCallId: id,
      toolName: name,
      // The SDK holds parsed arguments; their text is kept here so that nothing is lost by writing them again.
      input: text,
    })),
  ]
}

function assistantMessage({ content }: AssistantModelMessage): ChatMessage {
  if (typeof content === 'string') return { role: 'assistant', content }
  const calls = content.flatMap((part): readonly ChatCall[] => {
    if (part.type !== 'tool-call') return []
    const { toolCallId: id, toolName: name, input } = part
    return [{ id, type: 'function', function: { name, arguments: String(input) } }]
  })
  const text = textOf(content)
  if (calls.length === 0) return { role: 'assistant', content: text }
  return { role: 'assistant', content: text === '' ? null : text, tool_calls: calls }
}

function toolMessages({ content }: ToolModelMessage): readonly ChatMessage[] {
  return content.flatMap((part): readonly ChatMessage[] => {
    if (part.type !== 'tool-result' || part.output.type !== 'text') return []
    return [{ role: 'tool', tool_call_id: part.toolCallId, content: part.output.value }]
  })
}

function textOf(content: string | readonly { readonly type: string }[]): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => (part.type === 'text' && 'text' in part ? String(part.text) : ''))
    .join('')
}
