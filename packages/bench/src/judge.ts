// Judges a contender's requests only by their messages.

import { type ChatMessage, textsOf } from './conversations.ts'
import { type Counter, type JsonObject, validate } from './oriel.ts'
import { chatTokens } from './tokens.ts'

export interface Judgement {
  /** Valid for OpenAI Chat Completions. */
  readonly isOpenai: boolean
  /** Valid for Anthropic Messages, after conversion. */
  readonly isAnthropic: boolean
  readonly fits: boolean
  readonly tokens: number
  /** Share of the tokens of all texts so far that are unchanged in the view. */
  readonly keptShare: number
  readonly hasNewestUser: boolean
}

interface Case {
  /** What would be sent to OpenAI. */
  readonly chat: readonly ChatMessage[]
  /** What would be sent to Anthropic: messages and system text. @default `chat`, rewritten */
  readonly anthropic?: JsonObject
  /** All messages before this request. */
  readonly messages: readonly ChatMessage[]
  readonly budget: number
}

export class Judge {
  readonly #counter: Counter

  constructor(counter: Counter) {
    this.#counter = counter
  }

  judge({ chat: view, anthropic = toAnthropic(view), messages, budget }: Case): Judgement {
    const tokens = view.reduce((sum, message) => sum + chatTokens(this.#counter, message), 0)
    const newest = messages.findLast(({ role }) => role === 'user')
    return {
      // The API rejects an empty list; `validate` accepts partial requests and so allows it.
      isOpenai: view.length > 0 && validate('openai-chat', { messages: view }).length === 0,
      isAnthropic: validate('anthropic', wholeRequest(anthropic)).length === 0,
      fits: tokens <= budget,
      tokens,
      keptShare: this.#keptShare(view, messages),
      hasNewestUser:
        newest === undefined ||
        view.some(({ role, content }) => role === 'user' && content === newest.content),
    }
  }

  #keptShare(view: readonly ChatMessage[], messages: readonly ChatMessage[]): number {
    const shown = new Map<string, number>()
    for (const text of view.flatMap(textsOf)) shown.set(text, (shown.get(text) ?? 0) + 1)
    let all = 0
    let kept = 0
    for (const text of messages.flatMap(textsOf)) {
      const tokens = this.#counter.count(text)
      all += tokens
      const left = shown.get(text) ?? 0
      if (left === 0) continue
      kept += tokens
      shown.set(text, left - 1)
    }
    return all === 0 ? 1 : kept / all
  }
}

/**
 * Converts to Anthropic as adapters do: system text at the top, results as user blocks, adjacent
 * messages of one role merged. Drops blank texts, which Anthropic rejects, so that only the
 * structure is judged.
 */
function toAnthropic(view: readonly ChatMessage[]): JsonObject {
  const messages: { role: 'user' | 'assistant'; content: JsonObject[] }[] = []
  const system: string[] = []
  for (const message of view) {
    if (message.role === 'system') {
      system.push(message.content ?? '')
      continue
    }
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = blocksOf(message)
    if (content.length === 0) continue
    const last = messages.at(-1)
    if (last?.role === role) last.content.push(...content)
    else messages.push({ role, content: [...content] })
  }
  return { messages, ...(system.length === 0 ? {} : { system: system.join('\n\n') }) }
}

/** Adds the fields of a whole request, because some rules apply to whole requests only. */
function wholeRequest(body: JsonObject): JsonObject {
  const tools = [{ name: 'search', input_schema: { type: 'object' } }]
  return { model: 'any', max_tokens: 1, ...body, tools }
}

function blocksOf(message: ChatMessage): readonly JsonObject[] {
  const text = (message.content ?? '').trim() === '' ? '' : (message.content ?? '')
  if (message.role === 'tool') {
    return [{ type: 'tool_result', tool_use_id: message.tool_call_id ?? '', content: text }]
  }
  return [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...(message.tool_calls ?? []).map(({ id, function: { name, arguments: input } }) => ({
      type: 'tool_use',
      id,
      name,
      input: parse(input),
    })),
  ]
}

/**
 * Anthropic requires an object; other arguments would be rejected for a reason that no contender
 * can avoid.
 */
function parse(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isPlain ? (value as JsonObject) : {}
  } catch {
    return {}
  }
}
