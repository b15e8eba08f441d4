// How blocks are written in Gemini's words. `decode` uses it too, to see whether the original would come back.

import {
  type Block,
  type FileBlock,
  type ImageBlock,
  type ToolCallBlock,
  type ToolResultBlock,
  textOf,
} from '../../core/log/block.ts'
import { assertNever } from '../../core/log/errors.ts'
import { isObject, type Json, type JsonObject, parseJson } from '../../core/log/json.ts'
import { isIdByName } from '../../core/state/exchange.ts'
import { parseArguments } from '../arguments.ts'
import { extraOf, type Material, noExtra, standIn } from '../foreign.ts'
import type { LossNote } from '../losses.ts'
import { asObject, geminiFormat } from './parts.ts'
import { idPattern, namePattern } from './rules.ts'
import type { TellLoss, WireContent } from './wire.ts'

export interface BuildOptions {
  /** Told of every block that this format cannot carry as it is. @default nobody is told */
  readonly note?: LossNote
  /** The names of the calls before it, by their ids on the wire. @default the results' own names count */
  readonly names?: ReadonlyMap<string, string>
}

/** A content in Gemini's parts, in the order given. Blocks that the format cannot carry are left out. */
export function buildContent(
  material: Material,
  { note = () => {}, names = new Map() }: BuildOptions = {},
): WireContent {
  const { blocks, isOwn, extra, wireIds } = material
  const parts = blocks.flatMap((block, index) => {
    const tell: TellLoss = (form, reason) => note(block, form, reason)
    const value = buildPart(block, { isOwn, names, tell, wireId: wireIds?.get(index) })
    return value === undefined ? [] : [{ value, tell }]
  })
  return { role: wireRole(material), parts, extra }
}

function wireRole({ role }: Material): WireContent['role'] {
  return role === 'assistant' ? 'model' : role === 'system' ? 'system' : 'user'
}

/** A name that the provider accepts. */
export function wireName(name: string): string {
  if (namePattern.test(name)) return name
  const clean = name.replaceAll(/[^a-zA-Z0-9_.:-]/g, '_').slice(0, 127)
  return namePattern.test(clean) ? clean : `_${clean}`
}

interface Context {
  readonly isOwn: boolean
  readonly names: ReadonlyMap<string, string>
  readonly tell: TellLoss
  readonly wireId?: string | undefined
}

/** Undefined, after telling why, for a block that the format has no words for. */
function buildPart(block: Block, context: Context): JsonObject | undefined {
  const { isOwn, tell } = context
  const extra = (isOwn ? block.extra : undefined) ?? noExtra
  switch (block.type) {
    case 'text':
      return { ...extra, text: block.text }
    case 'image':
    case 'file': {
      const media = buildMedia(block)
      if (media !== undefined) return { ...extra, ...media }
      tell('dropped', `${geminiFormat}: has neither data nor an address`)
      return undefined
    }
    case 'reasoning': {
      const { text, signature } = block
      if (!isOwn) {
        tell('dropped', 'GC12: reasoning goes back only to the format it came from')
        return undefined
      }
      const sealed = signature === undefined ? {} : { thoughtSignature: signature }
      return { ...extra, ...(text === undefined ? {} : { text, thought: true }), ...sealed }
    }
    case 'tool-call':
      return buildCall(block, extra, context)
    case 'tool-result':
      return buildResult(block, extra, context)
    case 'opaque':
      if (block.format === geminiFormat && isObject(block.value)) return block.value as JsonObject
      tell('dropped', `${geminiFormat}: a block of another format`)
      return undefined
    default:
      return assertNever(block)
  }
}

function buildCall(block: ToolCallBlock, extra: JsonObject, context: Context): JsonObject {
  const { wireId = block.callId, tell } = context
  const name = wireName(block.name)
  if (name !== block.name) tell('full', `GC11: its name is not accepted, sent as ${name}`)
  const args = parseArguments(block.arguments, geminiFormat, tell)
  const { extra: around } = extraOf(extra, ['functionCall'])
  const id = isIdByName(wireId) ? {} : { id: wireId }
  return { ...around, functionCall: { ...asObject(extra.functionCall), ...id, name, args } }
}

function buildResult(block: ToolResultBlock, extra: JsonObject, context: Context): JsonObject {
  const { wireId = block.callId, names } = context
  const inside = asObject(extra.functionResponse)
  const { extra: rest } = extraOf(inside, ['textIn'])
  const name = names.get(wireId) ?? wireName(block.name ?? 'unknown')
  const { text, parts } = buildResultContent(block, context)
  const { extra: around } = extraOf(extra, ['functionResponse'])
  return {
    ...around,
    functionResponse: {
      ...rest,
      ...resultId(block, wireId, context),
      name,
      response: buildResponse(text, block.isError === true, inside.textIn),
      ...(parts === undefined ? {} : { parts }),
    },
  }
}

/**
 * A response that came without an id goes back without one, and one that has an id of the client's making for a call without an id
 * keeps it: the name says what it answers.
 */
function resultId(
  { callId }: ToolResultBlock,
  wireId: string,
  { isOwn, names, tell }: Context,
): { readonly id?: string } {
  if (isOwn && isIdByName(callId)) return {}
  const isKept = isOwn && idPattern.test(callId) && !names.has(callId)
  const id = isIdByName(wireId) ? (isKept ? callId : undefined) : wireId
  if (isOwn && id !== callId)
    tell('full', 'GC10: its id is not that of its call, changed on the wire')
  return id === undefined ? {} : { id }
}

/** The object that a response must be. */
function buildResponse(text: string, isError: boolean, textIn: Json | undefined): JsonObject {
  if (typeof textIn === 'string') return { [textIn]: text }
  const whole = textIn === null ? parseJson(text) : undefined
  if (isObject(whole)) return whole as JsonObject
  return isError ? { error: text } : { output: text }
}

/** The words of a result and, where it is a list, the pictures and files in it. */
function buildResultContent(
  { content }: ToolResultBlock,
  { isOwn, tell }: Context,
): { readonly text: string; readonly parts?: readonly JsonObject[] } {
  if (typeof content === 'string') return { text: content }
  const lost: Block[] = []
  const parts = content.flatMap((block): readonly JsonObject[] => {
    if (block.type === 'text') return []
    const isMedia = block.type === 'image' || block.type === 'file'
    const own = isOwn && block.type === 'opaque' && block.format === geminiFormat
    const part = own && isObject(block.value) ? (block.value as JsonObject) : undefined
    const media = isMedia ? buildMedia(block) : undefined
    const built = part ?? (media && { ...((isOwn ? block.extra : undefined) ?? {}), ...media })
    if (built === undefined) lost.push(block)
    return built === undefined ? [] : [built]
  })
  const text = textOf(content)
  const names = lost.map(standIn).join(' ')
  if (lost.length > 0) {
    const isLeft = text.trim() !== '' || parts.length > 0
    tell(isLeft ? 'full' : 'omitted', `${geminiFormat}: a result cannot hold ${names}`)
  }
  const isList = isOwn || parts.length > 0
  return { text: text === '' ? names : text, ...(isList ? { parts } : {}) }
}

function buildMedia(block: ImageBlock | FileBlock): JsonObject | undefined {
  const { mediaType, data, url } = block
  const name = block.type === 'file' && block.name !== undefined ? { displayName: block.name } : {}
  if (data !== undefined) {
    const mimeType = mediaType ?? (block.type === 'image' ? 'image/png' : 'application/pdf')
    return { inlineData: { ...name, mimeType, data } }
  }
  if (url === undefined) return undefined
  const mimeType = mediaType ?? (block.type === 'image' ? imageType(url) : undefined)
  const type = mimeType === undefined ? {} : { mimeType }
  return { fileData: { ...name, ...type, fileUri: url } }
}

/** The type of a picture by its address: the provider does not look into what it fetches. */
function imageType(url: string): string {
  const extension = /\.(jpe?g|webp|gif|heic|heif|bmp)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase()
  return `image/${extension === undefined ? 'png' : extension.replace('jpg', 'jpeg')}`
}
