// Tool results as a request carries them, in any of the three formats. A policy for one call leaves no edit in the log to read them from.

import type { Json } from 'oriel'
import { isObject } from '../call/rewrite.ts'

/** The text of each result in a list of messages or items, by the id of its call. */
export function renderedResults(messages: readonly Json[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const message of messages) {
    if (!isObject(message)) continue
    const parts = Array.isArray(message.content) ? message.content : []
    for (const one of [message, ...parts]) {
      if (!isObject(one)) continue
      const id = one.tool_call_id ?? one.call_id ?? one.tool_use_id
      const content = one.output ?? one.content
      if (typeof id === 'string' && content !== undefined) found.set(id, textOf(content))
    }
  }
  return found
}

function textOf(content: Json): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .flatMap((part) => (isObject(part) && typeof part.text === 'string' ? [part.text] : []))
    .join('\n')
}
