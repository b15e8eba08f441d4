// What each piece of a conversation costs, in the tokens that `project` counts.

import type { Block, Counter, Draft, FileBlock } from 'oriel'

/** Role and separators around one message, as the library counts them; a test compares the sums. */
export const messageTokens = 4
/** Name, id and structure around one tool call or result. */
const callTokens = 8
/** What one picture, or one attached file at least, is taken to cost. */
const mediaTokens = 1200

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

/** The tokens of one block. */
export function weighBlock(counter: Counter, block: Block): number {
  switch (block.type) {
    case 'text':
      return counter.count(block.text)
    case 'reasoning':
      return counter.count(block.text ?? '') + counter.count(block.signature ?? '')
    case 'tool-call':
      return callTokens + counter.count(block.name) + counter.count(block.arguments)
    case 'tool-result':
      return callTokens + weighContent(counter, block.content)
    case 'image':
      return mediaTokens
    case 'file':
      return Math.max(mediaTokens, textFileTokens(block))
    case 'opaque':
      return counter.count(JSON.stringify(block.value))
  }
}

/** The tokens of what stands around the messages: system text or tool definitions. */
export function weighFrame(counter: Counter, value: unknown): number {
  if (value === undefined) return 0
  return messageTokens + counter.count(typeof value === 'string' ? value : JSON.stringify(value))
}

export function blocksOf({ content }: Draft): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** The text of a tool result; pictures and files in it have none. */
export function textOfResult(content: string | readonly Block[]): string {
  if (typeof content === 'string') return content
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}

/** A text file inside a request is read as text: about four characters a token, three of them per four of base64. */
function textFileTokens({ data, mediaType }: FileBlock): number {
  if (data === undefined || mediaType?.startsWith('text/') !== true) return 0
  return Math.ceil((data.length * 3) / 16)
}

function weighContent(counter: Counter, content: string | readonly Block[]): number {
  if (typeof content === 'string') return counter.count(content)
  return content.reduce((sum, block) => sum + weighBlock(counter, block), 0)
}
