// Blocks built into LangChain messages. Decode uses it to see what would be lost, encode to make the request.

import type { Block, Role, ToolCallBlock, ToolResultBlock } from '../../core/log/block.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject, parseJson } from '../../core/log/json.ts'
import type { Material } from '../foreign.ts'
import { type LossNote, noteInside, replacedIn } from '../losses.ts'
import { langchainFormat } from './decode.ts'
import { aroundOf, type Wrapping, wrap } from './wrap.ts'

export interface BuildOptions {
  /** How messages that came in another format are written. @default 'role' */
  readonly wrapping?: Wrapping
  /** Names of tools by the id of their call, for results that do not say. @default none */
  readonly names?: ReadonlyMap<string, string>
  /** Told of every block that this format cannot carry as it is. @default nobody is told */
  readonly note?: LossNote
}

interface Context {
  readonly role: Role
  readonly isOwn: boolean
  readonly note: LossNote
}

/** The messages that stand for one message of a view: one, or one for each result of a tool message. */
export function buildLangchainMessages(
  material: Material,
  { wrapping = 'role', names = new Map(), note = () => {} }: BuildOptions = {},
): readonly JsonObject[] {
  const { role, isOwn, blocks } = material
  const write = (as: Role, fields: JsonObject): JsonObject => {
    const own = as === role ? ownExtra(material) : undefined
    if (own === undefined) return wrap(wrapping, { fields, around: aroundOf(wrapping, as) })
    return wrap(own.wrapping, { fields: { ...fields, ...own.rest }, around: own.around })
  }
  if (role === 'assistant') return [write(role, assistantFields(material, note))]
  const results = blocks.flatMap((block, index) => {
    if (block.type !== 'tool-result') return []
    const id = material.wireIds?.get(index) ?? block.callId
    const name = block.name ?? names.get(id)
    return [write('tool', resultFields(block, { id, name, isOwn, note }))]
  })
  const rest = blocks.filter((block) => block.type !== 'tool-result')
  if (rest.length === 0 && (role === 'tool' || results.length > 0)) return results
  const as = role === 'tool' ? 'user' : role
  return [...results, write(as, { content: contentOf(rest, { role: as, isOwn, note }) })]
}

interface OwnExtra {
  readonly wrapping: Wrapping
  readonly around: JsonObject
  readonly rest: JsonObject
}

function ownExtra({ isOwn, extra }: Material): OwnExtra | undefined {
  const { wrapping, around, rest } = extra
  if (!isOwn || typeof wrapping !== 'string' || !isObject(around)) return undefined
  // Written by `decodeLangchainMessage`, and only by it.
  return {
    wrapping: wrapping as Wrapping,
    around: around as JsonObject,
    rest: (rest ?? {}) as JsonObject,
  }
}

function assistantFields(material: Material, note: LossNote): JsonObject {
  const { blocks, isOwn } = material
  const calls = blocks.flatMap((block, index) =>
    block.type === 'tool-call'
      ? [buildCall(block, material.wireIds?.get(index) ?? block.callId, isOwn)]
      : [],
  )
  const said = blocks.filter((block) => block.type !== 'tool-call')
  const content = contentOf(said, { role: 'assistant', isOwn, note })
  return { content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }
}

function buildCall(block: ToolCallBlock, id: string, isOwn: boolean): JsonObject {
  const extra = isOwn ? block.extra : undefined
  const { name } = block
  if (isObject(extra?.function)) {
    const inner = extra.function as JsonObject
    return { id, ...extra, function: { name, arguments: block.arguments, ...inner } }
  }
  return { name, args: argsOf(block.arguments), id, ...(extra ?? { type: 'tool_call' }) }
}

/** LangChain takes an object only: text that a model wrote wrong is kept under one key. */
function argsOf(text: string): Json {
  if (text === '') return {}
  const value = parseJson(text)
  if (isObject(value)) return value as JsonObject
  return { value: value === undefined ? text : value }
}

function resultFields(
  block: ToolResultBlock,
  options: {
    readonly id: string
    readonly name: string | undefined
    readonly isOwn: boolean
    readonly note: LossNote
  },
): JsonObject {
  const { id, name, isOwn, note } = options
  const inside = noteInside(block, note)
  const content =
    typeof block.content === 'string'
      ? block.content
      : contentOf(block.content, { role: 'tool', isOwn, note: inside.note })
  inside.tell()
  if (isOwn) return { content, tool_call_id: id }
  return {
    content,
    tool_call_id: id,
    ...(name === undefined ? {} : { name }),
    ...(block.isError === true ? { status: 'error' } : {}),
  }
}

/** One plain text is a string, anything else is a list of blocks. */
function contentOf(blocks: readonly Block[], context: Context): Json {
  const parts = blocks.flatMap((block) => buildPart(block, context) ?? [])
  if (parts.length === 0) return ''
  if (parts.length === 1 && typeof parts[0] === 'string') return parts[0]
  return parts.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : part))
}

/** A content block, or a string for plain text; undefined for what must not leave the format it came from. */
function buildPart(block: Block, context: Context): JsonObject | string | undefined {
  const { isOwn, note } = context
  const extra = isOwn ? block.extra : undefined
  switch (block.type) {
    case 'text':
      return extra === undefined ? block.text : { type: 'text', ...extra, text: block.text }
    case 'image':
    case 'file':
      return buildMedia(block, extra) ?? refused(block, context)
    case 'reasoning':
      if (isOwn) return buildReasoning(block, extra)
      note(
        block,
        'dropped',
        `${langchainFormat}: reasoning goes back only to the format it came from`,
      )
      return undefined
    case 'opaque':
      if (block.format === langchainFormat) {
        return isObject(block.value) && typeof block.value.type === 'string'
          ? (block.value as JsonObject)
          : refused(block, context, '[unknown block]')
      }
      note(block, 'dropped', `${langchainFormat}: a block of another format`)
      return undefined
    default:
      return refused(block, context)
  }
}

function refused(block: Block, context: Context, text?: string): string | undefined {
  const reason = `${langchainFormat}: cannot stand here`
  return replacedIn(context, block, text === undefined ? { reason } : { reason, text })
}

function buildReasoning(block: Block & { type: 'reasoning' }, extra: JsonObject = {}): JsonObject {
  const { text, signature } = block
  if (extra.type === 'redacted_thinking') return { ...extra, data: signature ?? '' }
  const key = extra.type === 'reasoning' ? 'reasoning' : 'thinking'
  return { ...extra, [key]: text ?? '', ...(signature === undefined ? {} : { signature }) }
}

function buildMedia(
  block: Block & { type: 'image' | 'file' },
  extra: JsonObject | undefined,
): JsonObject | undefined {
  const { mediaType, data, url } = block
  if (data === undefined && url === undefined) return undefined
  if (extra?.type === 'image_url' || (extra === undefined && block.type === 'image')) {
    const address = url ?? `data:${mediaType ?? 'image/png'};base64,${data}`
    const inner = extra?.image_url
    const isText = extra !== undefined && inner === undefined
    return {
      type: 'image_url',
      ...extra,
      image_url: isText ? address : { url: address, ...(inner as JsonObject | undefined) },
    }
  }
  const source: JsonObject = data === undefined ? { url: url as string } : { data }
  const kind = mediaType === undefined ? {} : { mimeType: mediaType }
  const name = block.type === 'file' ? block.name : undefined
  const metadata = name === undefined ? {} : { metadata: { filename: name } }
  const own = extra ?? { type: block.type, ...metadata }
  return { ...own, ...kind, ...source }
}
