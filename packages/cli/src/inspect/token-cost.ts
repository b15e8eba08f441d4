// Token costs of parts of a conversation, as `project` counts them.

import { type Block, type Counter, type Draft, overheadOf } from 'oriel'

/** Memoizes counts: a conversation is projected many times with the same texts. */
export function memoizedCounter(counter: Counter): Counter {
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

/** Tokens of a frame part: system text or tool definitions. */
export function weighFrame(counter: Counter, value: unknown): number {
  if (value === undefined) return 0
  return (
    overheadOf('system') + counter.count(typeof value === 'string' ? value : JSON.stringify(value))
  )
}

export function blocksOf({ content }: Draft): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** The text of a tool result, without images and files. */
export function textOfResult(content: string | readonly Block[]): string {
  if (typeof content === 'string') return content
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}
