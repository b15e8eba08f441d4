// Blocks built into messages of the AI SDK. Decode uses it to see what would be lost, encode to make the request.

import type { Block, Role, ToolCallBlock, ToolResultBlock } from '../../core/log/block.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject, parseJson } from '../../core/log/json.ts'
import type { Material } from '../foreign.ts'
import { type LossNote, noteInside, replaced, replacedIn } from '../losses.ts'
import { aiSdkFormat, approvalRequest, deniedText, isJsonType } from './decode.ts'
import { partViolations } from './rules.ts'

export interface BuildOptions {
  /** Names of tools by the id of their call, for results that do not say. @default none */
  readonly names?: ReadonlyMap<string, string>
  /** Whether a block must not be sent: it answers an approval that was not asked for. @default none */
  readonly isStray?: (block: Block) => boolean
  /** Told of every block that this format cannot carry as it is. @default nobody is told */
  readonly note?: LossNote
}

interface Context {
  readonly role: Role
  readonly isOwn: boolean
  readonly note: LossNote
}

/** The messages that stand for one message of a view: one, or a tool message and what else was beside its results. */
export function buildAiSdkMessages(
  material: Material,
  { names = new Map(), isStray = () => false, note = () => {} }: BuildOptions = {},
): readonly JsonObject[] {
  const { role, isOwn, extra, blocks } = material
  if (role === 'assistant') return [buildAssistant(material, note)]
  const results: JsonObject[] = []
  const rest: Block[] = []
  blocks.forEach((block, index) => {
    if (isStray(block)) note(block, 'dropped', 'AI6: this approval was not asked for')
    else if (block.type === 'tool-result') {
      const id = material.wireIds?.get(index) ?? block.callId
      results.push(buildResult(block, { id, names, isOwn, note }))
    } else if (role === 'tool' && isToolPart(block)) results.push(block.value as JsonObject)
    else rest.push(block)
  })
  if (role === 'tool') {
    for (const block of rest) note(block, 'dropped', 'AI4: a tool message holds results only')
    return results.length === 0 && blocks.length > 0
      ? []
      : [{ role: 'tool', content: results, ...extra }]
  }
  const toolMessage = results.length === 0 ? [] : [{ role: 'tool', content: results }]
  if (results.length > 0 && rest.length === 0) return toolMessage
  const context = { role, isOwn, note }
  const content = role === 'system' ? systemText(rest, context) : contentOf(rest, context)
  return [...toolMessage, { role, content, ...extra }]
}

/** A part of a tool message that is no result: what a person said of an approval. */
function isToolPart(block: Block): block is Block & { type: 'opaque' } {
  return (
    block.type === 'opaque' &&
    block.format === aiSdkFormat &&
    partViolations(block.value, { role: 'tool', path: '' }).length === 0
  )
}

function buildAssistant(material: Material, note: LossNote): JsonObject {
  const { blocks, isOwn, extra } = material
  const context: Context = { role: 'assistant', isOwn, note }
  const parts = blocks.flatMap((block, index): readonly (JsonObject | string)[] => {
    if (block.type === 'tool-call') {
      return [buildCall(block, material.wireIds?.get(index) ?? block.callId, isOwn)]
    }
    return listOf(buildPart(block, context))
  })
  return { role: 'assistant', content: joined(renameRequests(parts, material)), ...extra }
}

/** Requests for approval name their call by the id that it has on the wire; of several calls with one id, each request takes the next. */
function renameRequests(
  parts: readonly (JsonObject | string)[],
  { blocks, wireIds }: Material,
): readonly (JsonObject | string)[] {
  if (wireIds === undefined) return parts
  const sent = new Map<Json | undefined, string[]>()
  blocks.forEach((block, index) => {
    if (block.type !== 'tool-call') return
    const ids = sent.get(block.callId) ?? []
    sent.set(block.callId, [...ids, wireIds.get(index) ?? block.callId])
  })
  return parts.map((part) => {
    if (typeof part === 'string' || part.type !== approvalRequest) return part
    const ids = sent.get(part.toolCallId)
    const id = (ids?.length ?? 0) > 1 ? ids?.shift() : ids?.[0]
    return id === undefined ? part : { ...part, toolCallId: id }
  })
}

function buildCall(block: ToolCallBlock, id: string, isOwn: boolean): JsonObject {
  return {
    type: 'tool-call',
    toolCallId: id,
    toolName: block.name,
    input: inputOf(block.arguments),
    ...(isOwn ? block.extra : {}),
  }
}

/** Parsed where it is JSON; text that a model wrote wrong, or nested too deep, stays text. */
function inputOf(text: string): Json {
  if (text === '') return {}
  const value = parseJson(text)
  return value === undefined ? text : value
}

function buildResult(
  block: ToolResultBlock,
  options: {
    readonly id: string
    readonly names: ReadonlyMap<string, string>
    readonly isOwn: boolean
    readonly note: LossNote
  },
): JsonObject {
  const { id, names, isOwn, note } = options
  const { output, ...rest } = (isOwn ? block.extra : undefined) ?? {}
  const inside = noteInside(block, note)
  const built = outputOf(block, isObject(output) ? (output as JsonObject) : undefined, {
    role: 'tool',
    isOwn,
    note: inside.note,
  })
  inside.tell()
  return {
    type: 'tool-result',
    toolCallId: id,
    toolName: block.name ?? names.get(id) ?? 'unknown',
    output: built,
    ...rest,
  }
}

/** What a result says, in the kind of output it came in as long as it still is of that kind. */
function outputOf(block: ToolResultBlock, own: JsonObject | undefined, context: Context): Json {
  const { content, isError = false } = block
  if (typeof content !== 'string') {
    const value = content.flatMap((inner) => resultPart(inner, context) ?? [])
    return { type: 'content', ...withoutType(own), value }
  }
  if (own === undefined) return { type: isError ? 'error-text' : 'text', value: content }
  if (own.type === 'execution-denied' && deniedText(own.reason) === content) return own
  const value = isJsonType(own.type) ? sameJson(content) : undefined
  if (value !== undefined) return { ...own, value }
  return { ...withoutType(own), type: isError ? 'error-text' : 'text', value: content }
}

function withoutType(own: JsonObject = {}): JsonObject {
  const { type: _type, reason: _reason, ...rest } = own
  return rest as JsonObject
}

/** The value of JSON text that is written as this format reads it: shortened text is no longer. */
function sameJson(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json
    return JSON.stringify(value) === text ? value : undefined
  } catch {
    return undefined
  }
}

function resultPart(block: Block, context: Context): JsonObject | undefined {
  const { isOwn, note } = context
  const extra = isOwn ? block.extra : undefined
  if (block.type === 'text') return { type: 'text', text: block.text, ...withoutType(extra) }
  if (block.type === 'image' || block.type === 'file') {
    const media = buildResultMedia(block, extra)
    if (media !== undefined) return media
  }
  if (block.type === 'opaque' && block.format === aiSdkFormat && isObject(block.value)) {
    return block.value as JsonObject
  }
  if (block.type === 'opaque' || block.type === 'reasoning') {
    note(block, 'dropped', `${aiSdkFormat}: a block of another format`)
    return undefined
  }
  const reason = `${aiSdkFormat}: cannot stand here`
  return { type: 'text', text: replaced(block, note, { reason }) }
}

/** One type for each kind of source: the shape that every version of the SDK reads. */
function buildResultMedia(
  block: Block & { type: 'image' | 'file' },
  extra: JsonObject | undefined,
): JsonObject | undefined {
  const { mediaType, data, url } = block
  if (extra?.type === 'file') return buildMedia(block, extra)
  const name = block.type === 'file' && block.name !== undefined ? { filename: block.name } : {}
  const kind = mediaType === undefined ? {} : { mediaType }
  if (data !== undefined) {
    const fallback = block.type === 'image' ? 'image/png' : 'application/octet-stream'
    const type = block.type === 'image' ? 'image-data' : 'file-data'
    return { type, data, mediaType: mediaType ?? fallback, ...name, ...extra }
  }
  if (url === undefined) return undefined
  return {
    type: block.type === 'image' ? 'image-url' : 'file-url',
    url,
    ...kind,
    ...name,
    ...extra,
  }
}

/** A system message holds text only. */
function systemText(blocks: readonly Block[], context: Context): string {
  return blocks
    .flatMap((block) => {
      const part = buildPart(block, context)
      if (part === undefined) return []
      if (typeof part === 'string') return [part]
      return [part.type === 'text' && typeof part.text === 'string' ? part.text : '']
    })
    .join('\n')
}

function contentOf(blocks: readonly Block[], context: Context): Json {
  return joined(blocks.flatMap((block) => listOf(buildPart(block, context))))
}

function listOf<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value]
}

/** One plain text is a string, anything else is a list of parts. */
function joined(parts: readonly (JsonObject | string)[]): Json {
  if (parts.length === 0) return ''
  if (parts.length === 1 && typeof parts[0] === 'string') return parts[0]
  return parts.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part))
}

/** A part, or a string for plain text; undefined for what must not leave the format it came from. */
function buildPart(block: Block, context: Context): JsonObject | string | undefined {
  const { role, isOwn, note } = context
  const extra = isOwn ? block.extra : undefined
  switch (block.type) {
    case 'text':
      return extra === undefined ? block.text : { type: 'text', ...extra, text: block.text }
    case 'image':
    case 'file':
      return (role === 'system' ? undefined : buildMedia(block, extra)) ?? refused(block, context)
    case 'reasoning':
      if (isOwn) return { type: 'reasoning', text: block.text ?? '', ...extra }
      note(block, 'dropped', `${aiSdkFormat}: reasoning goes back only to the format it came from`)
      return undefined
    case 'opaque':
      if (block.format !== aiSdkFormat) {
        note(block, 'dropped', `${aiSdkFormat}: a block of another format`)
        return undefined
      }
      return partViolations(block.value, { role, path: '' }).length === 0
        ? (block.value as JsonObject)
        : refused(block, context, nameOf(block.value))
    default:
      return refused(block, context)
  }
}

function refused(block: Block, context: Context, text?: string): string | undefined {
  const reason = `${aiSdkFormat}: cannot stand here`
  return replacedIn(context, block, text === undefined ? { reason } : { reason, text })
}

function nameOf(value: Json): string {
  return isObject(value) && typeof value.type === 'string' ? `[${value.type}]` : '[unknown part]'
}

function buildMedia(
  block: Block & { type: 'image' | 'file' },
  extra: JsonObject = {},
): JsonObject | undefined {
  const { mediaType, data, url } = block
  const source = data ?? url
  if (source === undefined) return undefined
  const kind = mediaType === undefined ? {} : { mediaType }
  if (extra.type === 'image') return { ...extra, image: source, ...kind }
  const fallback = block.type === 'image' ? 'image/*' : 'application/octet-stream'
  const name = block.type === 'file' && block.name !== undefined ? { filename: block.name } : {}
  const inner = extra.data
  const value: Json = isObject(inner)
    ? { ...(inner as JsonObject), ...(data === undefined ? { url: source } : { data: source }) }
    : source
  return { ...extra, type: 'file', data: value, mediaType: mediaType ?? fallback, ...name }
}
