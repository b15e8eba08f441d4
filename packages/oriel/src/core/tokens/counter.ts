// Token counter interface, and the token cost of a block in a request.

import type { Block, FileBlock, Role } from '../log/block.ts'
import { assertNever } from '../log/errors.ts'
import { pictureTokens } from './picture.ts'

/** Counts the tokens of a text. Named, pure, never throws, linear in the text's length. */
export interface Counter {
  readonly name: string
  count(text: string): number
  /** By how much the count of a text may be too low, as a share of it: budgets keep that free. @default 0 */
  margin?(text: string): number
}

/** Overhead of a message: role, separators. */
export const messageTokens = 4
/** Overhead of a tool call or tool result: name, id, structure. */
export const callTokens = 8
/** Cost of wrapping arguments that are not a JSON object. */
const wrappingTokens = 6
/** Minimum provider charge for one attached file, whose text is unknown to us. */
const fileTokens = 1200

/** Overhead of a message. Results have their own, because some formats send each as a message. */
export function overheadOf(role: Role): number {
  return role === 'tool' ? 0 : messageTokens
}

/** Tokens of one block in full form. */
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
      return pictureTokens(block)
    case 'file':
      return Math.max(fileTokens, textFileTokens(block))
    case 'opaque':
      return counter.count(JSON.stringify(block.value))
    default:
      return assertNever(block)
  }
}

/** Some formats require an object, so other arguments are wrapped in one. */
function countArguments(counter: Counter, text: string): number {
  const isObject = text.startsWith('{') && text.endsWith('}')
  return counter.count(text) + (isObject ? 0 : wrappingTokens)
}

/**
 * Text files are read as text: about four characters per token, three bytes per four base64
 * characters.
 */
function textFileTokens(block: FileBlock): number {
  if (block.data === undefined || block.mediaType?.startsWith('text/') !== true) return 0
  return Math.ceil((block.data.length * 3) / 16)
}

function countContent(counter: Counter, content: string | readonly Block[]): number {
  if (typeof content === 'string') return counter.count(content)
  return content.reduce((sum, block) => sum + countBlock(counter, block), 0)
}
