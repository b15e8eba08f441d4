// Gemini's contents as drafts. Everything that is not understood is kept: fields in `extra`, parts as `opaque`.
//
// The `extra` of a call or a result has the shape of its part without what the block says: fields beside `functionCall` at the top,
// fields inside it under that name. For a result, `textIn` there names the field of the response that holds the text, where that is
// not `output` (`error` for an error); null says that the text is the whole response as JSON.

import type { Block, FileBlock, ImageBlock, Role, ToolResultBlock } from '../../core/log/block.ts'
import type { Draft } from '../../core/log/entry.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject, setField } from '../../core/log/json.ts'
import { idByName } from '../../core/state/exchange.ts'
import type { JsonAt } from '../foreign.ts'
import {
  extraOf,
  fieldOf,
  materialOfDraft,
  nativeIfNeeded,
  readList,
  readObjects,
  wrongShape,
} from '../foreign.ts'
import type { Decoded } from '../format.ts'
import { buildContent } from './build.ts'
import { geminiFormat, hasField, innerOf, isThought, joinParts, kindOf, namedOf } from './parts.ts'
import { withGaps, writeContent } from './wire.ts'

/**
 * Reads a list of contents. Contents of the model in a row are one draft: clients resend a streamed answer in the pieces that it came
 * in. A user's content that mixes responses with other parts becomes two drafts of the same index.
 */
export function decodeContents(contents: readonly unknown[], path: string): readonly Decoded[] {
  const decoded: Decoded[] = []
  let run: JsonAt[] = []
  const places = readList(contents, path)
  places.forEach((place, index) => {
    const role = roleOf(place)
    if (role === 'assistant') run.push(place)
    const isEnd = index === places.length - 1 || roleOf(places[index + 1] as JsonAt) !== 'assistant'
    if (role === 'assistant' && !isEnd) return
    const portions = role === 'assistant' ? [together(run)] : split(place, role)
    const from = index + 1 - Math.max(1, run.length)
    for (const portion of portions) decoded.push({ draft: toDraft(portion), from, to: index + 1 })
    run = []
  })
  return decoded
}

/** A content, what one draft takes of it, or several of the model. */
interface Portion {
  readonly role: Role
  readonly contents: readonly JsonObject[]
  readonly parts: readonly JsonObject[]
}

/** Responses came in contents of the last two roles once. */
const roles: Readonly<Record<string, Role>> = {
  user: 'user',
  model: 'assistant',
  system: 'system',
  function: 'user',
  tool: 'user',
}

function roleOf({ value, path }: JsonAt): Role {
  if (value.role === undefined && value.parts === undefined) {
    throw wrongShape(`${path}.parts`, 'a list of parts', undefined)
  }
  const { role: said = 'user' } = value
  const role = typeof said === 'string' && Object.hasOwn(roles, said) ? roles[said] : undefined
  if (role === undefined) throw wrongShape(`${path}.role`, "'user' or 'model'", said)
  return role
}

function partsOf(place: JsonAt): readonly JsonObject[] {
  if ((fieldOf(place, 'parts') ?? null) !== null) {
    return readObjects(place, 'parts').map(({ value }) => value)
  }
  // Messages of other formats would be read as contents that say nothing.
  if (fieldOf(place, 'content') === undefined) return []
  throw wrongShape(`${place.path}.parts`, 'an array', undefined)
}

function together(places: readonly JsonAt[]): Portion {
  const contents = places.map(({ value }) => value)
  return { role: 'assistant', contents, parts: joinParts(places.map(partsOf)) }
}

function split(place: JsonAt, role: Role): readonly Portion[] {
  const content = place.value
  const parts = partsOf(place)
  const responses = role === 'user' ? parts.filter(isResponse) : []
  if (responses.length === 0) return [{ role, contents: [content], parts }]
  const others = parts.filter((part) => !isResponse(part))
  if (others.length === 0) return [{ role: 'tool', contents: [content], parts }]
  // Built and merged again, the two give back the content they came from. If others stood before a response, they cannot: then the
  // original of the responses says where, so that the encoder can tell that they were moved (GC9).
  const { role: said = 'user' } = content
  const first = { ...content, parts: withGaps(parts, isResponse) }
  return [
    { role: 'tool', contents: [first], parts: responses },
    { role: 'user', contents: [{ role: said, parts: others }], parts: others },
  ]
}

function toDraft({ role, contents, parts }: Portion): Draft {
  const draft: Draft = {
    role,
    origin: role,
    content: toBlocks(parts, role),
    source: { format: geminiFormat },
    ...extraIn(contents),
  }
  const rebuilt = writeContent(buildContent(materialOfDraft(draft)))
  return {
    ...draft,
    ...nativeIfNeeded({ format: geminiFormat, original: contents, rebuilt: [rebuilt] }),
  }
}

/** Of several contents the last word counts. */
function extraIn(contents: readonly JsonObject[]): { readonly extra?: JsonObject } {
  const all: Record<string, Json> = {}
  for (const content of contents) {
    for (const [key, value] of Object.entries(content)) setField(all, key, value)
  }
  return extraOf(all, ['role', 'parts'])
}

function toBlocks(parts: readonly JsonObject[], role: Role): readonly Block[] {
  const nextId = createIds()
  return parts.map((part) => {
    const isOwn = role === 'assistant'
    if (isOwn && isThought(part)) return toReasoning(part) ?? toOpaque(part)
    switch (kindOf(part)) {
      case 'text':
        if (typeof part.text !== 'string' || isThought(part)) return toOpaque(part)
        return { type: 'text', text: part.text, ...extraOf(part, ['text']) }
      case 'inlineData':
      case 'fileData':
        return toMedia(part) ?? toOpaque(part)
      case 'functionCall':
        return (isOwn ? toCall(part, nextId) : undefined) ?? toOpaque(part)
      case 'functionResponse':
        return role === 'tool' ? toResult(part, nextId) : toOpaque(part)
      default:
        return toOpaque(part)
    }
  })
}

/** Ids of calls or responses that came without one. */
function createIds(): (name: string) => string {
  const counts = new Map<string, number>()
  return (name) => {
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return idByName(name, count)
  }
}

/** What has no text of its own, such as a signature that came at the end of a stream, keeps its shape in `extra`. */
function toReasoning(part: JsonObject): Block | undefined {
  const { text, thought, thoughtSignature: signature } = part
  if (hasField(part, 'thoughtSignature') && typeof signature !== 'string') return undefined
  const sealed = typeof signature === 'string' ? { signature } : {}
  if (thought === true && typeof text === 'string' && kindOf(part) === 'text') {
    const known = ['text', 'thought', ...('signature' in sealed ? ['thoughtSignature'] : [])]
    return { type: 'reasoning', text, ...sealed, ...extraOf(part, known) }
  }
  if (typeof signature !== 'string' || (kindOf(part) ?? 'text') !== 'text') return undefined
  return { type: 'reasoning', signature, ...extraOf(part, ['thoughtSignature']) }
}

function toMedia(part: JsonObject): ImageBlock | FileBlock | undefined {
  const isInline = hasField(part, 'inlineData')
  const { mimeType, data, fileUri, displayName, ...others } = objectIn(
    part[isInline ? 'inlineData' : 'fileData'],
  )
  if (Object.keys(others).length > 0) return undefined
  if (mimeType !== undefined && typeof mimeType !== 'string') return undefined
  if (displayName !== undefined && typeof displayName !== 'string') return undefined
  const [source, stray] = isInline ? [data, fileUri] : [fileUri, data]
  if (typeof source !== 'string' || stray !== undefined) return undefined
  const isImage = mimeType?.startsWith('image/') === true
  if (isImage && displayName !== undefined) return undefined
  return {
    type: isImage ? 'image' : 'file',
    ...(mimeType === undefined ? {} : { mediaType: mimeType }),
    ...(displayName === undefined ? {} : { name: displayName }),
    ...(isInline ? { data: source } : { url: source }),
    ...extraOf(part, ['inlineData', 'fileData']),
  }
}

function toCall(part: JsonObject, nextId: (name: string) => string): Block | undefined {
  const call = objectIn(part.functionCall)
  const { name, args = {} } = call
  if (typeof name !== 'string') return undefined
  return {
    type: 'tool-call',
    callId: namedOf(call).id ?? nextId(name),
    name,
    arguments: JSON.stringify(args),
    ...nestedExtra(part, 'functionCall', extraOf(call, ['id', 'name', 'args']).extra),
  }
}

function isResponse(part: JsonObject): boolean {
  return kindOf(part) === 'functionResponse' && innerOf(part, 'functionResponse') !== undefined
}

function toResult(part: JsonObject, nextId: (name: string) => string): ToolResultBlock {
  const said = objectIn(part.functionResponse)
  const { name, response, parts } = said
  const tool = typeof name === 'string' ? name : undefined
  const { text, field } = readResponse(response)
  const isError = isObject(response) && Object.hasOwn(response, 'error')
  const media = Array.isArray(parts) ? parts.map(toInner) : undefined
  const isUsual = field === undefined || field === (isError ? 'error' : 'output')
  const inside = {
    ...extraOf(said, ['id', 'name', 'response', ...(media === undefined ? [] : ['parts'])]).extra,
    ...(isUsual ? {} : { textIn: field }),
  }
  return {
    type: 'tool-result',
    callId: namedOf(said).id ?? nextId(tool ?? ''),
    ...(tool === undefined ? {} : { name: tool }),
    content: media === undefined ? text : [{ type: 'text', text }, ...media],
    ...(isError ? { isError } : {}),
    ...nestedExtra(part, 'functionResponse', inside),
  }
}

/** The text of a response: that of its only field, or the whole as JSON, for which the field is null. */
function readResponse(response: Json | undefined): {
  readonly text: string
  readonly field?: string | null
} {
  if (!isObject(response)) return { text: '' }
  const [field, ...others] = Object.keys(response)
  const value = field === undefined ? undefined : response[field]
  if (field !== undefined && others.length === 0 && typeof value === 'string') {
    return { text: value, field }
  }
  return { text: JSON.stringify(response), field: null }
}

function toInner(part: Json): Block {
  const media = isObject(part) ? toMedia(part as JsonObject) : undefined
  return media ?? toOpaque(part)
}

function nestedExtra(
  part: JsonObject,
  field: 'functionCall' | 'functionResponse',
  inside: JsonObject | undefined,
): { readonly extra?: JsonObject } {
  const { extra } = extraOf(part, [field])
  if (Object.keys(inside ?? {}).length === 0) return extra === undefined ? {} : { extra }
  return { extra: { ...extra, [field]: inside as JsonObject } }
}

function objectIn(value: Json | undefined): JsonObject {
  return isObject(value) ? (value as JsonObject) : {}
}

function toOpaque(value: Json): Block {
  return { type: 'opaque', format: geminiFormat, value }
}
