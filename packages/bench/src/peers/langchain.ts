// LangChain's trimMessages, used as documented. Conversion is not timed: users already have
// LangChain messages.

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages'
import type { ChatMessage } from '../conversations.ts'

/** LangChain's messages for chat messages. Each carries its position, counted from `first`, as its id, so that it can be found again. */
export function toLangchain(messages: readonly ChatMessage[], first = 0): BaseMessage[] {
  return messages.map((message, index) => {
    const id = String(first + index)
    const content = message.content ?? ''
    switch (message.role) {
      case 'system':
        return new SystemMessage({ id, content })
      case 'user':
        return new HumanMessage({ id, content })
      case 'tool':
        return new ToolMessage({ id, content, tool_call_id: message.tool_call_id ?? '' })
      default:
        return new AIMessage({ id, content, tool_calls: callsOf(message) })
    }
  })
}

/**
 * The chat messages that are left. trimMessages copies the ones it keeps, and never changes them. Where not even the system message
 * fits, it returns a list with one undefined item (1.2.13): nothing is left then.
 */
export function fromLangchain(
  kept: readonly (BaseMessage | undefined)[],
  messages: readonly ChatMessage[],
): readonly ChatMessage[] {
  return kept.flatMap((message) =>
    message === undefined ? [] : [messages[Number(message.id)] as ChatMessage],
  )
}

/** A quarter of the characters: the usual guess, as cheap as a counter can be. */
export function countCharacters(messages: readonly BaseMessage[]): number {
  let characters = 0
  for (const { content } of messages) characters += content.length
  return characters / 4
}

/**
 * Memoizes each message's tokens by id. trimMessages counts the whole list again for every message
 * it drops, so an exact counter would take minutes.
 */
export function createCounter(
  tokensOf: (index: number) => number,
): (messages: readonly BaseMessage[]) => number {
  const known = new Map<string, number>()
  return (messages) => {
    let tokens = 0
    for (const { id = '' } of messages) {
      let own = known.get(id)
      if (own === undefined) {
        own = tokensOf(Number(id))
        known.set(id, own)
      }
      tokens += own
    }
    return tokens
  }
}

function callsOf(message: ChatMessage) {
  return (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }) => ({
    id,
    name,
    args: parseArguments(text),
    type: 'tool_call' as const,
  }))
}

function parseArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    // LangChain's own classes keep such a call apart; here only its place among the messages matters.
    return {}
  }
}
