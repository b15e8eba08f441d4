// Chat messages: converted from the log for display, and to chat completions for sending.

import type { Block, Entry, JsonObject } from '../contract.ts'

export interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: string
  /** The arguments are free text, not JSON. @default false */
  readonly isCustom?: boolean
}

export interface ChatMessage {
  readonly key: string
  readonly role: 'user' | 'assistant' | 'tool'
  readonly text: string
  readonly calls: readonly Call[]
  /** For tool results: the answered call. */
  readonly callId?: string
  readonly tool?: string
  readonly isError?: boolean
  /** The answer was interrupted: shown, but not part of the history. */
  readonly isInterrupted?: boolean
  /** Position in the log, once logged. */
  readonly seq?: number
}

type MessageEntry = Extract<Entry, { type: 'message' }>
type ToolCallBlock = Extract<Block, { type: 'tool-call' }>

/**
 * The messages of a log that a client would keep. The frame (system text) is not history and is
 * sent anew each time.
 */
export function messagesOf(entries: readonly Entry[]): readonly ChatMessage[] {
  const tools = new Map<string, string>()
  return entries.flatMap((entry) => {
    if (entry.type !== 'message') return []
    for (const block of entry.blocks) {
      if (block.type === 'tool-call') tools.set(block.callId, block.name)
    }
    return fromEntry(entry, tools)
  })
}

function fromEntry(
  entry: MessageEntry,
  tools: ReadonlyMap<string, string>,
): readonly ChatMessage[] {
  const { role, blocks, seq, kind } = entry
  if (kind === 'interrupted') return [interrupted(entry)]
  if (role === 'system') return []
  const results = blocks.filter((block) => block.type === 'tool-result')
  const others = blocks.filter((block) => block.type !== 'tool-result')
  const said: readonly ChatMessage[] =
    others.length === 0 && results.length > 0
      ? []
      : [
          {
            key: `m${seq}`,
            role: role === 'assistant' ? 'assistant' : 'user',
            text: others.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n'),
            calls: others.flatMap((block) => (block.type === 'tool-call' ? [callOf(block)] : [])),
            seq,
          },
        ]
  const answers = results.map(
    (block): ChatMessage => ({
      key: `m${seq}-${block.callId}`,
      role: 'tool',
      text: plainText(block.content),
      calls: [],
      callId: block.callId,
      tool: block.name ?? tools.get(block.callId) ?? 'result',
      isError: block.isError === true,
      seq,
    }),
  )
  return [...answers, ...said]
}

function callOf({ callId: id, name, arguments: given, extra }: ToolCallBlock): Call {
  const isCustom = extra?.type === 'custom' || extra?.type === 'custom_tool_call'
  return { id, name, arguments: given, ...(isCustom ? { isCustom } : {}) }
}

/** An interrupted answer is stored for people: as JSON, with the received part and the reason. */
function interrupted({ blocks, seq }: MessageEntry): ChatMessage {
  const message = {
    key: `m${seq}`,
    role: 'assistant',
    calls: [],
    isInterrupted: true,
    seq,
  } as const
  try {
    const kept = JSON.parse(plainText(blocks)) as { readonly messages?: readonly JsonObject[] }
    return { ...message, text: kept.messages?.map(textIn).join('\n') ?? '' }
  } catch {
    return { ...message, text: plainText(blocks) }
  }
}

/** The text or refusal of a message or item in any provider format. */
export function textIn({ content, refusal }: JsonObject): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return typeof refusal === 'string' ? refusal : ''
  const texts = (content as readonly JsonObject[]).map((part) => part?.text ?? part?.refusal)
  return texts.filter((text) => typeof text === 'string').join('\n')
}

function plainText(content: string | readonly Block[]): string {
  if (typeof content === 'string') return content
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}

/** Synthetic result of a stopped tool, because a call must have one. */
const stoppedResult = 'Stopped by the person before it was done.'

/** Converts messages to the chat completions format. */
export function toWire(messages: readonly ChatMessage[]): readonly JsonObject[] {
  const answered = new Set(messages.flatMap(({ callId }) => (callId === undefined ? [] : [callId])))
  return messages.flatMap((message): JsonObject[] => {
    if (message.isInterrupted === true) return []
    if (message.role === 'tool') {
      return [{ role: 'tool', tool_call_id: message.callId ?? '', content: message.text }]
    }
    if (message.role === 'user') return [{ role: 'user', content: message.text }]
    const stopped = message.calls.filter(({ id }) => !answered.has(id))
    return [
      spoken(message),
      ...stopped.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: stoppedResult })),
    ]
  })
}

function spoken({ text, calls }: ChatMessage): JsonObject {
  const wired = calls.map(wiredCall)
  return {
    role: 'assistant',
    content: text === '' && wired.length > 0 ? null : text,
    ...(wired.length === 0 ? {} : { tool_calls: wired }),
  }
}

function wiredCall({ id, name, arguments: given, isCustom = false }: Call): JsonObject {
  return isCustom
    ? { id, type: 'custom', custom: { name, input: given } }
    : { id, type: 'function', function: { name, arguments: given } }
}
