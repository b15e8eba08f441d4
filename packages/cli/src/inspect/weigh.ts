// What each piece of a conversation costs, in the tokens that `project` counts.

import { type Block, type Counter, type Draft, overheadOf } from 'oriel'

/** Counts each text once: a conversation is projected many times, and its texts stay the same. */
export function rememberingCounter(counter: Counter): Counter {
  const known = new Map<string, number>()
  return {
    name: counter.name,
    count(text) {
      const before = known.get(text)
      if (before !== undefined) return before
      const tokens = counter.count(text)
      known.set(text, tokens)
      return tokens
    },
  }
}

/** The tokens of what stands around the messages: system text or tool definitions. */
export function weighFrame(counter: Counter, value: unknown): number {
  if (value === undefined) return 0
  return (
    overheadOf('system') + counter.count(typeof value === 'string' ? value : JSON.stringify(value))
  )
}

export function blocksOf({ content }: Draft): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** The text of a tool result; pictures and files in it have none. */
export function textOfResult(content: string | readonly Block[]): string {
  if (typeof content === 'string') return content
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}
