// OpenAI Chat Completions messages, read into drafts. What blocks cannot say stays in `extra`; `build.ts` is the way back.

import type { Block, ToolCallBlock, ToolResultBlock } from '../../core/log/block.ts'
import type { Draft } from '../../core/log/entry.ts'
import type { JsonObject } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import {
  extraOf,
  fieldOf,
  type JsonAt,
  materialOfDraft,
  nativeIfNeeded,
  parseDataUrl,
  readList,
  readObject,
  readObjects,
  readString,
  wrongShape,
} from '../foreign.ts'
import type { Decoded } from '../format.ts'
import { buildChatMessages, chatFormat } from './build.ts'
import { functionCallId } from './rules.ts'

export function decode(messages: readonly unknown[], path: string): readonly Decoded[] {
  return readList(messages, path).map((place, index) => {
    const draft = decodeChatMessage(place)
    if (isPlain(place.value)) return { draft, from: index, to: index + 1 }
    const rebuilt = buildChatMessages(materialOfDraft(draft))
    const native = nativeIfNeeded({ format: chatFormat, original: [place.value], rebuilt })
    return { draft: { ...draft, ...native }, from: index, to: index + 1 }
  })
}

/** Whether a message is words and fields that `extra` keeps: built again, it is surely the same. */
function isPlain({
  role,
  content,
  tool_calls,
  reasoning_content,
  function_call,
}: JsonObject): boolean {
  if (typeof content !== 'string') return false
  if (role === 'user' || role === 'system') return true
  const isOther = tool_calls !== undefined || typeof reasoning_content === 'string'
  return role === 'assistant' && !isOther && !isObject(function_call)
}

/** The draft of one message, without `native`. */
function decodeChatMessage(place: JsonAt): Draft {
  const { value } = place
  const source = { format: chatFormat }
  const role = readString(place, 'role')
  switch (role) {
    case 'system':
    case 'user':
      return withExtra(
        { role, origin: role, content: decodeContent(place), source },
        extraOf(value, ['role', 'content']),
      )
    case 'developer':
      // A system message by another name: `extra` keeps the name.
      return {
        role: 'system',
        origin: 'system',
        content: decodeContent(place),
        source,
        ...extraOf(value, ['content']),
      }
    case 'assistant': {
      const said = decodeAssistant(place)
      return withExtra({ role, origin: role, source, content: said.content }, said)
    }
    case 'tool':
      return { role, origin: role, source, ...decodeTool(place) }
    case 'function':
      return { role: 'tool', origin: 'tool', source, ...decodeFunction(place) }
    default:
      throw wrongShape(
        `${place.path}.role`,
        "'system', 'developer', 'user', 'assistant', 'tool' or 'function'",
        role,
      )
  }
}

function withExtra(draft: Draft, { extra }: Pick<Draft, 'extra'>): Draft {
  return extra === undefined ? draft : { ...draft, extra }
}

function decodeAssistant(place: JsonAt): Pick<Draft, 'content' | 'extra'> {
  const known = ['role', 'content', 'tool_calls']
  const blocks: Block[] = []
  const reasoning = fieldOf(place, 'reasoning_content')
  if (typeof reasoning === 'string') {
    known.push('reasoning_content')
    blocks.push({ type: 'reasoning', text: reasoning })
  }
  blocks.push(...decodeContent(place))
  if ((fieldOf(place, 'content') ?? null) === null) {
    const refusal = fieldOf(place, 'refusal')
    const spoken = typeof refusal === 'string' ? refusal : transcriptOf(place)
    if (typeof refusal === 'string') known.push('refusal')
    // What the model said instead of content: text to every reader. `native` keeps the field it came in.
    if (spoken !== undefined) blocks.push({ type: 'text', text: spoken })
  }
  if ((fieldOf(place, 'tool_calls') ?? null) !== null) {
    blocks.push(...readObjects(place, 'tool_calls').map(decodeCall))
  }
  if (isObject(fieldOf(place, 'function_call'))) {
    known.push('function_call')
    blocks.push(decodeFunctionCall(readObject(place, 'function_call')))
  }
  const { extra } = extraOf(place.value, known)
  return extra === undefined ? { content: blocks } : { content: blocks, extra }
}

function transcriptOf(place: JsonAt): string | undefined {
  const audio = fieldOf(place, 'audio')
  if (!isObject(audio)) return undefined
  return typeof audio.transcript === 'string' ? audio.transcript : undefined
}

/** Never throws: a call without id or name is broken, but the log keeps it as it came. */
function decodeCall(place: JsonAt): ToolCallBlock {
  const { value } = place
  const type = fieldOf(place, 'type') ?? 'function'
  const callId = stringOr(fieldOf(place, 'id'), '')
  if (type === 'function' || type === 'custom') {
    const payload = fieldOf(place, type)
    const fields: JsonObject = isObject(payload) ? (payload as JsonObject) : {}
    const text = type === 'function' ? 'arguments' : 'input'
    const call = {
      callId,
      name: stringOr(fields.name, ''),
      arguments: textOfArguments(fields[text]),
    }
    const known = type === 'custom' ? ['id'] : ['id', 'type']
    const inner = extraOf(fields, ['name', text]).extra
    return { type: 'tool-call', ...call, ...nestedExtra(value, { known, key: type, inner }) }
  }
  // A kind of call that came after this was written: kept whole, and still answered by its id.
  const name = typeof type === 'string' ? type : 'unknown'
  const { extra = {} } = extraOf(value, ['id'])
  return { type: 'tool-call', callId, name, arguments: JSON.stringify(extra), extra }
}

function decodeFunctionCall(place: JsonAt): ToolCallBlock {
  const name = stringOr(fieldOf(place, 'name'), '')
  const { extra } = extraOf(place.value, ['name', 'arguments'])
  return {
    type: 'tool-call',
    callId: functionCallId(name),
    name,
    arguments: textOfArguments(fieldOf(place, 'arguments')),
    extra: { type: 'function_call', ...(extra === undefined ? {} : { function_call: extra }) },
  }
}

function decodeTool(place: JsonAt): Pick<Draft, 'content' | 'extra' | 'tool'> {
  const name = fieldOf(place, 'name')
  const result: ToolResultBlock = {
    type: 'tool-result',
    callId: stringOr(fieldOf(place, 'tool_call_id'), ''),
    content: decodeResult(place),
  }
  return {
    content: [result],
    ...(typeof name === 'string' ? { tool: name } : {}),
    ...extraOf(place.value, ['role', 'content', 'tool_call_id']),
  }
}

function decodeFunction(place: JsonAt): Pick<Draft, 'content' | 'extra' | 'tool'> {
  const name = stringOr(fieldOf(place, 'name'), '')
  return {
    content: [
      { type: 'tool-result', callId: functionCallId(name), name, content: decodeResult(place) },
    ],
    tool: name,
    ...extraOf(place.value, ['content']),
  }
}

function decodeResult(place: JsonAt): string | readonly Block[] {
  const content = fieldOf(place, 'content') ?? ''
  return typeof content === 'string' ? content : decodeContent(place)
}

function decodeContent(place: JsonAt): readonly Block[] {
  const content = fieldOf(place, 'content') ?? null
  if (content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (Array.isArray(content)) return readObjects(place, 'content').map(decodePart)
  throw wrongShape(`${place.path}.content`, 'a string, an array of parts or null', content)
}

function decodePart(place: JsonAt): Block {
  const { value } = place
  const { type, text, refusal } = value
  // The type stays in `extra`: it tells a part from a plain string, and a refusal from other text.
  if (type === 'text' && typeof text === 'string') {
    return { type, text, ...extraOf(value, ['text']) }
  }
  if (type === 'refusal' && typeof refusal === 'string') {
    return { type: 'text', text: refusal, ...extraOf(value, ['refusal']) }
  }
  if (type === 'image_url') return decodeImage(place) ?? opaque(value)
  if (type === 'file') return decodeFile(place) ?? opaque(value)
  return opaque(value)
}

function decodeImage({ value }: JsonAt): Block | undefined {
  const image = value.image_url
  if (!isObject(image) || typeof image.url !== 'string') return undefined
  return {
    type: 'image',
    ...(parseDataUrl(image.url) ?? { url: image.url }),
    ...nestedExtra(value, {
      known: ['type'],
      key: 'image_url',
      inner: extraOf(image as JsonObject, ['url']).extra,
    }),
  }
}

function decodeFile({ value }: JsonAt): Block | undefined {
  const file = value.file
  if (!isObject(file)) return undefined
  const { filename, file_data: data } = file
  const known: string[] = []
  if (typeof filename === 'string') known.push('filename')
  if (typeof data === 'string') known.push('file_data')
  return {
    type: 'file',
    ...(typeof filename === 'string' ? { name: filename } : {}),
    ...(typeof data === 'string' ? (parseDataUrl(data) ?? { data }) : {}),
    ...nestedExtra(value, {
      known: ['type'],
      key: 'file',
      inner: extraOf(file as JsonObject, known).extra,
    }),
  }
}

/** What is left of an object whose content sits in one inner object under `key`: both rests, in the same places. */
function nestedExtra(
  value: JsonObject,
  options: {
    readonly known: readonly string[]
    readonly key: string
    readonly inner: JsonObject | undefined
  },
): { readonly extra?: JsonObject } {
  const { known, key, inner } = options
  const outer = extraOf(value, [...known, key])
  return inner === undefined ? outer : { extra: { ...outer.extra, [key]: inner } }
}

function opaque(value: JsonObject): Block {
  return { type: 'opaque', format: chatFormat, value }
}

/** Arguments are text on the wire; some servers send an object. `native` then keeps the original. */
function textOfArguments(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined ? '' : JSON.stringify(value)
}

function stringOr(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback
}
