// How blocks are written in Anthropic's words. `decode` uses it too, to see whether the original would come back.

import type {
  Block,
  FileBlock,
  ImageBlock,
  ReasoningBlock,
  ToolResultBlock,
} from '../../core/log/block.ts'
import { assertNever } from '../../core/log/errors.ts'
import { equalJson, isObject, type JsonObject } from '../../core/log/json.ts'
import { base64ToText } from '../../core/text/bytes.ts'
import { parseArguments } from '../arguments.ts'
import type { Material } from '../foreign.ts'
import type { LossNote } from '../losses.ts'
import { deepFaultOf, faultOf } from './rules.ts'
import type { TellLoss, WireMessage } from './wire.ts'

export interface BuildOptions {
  /** Told of every block that this format cannot carry as it is. @default nobody is told */
  readonly note?: LossNote
  /** What each block looked like when it came, where that is known. @default none is known */
  readonly originals?: readonly (JsonObject | undefined)[]
}

/** A message in Anthropic's blocks, in the order given. Blocks that the format cannot carry are left out. */
export function buildMessage(
  material: Material,
  { note = () => {}, originals = [] }: BuildOptions = {},
): WireMessage {
  const { blocks, isOwn, extra, wireIds } = material
  const role = material.role === 'tool' ? 'user' : material.role
  const built = blocks.flatMap((block, index) => {
    const tell: TellLoss = (form, reason) => note(block, form, reason)
    const value = buildBlock(block, { isOwn, callId: wireIds?.get(index), tell })
    if (value === undefined) return []
    const original = originals[index]
    if (original !== undefined && !equalJson(original, value)) {
      const rule = deepFaultOf(original, role)?.rule ?? 'anthropic'
      tell('full', `${rule}: sent in an accepted shape`)
    }
    return [{ value, tell }]
  })
  return { role, blocks: built, isPlain: isPlain(material), extra }
}

function isPlain({ blocks, isOwn }: Material): boolean {
  const [first, ...others] = blocks
  // A text that came as a block has an `extra`, be it empty: see the decoder.
  return others.length === 0 && first?.type === 'text' && !(isOwn && first.extra !== undefined)
}

interface Context {
  readonly isOwn: boolean
  readonly callId?: string | undefined
  readonly tell: TellLoss
}

/** Undefined, after telling why, for a block that the format has no words for. */
function buildBlock(block: Block, context: Context): JsonObject | undefined {
  const { isOwn, callId, tell } = context
  const extra = (isOwn ? block.extra : undefined) ?? {}
  switch (block.type) {
    case 'text':
      return { ...extra, type: 'text', text: block.text }
    case 'image':
      return withSource(imageSource(block), { ...extra, type: 'image' }, tell)
    case 'file': {
      const title = block.name === undefined ? {} : { title: block.name }
      return withSource(fileSource(block, tell), { ...extra, type: 'document', ...title }, tell)
    }
    case 'reasoning':
      // Thinking means something only to the provider that signed it (A14).
      if (isOwn) return { ...extra, ...buildReasoning(block) }
      tell('dropped', 'A14: reasoning goes back only to the format it came from')
      return undefined
    case 'tool-call': {
      const { name } = block
      const input = parseArguments(block.arguments, 'anthropic', tell)
      return { ...extra, type: 'tool_use', id: callId ?? block.callId, name, input }
    }
    case 'tool-result':
      return { ...extra, ...buildResult(block, context) }
    case 'opaque':
      if (block.format === 'anthropic' && isObject(block.value)) return block.value as JsonObject
      tell('dropped', 'anthropic: a block of another format')
      return undefined
    default:
      return assertNever(block)
  }
}

function withSource(
  source: JsonObject | undefined,
  block: JsonObject,
  tell: TellLoss,
): JsonObject | undefined {
  if (source !== undefined) return { ...block, source }
  tell('dropped', 'anthropic: has neither data nor an address')
  return undefined
}

function imageSource({ mediaType = 'image/png', data, url }: ImageBlock): JsonObject | undefined {
  if (data !== undefined) return { type: 'base64', media_type: mediaType, data }
  return url === undefined ? undefined : { type: 'url', url }
}

/** Plain text travels as text, since base64 is accepted for PDF only. */
function fileSource(
  { mediaType = 'application/pdf', data, url }: FileBlock,
  tell: TellLoss,
): JsonObject | undefined {
  if (data === undefined) return url === undefined ? undefined : { type: 'url', url }
  if (!mediaType.startsWith('text/')) return { type: 'base64', media_type: mediaType, data }
  const { text, isExact } = base64ToText(data)
  if (mediaType !== 'text/plain' || !isExact) tell('full', 'anthropic: sent as plain text in UTF-8')
  return { type: 'text', media_type: 'text/plain', data: text }
}

/** Reasoning without text is the redacted kind: its signature is the encrypted thinking itself. */
function buildReasoning({ text, signature }: ReasoningBlock): JsonObject {
  const sealed = signature ?? ''
  if (text === undefined) return { type: 'redacted_thinking', data: sealed }
  return { type: 'thinking', thinking: text, ...(signature === undefined ? {} : { signature }) }
}

function buildResult(block: ToolResultBlock, context: Context): JsonObject {
  const isError = block.isError === undefined ? {} : { is_error: block.isError }
  const content = buildContent(block.content, context)
  const id = context.callId ?? block.callId
  return { type: 'tool_result', tool_use_id: id, ...content, ...isError }
}

/** An empty result has no `content` at all, the form that Anthropic documents; one of its own stays as it came. */
function buildContent(content: ToolResultBlock['content'], { isOwn, tell }: Context): JsonObject {
  if (typeof content === 'string') {
    if (isOwn || content.trim() !== '') return { content }
    if (content !== '') tell('full', 'A4: its text is blank')
    return {}
  }
  const lost: string[] = []
  const tellInside: TellLoss = (form, reason) => {
    if (form === 'dropped') lost.push(reason)
    else tell(form, reason)
  }
  const blocks = content.flatMap((block) => buildBlock(block, { isOwn, tell: tellInside }) ?? [])
  const [reason] = lost
  // The result itself is gone only if nothing in it can be sent.
  const isLeft = blocks.some((block) => faultOf(block, 'result') === undefined)
  if (reason !== undefined) tell(isLeft ? 'full' : 'omitted', reason)
  return blocks.length === 0 ? {} : { content: blocks }
}
