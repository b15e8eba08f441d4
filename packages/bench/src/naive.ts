// Naive baselines: the plain ways of truncating chat messages without a library.

import type { ChatMessage } from './conversations.ts'
import type { CreateManager } from './oriel.ts'

export type Rewrite = (
  messages: readonly ChatMessage[],
) => readonly ChatMessage[] | Promise<readonly ChatMessage[]>

/** Keeps all messages and rewrites them before each model call. `make` starts a conversation. */
export function rewriting(make: () => Rewrite): CreateManager {
  return () => {
    const messages: ChatMessage[] = []
    const rewrite = make()
    return {
      append(more) {
        // The corpus is written in OpenAI's chat format.
        for (const { foreign } of more) messages.push(...(foreign as readonly ChatMessage[]))
      },
      view: async () => ({ messages: await rewrite(messages) }),
    }
  }
}

/** The system messages and the newest others. */
export function lastMessages(count: number): CreateManager {
  return rewriting(() => (messages) => {
    const system = messages.filter(({ role }) => role === 'system')
    return [...system, ...messages.filter(({ role }) => role !== 'system').slice(-count)]
  })
}

export interface KeepOptions {
  readonly newest: number
  /** Clear old results together once that saves this many tokens. */
  readonly batch: number
  readonly count: (text: string) => number
}

/** The newest tool results stay, older ones become `[Omitted]`. */
export function keepResults({ newest, batch, count }: KeepOptions): CreateManager {
  return rewriting(() => {
    let cleared = 0
    return (messages) => {
      const results = messages.flatMap(({ role }, index) => (role === 'tool' ? [index] : []))
      const old = results.slice(0, Math.max(0, results.length - newest))
      const gain = old
        .slice(cleared)
        .reduce((sum, at) => sum + Math.max(0, count(messages[at]?.content ?? '') - 3), 0)
      if (gain > 0 && gain >= batch) cleared = old.length
      const gone = new Set(old.slice(0, cleared))
      return messages.map((message, index) =>
        gone.has(index) ? { ...message, content: '[Omitted]' } : message,
      )
    }
  })
}

export interface TrimOptions {
  /** Cut when the request is larger than this. */
  readonly over: number
  /** Down to this. */
  readonly to: number
  readonly tokens: (message: ChatMessage) => number
}

/** The newest messages that fit, cut at exchange boundaries; system messages and the task stay. */
export function trimTo({ over, to, tokens }: TrimOptions): CreateManager {
  return rewriting(() => {
    let start = 0
    return (messages) => {
      const task = messages.findIndex(({ role }) => role === 'user')
      const stays = (index: number): boolean => index === task || messages[index]?.role === 'system'
      const kept = (from: number): readonly ChatMessage[] =>
        messages.filter((_, index) => index >= from || stays(index))
      const size = (list: readonly ChatMessage[]): number =>
        list.reduce((sum, message) => sum + tokens(message), 0)
      if (size(kept(start)) > over) {
        let left = to - size(kept(messages.length))
        let at = messages.length
        while (at > start) {
          const own = stays(at - 1) ? 0 : tokens(messages[at - 1] as ChatMessage)
          if (own > left && at < messages.length) break
          left -= own
          at -= 1
        }
        while (at < messages.length && messages[at]?.role === 'tool') at += 1
        start = Math.max(start, at < messages.length ? at : lastExchange(messages))
      }
      return kept(start)
    }
  })
}

/** Start of the newest exchange. */
function lastExchange(messages: readonly ChatMessage[]): number {
  return Math.max(
    0,
    messages.findLastIndex(({ role }) => role !== 'tool'),
  )
}

/** Truncates every tool result when it arrives. */
export function cutResults(characters: number): CreateManager {
  return rewriting(
    () => (messages) =>
      messages.map((message) =>
        message.role === 'tool' && (message.content ?? '').length > characters
          ? { ...message, content: (message.content ?? '').slice(0, characters) }
          : message,
      ),
  )
}

const linesLength = 120
const summaryLength = 4000

/**
 * Stub summarizer: the start of each text, up to a length. All contenders that use a model get this
 * one, so that they differ only in how they use it.
 */
export function extract(texts: readonly string[]): string {
  const lines = texts
    .map((text) => text.replaceAll(/\s+/g, ' ').trim().slice(0, linesLength))
    .filter((line) => line !== '')
  return lines.join('\n').slice(0, summaryLength)
}
