// Request pieces: a request as a flat sequence of texts, tool calls and tool results, the unit of
// caching and judging.

import { callTokens, messageTokens } from '../core/tokens/counter.ts'
import type { Frame } from '../core/view/view.ts'

export interface Piece {
  readonly role: string
  /** All texts that the model reads: contents, names, arguments. */
  readonly texts: readonly string[]
  /** Cache identity, including texts: equal lists mean equal bytes. */
  readonly identity: readonly string[]
  /** Tokens not covered by text: images, separators. */
  readonly extraTokens: number
}

/** Approximate provider charge for one image or file. */
const mediaTokens = 1200
/** Structural fields, not content. */
const structural: ReadonlySet<string> = new Set([
  'type',
  'id',
  'role',
  'status',
  'tool_call_id',
  'tool_use_id',
  'toolCallId',
  'call_id',
])
/** Fields that are not sent, or that provider caches ignore. */
const ignored: ReadonlySet<string> = new Set([
  'cache_control',
  'cacheControl',
  'response_metadata',
  'usage_metadata',
])
const media: ReadonlySet<unknown> = new Set([
  'image',
  'image_url',
  'input_image',
  'input_audio',
  'file',
  'input_file',
  'document',
])

/**
 * The pieces of a request body in any format, in wire order. Message boundaries are not preserved.
 */
export function piecesOf(messages: readonly unknown[], system?: unknown): readonly Piece[] {
  const pieces: Piece[] = []
  if (system !== undefined && system !== null) addContent(pieces, 'system', system)
  for (const message of messages) addMessage(pieces, message)
  return pieces
}

/** Frame pieces in the order in which providers cache them: tools, system text. */
export function framePieces(frame: Frame | undefined): readonly Piece[] {
  const pieces: Piece[] = []
  for (const tool of Array.isArray(frame?.tools) ? frame.tools : []) {
    pieces.push(toPiece('tools', tool, callTokens))
  }
  const { system } = frame ?? {}
  if (system !== undefined && system !== null) addContent(pieces, 'system', system)
  return pieces
}

/** Length of the common prefix of two requests, in pieces. */
export function sharedPrefix(a: readonly Piece[], b: readonly Piece[]): number {
  const end = Math.min(a.length, b.length)
  for (let index = 0; index < end; index++) {
    if (!isEqual(a[index] as Piece, b[index] as Piece)) return index
  }
  return end
}

function isEqual(a: Piece, b: Piece): boolean {
  if (a === b) return true
  if (a.role !== b.role || a.identity.length !== b.identity.length) return false
  for (let index = 0; index < a.identity.length; index++) {
    if (a.identity[index] !== b.identity[index]) return false
  }
  return true
}

function addMessage(pieces: Piece[], message: unknown): void {
  if (typeof message !== 'object' || message === null) return
  const { role, content, tool_calls: calls, ...rest } = message as Record<string, unknown>
  // Non-message items of OpenAI Responses have no role.
  if (typeof role !== 'string') {
    pieces.push(toPiece('item', message, messageTokens))
    return
  }
  const first = pieces.length
  addContent(pieces, role, content, rest)
  for (const call of Array.isArray(calls) ? calls : []) {
    pieces.push(toPiece(role, call, callTokens))
  }
  if (pieces.length === first) pieces.push(toPiece(role, rest, messageTokens))
}

/**
 * A string is one piece, a list one per part. Fields beside the content, such as a call id, belong
 * to the first.
 */
function addContent(pieces: Piece[], role: string, content: unknown, rest: object = {}): void {
  if (typeof content === 'string') {
    const extra = role === 'tool' ? messageTokens + callTokens : messageTokens
    pieces.push(toPiece(role, content, extra, rest))
  } else if (Array.isArray(content)) {
    for (const [index, part] of content.entries()) {
      const type: unknown = typeof part === 'object' && part !== null ? part.type : undefined
      const extra = media.has(type) ? mediaTokens : index === 0 ? messageTokens : callTokens
      pieces.push(toPiece(role, part, extra, index === 0 ? rest : {}))
    }
  }
}

function toPiece(role: string, value: unknown, extraTokens: number, beside: object = {}): Piece {
  const texts: string[] = []
  const identity: string[] = []
  collect(value, { texts, identity, isText: true })
  for (const key in beside) {
    const isText = !structural.has(key)
    collect((beside as Record<string, unknown>)[key], { texts, identity, isText })
  }
  return { role, texts, identity, extraTokens }
}

interface Leaves {
  readonly texts: string[]
  readonly identity: string[]
  readonly isText: boolean
}

function collect(value: unknown, leaves: Leaves): void {
  if (typeof value === 'string') {
    leaves.identity.push(value)
    if (leaves.isText && value !== '') leaves.texts.push(value)
  } else if (typeof value === 'number' || typeof value === 'boolean') {
    leaves.identity.push(String(value))
    if (leaves.isText) leaves.texts.push(String(value))
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, leaves)
  } else if (typeof value === 'object' && value !== null) {
    const isMedia = media.has((value as { type?: unknown }).type)
    for (const [key, item] of Object.entries(value)) {
      if (ignored.has(key)) continue
      // Images are bytes, not text.
      const isText = leaves.isText && !structural.has(key) && !isMedia
      collect(item, { ...leaves, isText })
    }
  }
}
