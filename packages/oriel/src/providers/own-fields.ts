// Oriel's own fields on messages of any format: read, and never sent on the wire. Formats keep what they do not know; these are taken from there.

import type { Block } from '../core/log/block.ts'
import type { Draft, Native } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import { isObject, type Json, type JsonObject } from '../core/log/json.ts'
import type { Decoded, Format } from './format.ts'
import { readOwnFields, readPartFields } from './neutral/index.ts'

const messageFields: ReadonlySet<string> = new Set([
  ...['kind', 'tool', 'expiry', 'origin', 'audience', 'meta'],
])
const partFields: ReadonlySet<string> = new Set(['lifetime', 'audience'])

/** Decodes messages of a format that may carry `expiry`, `kind`, `tool`, `origin`, `audience` and `meta`, and parts with a lifetime or an audience. */
export function decodeWithOwnFields(
  format: Pick<Format, 'decode'>,
  messages: readonly unknown[],
  path: string,
): readonly Decoded[] {
  return format.decode(messages, path).map((one) => {
    const draft = withOwnFields(one.draft, `${path}[${one.from}]`)
    return draft === one.draft ? one : { ...one, draft }
  })
}

function withOwnFields(draft: Draft, path: string): Draft {
  if (draft.extra?.lifetime !== undefined) {
    const message = `There is no field ${path}.lifetime: a part of a message has a lifetime, the message an expiry.`
    throw new OrielError('invalid-input', message, { path: `${path}.lifetime` })
  }
  const content = contentWith(draft.content, `${path}.content`)
  const isNamed = hasAny(draft.extra, messageFields)
  if (!isNamed && content === draft.content) return draft
  const { extra, native, ...rest } = draft
  return {
    ...rest,
    ...(isNamed ? readOwnFields(extra ?? {}, path) : {}),
    content,
    ...kept(extra, messageFields),
    ...(native === undefined ? {} : { native: nativeWithout(native) }),
  }
}

function contentWith(content: string | readonly Block[], path: string): string | readonly Block[] {
  if (typeof content === 'string') return content
  const blocks = content.map((block, index) => blockWith(block, `${path}[${index}]`))
  return blocks.some((block, index) => block !== content[index]) ? blocks : content
}

function blockWith(block: Block, path: string): Block {
  const inner =
    block.type === 'tool-result' ? contentWith(block.content, `${path}.content`) : undefined
  if (isExpiry(block.extra?.expiry)) {
    const message = `There is no field ${path}.expiry: a message has an expiry, a part of it a lifetime.`
    throw new OrielError('invalid-input', message, { path: `${path}.expiry` })
  }
  const isNamed = hasAny(block.extra, partFields)
  const isChanged = block.type === 'tool-result' && inner !== block.content
  if (!isNamed && !isChanged) return block
  const { extra, ...rest } = block
  return {
    ...rest,
    ...(isChanged ? { content: inner } : {}),
    ...(isNamed ? readPartFields(extra ?? {}, path) : {}),
    ...kept(extra, partFields),
    // The same block, with fields of its own.
  } as Block
}

/** A setting of ours, not a provider's field of the same name. */
function isExpiry(value: Json | undefined): boolean {
  return isObject(value) && 'mode' in value
}

/** The message as it came, without what only Oriel reads. */
function nativeWithout({ format, value }: Native): Native {
  return { format, value: value.map((one) => strip(one, messageFields)) }
}

function strip(value: Json, names: ReadonlySet<string>): Json {
  if (!isObject(value)) return value
  const rest = Object.entries(value as JsonObject).filter(([name]) => !names.has(name))
  return Object.fromEntries(
    rest.map(([name, field]) => [
      name,
      name === 'content' && Array.isArray(field)
        ? field.map((part: Json) => strip(part, partFields))
        : field,
    ]),
  )
}

function hasAny(extra: JsonObject | undefined, names: ReadonlySet<string>): boolean {
  return extra !== undefined && Object.keys(extra).some((name) => names.has(name))
}

/** What is left of the fields that a format does not know. */
function kept(
  extra: JsonObject | undefined,
  names: ReadonlySet<string>,
): { readonly extra?: JsonObject } {
  const rest = Object.entries(extra ?? {}).filter(([name]) => !names.has(name))
  return rest.length === 0 ? {} : { extra: Object.fromEntries(rest) }
}
