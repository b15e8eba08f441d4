// Messages of the AI SDK, as users keep them (`ModelMessage`) and as its models get them (the prompt of a language model), read into
// drafts. What blocks cannot say stays in `extra`; `ai-sdk-build.ts` is the way back.

import type { Block, ReasoningBlock, ToolCallBlock, ToolResultBlock } from '../../core/log/block.ts'
import type { Draft } from '../../core/log/entry.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import { bytesToBase64 } from '../../core/text/bytes.ts'
import { extraOf, fieldOf, type JsonAt, parseDataUrl, readString, wrongShape } from '../foreign.ts'
import type { FormatName } from '../format.ts'

export const aiSdkFormat: FormatName = 'ai-sdk'

const roles = ['system', 'user', 'assistant', 'tool'] as const

/** Pictures and files may be bytes or a URL; both have one text. */
export function classText(value: object): string | undefined {
  return value instanceof URL ? value.href : bytesToBase64(value)
}

/** The draft of one message, without `native`. */
export function decodeAiSdkMessage(place: JsonAt): Draft {
  const text = readString(place, 'role')
  const role = roles.find((known) => known === text)
  if (role === undefined) {
    throw wrongShape(`${place.path}.role`, "'system', 'user', 'assistant' or 'tool'", text)
  }
  const content = decodeContent(place, role)
  const tool = content.find((block) => block.type === 'tool-result')?.name
  return {
    role,
    origin: role,
    content,
    source: { format: aiSdkFormat },
    ...(role === 'tool' && tool !== undefined ? { tool } : {}),
    ...extraOf(place.value, ['role', 'content']),
  }
}

/** What a person said of a call that waits for them. */
export const approvalResponse = 'tool-approval-response'
/** What asks a person to approve a call. */
export const approvalRequest = 'tool-approval-request'

/** The text that stands for a result which a person refused. */
export function deniedText(reason: unknown): string {
  return typeof reason === 'string' && reason !== '' ? reason : 'Tool execution denied.'
}

/** Where a string leads: an address, or base64 data. */
function sourceOf(text: string): {
  readonly url?: string
  readonly data?: string
  readonly mediaType?: string
} {
  const inline = parseDataUrl(text)
  if (inline !== undefined) return inline
  return isAddress(text) ? { url: text } : { data: text }
}

/** Base64 has no colon. */
export function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(text.slice(0, 40))
}

function decodeContent(place: JsonAt, role: Draft['role']): readonly Block[] {
  const content = fieldOf(place, 'content') ?? null
  if (content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) {
    throw wrongShape(`${place.path}.content`, 'a string or an array of parts', content)
  }
  return content.map((part: Json, index) => {
    const path = `${place.path}.content[${index}]`
    if (!isObject(part)) throw wrongShape(path, 'an object', part)
    return decodePart(part as JsonObject, role)
  })
}

function decodePart(part: JsonObject, role: Draft['role']): Block {
  const { type, text } = part
  switch (type) {
    case 'text':
      // The type stays in `extra`: it tells a part from a plain string.
      return typeof text === 'string' ? { type, text, ...extraOf(part, ['text']) } : opaque(part)
    case 'image':
    case 'file':
      return decodeMedia(part) ?? opaque(part)
    case 'reasoning':
      return typeof text === 'string' && role === 'assistant'
        ? decodeReasoning(part, text)
        : opaque(part)
    case 'tool-call':
      // A call that the provider itself runs is answered in the same message: both are kept as they are.
      return part.providerExecuted === true || role !== 'assistant'
        ? opaque(part)
        : decodeCall(part)
    case 'tool-result':
      return role === 'tool' || role === 'user' ? decodeResult(part) : opaque(part)
    default:
      return opaque(part)
  }
}

function decodeReasoning(part: JsonObject, text: string): ReasoningBlock {
  const signature = signatureIn(part.providerOptions)
  return {
    type: 'reasoning',
    text,
    ...(signature === undefined ? {} : { signature }),
    ...extraOf(part, ['type', 'text']),
  }
}

/** The seal of providers that bind reasoning to what came before it. */
function signatureIn(options: Json | undefined): string | undefined {
  if (!isObject(options)) return undefined
  for (const own of Object.values(options)) {
    if (!isObject(own)) continue
    const seal = own.signature ?? own.redactedData
    if (typeof seal === 'string') return seal
  }
  return undefined
}

function decodeCall(part: JsonObject): ToolCallBlock {
  const { toolCallId, toolName, input } = part
  return {
    type: 'tool-call',
    callId: typeof toolCallId === 'string' ? toolCallId : '',
    name: typeof toolName === 'string' ? toolName : '',
    arguments: typeof input === 'string' ? input : JSON.stringify(input ?? {}),
    ...extraOf(part, ['type', 'toolCallId', 'toolName', 'input']),
  }
}

function decodeResult(part: JsonObject): ToolResultBlock {
  const { toolCallId, toolName } = part
  const output: JsonObject = isObject(part.output) ? (part.output as JsonObject) : {}
  const { type, value } = output
  const own = type === 'execution-denied' ? { extra: output } : extraOf(output, ['value'])
  const extra = {
    ...extraOf(part, ['type', 'toolCallId', 'toolName', 'output']).extra,
    output: own.extra ?? {},
  }
  const isError = type === 'error-text' || type === 'error-json' || type === 'execution-denied'
  return {
    type: 'tool-result',
    callId: typeof toolCallId === 'string' ? toolCallId : '',
    ...(typeof toolName === 'string' ? { name: toolName } : {}),
    content: type === 'execution-denied' ? deniedText(output.reason) : resultContent(type, value),
    ...(isError ? { isError } : {}),
    extra,
  }
}

function resultContent(type: unknown, value: Json | undefined): string | readonly Block[] {
  if (type === 'content' && Array.isArray(value)) {
    return value.map((part: Json) =>
      isObject(part) ? decodeResultPart(part as JsonObject) : opaque(part),
    )
  }
  if (value === undefined) return ''
  return typeof value === 'string' && !isJsonType(type) ? value : JSON.stringify(value)
}

export function isJsonType(type: unknown): boolean {
  return type === 'json' || type === 'error-json'
}

/** Parts of a result: as in a message, and in the older shapes with one type for each kind of source. */
function decodeResultPart(part: JsonObject): Block {
  const { type, text, data, url } = part
  if (type === 'text' && typeof text === 'string') return { type, text, ...extraOf(part, ['text']) }
  if (type === 'file') return decodeMedia(part) ?? opaque(part)
  const isData = type === 'file-data' || type === 'image-data' || type === 'media'
  if (isData && typeof data === 'string') return mediaBlock(part, { data })
  const isUrl = type === 'file-url' || type === 'image-url'
  if (isUrl && typeof url === 'string') return mediaBlock(part, { url })
  return opaque(part)
}

function decodeMedia(part: JsonObject): Block | undefined {
  const value = part.type === 'image' ? part.image : part.data
  if (typeof value === 'string') return mediaBlock(part, sourceOf(value))
  if (!isObject(value)) return undefined
  const { type, data, url } = value
  const extra = { data: extraOf(value as JsonObject, ['data', 'url']).extra ?? {} }
  if (type === 'data' && typeof data === 'string') return mediaBlock(part, { data }, extra)
  if (type === 'url' && typeof url === 'string') return mediaBlock(part, { url }, extra)
  return undefined
}

function mediaBlock(
  part: JsonObject,
  source: { readonly url?: string; readonly data?: string; readonly mediaType?: string },
  inner: JsonObject = {},
): Block {
  const { type, mediaType, filename } = part
  const kind = typeof mediaType === 'string' ? mediaType : source.mediaType
  const isImage = String(type).startsWith('image') || kind?.startsWith('image') === true
  const name = typeof filename === 'string' && !isImage ? { name: filename } : {}
  const known = ['image', 'data', 'url', 'mediaType', ...(isImage ? [] : ['filename'])]
  const { mediaType: _, ...where } = source
  return {
    type: isImage ? 'image' : 'file',
    ...(kind === undefined ? {} : { mediaType: kind }),
    ...name,
    ...where,
    extra: { ...extraOf(part, known).extra, ...inner },
  }
}

function opaque(value: Json): Block {
  return { type: 'opaque', format: aiSdkFormat, value }
}
