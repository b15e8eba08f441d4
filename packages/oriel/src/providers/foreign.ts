// What every format needs to read foreign messages: typed access that names the path, and rebuilding that keeps what it cannot read.

import type { Block, Role } from '../core/log/block.ts'
import type { Draft, Native } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import type { Json, JsonObject } from '../core/log/json.ts'
import {
  cloneJson,
  equalJson,
  isObject,
  isWellFormed,
  reading,
  setField,
} from '../core/log/json.ts'
import type { ViewMessage } from '../core/view/view.ts'
import type { Encoded, FormatName, Origin, Violation } from './format.ts'

/** A foreign object together with where it stands, so that every error can name the path. */
export interface JsonAt {
  readonly value: JsonObject
  readonly path: string
}

/**
 * The foreign messages as plain JSON that shares nothing with the input. Throws a typed error unless all are JSON objects.
 * `convert` reads the classes that the format itself uses.
 */
export function readList(
  messages: unknown,
  path: string,
  convert?: (value: object, at: { readonly depth: number; readonly index: number }) => unknown,
): readonly JsonAt[] {
  if (!isList(messages)) throw wrongShape(path, 'an array', messages)
  const list = reading(path, () => {
    const read: Json[] = []
    // A hole is undefined here, which is refused like any other value that is not JSON.
    for (let index = 0; index < messages.length; index++) {
      const own = convert && ((value: object, depth: number) => convert(value, { depth, index }))
      read.push(cloneJson(messages[index], `${path}[${index}]`, own))
    }
    return read
  })
  return placesOf(list, path)
}

/** A judge that never throws: a getter or a proxy that does can never be written to the wire, which is a violation too. */
export function neverThrowing(
  rule: string,
  judge: (body: unknown) => readonly Violation[],
): (body: unknown) => readonly Violation[] {
  return (body) => {
    try {
      return judge(body)
    } catch {
      return [{ rule, path: '', message: 'The body cannot be read as JSON.' }]
    }
  }
}

/** Whether a value is an array. A proxy that was revoked is none: asking it throws. */
function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

/** A field that must be a string. */
export function readString(place: JsonAt, key: string): string {
  const value = fieldOf(place, key)
  if (typeof value !== 'string') throw wrongShape(`${place.path}.${key}`, 'a string', value)
  return value
}

/** A field that must be an object. */
export function readObject(place: JsonAt, key: string): JsonAt {
  const value = fieldOf(place, key)
  if (!isJsonObject(value)) throw wrongShape(`${place.path}.${key}`, 'an object', value)
  return { value, path: `${place.path}.${key}` }
}

/** A field that must be an array of objects. */
export function readObjects(place: JsonAt, key: string): readonly JsonAt[] {
  const value = fieldOf(place, key)
  if (!Array.isArray(value)) throw wrongShape(`${place.path}.${key}`, 'an array', value)
  return placesOf(value, `${place.path}.${key}`)
}

/** An own field; undefined if absent, also for names such as `constructor` that every object inherits. */
export function fieldOf(place: JsonAt, key: string): Json | undefined {
  return Object.hasOwn(place.value, key) ? place.value[key] : undefined
}

/** The error for a value that is not what the format requires. Says its type, never its content. */
export function wrongShape(path: string, expected: string, got: unknown): OrielError {
  const type = got === null ? 'null' : isList(got) ? 'an array' : `a value of type ${typeof got}`
  const found = got === undefined ? 'nothing' : type
  return new OrielError('invalid-input', `Expected ${expected} at ${path}, got ${found}.`, { path })
}

/** The fields of an object that are not in `known`. To spread: `{ extra }`, or `{}` when there are none. */
export function extraOf(
  value: JsonObject,
  known: readonly string[],
): { readonly extra?: JsonObject } {
  let extra: Record<string, Json> | undefined
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    extra ??= {}
    setField(extra, key, value[key])
  }
  return extra === undefined ? {} : { extra }
}

/** To spread into a draft: `native` when what the format would rebuild is not the original, else nothing. */
export function nativeIfNeeded(options: {
  readonly format: FormatName
  readonly original: readonly Json[]
  readonly rebuilt: readonly Json[]
}): { readonly native?: Native } {
  const { format, original, rebuilt } = options
  return equalJson(original, rebuilt) ? {} : { native: { format, value: original } }
}

/**
 * What a format builds foreign messages from. `decode` makes it of a draft, to see whether the original comes back;
 * `encode` makes it of a view message. So both go through the same builder.
 */
export interface Material {
  readonly role: Role
  readonly blocks: readonly Block[]
  /** Whether the message came from the format that is building: only then are `extra` fields replayed. */
  readonly isOwn: boolean
  /** The message's own `extra`; empty unless `isOwn`. */
  readonly extra: JsonObject
  readonly wireIds?: ReadonlyMap<number, string>
}

/** No fields beside those that blocks say. */
export const noExtra: JsonObject = {}

export function materialOfDraft(draft: Draft): Material {
  const { role, content, extra = noExtra } = draft
  const blocks: readonly Block[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return { role, blocks, isOwn: true, extra }
}

export function materialOfView(message: ViewMessage, format: FormatName): Material {
  const { role, blocks, entry, wireIds } = message
  const isOwn = entry?.source?.format === format
  const extra = (isOwn ? entry.extra : undefined) ?? noExtra
  const material = { role, blocks, isOwn, extra }
  return wireIds === undefined ? material : { ...material, wireIds }
}

/** The original foreign messages of a view message that is shown unchanged, if they were kept. */
export function nativeOf(message: ViewMessage, format: FormatName): readonly Json[] | undefined {
  const { entry, wireIds } = message
  if (entry?.native?.format !== format || (wireIds?.size ?? 0) > 0) return undefined
  return isUnchanged(message) ? entry.native.value : undefined
}

/** Whether a view message shows the very blocks of its entry. */
export function isUnchanged(message: ViewMessage): boolean {
  const { blocks, entry } = message
  if (entry === undefined || blocks.length !== entry.blocks.length) return false
  return blocks.every((block, index) => block === entry.blocks[index])
}

/** Whether a view message shows all of an entry that came in this format, under the ids that it came with. */
function isAsItCame(message: ViewMessage, format: FormatName): boolean {
  const { entry, wireIds } = message
  return entry?.source?.format === format && (wireIds?.size ?? 0) === 0 && isUnchanged(message)
}

/** The same of one that was logged without its original, since built from its blocks it is the same. */
export function isRebuilt(message: ViewMessage, format: FormatName): boolean {
  return message.entry?.native?.format !== format && isAsItCame(message, format)
}

/** The messages of a format that encodes each view message by itself, well-formed and with their origins. */
export function encodeEach(
  view: readonly ViewMessage[],
  encode: (message: ViewMessage, index: number) => BuiltMessages,
): Pick<Encoded, 'messages' | 'origins'> {
  const messages: Json[] = []
  const origins: Origin[] = []
  for (const [index, message] of view.entries()) {
    const { built, isWhole } = encode(message, index)
    for (const [part, one] of built.entries()) {
      const sent = wellFormed(one)
      messages.push(sent)
      origins.push(originOf(message, index, { part, isWhole: isWhole && sent === one }))
    }
  }
  return { messages, origins }
}

/** The foreign messages of one view message, and whether they are those that it came as. */
export interface BuiltMessages {
  readonly built: readonly Json[]
  readonly isWhole: boolean
}

export function originOf(
  { entry }: ViewMessage,
  index: number,
  { part, isWhole }: { readonly part: number; readonly isWhole: boolean },
): Origin {
  return {
    entries: entry === undefined ? [] : [entry.seq],
    shown: [index],
    ...(part === 0 ? {} : { part }),
    isWhole,
  }
}

/** The same value with every lone surrogate replaced, since the wire is UTF-8; the same object if there was none. */
export function wellFormed(value: Json): Json {
  return isWellFormed(value) ? value : repaired(value)
}

function repaired(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (isJsonArray(value)) return value.map(wellFormed)
  const result: Record<string, Json> = {}
  for (const [key, field] of Object.entries(value)) {
    setField(result, key.toWellFormed(), wellFormed(field))
  }
  return result
}

/** The path of the first string with a lone surrogate, if any. Never throws: cycles and any depth are fine. */
export function findIllFormed(value: unknown, path: string): string | undefined {
  const seen = new Set<object>()
  const open: { value: unknown; path: string }[] = [{ value, path }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value === 'string' && !next.value.isWellFormed()) return next.path
    if (typeof next.value !== 'object' || next.value === null || seen.has(next.value)) continue
    seen.add(next.value)
    const isList = Array.isArray(next.value)
    // Pushed in reverse, so that the first one in reading order is found first.
    for (const [key, child] of Object.entries(next.value).reverse()) {
      if (!key.isWellFormed()) return next.path
      if (typeof child !== 'string' && (typeof child !== 'object' || child === null)) continue
      open.push({ value: child, path: isList ? `${next.path}[${key}]` : `${next.path}.${key}` })
    }
  }
  return undefined
}

/** Reads `data:<media type>;base64,<data>`; any other URL, and data URLs with parameters, are undefined. */
export function parseDataUrl(
  url: string,
): { readonly mediaType: string; readonly data: string } | undefined {
  const comma = url.startsWith('data:') ? url.indexOf(',') : -1
  const match = comma < 0 ? null : /^data:([^;,]+);base64$/.exec(url.slice(0, comma))
  return match === null ? undefined : { mediaType: match[1] as string, data: url.slice(comma + 1) }
}

/** Longer addresses are not repeated in a stand-in. */
const standInUrlLength = 200

/** A short text that stands for a block the format cannot carry, so that it does not vanish: `[image image/png]`. */
export function standIn(block: Block): string {
  const facts: (string | undefined)[] = [block.type]
  if (block.type === 'image') facts.push(block.mediaType, shortUrl(block.url))
  if (block.type === 'file') facts.push(block.name, block.mediaType, shortUrl(block.url))
  if (block.type === 'tool-call' || block.type === 'tool-result') facts.push(block.name)
  return `[${facts.filter((fact) => fact !== undefined).join(' ')}]`
}

/** A URL may be a whole picture: `data:` is not an address. */
function shortUrl(url: string | undefined): string | undefined {
  const isAddress = url !== undefined && !url.startsWith('data:') && url.length <= standInUrlLength
  return isAddress ? url : undefined
}

function placesOf(values: readonly Json[], path: string): readonly JsonAt[] {
  return values.map((value, index) => {
    if (!isJsonObject(value)) throw wrongShape(`${path}[${index}]`, 'an object', value)
    return { value, path: `${path}[${index}]` }
  })
}

function isJsonObject(value: Json | undefined): value is JsonObject {
  return isObject(value)
}

function isJsonArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
