// Block types: the parts of a message. Plain JSON, immutable once logged.

import { isObject, type Json, type JsonObject } from './json.ts'

declare const brand: unique symbol
/** Stable short id of a block. Placeholders print it and `expand` takes it. */
export type BlockId = string & { readonly [brand]: 'BlockId' }

/** How long a block stays in view. Absent means forever. */
export type Lifetime =
  | { readonly newer: number }
  | { readonly turns: number }
  | { readonly steps: number }

/** Audience of a block. A block that no model sees is not sent and costs no tokens. */
export interface Audience {
  /** The model, in the first request after the block was appended. @default true */
  readonly now?: boolean
  /** The model, in later requests. @default true */
  readonly later?: boolean
  /** People, in a user interface. @default true */
  readonly person?: boolean
}

interface BlockFields {
  /** Assigned by Oriel when the block is logged. */
  readonly id?: BlockId
  readonly lifetime?: Lifetime
  /** Omitted when it is the default. @default everybody, now and later */
  readonly audience?: Audience
  /** The plugin that added the block. Absent for the message's own content. */
  readonly plugin?: string
  /** Fields of the provider's block that Oriel does not interpret, sent back to the same format. */
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

/**
 * The model's reasoning. Belongs to the provider that produced it: sent back whole to that format,
 * or left out.
 */
export interface ReasoningBlock extends BlockFields {
  readonly type: 'reasoning'
  readonly text?: string
  readonly signature?: string
}

export interface ToolCallBlock extends BlockFields {
  readonly type: 'tool-call'
  readonly callId: string
  readonly name: string
  /** The provider's text, unparsed. It may be invalid JSON. */
  readonly arguments: string
}

export interface ToolResultBlock extends BlockFields {
  readonly type: 'tool-result'
  readonly callId: string
  readonly name?: string
  readonly content: string | readonly Block[]
  readonly isError?: boolean
}

/**
 * A provider block of a type unknown to Oriel. Kept whole; sent back only to the format it came
 * from.
 */
export interface OpaqueBlock extends BlockFields {
  readonly type: 'opaque'
  readonly format: string
  readonly value: Json
  /**
   * Set where the block is a compaction by its provider, for which it stands for everything before it: with the summary, where it can be
   * read.
   */
  readonly compaction?: { readonly summary?: string }
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

/** Wraps blocks of types unknown to this version as opaque blocks, so that nothing is lost. */
export function withKnownBlocks<M extends { readonly blocks: readonly Block[] }>(message: M): M {
  if (message.blocks.every(({ type }) => knownTypes.has(type))) return message
  const blocks = message.blocks.map((block): Block => {
    if (knownTypes.has(block.type)) return block
    const { id, ...value } = block
    // Every logged value is JSON, whatever version wrote it.
    const kept = value as unknown as Json
    return { type: 'opaque', format: 'unknown', value: kept, ...(id === undefined ? {} : { id }) }
  })
  return { ...message, blocks }
}

/** True for a value with the fields that its type requires. A type of a later version may have any. */
export function isBlock(value: unknown): value is Block {
  if (!isObject(value)) return false
  const isText = (...fields: readonly unknown[]): boolean =>
    fields.every((field) => typeof field === 'string')
  switch (value.type) {
    case 'text':
      return isText(value.text)
    case 'tool-call':
      return isText(value.callId, value.name, value.arguments)
    case 'tool-result': {
      const { callId, content } = value
      return (
        isText(callId) && (isText(content) || (Array.isArray(content) && content.every(isBlock)))
      )
    }
    case 'opaque':
      return isText(value.format) && value.value !== undefined
    default:
      return isText(value.type)
  }
}

/** Length of a block's text in characters. */
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

/** The text of a block list or tool result. Blocks without text contribute nothing. */
export function textOf(content: string | readonly Block[]): string {
  if (typeof content === 'string') return content
  return content
    .map((block) => (block.type === 'text' ? block.text : ''))
    .filter((text) => text !== '')
    .join('\n')
}
