// pi's messages as those of the AI SDK, and back. What is shown whole is pi's very message.

import { canonicalJson, type Json, type JsonObject } from 'oriel'

/** A part of a message, of any kind that pi has. */
interface PiPart {
  readonly type: string
  readonly [key: string]: unknown
}

/** What is looked at in a message of pi. */
export interface PiMessage {
  readonly role: string
  readonly content?: string | readonly PiPart[]
  readonly toolCallId?: string
  readonly toolName?: string
  readonly isError?: boolean
  readonly timestamp?: number
  readonly [key: string]: unknown
}

/** Roles of pi's own, such as what the user ran in the shell, are told to the model in the user's role: they are shown whole. */
export function toAiSdk(message: PiMessage): JsonObject {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: contentOf(message) }
    case 'assistant':
      return { role: 'assistant', content: partsOf(message).flatMap(assistantPart) }
    case 'toolResult': {
      const { toolCallId = '', toolName = '', isError = false } = message
      const parts = partsOf(message)
      const output = parts.every(({ type }) => type === 'text')
        ? { type: isError ? 'error-text' : 'text', value: parts.map(textOf).join('\n') }
        : { type: 'content', value: parts.map(resultPart) }
      return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] }
    }
    default: {
      const { timestamp: _timestamp, ...rest } = message
      return { role: 'user', content: [{ type: 'text', text: JSON.stringify(rest) }] }
    }
  }
}

/** The view as messages of pi. `originals` are those that it was made of. */
export function fromAiSdk(view: readonly Json[], originals: readonly PiMessage[]): PiMessage[] {
  const whole = new Map<string, PiMessage[]>()
  const results = new Map<string, PiMessage>()
  const calls = new Map<string, PiMessage>()
  for (const original of originals) {
    const key = canonicalJson(toAiSdk(original))
    whole.set(key, [...(whole.get(key) ?? []), original])
    if (original.role === 'toolResult') results.set(original.toolCallId ?? '', original)
    for (const part of partsOf(original)) {
      if (part.type === 'toolCall') calls.set(String(part.id), original)
    }
  }
  return view.flatMap((shown): PiMessage[] => {
    const same = whole.get(canonicalJson(shown))
    const original = same !== undefined && same.length > 1 ? same.shift() : same?.[0]
    if (original !== undefined) return [original]
    const { role, content } = shown as { readonly role: string; readonly content: Json }
    const parts = (Array.isArray(content) ? content : [{ type: 'text', text: content }]) as PiPart[]
    if (role === 'tool') return parts.flatMap((part) => reducedResult(part, results))
    if (role === 'assistant') return reducedAnswer(parts, calls)
    const text = parts
      .map(textOf)
      .filter((one) => one !== '')
      .join('\n')
    return [{ role: 'user', content: [{ type: 'text', text }], timestamp: 0 }]
  })
}

function reducedResult(part: PiPart, results: ReadonlyMap<string, PiMessage>): PiMessage[] {
  const { toolCallId, toolName, output } = part as unknown as {
    readonly toolCallId: string
    readonly toolName: string
    readonly output: { readonly value: Json }
  }
  const { value } = output
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const original = results.get(toolCallId)
  const base = original ?? { role: 'toolResult', toolCallId, toolName, isError: true, timestamp: 0 }
  return [{ ...base, content: [{ type: 'text', text }] }]
}

/** Reasoning may have left, or a text become shorter; the calls are pi's own. */
function reducedAnswer(
  parts: readonly PiPart[],
  calls: ReadonlyMap<string, PiMessage>,
): PiMessage[] {
  const call = parts.find(({ type }) => type === 'tool-call')
  const original = call === undefined ? undefined : calls.get(String(call.toolCallId))
  const texts = parts.filter(({ type, text }) => type === 'text' && text !== '')
  if (original === undefined) {
    // Nothing that pi could send in the assistant's role without the fields of an answer: the text is what counts.
    if (texts.length === 0) return []
    const text = `[Earlier answer]\n${texts.map(textOf).join('\n')}`
    return [{ role: 'user', content: [{ type: 'text', text }], timestamp: 0 }]
  }
  const hasReasoning = parts.some(({ type }) => type === 'reasoning')
  const kept = partsOf(original).filter(
    ({ type }) => type === 'toolCall' || (type === 'thinking' && hasReasoning),
  )
  const said = texts.map((part) => ({ type: 'text', text: textOf(part) }))
  return [
    {
      ...original,
      content: [...kept.filter(isThinking), ...said, ...kept.filter((part) => !isThinking(part))],
    },
  ]
}

function isThinking({ type }: PiPart): boolean {
  return type === 'thinking'
}

function contentOf(message: PiMessage): Json {
  if (typeof message.content === 'string') return [{ type: 'text', text: message.content }]
  return partsOf(message).map((part): Json => {
    if (part.type !== 'image') return { type: 'text', text: textOf(part) }
    return { type: 'image', image: String(part.data), mediaType: String(part.mimeType) }
  })
}

function assistantPart(part: PiPart): readonly Json[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: textOf(part) }]
    case 'thinking': {
      const signature = part.thinkingSignature
      const signed =
        typeof signature === 'string' ? { providerOptions: { anthropic: { signature } } } : {}
      return [{ type: 'reasoning', text: String(part.thinking ?? ''), ...signed }]
    }
    case 'toolCall':
      return [
        {
          type: 'tool-call',
          toolCallId: String(part.id),
          toolName: String(part.name),
          input: (part.arguments ?? {}) as Json,
        },
      ]
    default:
      return []
  }
}

function resultPart(part: PiPart): Json {
  if (part.type !== 'image') return { type: 'text', text: textOf(part) }
  return { type: 'image-data', data: String(part.data), mediaType: String(part.mimeType) }
}

function partsOf({ content }: PiMessage): readonly PiPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content ?? []
}

function textOf({ text }: PiPart): string {
  return typeof text === 'string' ? text : ''
}
