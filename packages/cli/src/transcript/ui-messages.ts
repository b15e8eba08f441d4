// AI SDK UI messages (`UIMessage`: parts, with calls and outputs together), converted to model
// messages.

import { type Fields, isFields } from './detect.ts'

/** True for a UI message, which has `parts` instead of content. */
function isUiMessage(message: unknown): message is Fields & { parts: readonly unknown[] } {
  return isFields(message) && Array.isArray(message.parts) && message.content === undefined
}

/** Converts UI messages; others are returned unchanged. */
export function fromUiMessages(messages: readonly unknown[]): readonly unknown[] {
  return messages.flatMap((message) => {
    if (!isUiMessage(message)) return [message]
    const parts = message.parts.filter(isFields)
    if (message.role === 'assistant') return stepsOf(parts).flatMap(assistantMessages)
    if (message.role === 'system') return [{ role: 'system', content: textsOf(parts).join('\n') }]
    return [{ role: 'user', content: parts.flatMap(spokenPart) }]
  })
}

/** Each step of an answer is a separate model call. */
function stepsOf(parts: readonly Fields[]): readonly (readonly Fields[])[] {
  const steps: Fields[][] = [[]]
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([])
    else steps.at(-1)?.push(part)
  }
  return steps.filter(({ length }) => length > 0)
}

function assistantMessages(parts: readonly Fields[]): readonly Fields[] {
  const calls = parts.filter(isCall)
  const content = parts.flatMap((part) => (isCall(part) ? [callPart(part)] : spokenPart(part)))
  const results = calls.flatMap(resultPart)
  return [
    ...(content.length === 0 ? [] : [{ role: 'assistant', content }]),
    ...(results.length === 0 ? [] : [{ role: 'tool', content: results }]),
  ]
}

function spokenPart(part: Fields): readonly Fields[] {
  const { type, text, url, mediaType, filename } = part
  if ((type === 'text' || type === 'reasoning') && typeof text === 'string') return [{ type, text }]
  if (type !== 'file' || typeof url !== 'string') return []
  return [{ type, data: url, mediaType: mediaType ?? 'application/octet-stream', filename }]
}

function isCall({ type, toolCallId }: Fields): boolean {
  const isTool = type === 'dynamic-tool' || String(type).startsWith('tool-')
  return isTool && typeof toolCallId === 'string'
}

function callPart(part: Fields): Fields {
  const { toolCallId, input = {} } = part
  return { type: 'tool-call', toolCallId, toolName: toolNameOf(part), input }
}

/** A pending call has no result. */
function resultPart(part: Fields): readonly Fields[] {
  const { toolCallId, state, output, errorText } = part
  const named = { type: 'tool-result', toolCallId, toolName: toolNameOf(part) }
  if (state === 'output-error') {
    return [{ ...named, output: { type: 'error-text', value: String(errorText ?? '') } }]
  }
  if (state !== 'output-available') return []
  const isText = typeof output === 'string'
  return [{ ...named, output: { type: isText ? 'text' : 'json', value: output ?? null } }]
}

function toolNameOf({ type, toolName }: Fields): string {
  return typeof toolName === 'string' ? toolName : String(type).replace(/^tool-/, '')
}

function textsOf(parts: readonly Fields[]): readonly string[] {
  return parts.flatMap(({ type, text }) =>
    type === 'text' && typeof text === 'string' ? [text] : [],
  )
}
