// Oriel's own messages as input: checked, copied, nothing translated.

import type { Block, Role } from '../../core/log/block.ts'
import type { Draft } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { cloneJson, isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { isNearly, type OptionNames } from '../../core/log/options.ts'
import { nearestName } from '../../core/text/nearest-name.ts'
import { fieldOf, type JsonAt, readList, readString, wrongShape } from '../foreign.ts'
import type { Decoded } from '../format.ts'

const roles: readonly string[] = ['system', 'user', 'assistant', 'tool']
const origins: readonly string[] = ['user', 'assistant', 'tool', 'system', 'plugin', 'host']

/** Messages `{ role, content: string | Block[], id?, origin?, kind?, tool?, expiry?, audience?, meta? }`. */
export function decodeNeutral(messages: readonly unknown[], path: string): readonly Decoded[] {
  return readList(messages, path).map((place, index) => ({
    draft: draftOf(place),
    from: index,
    to: index + 1,
  }))
}

/** Every field of a message as input. */
const messageNames: OptionNames<Draft> = {
  id: true,
  role: true,
  content: true,
  origin: true,
  kind: true,
  tool: true,
  expiry: true,
  audience: true,
  meta: true,
  source: true,
  extra: true,
  native: true,
  resentAs: true,
}
/** Fields that belong elsewhere, or that only entries of the log have, and what to do instead. */
const misplaced: Readonly<Record<string, string>> = {
  lifetime: 'A block has a lifetime, a message an expiry.',
  metadata:
    "Data of your own is 'meta'. Messages with AgentChatMessageMetadata are imported by importAgentMessages of oriel/compat.",
  blocks: "Blocks are 'content'.",
  text: "Text is 'content'.",
  callId: "It is a field of the block { type: 'tool-result', callId, content }.",
  isError: "It is a field of the block { type: 'tool-result', callId, content, isError }.",
  externalId: "An id of your own is 'id'.",
  ...Object.fromEntries(['seq', 'turn', 'step', 'at'].map((name) => [name, 'The log gives it.'])),
}

/** Throws for a field that no message of Oriel's own has. A slip is refused for messages that may be of another format too. */
export function refuseSlips(message: object, path: string): void {
  const known = Object.keys(messageNames)
  for (const name of Object.keys(message)) {
    if (known.includes(name)) continue
    const isSlip = Object.hasOwn(misplaced, name) || isNearly(name, known)
    if (isSlip) throw unknownField(name, path, known)
  }
}

/** Fields of messages that no part has, in any format. */
const ofMessages = ['expiry', 'kind', 'origin', 'meta', 'resentAs']

/** Throws for a part with a field that only messages have. */
export function refuseMisplaced(part: object, path: string): void {
  const known = partNames(part)
  const found = Object.keys(part).find(
    (name) => ofMessages.includes(name) || isNearly(name, ['lifetime', 'audience']),
  )
  if (found !== undefined) throw unknownField(found, path, known)
}

/** Whether a message or a part of it has a field that Oriel's own do not have. */
export function hasForeignField(value: object, of: 'message' | 'part'): boolean {
  const names = of === 'message' ? Object.keys(messageNames) : partNames(value)
  return Object.entries(value).some(([name, field]) => field !== undefined && !names.includes(name))
}

function partNames(part: object): readonly string[] {
  const { type } = part as { readonly type?: unknown }
  return [...common, ...(fieldsOf[String(type)] ?? [])]
}

function unknownField(name: string, path: string, known: readonly string[]): OrielError {
  const at = `${path}.${name.slice(0, 40)}`
  const near = nearestName(name, known)
  const instead = Object.hasOwn(misplaced, name) ? misplaced[name] : undefined
  const hint = instead ?? (near === undefined ? '' : `Did you mean '${near}'?`)
  const message = `There is no field ${at}. ${hint} Known: ${known.join(', ')}.`
  return new OrielError('invalid-input', message.replace('  ', ' '), { path: at })
}

function checkNames(place: JsonAt, known: readonly string[]): void {
  const unknown = Object.keys(place.value).find((name) => !known.includes(name))
  if (unknown !== undefined) throw unknownField(unknown, place.path, known)
}

function draftOf(place: JsonAt): Draft {
  checkNames(place, Object.keys(messageNames))
  const role = readString(place, 'role')
  if (!roles.includes(role))
    throw wrongShape(`${place.path}.role`, `one of ${roles.join(', ')}`, role)
  checkOwnFields(place)
  checkCarried(place)
  // Every field was checked above or is carried unread; the copy shares nothing with the input.
  return { ...(place.value as unknown as Draft), role: role as Role, content: contentOf(place) }
}

function checkOwnFields(place: JsonAt): void {
  const origin = fieldOf(place, 'origin')
  if (origin !== undefined && !(typeof origin === 'string' && origins.includes(origin))) {
    throw wrongShape(`${place.path}.origin`, `one of ${origins.join(', ')}`, origin)
  }
  for (const key of ['id', 'kind', 'tool']) {
    const value = fieldOf(place, key)
    if (value !== undefined && typeof value !== 'string') {
      throw wrongShape(`${place.path}.${key}`, 'a string', value)
    }
  }
  checkAudience(fieldOf(place, 'audience'), `${place.path}.audience`)
  checkExpiry(fieldOf(place, 'expiry'), `${place.path}.expiry`)
}

/** Fields of Oriel's own that a message of any format may carry. */
export type OwnFields = Pick<Draft, 'kind' | 'tool' | 'expiry' | 'origin' | 'audience' | 'meta'>

/** Those of one message, checked and copied. */
export function readOwnFields(message: object, path: string): OwnFields {
  const { kind, tool, expiry, origin, audience, meta } = message as Record<string, unknown>
  const fields = present({ kind, tool, expiry, origin, audience, meta }, path)
  checkOwnFields({ value: fields, path })
  return fields as unknown as OwnFields
}

/** How long a part of a message stays and who sees it, checked and copied. */
export function readPartFields(part: object, path: string): Pick<Block, 'lifetime' | 'audience'> {
  const { lifetime, audience } = part as Record<string, unknown>
  const fields = present({ lifetime, audience }, path)
  checkLifetime(fields.lifetime, `${path}.lifetime`)
  checkAudience(fields.audience, `${path}.audience`)
  return fields as unknown as Pick<Block, 'lifetime' | 'audience'>
}

function present(fields: Readonly<Record<string, unknown>>, path: string): JsonObject {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return cloneJson(Object.fromEntries(given), path) as JsonObject
}

/** What formats carry along with a message or a block: fields of the foreign one, where it came from, how it was written. */
function checkCarried(place: JsonAt): void {
  for (const key of ['extra', 'source', 'native']) {
    const value = fieldOf(place, key)
    if (value !== undefined && !isObject(value)) {
      throw wrongShape(`${place.path}.${key}`, 'an object', value)
    }
  }
  const native = fieldOf(place, 'native')
  if (isObject(native) && !(Array.isArray(native.value) && native.value.every(isObject))) {
    throw wrongShape(`${place.path}.native.value`, 'an array of messages', native.value)
  }
}

function contentOf(place: JsonAt): string | readonly Block[] {
  const content = fieldOf(place, 'content')
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) {
    throw wrongShape(`${place.path}.content`, 'a string or an array of blocks', content)
  }
  return content.map((block: Json, index) => blockOf(block, `${place.path}.content[${index}]`))
}

/** Fields that a block of each type must have as strings. */
const required: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  image: [],
  file: [],
  reasoning: [],
  'tool-call': ['callId', 'name', 'arguments'],
  'tool-result': ['callId'],
}

/** Fields that a block of each type may have, as strings. */
const optional: Readonly<Record<string, readonly string[]>> = {
  image: ['mediaType', 'data', 'url'],
  file: ['mediaType', 'name', 'data', 'url'],
  reasoning: ['text', 'signature'],
  'tool-result': ['name'],
}

/** Fields that a block of any type may have. */
const common = ['type', 'id', 'lifetime', 'audience', 'plugin', 'extra', 'source', 'native']
/** Fields of each type beside those. */
const fieldsOf: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    Object.entries(required).map(([type, names]) => [type, [...names, ...(optional[type] ?? [])]]),
  ),
  'tool-result': ['callId', 'name', 'content', 'isError'],
  opaque: ['format', 'value', 'compaction'],
}

/** Content that no rule and no format here reads would leave the view without a word. */
function notOurs(path: string, type: string): OrielError {
  const known = [...Object.keys(required), 'opaque'].join(', ')
  const message = `'${type.slice(0, 40)}' at ${path} is no block of Oriel's own messages (${known}). Pass the messages' format, or keep the block as { type: 'opaque', format, value }.`
  return new OrielError('invalid-input', message, { path })
}

function blockOf(block: Json, path: string): Block {
  if (!isObject(block)) throw wrongShape(path, 'a block', block)
  const value = block as JsonObject
  const place: JsonAt = { value, path }
  const type = readString(place, 'type')
  checkLifetime(fieldOf(place, 'lifetime'), `${path}.lifetime`)
  checkAudience(fieldOf(place, 'audience'), `${path}.audience`)
  checkCarried(place)
  if (type === 'opaque' || Object.hasOwn(required, type)) checkNames(place, partNames(value))
  if (type === 'opaque') {
    readString(place, 'format')
    if (value.value === undefined) throw wrongShape(`${path}.value`, 'any JSON', undefined)
    return value as unknown as Block
  }
  if (!Object.hasOwn(required, type)) throw notOurs(`${path}.type`, type)
  for (const key of required[type] as readonly string[]) readString(place, key)
  for (const key of optional[type] ?? []) {
    if (fieldOf(place, key) !== undefined) readString(place, key)
  }
  if (type === 'tool-result') return { ...(value as object), content: contentOf(place) } as Block
  return value as unknown as Block
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
const oneOf =
  (...choices: readonly string[]) =>
  (value: unknown): boolean =>
    typeof value === 'string' && choices.includes(value)

/** What a block's lifetime may be: one unit, and how many of it. */
function checkLifetime(value: Json | undefined, path: string): void {
  if (value === undefined) return
  const [pair, ...others] = isObject(value) ? Object.entries(value) : []
  const isUnit = pair !== undefined && ['newer', 'turns', 'steps'].includes(pair[0])
  if (others.length === 0 && isUnit && isCount(pair[1])) return
  const expected = '{ newer: n }, { turns: n } or { steps: n }, n a whole number, 0 or more,'
  throw wrongShape(path, expected, value)
}

/** Who sees a message or a block. */
function checkAudience(value: Json | undefined, path: string): void {
  if (value === undefined) return
  if (!isObject(value)) throw wrongShape(path, '{ now?, later?, person? }', value)
  checkNames({ value: value as JsonObject, path }, ['now', 'later', 'person'])
  for (const key of ['now', 'later', 'person']) {
    const flag = value[key]
    if (flag !== undefined && typeof flag !== 'boolean') {
      throw wrongShape(`${path}.${key}`, 'true or false', flag)
    }
  }
}

const expiryFields: Readonly<
  Record<string, { expected: string; is: (value: unknown) => boolean }>
> = {
  after: { expected: 'a whole number, 0 or more, or null', is: (v) => v === null || isCount(v) },
  unit: { expected: "'steps' or 'turns'", is: oneOf('steps', 'turns') },
  mode: { expected: "'none', 'remove' or 'compact'", is: oneOf('none', 'remove', 'compact') },
  compact: { expected: "'first-chars' or 'summary'", is: oneOf('first-chars', 'summary') },
  length: { expected: 'a whole number above 0', is: (v) => isCount(v) && v !== 0 },
  prompt: { expected: "a prompt's id", is: (v) => typeof v === 'string' && v !== '' },
}

/** When a message expires: its own setting, which goes before its tool's. */
function checkExpiry(value: Json | undefined, path: string): void {
  if (value === undefined) return
  if (!isObject(value)) throw wrongShape(path, 'an expiry { after, mode, ... }', value)
  for (const key of ['after', 'mode']) {
    if (!(key in value))
      throw wrongShape(`${path}.${key}`, expiryFields[key]?.expected ?? '', undefined)
  }
  for (const [key, field] of Object.entries(value)) {
    const known = Object.hasOwn(expiryFields, key) ? expiryFields[key] : undefined
    if (known === undefined) throw wrongShape(`${path}.${key}`, 'a field of an expiry', field)
    if (!known.is(field)) throw wrongShape(`${path}.${key}`, known.expected, field)
  }
}
