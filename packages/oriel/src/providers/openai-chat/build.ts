// Blocks built into OpenAI Chat Completions messages. Decode uses it to see what would be lost, encode to make the request.

import type { Block, Role, ToolCallBlock, ToolResultBlock } from '../../core/log/block.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import { extraOf, type Material, noExtra } from '../foreign.ts'
import { type LossNote, noteInside, replacedIn } from '../losses.ts'
import { partViolations } from './rules.ts'

export const chatFormat = 'openai-chat'

export interface BuildOptions {
  /** Whether a deprecated `function_call` and its `function` message are built as such, not as a tool call. @default true */
  readonly isLegacy?: boolean
  /** Told of every block that this format cannot carry as it is. @default nobody is told */
  readonly note?: LossNote
}

/** What a builder of parts has to know of the message around them. */
interface Context {
  readonly role: Role
  readonly isOwn: boolean
  readonly note: LossNote
}

/** The messages that stand for one message of a view: one, or one for each result of a tool message. */
export function buildChatMessages(
  material: Material,
  { isLegacy = true, note = () => {} }: BuildOptions = {},
): readonly JsonObject[] {
  const { role, isOwn, extra, blocks } = material
  const [only] = blocks
  const isText = blocks.length === 1 && only?.type === 'text' && only.extra === undefined
  if (isText && role !== 'tool') {
    const message = { role, content: only.text }
    return [extra === noExtra ? message : { ...message, ...extra }]
  }
  if (role === 'assistant') return [buildAssistant(material, { isLegacy, note })]
  const results = blocks.flatMap((block, index) =>
    block.type === 'tool-result' ? [buildResult(material, block, { index, isLegacy, note })] : [],
  )
  const rest = blocks.filter((block) => block.type !== 'tool-result')
  if (role === 'tool') {
    // A tool message holds text of results only: anything else in it is sent as the user's.
    if (rest.length === 0) return results
    return [...results, { role: 'user', content: contentOf(rest, { role: 'user', isOwn, note }) }]
  }
  if (results.length > 0 && rest.length === 0) return results
  return [...results, { role, content: contentOf(rest, { role, isOwn, note }), ...extra }]
}

/** A name that the provider accepts (O5), which is the name itself for any tool that was ever declared to it. */
export function wireName(name: string): string {
  const accepted = name.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
  return accepted === '' ? 'unknown' : accepted
}

function buildAssistant(
  material: Material,
  { isLegacy, note }: Required<BuildOptions>,
): JsonObject {
  const { blocks, isOwn, extra } = material
  const calls = blocks.flatMap((block, index) =>
    block.type === 'tool-call' ? [{ block, id: material.wireIds?.get(index) ?? block.callId }] : [],
  )
  const legacy = calls.find(({ block }) => isLegacy && isOwn && isLegacyCall(block))
  const modern = calls.filter((call) => call !== legacy)
  for (const { block } of calls) {
    if (wireName(block.name) !== block.name)
      note(block, 'full', 'O5: its name is not accepted, changed on the wire')
  }
  const said = blocks.filter(
    (block) => block.type !== 'tool-call' && !(block.type === 'reasoning' && isOwn),
  )
  const content = contentOf(said, { role: 'assistant', isOwn, note })
  const isSilent = said.every((block) => block.type === 'reasoning')
  return {
    role: 'assistant',
    ...(isOwn ? reasoningOf(blocks) : {}),
    // Nothing said is null beside a call, and an empty text where null is refused (O4).
    content: isSilent && calls.length > 0 ? null : content,
    ...(modern.length > 0 ? { tool_calls: modern.map((call) => buildCall(call, isOwn)) } : {}),
    ...(legacy === undefined ? {} : { function_call: buildLegacyCall(legacy.block) }),
    ...extra,
  }
}

/** Thinking as DeepSeek and others send it, in a field of its own; only what came in this format goes back. */
function reasoningOf(blocks: readonly Block[]): JsonObject {
  const texts = blocks.flatMap((block) => (block.type === 'reasoning' ? [block.text ?? ''] : []))
  return texts.length === 0 ? {} : { reasoning_content: texts.join('\n') }
}

function buildCall(call: { block: ToolCallBlock; id: string }, isOwn: boolean): JsonObject {
  const { block, id } = call
  const extra = (isOwn && !isLegacyCall(block) ? block.extra : undefined) ?? {}
  const name = wireName(block.name)
  if (extra.type === undefined) {
    const inner = { name, arguments: block.arguments, ...objectOr(extra.function) }
    return { id, type: 'function', ...extra, function: inner }
  }
  if (extra.type !== 'custom') return { id, ...extra }
  return { id, ...extra, custom: { name, input: block.arguments, ...objectOr(extra.custom) } }
}

export function isLegacyCall(block: Block): boolean {
  return block.type === 'tool-call' && block.extra?.type === 'function_call'
}

function buildLegacyCall(block: ToolCallBlock): JsonObject {
  const { name, arguments: text, extra = {} } = block
  return { name: wireName(name), arguments: text, ...objectOr(extra.function_call) }
}

function buildResult(
  material: Material,
  block: ToolResultBlock,
  { index, isLegacy, note }: Required<BuildOptions> & { readonly index: number },
): JsonObject {
  const { extra, isOwn } = material
  const inside = noteInside(block, note)
  const content =
    typeof block.content === 'string'
      ? block.content
      : contentOf(block.content, { role: 'tool', isOwn, note: inside.note })
  inside.tell()
  if (extra.role === 'function' && isLegacy) {
    return { content, ...extra, name: wireName(block.name ?? '') }
  }
  const id = material.wireIds?.get(index) ?? block.callId
  const rest = extra.role === 'function' ? extraOf(extra, ['role', 'name']).extra : extra
  return { role: 'tool', tool_call_id: id, content, ...(material.role === 'tool' ? rest : {}) }
}

/** One plain text is a string, anything else is a list of parts. */
function contentOf(blocks: readonly Block[], context: Context): Json {
  const [only] = blocks
  if (blocks.length === 1 && only?.type === 'text' && only.extra === undefined) return only.text
  const parts = blocks.flatMap((block) => buildPart(block, context) ?? [])
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
      return buildText(block.text, role === 'assistant' ? extra : withoutRefusal(extra))
    case 'image':
      return (role === 'user' ? buildImage(block, extra) : undefined) ?? refused(block, context)
    case 'file':
      return (role === 'user' ? buildFile(block, extra) : undefined) ?? refused(block, context)
    case 'opaque':
      if (block.format === chatFormat) {
        return isPart(block.value, role)
          ? block.value
          : refused(block, context, nameOf(block.value))
      }
      note(block, 'dropped', `${chatFormat}: a block of another format`)
      return undefined
    case 'reasoning':
      note(block, 'dropped', `${chatFormat}: reasoning goes back only to the format it came from`)
      return undefined
    default:
      return refused(block, context)
  }
}

function refused(block: Block, context: Context, text?: string): string | undefined {
  const isTool = context.role === 'tool'
  const reason = isTool ? 'O4: a tool message holds text' : `${chatFormat}: cannot stand here`
  return replacedIn(context, block, text === undefined ? { reason } : { reason, text })
}

function nameOf(value: Json): string {
  return isObject(value) && typeof value.type === 'string' ? `[${value.type}]` : '[unknown part]'
}

/** Whether a foreign part can be sent as it is. */
function isPart(value: Json, role: Role): value is JsonObject {
  return partViolations(value, { path: '', role }).length === 0
}

function buildText(text: string, extra: JsonObject | undefined): JsonObject | string {
  if (extra === undefined) return text
  return extra.type === 'refusal' ? { ...extra, refusal: text } : { type: 'text', ...extra, text }
}

/** Only the assistant refuses: the same part elsewhere is text. */
function withoutRefusal(extra: JsonObject | undefined): JsonObject | undefined {
  return extra?.type === 'refusal' ? { ...extra, type: 'text' } : extra
}

function buildImage(
  block: Block & { type: 'image' },
  extra: JsonObject = {},
): JsonObject | undefined {
  const url = urlOf(block)
  if (url === undefined) return undefined
  return { type: 'image_url', ...extra, image_url: { url, ...objectOr(extra.image_url) } }
}

function buildFile(
  block: Block & { type: 'file' },
  extra: JsonObject = {},
): JsonObject | undefined {
  // There is no field for a file's address.
  if (block.data === undefined && !isObject(extra.file)) return undefined
  const { name, mediaType, data } = block
  const file = {
    ...(name === undefined ? {} : { filename: name }),
    ...(data === undefined
      ? {}
      : { file_data: mediaType === undefined ? data : (urlOf(block) as string) }),
    ...objectOr(extra.file),
  }
  return { type: 'file', ...extra, file }
}

function urlOf(block: Block & { type: 'image' | 'file' }): string | undefined {
  if (block.data === undefined) return block.url
  return `data:${block.mediaType ?? 'image/png'};base64,${block.data}`
}

function objectOr(value: Json | undefined): JsonObject {
  return isObject(value) ? (value as JsonObject) : {}
}
