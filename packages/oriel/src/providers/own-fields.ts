// Oriel's own fields on messages of any format: read, and never sent on the wire.

import type { Block } from '../core/log/block.ts'
import type { Draft } from '../core/log/entry.ts'
import { isObject } from '../core/log/json.ts'
import { wrongShape } from './foreign.ts'
import type { Decoded, Format } from './format.ts'
import { type OwnFields, readOwnFields, readPartFields } from './neutral/index.ts'

const messageFields = ['kind', 'tool', 'expiry', 'origin', 'audience', 'meta'] as const
const partFields = ['lifetime', 'audience'] as const

type Fields = Readonly<Record<string, unknown>>

/** Decodes messages of a format that may carry `expiry`, `kind`, `tool`, `origin`, `audience` and `meta`, and parts with a lifetime or an audience. */
export function decodeWithOwnFields(
  format: Pick<Format, 'decode'>,
  messages: readonly unknown[],
  path: string,
): readonly Decoded[] {
  if (!Array.isArray(messages) || !messages.some(hasOwnFields)) return format.decode(messages, path)
  const decoded = format.decode(messages.map(withoutOwnFields), path)
  return decoded.map((one) => {
    const message: unknown = messages[one.from]
    if (!hasOwnFields(message)) return one
    const at = `${path}[${one.from}]`
    return { ...one, draft: withFields(one.draft, message, at) }
  })
}

function hasOwnFields(message: unknown): message is Fields {
  if (!isPlain(message)) return false
  return (
    messageFields.some((name) => message[name] !== undefined) ||
    partsOf(message).some(hasPartFields)
  )
}

function hasPartFields(part: unknown): part is Fields {
  return isPlain(part) && partFields.some((name) => part[name] !== undefined)
}

/** Instances of a class have fields of their own. */
function isPlain(value: unknown): value is Fields {
  if (!isObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function partsOf({ content }: Fields): readonly unknown[] {
  return Array.isArray(content) ? content : []
}

function withoutOwnFields(message: unknown): unknown {
  if (!hasOwnFields(message)) return message
  const rest = without(message, messageFields)
  if (!partsOf(message).some(hasPartFields)) return rest
  const content = partsOf(message).map((part) =>
    hasPartFields(part) ? without(part, partFields) : part,
  )
  return { ...rest, content }
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

function withFields(draft: Draft, message: Fields, path: string): Draft {
  const own: OwnFields = readOwnFields(message, path)
  const parts = partsOf(message)
  if (!parts.some(hasPartFields)) return { ...draft, ...own }
  return { ...draft, ...own, content: contentWith(draft, parts, path) }
}

/** Parts and blocks are the same in number and order, in the message or in its one result. */
function contentWith(
  { content }: Draft,
  parts: readonly unknown[],
  path: string,
): readonly Block[] {
  const blocks = typeof content === 'string' ? [] : content
  const [only] = blocks
  if (only?.type === 'tool-result' && blocks.length === 1 && typeof only.content !== 'string') {
    return [{ ...only, content: blocksWith(only.content, parts, path) }]
  }
  return blocksWith(blocks, parts, path)
}

function blocksWith(
  blocks: readonly Block[],
  parts: readonly unknown[],
  path: string,
): readonly Block[] {
  if (blocks.length !== parts.length) {
    const expected = 'parts that are one block each where one of them has a lifetime or an audience'
    throw wrongShape(`${path}.content`, expected, parts.length)
  }
  return blocks.map((block, index) => {
    const part = parts[index]
    return hasPartFields(part)
      ? { ...block, ...readPartFields(part, `${path}.content[${index}]`) }
      : block
  })
}
