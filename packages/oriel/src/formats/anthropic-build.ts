// How blocks are written in Anthropic's words. `decode` uses it too, to see whether the original would come back.

import type {
  Block,
  FileBlock,
  ImageBlock,
  ReasoningBlock,
  ToolResultBlock,
} from '../core/block.ts'
import { assertNever } from '../core/errors.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { checkJson, isObject } from '../core/json.ts'
import type { Material } from './foreign.ts'

/** A message that is not written yet, so that it can still be merged, ordered and cleaned. */
export interface WireMessage {
  readonly role: 'user' | 'assistant' | 'system'
  readonly blocks: readonly JsonObject[]
  /** Whether a lone text is written as a string instead of a list with one block. */
  readonly isPlain: boolean
  /** Fields of the message that Oriel does not read. */
  readonly extra: JsonObject
}

/** A message in Anthropic's blocks, in the order given. Blocks that the format cannot carry are left out. */
export function buildMessage(material: Material): WireMessage {
  const { role, blocks, isOwn, extra, wireIds } = material
  const built = blocks.flatMap((block, index) => {
    const one = buildBlock(block, { isOwn, callId: wireIds?.get(index) })
    return one === undefined ? [] : [one]
  })
  return { role: role === 'tool' ? 'user' : role, blocks: built, isPlain: isPlain(material), extra }
}

/** A message as it goes on the wire. */
export function writeMessage({ role, blocks, isPlain, extra }: WireMessage): JsonObject {
  const text = isPlain && blocks.length === 1 ? blocks[0]?.text : undefined
  return { ...extra, role, content: text ?? blocks }
}

/** A message that is already written, taken apart again; undefined if it is not one. */
export function readWritten(value: Json | undefined): WireMessage | undefined {
  if (!isObject(value)) return undefined
  const { role, content, ...extra } = value as JsonObject
  if (role !== 'user' && role !== 'assistant') return undefined
  if (typeof content === 'string') {
    return { role, blocks: [{ type: 'text', text: content }], isPlain: true, extra }
  }
  if (!Array.isArray(content) || !content.every(isObject)) return undefined
  return { role, blocks: content as readonly JsonObject[], isPlain: false, extra }
}

/**
 * The text of a call's arguments as the object that `input` must be. Nothing in it is lost:
 * - no text at all is an empty object;
 * - integers that a JavaScript number cannot hold are written as strings, digit for digit;
 * - text that is not a JSON object is wrapped as `{ "_raw": text }`.
 */
export function parseArguments(text: string): JsonObject {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(quoteHugeIntegers(text))
    checkJson(value, 'arguments')
    if (isObject(value)) return value as JsonObject
  } catch {
    // Not JSON, or nested too deep to be sent as JSON: sent as text.
  }
  return { _raw: text }
}

function isPlain({ blocks, isOwn }: Material): boolean {
  const [first, ...others] = blocks
  // A text that came as a block has an `extra`, be it empty: see the decoder.
  return others.length === 0 && first?.type === 'text' && !(isOwn && first.extra !== undefined)
}

interface BuildOptions {
  readonly isOwn: boolean
  readonly callId?: string | undefined
}

function buildBlock(block: Block, { isOwn, callId }: BuildOptions): JsonObject | undefined {
  const extra = (isOwn ? block.extra : undefined) ?? {}
  switch (block.type) {
    case 'text':
      return { ...extra, type: 'text', text: block.text }
    case 'image':
      return withSource(imageSource(block), { ...extra, type: 'image' })
    case 'file': {
      const title = block.name === undefined ? {} : { title: block.name }
      return withSource(fileSource(block), { ...extra, type: 'document', ...title })
    }
    case 'reasoning':
      // Thinking means something only to the provider that signed it (A14).
      return isOwn ? { ...extra, ...buildReasoning(block) } : undefined
    case 'tool-call': {
      const { name } = block
      const input = parseArguments(block.arguments)
      return { ...extra, type: 'tool_use', id: callId ?? block.callId, name, input }
    }
    case 'tool-result':
      return { ...extra, ...buildResult(block, { isOwn, callId }) }
    case 'opaque':
      if (block.format !== 'anthropic' || !isObject(block.value)) return undefined
      return block.value as JsonObject
    default:
      return assertNever(block)
  }
}

function withSource(source: JsonObject | undefined, block: JsonObject): JsonObject | undefined {
  return source === undefined ? undefined : { ...block, source }
}

function imageSource({ mediaType = 'image/png', data, url }: ImageBlock): JsonObject | undefined {
  if (data !== undefined) return { type: 'base64', media_type: mediaType, data }
  return url === undefined ? undefined : { type: 'url', url }
}

/** Plain text travels as text, since base64 is accepted for PDF only. */
function fileSource({
  mediaType = 'application/pdf',
  data,
  url,
}: FileBlock): JsonObject | undefined {
  if (data === undefined) return url === undefined ? undefined : { type: 'url', url }
  if (!mediaType.startsWith('text/')) return { type: 'base64', media_type: mediaType, data }
  return { type: 'text', media_type: 'text/plain', data: Buffer.from(data, 'base64').toString() }
}

/** Reasoning without text is the redacted kind: its signature is the encrypted thinking itself. */
function buildReasoning({ text, signature }: ReasoningBlock): JsonObject {
  const sealed = signature ?? ''
  if (text === undefined) return { type: 'redacted_thinking', data: sealed }
  return { type: 'thinking', thinking: text, ...(signature === undefined ? {} : { signature }) }
}

function buildResult(block: ToolResultBlock, { isOwn, callId }: BuildOptions): JsonObject {
  const isError = block.isError === undefined ? {} : { is_error: block.isError }
  const content = buildContent(block.content, isOwn)
  return { type: 'tool_result', tool_use_id: callId ?? block.callId, ...content, ...isError }
}

/** An empty result has no `content` at all, the form that Anthropic documents; one of its own stays as it came. */
function buildContent(content: ToolResultBlock['content'], isOwn: boolean): JsonObject {
  if (typeof content === 'string') return isOwn || content.trim() !== '' ? { content } : {}
  const blocks = content.flatMap((block) => buildBlock(block, { isOwn }) ?? [])
  return blocks.length === 0 ? {} : { content: blocks }
}

/** Matches strings too, so that digits inside them are passed over. */
const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

function quoteHugeIntegers(text: string): string {
  // Any integer of at most 15 digits is exact.
  if (!/\d{16}/.test(text)) return text
  return text.replaceAll(stringOrNumber, (token) => {
    const isInteger = /^-?\d{16,}$/.test(token)
    return isInteger && BigInt(token) !== BigInt(Number(token)) ? `"${token}"` : token
  })
}
