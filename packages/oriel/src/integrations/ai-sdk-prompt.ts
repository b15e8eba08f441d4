// A view as the prompt of a language model: lists of parts, URLs as URLs, files as each version of the specification has them.

import { canonicalJson, cloneJson, isObject, type Json, type JsonObject } from '../core/log/json.ts'
import { classText, isAddress } from '../providers/ai-sdk/decode.ts'

export interface PromptOptions {
  /** The model's `specificationVersion`. */
  readonly version: string
  /** The prompt that the SDK made: messages that are shown unchanged are its very objects. */
  readonly originals: readonly unknown[]
}

type Fields = Readonly<Record<string, unknown>>

export function toPrompt(
  messages: readonly Json[],
  { version, originals }: PromptOptions,
): readonly unknown[] {
  const known = new Map<string, unknown>()
  for (const original of originals) {
    const json = cloneJson(original, 'prompt', (value, depth) =>
      depth === 0 ? undefined : classText(value),
    )
    known.set(canonicalJson(json), original)
  }
  return messages.map((message) => {
    const original = known.get(canonicalJson(message))
    return original ?? toMessage(message as JsonObject, version)
  })
}

const marker = { type: 'ephemeral' }

/**
 * The prompt with a mark for Anthropic's cache at the end of the system text and at the end of the conversation: between epochs a view
 * only grows at its end, so the next request reads up to here. Not set where the prompt has a mark, and at the first step.
 */
export function withCacheMarker(prompt: readonly unknown[]): readonly unknown[] {
  const messages = prompt as readonly Fields[]
  const isGoing = messages.some(({ role }) => role === 'assistant')
  if (!isGoing || messages.some(hasMarker)) return prompt
  const system = messages.findLastIndex(({ role }, index) =>
    messages.slice(0, index + 1).every((one) => one.role === 'system') ? role === 'system' : false,
  )
  const last = messages.length - 1
  return messages.map((message, index) =>
    index === system || index === last ? marked(message) : message,
  )
}

function hasMarker(message: Fields): boolean {
  const parts: readonly unknown[] = Array.isArray(message.content) ? message.content : []
  return [message, ...parts].some(
    (one) =>
      isObject(one) &&
      isObject(one.providerOptions) &&
      isObject(one.providerOptions.anthropic) &&
      (one.providerOptions.anthropic.cacheControl ??
        one.providerOptions.anthropic.cache_control) !== undefined,
  )
}

function marked(message: Fields): Fields {
  const options = isObject(message.providerOptions) ? message.providerOptions : {}
  const own = isObject(options.anthropic) ? options.anthropic : {}
  return {
    ...message,
    providerOptions: { ...options, anthropic: { ...own, cacheControl: marker } },
  }
}

function toMessage(message: JsonObject, version: string): Fields {
  const { role, content } = message
  if (role === 'system') return message
  const parts: readonly Json[] = Array.isArray(content)
    ? content
    : content === ''
      ? []
      : [{ type: 'text', text: String(content) }]
  return { ...message, content: parts.map((part) => toPart(part as JsonObject, version)) }
}

function toPart(part: JsonObject, version: string): Fields {
  switch (part.type) {
    case 'image': {
      const { image, mediaType, ...rest } = part
      return {
        ...rest,
        type: 'file',
        data: fileData(image, version),
        mediaType: mediaType ?? 'image/*',
      }
    }
    case 'file':
    case 'reasoning-file':
      return { ...part, data: fileData(part.data, version) }
    case 'tool-result':
      return { ...part, output: toOutput(part.output, version) }
    default:
      return part
  }
}

/** Version 4 says which kind of source it is; before, a URL was one by its class. */
function fileData(data: Json | undefined, version: string): unknown {
  if (isObject(data)) {
    return typeof data.url === 'string' ? { ...data, url: new URL(data.url) } : data
  }
  const text = String(data)
  const url = isAddress(text) ? new URL(text) : undefined
  if (version !== 'v4') return url ?? text
  return url === undefined ? { type: 'data', data: text } : { type: 'url', url }
}

function toOutput(output: Json | undefined, version: string): unknown {
  if (!isObject(output) || output.type !== 'content' || !Array.isArray(output.value)) return output
  const value: readonly unknown[] = output.value
  return { ...output, value: value.map((part) => toResultPart(part as JsonObject, version)) }
}

/** Version 4 has one type for all files in results. */
function toResultPart(part: JsonObject, version: string): Fields {
  const { type, data, url, mediaType, ...rest } = part
  if (type === 'file') return { ...part, data: fileData(data, version) }
  if (version !== 'v4') return part
  const kind = mediaType ?? (String(type).startsWith('image') ? 'image/*' : '*/*')
  if (type === 'image-data' || type === 'file-data' || type === 'media') {
    return { ...rest, type: 'file', data: { type: 'data', data }, mediaType: kind }
  }
  if (type === 'image-url' || type === 'file-url') {
    const source = { type: 'url', url: new URL(String(url)) }
    return { ...rest, type: 'file', data: source, mediaType: kind }
  }
  return part
}
