// Items of OpenAI's Responses, read into drafts. What blocks cannot say stays in `extra`; `build.ts` is the way back.
//
// Everything the model made between two inputs (its reasoning, messages, calls, hosted calls) is one model call, so one assistant
// draft: a run of such items is never divided, also where a message or reasoning follows a call.
//
// In the `extra` of a block that was part of an assistant message, `item` on its first block holds the fields of the message
// around the parts (blocks behind it without `item` are further parts of it), and `type` is the part's own: a text without it
// was a plain string, an opaque block with it is a part and not an item.

import type { Block, ReasoningBlock, Role, ToolCallBlock } from '../../core/log/block.ts'
import type { Draft } from '../../core/log/entry.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import { forPeople, isOwnCompaction, openCompaction } from '../compaction.ts'
import {
  extraOf,
  fieldOf,
  type JsonAt,
  materialOfDraft,
  nativeIfNeeded,
  parseDataUrl,
  readList,
  readObjects,
  wrongShape,
} from '../foreign.ts'
import type { Decoded } from '../format.ts'
import { buildItems } from './build.ts'
import {
  answeredText,
  asked,
  clientCallOf,
  isClientAnswer,
  pairField,
  pairIdOf,
} from './client-calls.ts'
import { argumentsField, isInRun, kindOf, responsesFormat } from './items.ts'

export function decode(items: readonly unknown[], path: string): readonly Decoded[] {
  let from = 0
  return groupItems(readList(items, path)).map((group) => {
    const draft = decodeGroup(group)
    const original = group.map(({ value }) => value)
    const rebuilt = buildItems(materialOfDraft(draft))
    const native = nativeIfNeeded({ format: responsesFormat, original, rebuilt })
    const decoded = { draft: { ...draft, ...native }, from, to: from + group.length }
    from = decoded.to
    return decoded
  })
}

/** The items that make one draft: a run of the model's items, or a single one of another kind. */
function groupItems(items: readonly JsonAt[]): readonly (readonly JsonAt[])[] {
  const groups: JsonAt[][] = []
  let isRunOpen = false
  for (const item of items) {
    const kind = kindOf(item.value)
    if (kind === undefined) {
      throw wrongShape(item.path, 'an item with a known role or a type', item.value)
    }
    if (isRunOpen && isInRun(kind)) groups.at(-1)?.push(item)
    else groups.push([item])
    isRunOpen = isInRun(kind)
  }
  return groups
}

/** The draft of one group, without `native`. */
function decodeGroup(group: readonly JsonAt[]): Draft {
  const source = { format: responsesFormat }
  const first = group[0] as JsonAt
  switch (kindOf(first.value)) {
    case 'input': {
      // A developer's message is a system message by another name: `extra` keeps the name.
      const isDeveloper = first.value.role === 'developer'
      const role: Role = first.value.role === 'user' ? 'user' : 'system'
      const known = isDeveloper ? ['content'] : ['role', 'content']
      const content = decodeContent(first, 'content')
      return { role, origin: role, content, source, ...extraOf(first.value, known) }
    }
    case 'output':
      return { role: 'tool', origin: 'tool', source, ...decodeOutput(first) }
    default:
      return { role: 'assistant', origin: 'assistant', source, content: group.flatMap(decodeOwn) }
  }
}

/** The blocks of an item that the model made. */
function decodeOwn(place: JsonAt): readonly Block[] {
  switch (kindOf(place.value)) {
    case 'said':
      return decodeSaid(place)
    case 'reasoning':
      return [decodeReasoning(place)]
    case 'call':
      return [decodeCall(place)]
    default:
      return [decodeOther(place.value)]
  }
}

/** A compaction that a gateway made is for people: the log has its own. */
function decodeOther(value: JsonObject): Block {
  const opaque = { type: 'opaque', format: responsesFormat, value } as const
  const { type, encrypted_content: sealed } = value
  if (type !== 'compaction' || typeof sealed !== 'string' || sealed === '') return opaque
  if (!isOwnCompaction(sealed)) return { ...opaque, compaction: {} }
  const summary = openCompaction(sealed)
  return { ...opaque, audience: forPeople, compaction: summary === undefined ? {} : { summary } }
}

function decodeSaid(place: JsonAt): readonly Block[] {
  const { extra: item = {} } = extraOf(place.value, ['content'])
  return decodeContent(place, 'content').map((block, index) => {
    const typed = block.type === 'opaque' ? { type: typeOf(block.value) } : {}
    const extra = { ...block.extra, ...typed, ...(index === 0 ? { item } : {}) }
    return Object.keys(extra).length === 0 ? block : { ...block, extra }
  })
}

/** The text is what people may read; whatever else the item holds, and the summary where text cannot give it back, is extra. */
function decodeReasoning({ value }: JsonAt): ReasoningBlock {
  const { summary, content, encrypted_content: signature } = value
  const texts = textsOf(summary).length > 0 ? textsOf(summary) : textsOf(content)
  const isPlain = isPlainSummary(summary)
  const known = ['type', ...(isPlain ? ['summary'] : [])]
  if (typeof signature === 'string') known.push('encrypted_content')
  return {
    type: 'reasoning',
    ...(texts.length === 0 ? {} : { text: texts.join('\n\n') }),
    ...(typeof signature === 'string' ? { signature } : {}),
    ...extraOf(value, known),
  }
}

/** Whether the summary is one text and nothing more, as the builder would make it. */
function isPlainSummary(summary: Json | undefined): boolean {
  if (!Array.isArray(summary) || summary.length !== 1) return false
  const [part] = summary as readonly Json[]
  if (!isObject(part) || Object.keys(part).length !== 2) return false
  return part.type === 'summary_text' && typeof part.text === 'string'
}

function textsOf(parts: Json | undefined): readonly string[] {
  if (!Array.isArray(parts)) return []
  return parts.flatMap((part: Json) =>
    isObject(part) && typeof part.text === 'string' ? [part.text] : [],
  )
}

/** Never throws: a call without id or name is broken, but the log keeps it as it came. */
function decodeCall(place: JsonAt): ToolCallBlock {
  const { value } = place
  const client = clientCallOf(value.type)
  if (client !== undefined) {
    return {
      type: 'tool-call',
      callId: stringOr(pairIdOf(value), ''),
      name: client.name,
      arguments: asked(value, client),
      ...extraOf(value, [pairField(value.type)]),
    }
  }
  const field = argumentsField(value.type)
  const known = ['call_id', 'name', field, ...(value.type === 'function_call' ? ['type'] : [])]
  return {
    type: 'tool-call',
    callId: stringOr(value.call_id, ''),
    name: stringOr(fieldOf(place, 'name'), ''),
    arguments: textOf(fieldOf(place, field)),
    ...extraOf(value, known),
  }
}

function decodeOutput(place: JsonAt): Pick<Draft, 'content' | 'extra'> {
  const { value } = place
  if (isClientAnswer(value.type)) return decodeAnswer(value)
  const output = fieldOf(place, 'output')
  const content = Array.isArray(output) ? decodeContent(place, 'output') : textOf(output)
  const known = ['call_id', 'output', ...(value.type === 'function_call_output' ? ['type'] : [])]
  return {
    content: [{ type: 'tool-result', callId: stringOr(value.call_id, ''), content }],
    ...extraOf(value, known),
  }
}

/** What answers a call that is no function: what it shows or says; the whole item stays in `extra`. */
function decodeAnswer(value: JsonObject): Pick<Draft, 'content' | 'extra'> {
  const { output } = value
  const screen = isObject(output) ? decodeImage(output as JsonObject) : undefined
  const isSeen = screen?.type === 'image' && (screen.data ?? screen.url) !== undefined
  const content = isSeen ? [dropExtra(screen)] : answeredText(value)
  return {
    content: [{ type: 'tool-result', callId: stringOr(pairIdOf(value), ''), content }],
    ...extraOf(value, [pairField(value.type)]),
  }
}

function dropExtra<B extends Block>({ extra: _extra, ...block }: B): Omit<B, 'extra'> {
  return block
}

function decodeContent(place: JsonAt, key: 'content' | 'output'): readonly Block[] {
  const content = fieldOf(place, key) ?? null
  if (content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (Array.isArray(content)) return readObjects(place, key).map(decodePart)
  throw wrongShape(`${place.path}.${key}`, 'a string or an array of parts', content)
}

function decodePart({ value }: JsonAt): Block {
  const { type, text, refusal } = value
  const isText = type === 'input_text' || type === 'output_text' || type === 'text'
  if (isText && typeof text === 'string') return { type: 'text', text, ...extraOf(value, ['text']) }
  if (type === 'refusal' && typeof refusal === 'string') {
    return { type: 'text', text: refusal, ...extraOf(value, ['refusal']) }
  }
  if (type === 'input_image') return decodeImage(value)
  if (type === 'input_file') return decodeFile(value)
  return { type: 'opaque', format: responsesFormat, value }
}

function decodeImage(value: JsonObject): Block {
  const { image_url: url } = value
  if (typeof url !== 'string') return { type: 'image', ...extraOf(value, ['type']) }
  return {
    type: 'image',
    ...(parseDataUrl(url) ?? { url }),
    ...extraOf(value, ['type', 'image_url']),
  }
}

function decodeFile(value: JsonObject): Block {
  const { filename, file_data: data, file_url: url } = value
  const known = ['type']
  if (typeof filename === 'string') known.push('filename')
  if (typeof data === 'string') known.push('file_data')
  if (typeof url === 'string') known.push('file_url')
  return {
    type: 'file',
    ...(typeof filename === 'string' ? { name: filename } : {}),
    ...(typeof data === 'string' ? (parseDataUrl(data) ?? { data }) : {}),
    ...(typeof url === 'string' ? { url } : {}),
    ...extraOf(value, known),
  }
}

function typeOf(value: Json): string {
  return isObject(value) ? stringOr(value.type, 'unknown') : 'unknown'
}

/** Arguments and outputs are text on the wire; some senders give an object. `native` then keeps the original. */
function textOf(value: Json | undefined): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function stringOr(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback
}
