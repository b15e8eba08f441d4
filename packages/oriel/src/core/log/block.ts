// The pieces a message is made of. Plain JSON data, never changed after it was logged.

import type { Json, JsonObject } from './json.ts'

declare const brand: unique symbol
/** The stable, short id of a block; also what placeholders print and `expand` takes. */
export type BlockId = string & { readonly [brand]: 'BlockId' }

/** How long a block stays in view. Absent means for ever. */
export type Lifetime =
  | { readonly newer: number }
  | { readonly turns: number }
  | { readonly steps: number }

/** Who sees a block. A block that no model sees is not sent and costs no tokens. */
export interface Audience {
  /** The model, in the request made right after the block came in. @default true */
  readonly now?: boolean
  /** The model, in later requests. @default true */
  readonly later?: boolean
  /** People, in a user interface. @default true */
  readonly person?: boolean
}

interface BlockFields {
  /** Given by Oriel when the block is logged. */
  readonly id?: BlockId
  readonly lifetime?: Lifetime
  /** Who sees it. The usual audience is not written down. @default everybody, now and later */
  readonly audience?: Audience
  /** The plugin that added it; what the message itself says has none. */
  readonly plugin?: string
  /** Fields of the foreign block that Oriel does not read, replayed to the same format. */
  readonly extra?: JsonObject
}

export interface TextBlock extends BlockFields {
  readonly type: 'text'
  readonly text: string
}

/** Exactly one of `data` (base64) and `url` is present. */
export interface ImageBlock extends BlockFields {
  readonly type: 'image'
  readonly mediaType?: string
  readonly data?: string
  readonly url?: string
}

export interface FileBlock extends BlockFields {
  readonly type: 'file'
  readonly mediaType?: string
  readonly name?: string
  readonly data?: string
  readonly url?: string
}

/** The model's own thinking. Bound to the provider that made it: replayed whole to that format, or left out whole. */
export interface ReasoningBlock extends BlockFields {
  readonly type: 'reasoning'
  readonly text?: string
  readonly signature?: string
}

export interface ToolCallBlock extends BlockFields {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: string
  /** The provider's own text, kept as it came, even if it is not valid JSON. */
  readonly arguments: string
}

export interface ToolResultBlock extends BlockFields {
  readonly type: 'tool-result'
  readonly callId: string
  readonly name?: string
  readonly content: string | readonly Block[]
  readonly isError?: boolean
}

/** A foreign block of a type that Oriel does not know. Kept whole; replayed only to the format it came from. */
export interface OpaqueBlock extends BlockFields {
  readonly type: 'opaque'
  readonly format: string
  readonly value: Json
}

export type Block =
  | TextBlock
  | ImageBlock
  | FileBlock
  | ReasoningBlock
  | ToolCallBlock
  | ToolResultBlock
  | OpaqueBlock

export type Role = 'system' | 'user' | 'assistant' | 'tool'
export type Origin = 'user' | 'assistant' | 'tool' | 'system' | 'plugin' | 'host'

const knownTypes: ReadonlySet<string> = new Set([
  'text',
  'image',
  'file',
  'reasoning',
  'tool-call',
  'tool-result',
  'opaque',
])

/** A message of which blocks of a later version are opaque: kept whole, read by nobody here. */
export function withKnownBlocks<M extends { readonly blocks: readonly Block[] }>(message: M): M {
  if (message.blocks.every(({ type }) => knownTypes.has(type))) return message
  const blocks = message.blocks.map((block): Block => {
    if (knownTypes.has(block.type)) return block
    const { id, ...value } = block
    // What a later version wrote is JSON like everything in the log.
    const kept = value as unknown as Json
    return { type: 'opaque', format: 'unknown', value: kept, ...(id === undefined ? {} : { id }) }
  })
  return { ...message, blocks }
}

/** Characters of a block's text. */
export function lengthOf(block: Block): number {
  switch (block.type) {
    case 'text':
      return block.text.length
    case 'tool-result':
      return textOf(block.content).length
    case 'tool-call':
      return block.arguments.length
    case 'reasoning':
      return (block.text ?? '').length
    default:
      return 0
  }
}

/** The text of a block or of a tool result's content; blocks without text contribute nothing. */
export function textOf(content: string | readonly Block[]): string {
  if (typeof content === 'string') return content
  return content
    .map((block) => (block.type === 'text' ? block.text : ''))
    .filter((text) => text !== '')
    .join('\n')
}
