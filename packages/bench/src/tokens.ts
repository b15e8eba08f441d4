// Token counts of chat messages, as in the library, so that all contenders follow one rule.

import type { ChatMessage } from './conversations.ts'
import { type Counter, resolveCounter } from './oriel.ts'

/** Role and separators of a message; name, id and structure of a call or result: as in the library's core/tokens/counter.ts. */
const messageTokens = 4
const callTokens = 8

/** Tokens of one chat message. */
export function chatTokens(counter: Counter, message: ChatMessage): number {
  const content = message.content === null ? 0 : counter.count(message.content)
  const calls = (message.tool_calls ?? []).reduce(
    (sum, { function: { name, arguments: text } }) =>
      sum + callTokens + counter.count(name) + counter.count(text),
    0,
  )
  return messageTokens + content + calls + (message.role === 'tool' ? callTokens : 0)
}

/**
 * Memoized exact counter: benchmarks that are not about speed count the same texts thousands of
 * times.
 */
export function memoizedCounter(): Counter {
  return memoize(resolveCounter('o200k'))
}

/** Memoizes a counter. */
export function memoize(inner: Counter): Counter {
  const known = new Map<string, number>()
  return {
    name: inner.name,
    count(text) {
      let tokens = known.get(text)
      if (tokens === undefined) {
        tokens = inner.count(text)
        known.set(text, tokens)
      }
      return tokens
    },
  }
}

/** The work of a loop without a library before a model call: copy everything and count its size. */
export function naiveLoop(messages: readonly ChatMessage[]): number {
  const counter = resolveCounter('estimate')
  const body = JSON.parse(JSON.stringify(messages)) as readonly ChatMessage[]
  return body.reduce((sum, message) => sum + chatTokens(counter, message), 0)
}
