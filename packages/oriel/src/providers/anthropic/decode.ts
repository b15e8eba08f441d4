// Anthropic's messages as drafts. Everything that is not understood is kept: fields in `extra`, blocks as `opaque`.

import type { Block, FileBlock, ImageBlock, ToolResultBlock } from '../../core/log/block.ts'
import type { Draft } from '../../core/log/entry.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import { textToBase64 } from '../../core/text/bytes.ts'
import { forPeople, isOwnCompaction } from '../compaction.ts'
import type { JsonAt } from '../foreign.ts'
import {
  extraOf,
  materialOfDraft,
  nativeIfNeeded,
  readList,
  readObjects,
  readString,
  wrongShape,
} from '../foreign.ts'
import type { Decoded } from '../format.ts'
import { buildMessage } from './build.ts'
import { withGaps, writeMessage } from './wire.ts'

/** Reads a list of messages. A user message that mixes results with other content becomes two drafts of the same index. */
export function decodeMessages(messages: readonly unknown[], path: string): readonly Decoded[] {
  return readList(messages, path).flatMap((place, index) =>
    split(place).map((part) => ({ draft: toDraft(part), from: index, to: index + 1 })),
  )
}

/** A foreign message, or what one draft takes of it. */
interface Part {
  readonly role: Draft['role']
  readonly message: JsonObject
  readonly content: string | readonly JsonObject[]
}

function split(place: JsonAt): readonly Part[] {
  const message = place.value
  const role = readString(place, 'role')
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw wrongShape(`${place.path}.role`, "'user', 'assistant' or 'system'", role)
  }
  if (typeof message.content === 'string') return [{ role, message, content: message.content }]
  const content = readObjects(place, 'content').map((block) => block.value)
  const results = role === 'user' ? content.filter(isResult) : []
  if (results.length === 0) return [{ role, message, content }]
  const others = content.filter((block) => !isResult(block))
  if (others.length === 0) return [{ role: 'tool', message, content }]
  // Written by the same builder and merged again, the two give back the message they came from. If others stood before a result,
  // they cannot: then the original of the results says where, so that the encoder can tell that they were moved (A11).
  return [
    {
      role: 'tool',
      message: { ...message, content: withGaps(content, isResult) },
      content: results,
    },
    { role: 'user', message: { role, content: others }, content: others },
  ]
}

function toDraft({ role, message, content }: Part): Draft {
  const draft: Draft = {
    role,
    origin: role,
    content: typeof content === 'string' ? content : toBlocks(content, role),
    source: { format: 'anthropic' },
    ...extraOf(message, ['role', 'content']),
  }
  const rebuilt = writeMessage(buildMessage(materialOfDraft(draft)))
  return {
    ...draft,
    ...nativeIfNeeded({ format: 'anthropic', original: [message], rebuilt: [rebuilt] }),
  }
}

function toBlocks(content: readonly JsonObject[], role: Draft['role']): readonly Block[] {
  const blocks = content.map((block) => toBlock(block, role))
  const [first, ...others] = blocks
  if (first?.type !== 'text' || others.length > 0) return blocks
  // A lone text came either as a string or as a list of one block: an `extra`, be it empty, marks the list.
  return [{ extra: {}, ...first }]
}

/** A block whose shape is not exactly the known one is opaque: it goes back as it came, and is never misread. */
function toBlock(value: JsonObject, role: Draft['role']): Block {
  switch (value.type) {
    case 'text':
      if (typeof value.text !== 'string') break
      return { type: 'text', text: value.text, ...extraOf(value, ['type', 'text']) }
    case 'image':
      return toImage(value) ?? toOpaque(value)
    case 'document':
      return toFile(value) ?? toOpaque(value)
    case 'tool_result':
      return role === 'tool' ? toResult(value) : toOpaque(value)
    case 'compaction':
      return role === 'assistant' ? toCompaction(value) : toOpaque(value)
    case 'thinking':
    case 'redacted_thinking':
    case 'tool_use':
      return (role === 'assistant' ? toAssistantBlock(value) : undefined) ?? toOpaque(value)
  }
  return toOpaque(value)
}

function toAssistantBlock(value: JsonObject): Block | undefined {
  const { type, thinking, signature, data, id, name, input } = value
  if (type === 'thinking' && typeof thinking === 'string') {
    if (typeof signature !== 'string') {
      return { type: 'reasoning', text: thinking, ...extraOf(value, ['type', 'thinking']) }
    }
    const extra = extraOf(value, ['type', 'thinking', 'signature'])
    return { type: 'reasoning', text: thinking, signature, ...extra }
  }
  if (type === 'redacted_thinking' && typeof data === 'string') {
    return { type: 'reasoning', signature: data, ...extraOf(value, ['type', 'data']) }
  }
  if (type === 'tool_use' && typeof id === 'string' && typeof name === 'string') {
    const extra = extraOf(value, ['type', 'id', 'name', 'input'])
    return { type: 'tool-call', callId: id, name, arguments: JSON.stringify(input ?? {}), ...extra }
  }
  return undefined
}

function toImage(value: JsonObject): ImageBlock | undefined {
  const source = readSource(value.source)
  const extra = extraOf(value, ['type', 'source'])
  if (source?.type === 'url') return { type: 'image', url: source.value, ...extra }
  if (source?.type !== 'base64') return undefined
  return { type: 'image', mediaType: source.mediaType, data: source.value, ...extra }
}

function toFile(value: JsonObject): FileBlock | undefined {
  const source = readSource(value.source)
  const hasTitle = typeof value.title === 'string'
  const name = typeof value.title === 'string' ? { name: value.title } : {}
  const extra = extraOf(value, ['type', 'source', ...(hasTitle ? ['title'] : [])])
  if (source === undefined) return undefined
  if (source.type === 'url') return { type: 'file', ...name, url: source.value, ...extra }
  const { mediaType } = source
  const isText = source.type === 'text'
  // A file's data is base64 whatever the format; each source must come back from it as the same source.
  if (isText ? mediaType !== 'text/plain' : mediaType.startsWith('text/')) return undefined
  const data = isText ? textToBase64(source.value) : source.value
  return { type: 'file', mediaType, ...name, data, ...extra }
}

type KnownSource =
  | { readonly type: 'url'; readonly value: string }
  | { readonly type: 'base64' | 'text'; readonly mediaType: string; readonly value: string }

/** A source of a known kind that has no other fields. */
function readSource(source: Json | undefined): KnownSource | undefined {
  if (!isObject(source)) return undefined
  const { type, url, media_type: mediaType, data, ...others } = source
  if (Object.keys(others).length > 0) return undefined
  if (type === 'url') {
    const isClean = typeof url === 'string' && mediaType === undefined && data === undefined
    return isClean ? { type, value: url } : undefined
  }
  if (type !== 'base64' && type !== 'text') return undefined
  if (typeof mediaType !== 'string' || typeof data !== 'string' || url !== undefined)
    return undefined
  return { type, mediaType, value: data }
}

function isResult(block: JsonObject): boolean {
  return block.type === 'tool_result' && typeof block.tool_use_id === 'string'
}

function toResult(value: JsonObject): ToolResultBlock {
  const { tool_use_id: callId, content, is_error: isError } = value
  const known = ['type', 'tool_use_id', 'content']
  const failed = typeof isError === 'boolean' ? { isError } : {}
  return {
    type: 'tool-result',
    // `isResult` has seen that it is a string.
    callId: callId as string,
    content: typeof content === 'string' ? content : toResultContent(content),
    ...failed,
    ...extraOf(value, typeof isError === 'boolean' ? [...known, 'is_error'] : known),
  }
}

function toResultContent(content: Json | undefined): readonly Block[] {
  if (!Array.isArray(content)) return []
  // A result holds what a user may send; calls and thinking inside it are not calls and thinking.
  return content.map((item: Json) =>
    isObject(item) ? toBlock(item as JsonObject, 'user') : toOpaque(item),
  )
}

/** A compaction without a summary failed, and stands for nothing. One that a gateway made is for people: the log has its own. */
function toCompaction(value: JsonObject): Block {
  const { content: summary, encrypted_content: sealed } = value
  const opaque = { type: 'opaque', format: 'anthropic', value } as const
  if (typeof summary !== 'string' || summary === '') return opaque
  const own = isOwnCompaction(sealed) ? { audience: forPeople } : {}
  return { ...opaque, ...own, compaction: { summary } }
}

function toOpaque(value: Json): Block {
  return { type: 'opaque', format: 'anthropic', value }
}
