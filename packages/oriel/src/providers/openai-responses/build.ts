// Blocks built into items of OpenAI's Responses. Decode uses it to see what would be lost, encode to make the request.

import {
  type Block,
  type FileBlock,
  type ImageBlock,
  type ReasoningBlock,
  type Role,
  type ToolCallBlock,
  textOf,
} from '../../core/log/block.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import { extraOf, type Material } from '../foreign.ts'
import { type LossNote, noteInside, replacedIn } from '../losses.ts'
import { wireName } from '../openai-chat/build.ts'
import { clientCallOf, isClientAnswer, pairField, reducedAnswer } from './client-calls.ts'
import { argumentsField, kindOf, responsesFormat } from './items.ts'
import { partViolations } from './rules.ts'

export interface BuildOptions {
  /**
   * Whether the blocks are all that the model made in this step, or all of an output, unchanged. If not, reasoning is left out and no
   * item keeps its id: the provider knows by the id what belongs together, and refuses a part of it (R2, R3).
   * @default true
   */
  readonly isWhole?: boolean
  /** Told of every block that this format cannot carry as it is. @default nobody is told */
  readonly note?: LossNote
}

/** What a builder of parts has to know of the message around them. */
interface Context {
  readonly role: Role
  readonly isOwn: boolean
  readonly note: LossNote
}

/** The items that stand for one message of a view. */
export function buildItems(
  material: Material,
  { isWhole = true, note = () => {} }: BuildOptions = {},
): readonly JsonObject[] {
  const { role, isOwn, blocks, extra } = material
  if (role === 'assistant') {
    for (const block of blocks) noteName(block, note)
    return isOwn ? buildOwnRun(material, { isWhole, note }) : buildForeignRun(material, note)
  }
  const outputs = blocks.flatMap((block, index) => {
    if (block.type !== 'tool-result') return []
    const callId = material.wireIds?.get(index) ?? block.callId
    const isAnswer = role === 'tool' && isClientAnswer(extra.type)
    if (isAnswer && isWhole) return [{ ...extra, [pairField(extra.type)]: callId }]
    if (isAnswer) return [reducedAnswer(extra, { id: callId, text: textOf(block.content) })]
    const { content } = block
    const inside = noteInside(block, note)
    const output =
      typeof content === 'string' ? content : contentOf(content, { role, isOwn, note: inside.note })
    inside.tell()
    const rest = role === 'tool' ? extra : {}
    return [{ type: 'function_call_output', call_id: callId, output, ...rest }]
  })
  const rest = blocks.filter((block) => block.type !== 'tool-result')
  if (rest.length === 0 && (role === 'tool' || outputs.length > 0)) return outputs
  const content = contentOf(rest, { role, isOwn, note })
  // An output holds what answers a call: anything else in a tool message is sent as the user's.
  return [...outputs, role === 'tool' ? { role: 'user', content } : { role, content, ...extra }]
}

function noteName(block: Block, note: LossNote): void {
  if (block.type !== 'tool-call' || wireName(block.name) === block.name) return
  note(block, 'full', 'R6: its name is not accepted, changed on the wire')
}

/** A run that came in this format: every item in its place. */
function buildOwnRun(
  material: Material,
  { isWhole, note }: Required<BuildOptions>,
): readonly JsonObject[] {
  const { blocks } = material
  const items: JsonObject[] = []
  let open: { readonly item: JsonObject; readonly parts: (JsonObject | string)[] } | undefined
  const close = (): void => {
    if (open !== undefined) items.push({ ...open.item, content: joined(open.parts, 'assistant') })
    open = undefined
  }
  blocks.forEach((block, index) => {
    const item = isItem(block) ? buildItem(block, material.wireIds?.get(index)) : undefined
    if (item !== undefined) {
      close()
      if (isWhole || canStandAlone(item)) items.push(item)
      else note(block, 'dropped', 'R2: bound to a step that is no longer whole')
      return
    }
    const part = buildPart(block, { role: 'assistant', isOwn: true, note })
    if (part === undefined) return
    if (isObject(block.extra?.item)) close()
    open ??= { item: { role: 'assistant', ...objectOr(block.extra?.item) }, parts: [] }
    open.parts.push(part)
  })
  close()
  if (items.length === 0) return [silence]
  return isWhole ? items : items.map(withoutId)
}

/** What is left of an assistant message when nothing of it can be sent. */
const silence: JsonObject = { role: 'assistant', content: '' }

/** A run that another format made: what was said, then the calls, so that nothing stands between a call and its output. */
function buildForeignRun(material: Material, note: LossNote): readonly JsonObject[] {
  const calls = material.blocks.flatMap((block, index) =>
    block.type === 'tool-call'
      ? [buildCall(withoutExtra(block), material.wireIds?.get(index))]
      : [],
  )
  const said = material.blocks.filter((block) => block.type !== 'tool-call')
  const parts = partsOf(said, { role: 'assistant', isOwn: false, note })
  if (parts.length === 0) return calls.length === 0 ? [silence] : calls
  return [{ role: 'assistant', content: joined(parts, 'assistant') }, ...calls]
}

type ItemBlock = Extract<Block, { type: 'reasoning' | 'tool-call' | 'opaque' }>

/** Whether a block of an own run is an item, rather than a part of a message. */
export function isItem(block: Block): block is ItemBlock {
  if (block.type === 'opaque') {
    const { format, value, extra } = block
    return (
      format === responsesFormat &&
      extra === undefined &&
      isObject(value) &&
      kindOf(value) === 'other'
    )
  }
  return block.type === 'reasoning' || block.type === 'tool-call'
}

function buildItem(block: ItemBlock, wireId: string | undefined): JsonObject {
  if (block.type === 'tool-call') return buildCall(block, wireId)
  return block.type === 'reasoning' ? buildReasoning(block) : (block.value as JsonObject)
}

function buildReasoning({ text, signature, extra = {} }: ReasoningBlock): JsonObject {
  const summary = text === undefined ? [] : [{ type: 'summary_text', text }]
  const encrypted = signature === undefined ? {} : { encrypted_content: signature }
  return { type: 'reasoning', summary, ...encrypted, ...extra }
}

function buildCall(block: ToolCallBlock, wireId: string | undefined): JsonObject {
  const { callId, name, arguments: text, extra = {} } = block
  if (clientCallOf(extra.type) !== undefined) {
    return { ...extra, [pairField(extra.type)]: wireId ?? callId }
  }
  const field = argumentsField(extra.type)
  return {
    type: 'function_call',
    call_id: wireId ?? callId,
    name: wireName(name),
    [field]: text,
    ...extra,
  }
}

/**
 * Whether an item of a run that is no longer whole may be sent: not reasoning, and no hosted call or reference, which the
 * provider ties to the reasoning before it. A compaction stands for all that was before it and depends on nothing.
 */
function canStandAlone(item: JsonObject): boolean {
  if (item.type === 'function_call' || item.type === 'custom_tool_call') return true
  return item.type === 'compaction' || clientCallOf(item.type)?.canLoseId === true
}

function withoutId(item: JsonObject): JsonObject {
  if (item.type === 'compaction') return item
  return extraOf(item, ['id']).extra ?? {}
}

function contentOf(blocks: readonly Block[], context: Context): Json {
  return joined(partsOf(blocks, context), context.role)
}

/** One plain text is a string, anything else is a list of parts. */
function joined(parts: readonly (JsonObject | string)[], role: Role): Json {
  if (parts.length === 0) return ''
  if (parts.length === 1 && typeof parts[0] === 'string') return parts[0]
  const type = textType(role)
  return parts.map((part) => (typeof part === 'string' ? { type, text: part } : part))
}

function partsOf(blocks: readonly Block[], context: Context): readonly (JsonObject | string)[] {
  return blocks.map((block) => buildPart(block, context)).filter((part) => part !== undefined)
}

/** Why a stand-in is sent. */
const reason = `${responsesFormat}: cannot stand here`

/** A part, or a string for plain text; undefined for what must not leave the format it came from. */
function buildPart(block: Block, context: Context): JsonObject | string | undefined {
  const { role, isOwn, note } = context
  const extra =
    isOwn && block.extra !== undefined ? extraOf(block.extra, ['item']).extra : undefined
  switch (block.type) {
    case 'text':
      return buildText(block.text, extra, role)
    case 'image':
      return (
        (role === 'assistant' ? undefined : buildImage(block, extra)) ??
        replacedIn(context, block, { reason })
      )
    case 'file':
      return (
        (role === 'assistant' ? undefined : buildFile(block, extra)) ??
        replacedIn(context, block, { reason })
      )
    case 'opaque':
      // Without the run it came in, nothing says whether it is an item or a part.
      if (block.format === responsesFormat && (role !== 'assistant' || isOwn)) {
        if (isPart(block.value, role)) return block.value
        return replacedIn(context, block, { reason, text: '[unknown part]' })
      }
      note(block, 'dropped', `${responsesFormat}: a block of another format`)
      return undefined
    case 'reasoning':
      note(
        block,
        'dropped',
        `${responsesFormat}: reasoning goes back only to the format it came from`,
      )
      return undefined
    default:
      return replacedIn(context, block, { reason })
  }
}

/** Whether a foreign part can be sent as it is. */
function isPart(value: Json, role: Role): value is JsonObject {
  return partViolations(value, { path: '', role }).length === 0
}

function buildText(text: string, extra: JsonObject | undefined, role: Role): JsonObject | string {
  if (extra === undefined) return text
  if (extra.type === 'refusal' && role === 'assistant') return { ...extra, refusal: text }
  return { ...extra, type: textType(role), text }
}

/** The provider refuses text of the other side. */
function textType(role: Role): string {
  return role === 'assistant' ? 'output_text' : 'input_text'
}

function buildImage(
  { mediaType, data, url }: ImageBlock,
  extra: JsonObject = {},
): JsonObject | undefined {
  const address = data === undefined ? url : `data:${mediaType ?? 'image/png'};base64,${data}`
  if (address !== undefined) return { type: 'input_image', image_url: address, ...extra }
  return typeof extra.file_id === 'string' ? { type: 'input_image', ...extra } : undefined
}

function buildFile(block: FileBlock, extra: JsonObject = {}): JsonObject | undefined {
  const { name, mediaType, data, url } = block
  if (data === undefined && url === undefined && typeof extra.file_id !== 'string') return undefined
  return {
    type: 'input_file',
    ...(name === undefined ? {} : { filename: name }),
    ...(data === undefined
      ? {}
      : { file_data: mediaType === undefined ? data : `data:${mediaType};base64,${data}` }),
    ...(url === undefined ? {} : { file_url: url }),
    ...extra,
  }
}

function withoutExtra(block: ToolCallBlock): ToolCallBlock {
  const { extra, ...rest } = block
  return rest
}

function objectOr(value: Json | undefined): JsonObject {
  return isObject(value) ? (value as JsonObject) : {}
}
