// LangChain messages, read into drafts. What blocks cannot say stays in `extra`; `langchain-build.ts` is the way back.

import type { Block, ReasoningBlock, ToolCallBlock } from '../../core/log/block.ts'
import type { Draft } from '../../core/log/entry.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import { extraOf, fieldOf, type JsonAt, parseDataUrl, readObjects, wrongShape } from '../foreign.ts'
import type { FormatName } from '../format.ts'
import { type Unwrapped, unwrap } from './wrap.ts'

export const langchainFormat: FormatName = 'langchain'

/** The draft of one message, without `native`. `extra` is the wrapping (`around`) and the fields that are no blocks (`rest`). */
export function decodeLangchainMessage(place: JsonAt): Draft {
  const unwrapped = unwrap(place)
  const { role, fields, around, wrapping } = unwrapped
  const known = ['content']
  const content = role === 'tool' ? decodeResult(unwrapped, known) : decodeSpoken(unwrapped, known)
  const name = fieldOf(fields, 'name')
  return {
    role,
    origin: role,
    content,
    source: { format: langchainFormat },
    ...(role === 'tool' && typeof name === 'string' ? { tool: name } : {}),
    extra: { wrapping, around, rest: extraOf(fields.value, known).extra ?? {} },
  }
}

function decodeSpoken({ role, fields }: Unwrapped, known: string[]): readonly Block[] {
  const blocks = decodeContent(fields)
  const calls = role === 'assistant' ? callsOf(fields, known) : []
  return [...blocks, ...calls]
}

/** Calls as LangChain parsed them; else as the provider wrote them, which old messages have only. */
function callsOf(fields: JsonAt, known: string[]): readonly ToolCallBlock[] {
  const calls = fieldOf(fields, 'tool_calls') ?? null
  if (Array.isArray(calls) && calls.length > 0) {
    known.push('tool_calls')
    return readObjects(fields, 'tool_calls').map(({ value }) => decodeCall(value))
  }
  if (calls !== null && !Array.isArray(calls)) {
    throw wrongShape(`${fields.path}.tool_calls`, 'an array', calls)
  }
  const additional = fieldOf(fields, 'additional_kwargs')
  const raw = isObject(additional) ? additional.tool_calls : undefined
  if (!Array.isArray(raw)) return []
  return raw.flatMap((call: unknown) => (isObject(call) ? [decodeCall(call as JsonObject)] : []))
}

/** LangChain's own calls have `args`; OpenAI's, which it takes too, a `function`. */
function decodeCall(call: JsonObject): ToolCallBlock {
  const { id, name, args } = call
  const callId = typeof id === 'string' ? id : ''
  if (isObject(call.function)) {
    const inner = call.function as JsonObject
    const text = inner.arguments
    return {
      type: 'tool-call',
      callId,
      name: typeof inner.name === 'string' ? inner.name : '',
      arguments: typeof text === 'string' ? text : JSON.stringify(text ?? {}),
      extra: {
        ...extraOf(call, ['id', 'function']).extra,
        function: extraOf(inner, ['name', 'arguments']).extra ?? {},
      },
    }
  }
  return {
    type: 'tool-call',
    callId,
    name: typeof name === 'string' ? name : '',
    arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
    ...extraOf(call, ['id', 'name', 'args']),
  }
}

function decodeResult({ fields }: Unwrapped, known: string[]): readonly Block[] {
  const content = fieldOf(fields, 'content') ?? ''
  const id = fieldOf(fields, 'tool_call_id')
  const name = fieldOf(fields, 'name')
  if (typeof id === 'string') known.push('tool_call_id')
  return [
    {
      type: 'tool-result',
      callId: typeof id === 'string' ? id : '',
      ...(typeof name === 'string' ? { name } : {}),
      content: typeof content === 'string' ? content : decodeContent(fields),
      ...(fieldOf(fields, 'status') === 'error' ? { isError: true } : {}),
    },
  ]
}

function decodeContent(fields: JsonAt): readonly Block[] {
  const content = fieldOf(fields, 'content') ?? null
  if (content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (Array.isArray(content)) {
    return readObjects(fields, 'content').map(({ value }) => decodePart(value))
  }
  throw wrongShape(`${fields.path}.content`, 'a string or an array of blocks', content)
}

function decodePart(part: JsonObject): Block {
  const { type, text } = part
  switch (type) {
    case 'text':
      // The type stays in `extra`: it tells a block from a plain string.
      return typeof text === 'string' ? { type, text, ...extraOf(part, ['text']) } : opaque(part)
    case 'image_url':
      return decodeImageUrl(part) ?? opaque(part)
    case 'image':
    case 'file':
      return decodeMedia(part, type) ?? opaque(part)
    case 'thinking':
    case 'reasoning':
    case 'redacted_thinking':
      return decodeReasoning(part, type)
    default:
      return opaque(part)
  }
}

/** Anthropic's thinking, and LangChain's own name for the same. */
function decodeReasoning(part: JsonObject, type: string): ReasoningBlock | Block {
  const key = type === 'redacted_thinking' ? 'data' : type
  const text = part[key]
  if (typeof text !== 'string') return opaque(part)
  const { signature } = part
  const isSealed = type === 'redacted_thinking'
  const seal = isSealed ? text : signature
  return {
    type: 'reasoning',
    ...(isSealed ? {} : { text }),
    ...(typeof seal === 'string' ? { signature: seal } : {}),
    ...extraOf(part, [key, ...(typeof signature === 'string' ? ['signature'] : [])]),
  }
}

function decodeImageUrl(part: JsonObject): Block | undefined {
  const image = part.image_url
  if (typeof image === 'string') {
    return { type: 'image', ...fromUrl(image), ...extraOf(part, ['image_url']) }
  }
  if (!isObject(image) || typeof image.url !== 'string') return undefined
  const inner = extraOf(image as JsonObject, ['url']).extra ?? {}
  const { extra = {} } = extraOf(part, ['image_url'])
  return { type: 'image', ...fromUrl(image.url), extra: { ...extra, image_url: inner } }
}

function fromUrl(url: string): { readonly url?: string; readonly data?: string } {
  return parseDataUrl(url) ?? { url }
}

/** LangChain's own pictures and files: `mimeType` (or `mime_type`) with `data` or `url`. */
function decodeMedia(part: JsonObject, type: 'image' | 'file'): Block | undefined {
  const { data, url, mimeType } = part
  const isData = typeof data === 'string'
  if (isData === (typeof url === 'string')) return undefined
  const known = [isData ? 'data' : 'url', ...(typeof mimeType === 'string' ? ['mimeType'] : [])]
  return {
    type,
    ...(typeof mimeType === 'string' ? { mediaType: mimeType } : {}),
    ...(isData ? { data } : { url: url as string }),
    ...extraOf(part, known),
  }
}

function opaque(value: Json): Block {
  return { type: 'opaque', format: langchainFormat, value }
}
