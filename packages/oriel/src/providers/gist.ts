// What a message on the wire says, apart from how it is written. Clients resend answers with fields added and left out; see
// docs/decisions/0002-what-clients-resend.md.

import {
  canonicalJson,
  equalJson,
  isJsonObject as isRecord,
  type Json,
  type JsonObject,
  parseJson,
} from '../core/log/json.ts'

/** Fields that say nothing to the model, or that clients add and drop as they like. */
const idle = new Set([
  'cache_control',
  'refusal',
  'annotations',
  'logprobs',
  'status',
  'parsed',
  'parsed_arguments',
  'reasoning_content',
  'reasoning',
  'reasoning_details',
])
const thinking = new Set(['thinking', 'redacted_thinking'])

export interface Gist {
  readonly text: string
  /** The model's reasoning, which the text leaves out; empty where there is none. */
  readonly reasoning: string
  /** Whether it is an item with its provider's id, which ties it to the reasoning before it. */
  readonly hasId: boolean
}

export function gistOf(message: Json): Gist {
  const none = { reasoning: '', hasId: false }
  if (!isRecord(message)) return { text: canonicalJson(message), ...none }
  // A reasoning item is known by what only the model could have written.
  if (message.type === 'reasoning') {
    const { id, encrypted_content: sealed, summary } = message
    return { text: canonicalJson({ reasoning: sealed ?? id ?? summary ?? null }), ...none }
  }
  const isItem = typeof message.type === 'string'
  const said = plain(message, isItem ? ['id'] : ['name'])
  // A person's words are the same message with other blanks around them: it is sent with those that the client sends now.
  const text = canonicalJson(message.role === 'user' ? withoutOuterBlanks(said) : said)
  const hasId = isItem && typeof message.id === 'string'
  return { text, reasoning: reasoningOf(message), hasId }
}

/** Whether two messages are the same but for idle fields that say nothing: then their gists are the same, and need not be made. */
export function isAlike(a: Json, b: Json | undefined): boolean {
  if (!isRecord(a) || !isRecord(b)) return equalJson(a, b)
  return (
    Object.keys(a).every((key) =>
      Object.hasOwn(b, key) ? equalJson(a[key] as Json, b[key]) : isSilent(key, a[key]),
    ) && Object.keys(b).every((key) => Object.hasOwn(a, key) || isSilent(key, b[key]))
  )
}

function isSilent(key: string, value: Json | undefined): boolean {
  const isEmptyList = key === 'annotations' && Array.isArray(value) && value.length === 0
  return isEmptyList || (value === null && idle.has(key))
}

/** Signatures, or the thoughts themselves where there are none. */
function reasoningOf(message: JsonObject): string {
  const blocks = Array.isArray(message.content) ? (message.content as readonly Json[]) : []
  const thoughts = blocks.flatMap((block) => {
    if (!isRecord(block) || !thinking.has(String(block.type))) return []
    return [block.signature ?? block.data ?? block.thinking ?? null]
  })
  const fields = ['reasoning_content', 'reasoning', 'reasoning_details'].flatMap((field) => {
    const value = message[field]
    return value === undefined || value === null ? [] : [value]
  })
  return thoughts.length + fields.length === 0 ? '' : canonicalJson([...thoughts, ...fields])
}

/** The value without idle fields, empty ones, and those in `dropped`. */
function plain(value: JsonObject, dropped: readonly string[]): JsonObject {
  const fields: [string, Json][] = []
  for (const [key, one] of Object.entries(value)) {
    if (idle.has(key) || dropped.includes(key)) continue
    if (key === 'type' && one === 'message') continue
    const kept = key === 'arguments' ? readArguments(one) : plainValue(one, key)
    if (kept !== undefined) fields.push([key, kept])
  }
  return Object.fromEntries(fields)
}

function plainValue(value: Json, key: string): Json | undefined {
  if (value === null || value === '') return undefined
  if (typeof value === 'string')
    return key === 'content' || key === 'output' ? [{ text: value }] : value
  if (Array.isArray(value)) {
    const kept = joinTexts(value.flatMap((one: Json) => plainBlock(one) ?? []))
    return kept.length === 0 ? undefined : kept
  }
  return isRecord(value) ? plain(value, []) : value
}

/** As messages are compared when they are found again in a thread. */
function withoutOuterBlanks(said: JsonObject): JsonObject {
  const { content } = said
  if (!Array.isArray(content)) return said
  const trimmed = content.map((block: Json, at) => {
    if (!isRecord(block) || typeof block.text !== 'string') return block
    const text = at === 0 ? block.text.trimStart() : block.text
    return { ...block, text: at === content.length - 1 ? text.trimEnd() : text }
  })
  return { ...said, content: trimmed }
}

/** Texts that follow each other say what one text says: an answer in two parts comes back as one. */
function joinTexts(blocks: readonly Json[]): readonly Json[] {
  const joined: Json[] = []
  for (const block of blocks) {
    const before = joined.at(-1)
    const isText = isRecord(block) && isRecord(before) && isPlainText(block) && isPlainText(before)
    if (isText) joined.splice(-1, 1, { text: `${before.text}${block.text}` })
    else joined.push(block)
  }
  return joined
}

function isPlainText(block: JsonObject): boolean {
  return typeof block.text === 'string' && Object.keys(block).length === 1
}

function plainBlock(block: Json): Json | undefined {
  if (!isRecord(block)) return block
  if (thinking.has(String(block.type))) return undefined
  const { type, text } = block
  const isText = type === 'text' || type === 'input_text' || type === 'output_text'
  if (isText && typeof text === 'string') return text === '' ? undefined : { text }
  return plain(block, [])
}

/** Arguments however they are written; text that is no JSON, or is nested too deep, is compared as it is. */
function readArguments(value: Json): Json {
  return typeof value === 'string' ? (parseJson(value) ?? value) : value
}
