// What Anthropic demands of calls and their results (A7 to A12).

import type { Fault } from './anthropic-faults.ts'
import { noServerCalls, scanServerCalls } from './anthropic-faults.ts'
import type { Violation } from './format.ts'

/** Call ids on the wire (A10). */
export const idPattern = /^[a-zA-Z0-9_-]+$/
/** Anthropic states no limit; 64 is the longest that other servers are known to take (O3). */
export const maxIdLength = 64

export interface ReadMessage {
  readonly index: number
  readonly path: string
  readonly role: unknown
  /** A string is one text block. Absent when the content is neither a string nor a list. */
  readonly blocks: readonly ReadBlock[] | undefined
}

export interface ReadBlock {
  readonly value: Readonly<Record<string, unknown>>
  readonly path: string
  readonly fault: Fault | undefined
}

/** A7, A8, A9. */
export function* judgeCalls(messages: readonly ReadMessage[]): Iterable<Violation> {
  for (const message of messages) {
    const { index, path } = message
    const answered = new Set(resultsOf(messages[index + 1]).map(({ value }) => value.tool_use_id))
    const open = callsOf(message).flatMap(({ value: { id } }) => (answered.has(id) ? [] : [id]))
    if (open.length > 0) {
      const text = `messages.${index}: tool_use ids were found without tool_result blocks immediately after: ${open.join(', ')}. Each tool_use block must have a corresponding tool_result block in the next message.`
      yield violation('A7', path, text)
    }
    const called = new Set(callsOf(messages[index - 1]).map(({ value }) => value.id))
    const seen = new Set<unknown>()
    for (const { value, path: blockPath } of resultsOf(message)) {
      const { tool_use_id: id } = value
      if (!called.has(id)) {
        const text = `${dotted(blockPath)}: unexpected tool_use_id found in tool_result blocks: ${id}. Each tool_result block must have a corresponding tool_use block in the previous message.`
        yield violation('A8', blockPath, text)
      }
      if (seen.has(id)) {
        const text = `each tool_use must have a single result. Found multiple tool_result blocks with id: ${id}`
        yield violation('A9', blockPath, text)
      }
      seen.add(id)
    }
  }
}

/** A8, A9 and A10 for tools that the provider runs itself: call and result stand in one assistant content. */
export function* judgeServerCalls(messages: readonly ReadMessage[]): Iterable<Violation> {
  let calls = noServerCalls
  for (const { role, blocks = [], index } of messages) {
    if (role !== 'assistant') continue
    const values = blocks.map(({ value }) => value)
    const { faults, ...next } = scanServerCalls(values, calls, index === messages.length - 1)
    calls = next
    for (const { position, rule, message } of faults) {
      const { path, value } = blocks[position] as ReadBlock
      const id = value.tool_use_id ?? value.id
      yield violation(rule, path, `${dotted(path)}: ${value.type} ${id}: ${message}`)
    }
  }
}

/** A10. */
export function* judgeIds(messages: readonly ReadMessage[]): Iterable<Violation> {
  const seen = new Set<unknown>()
  for (const message of messages) {
    for (const { value, path } of callsOf(message)) {
      const id = value.id as string
      if (seen.has(id)) yield violation('A10', path, `${dotted(path)}: tool_use ids must be unique`)
      seen.add(id)
      if (!idPattern.test(id)) {
        const text = `${dotted(path)}.id: String should match pattern '${idPattern.source}'`
        yield violation('A10', `${path}.id`, text)
      }
      if (id.length > maxIdLength) {
        const text = `${dotted(path)}.id: String should have at most ${maxIdLength} characters`
        yield violation('A10', `${path}.id`, text)
      }
    }
  }
}

/** A11, A12. */
export function* judgeOrder(messages: readonly ReadMessage[]): Iterable<Violation> {
  for (const { role, blocks = [] } of messages) {
    const others = blocks.findIndex(({ value }) => value.type !== 'tool_result')
    const calls = blocks.findIndex(({ value }) => value.type === 'tool_use')
    for (const [position, { value, path }] of blocks.entries()) {
      if (role === 'user' && value.type === 'tool_result' && others !== -1 && position > others) {
        const text = `${dotted(path)}: tool_result blocks must come first in a user message`
        yield violation('A11', path, text)
      }
      if (role === 'assistant' && value.type === 'text' && calls !== -1 && position > calls) {
        const text = `${dotted(path)}: text after tool_use leaves the calls before it without tool_result blocks immediately after`
        yield violation('A12', path, text)
      }
    }
  }
}

/** Calls that can be answered: those that stand in the right place with an id. */
export function callsOf(message: ReadMessage | undefined): readonly ReadBlock[] {
  if (message?.role !== 'assistant') return []
  return (message.blocks ?? []).filter(
    ({ value }) => value.type === 'tool_use' && typeof value.id === 'string',
  )
}

export function resultsOf(message: ReadMessage | undefined): readonly ReadBlock[] {
  if (message?.role !== 'user') return []
  return (message.blocks ?? []).filter(
    ({ value }) => value.type === 'tool_result' && typeof value.tool_use_id === 'string',
  )
}

/** The provider writes `messages.3.content.0` where we write `messages[3].content[0]`. */
export function dotted(path: string): string {
  return path.replaceAll(/\[(\d+)\]/g, '.$1')
}

export function violation(rule: string, path: string, message: string): Violation {
  return { rule, path, message }
}
