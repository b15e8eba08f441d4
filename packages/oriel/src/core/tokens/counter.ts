// What a token counter is, and how many tokens a block costs in a request.

import type { Block, FileBlock, Role } from '../log/block.ts'
import { assertNever } from '../log/errors.ts'

/** Counts the tokens of a text. Named, pure, never throws, linear in the text's length. */
export interface Counter {
  readonly name: string
  count(text: string): number
}

/** Role, separators and the like around one message. */
export const messageTokens = 4
/** Name, id and structure around one tool call or tool result. */
export const callTokens = 8
/** What it takes to wrap arguments that are no JSON object. */
const wrappingTokens = 6
/** What providers charge for one picture, roughly, whatever its base64 length. */
const imageTokens = 1200
/** What providers charge for one attached file at least; the text inside is unknown to us. */
const fileTokens = 1200

/** Tokens around a message. Results carry their own: some formats send each as a message of its own. */
export function overheadOf(role: Role): number {
  return role === 'tool' ? 0 : messageTokens
}

/** The tokens of one block in its full form. */
export function countBlock(counter: Counter, block: Block): number {
  switch (block.type) {
    case 'text':
      return counter.count(block.text)
    case 'reasoning':
      return counter.count(block.text ?? '') + counter.count(block.signature ?? '')
    case 'tool-call':
      return callTokens + counter.count(block.name) + countArguments(counter, block.arguments)
    case 'tool-result':
      return messageTokens + callTokens + countContent(counter, block.content)
    case 'image':
      return imageTokens
    case 'file':
      return Math.max(fileTokens, textFileTokens(block))
    case 'opaque':
      return counter.count(JSON.stringify(block.value))
    default:
      return assertNever(block)
  }
}

/** Arguments that are no JSON object are wrapped in one by formats that demand one. */
function countArguments(counter: Counter, text: string): number {
  const isObject = text.startsWith('{') && text.endsWith('}')
  return counter.count(text) + (isObject ? 0 : wrappingTokens)
}

/** A text file inside a request is read as text: about four characters a token, three of them per four of base64. */
function textFileTokens(block: FileBlock): number {
  if (block.data === undefined || block.mediaType?.startsWith('text/') !== true) return 0
  return Math.ceil((block.data.length * 3) / 16)
}

function countContent(counter: Counter, content: string | readonly Block[]): number {
  if (typeof content === 'string') return counter.count(content)
  return content.reduce((sum, block) => sum + countBlock(counter, block), 0)
}
