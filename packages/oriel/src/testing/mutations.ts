// Mutations that break conversations as in the wild. Lists of small mutations shrink to the one
// that matters.

import * as fc from 'fast-check'
import type { Json, JsonObject } from '../core/log/json.ts'
import { isObject, setField } from '../core/log/json.ts'
import type { FormatName } from '../providers/format.ts'
import { type Conversation, conversationOf } from './arbitraries.ts'
import { strangeMessages } from './strange-messages.ts'
import { anyFields } from './texts.ts'

/**
 * One mutation. Positions are modulo the length, so that every mutation applies to every
 * conversation; one that finds no target is a no-op.
 */
export type Mutation =
  /** Removes a message: a call loses its result, or a result its call. */
  | { readonly kind: 'drop'; readonly at: number }
  | { readonly kind: 'duplicate'; readonly at: number }
  | { readonly kind: 'swap'; readonly at: number; readonly other: number }
  /** Moves a message far from its place. */
  | { readonly kind: 'move'; readonly at: number; readonly to: number }
  /** Truncates the end. */
  | { readonly kind: 'truncate'; readonly at: number }
  /** Truncates the start. */
  | { readonly kind: 'behead'; readonly at: number }
  | { readonly kind: 'insert'; readonly at: number; readonly message: JsonObject }
  /** Changes the id of one side of a pair. */
  | { readonly kind: 're-id'; readonly at: number; readonly id: string }
  /** Gives a call and its result the id of another pair. */
  | { readonly kind: 'reuse-id'; readonly at: number; readonly other: number }
  /** Gives a call and its result an id that a provider may reject. */
  | { readonly kind: 'strange-id'; readonly at: number; readonly id: string }
  | { readonly kind: 'set-text'; readonly at: number; readonly text: string }
  /** Makes content empty, null, or (undefined) absent. */
  | { readonly kind: 'set-content'; readonly at: number; readonly content: Json | undefined }
  | { readonly kind: 'add-field'; readonly at: number; readonly fields: JsonObject }
  | { readonly kind: 'add-block'; readonly at: number; readonly block: JsonObject }
  /** Appends the blocks of a message, including results, to the previous message. */
  | { readonly kind: 'merge'; readonly at: number }

/** Applies the mutations in order. Does not modify the input. */
export function mutate(conversation: Conversation, mutations: readonly Mutation[]): Conversation {
  return mutations.reduce<Conversation>(
    (messages, mutation) => (messages.length === 0 ? messages : apply(copy(messages), mutation)),
    conversation,
  )
}

/** Mutations that keep every message valid for its format. Shrinks to fewer. */
export function mutationsArbitrary(format: FormatName): fc.Arbitrary<readonly Mutation[]> {
  const at = fc.nat({ max: 30 })
  const message = fc.constantFrom(...strangeMessages[format].messages)
  const content = fc.constantFrom(...strangeMessages[format].contents)
  const block = fc.constantFrom(...strangeMessages[format].blocks)
  const text = fc.constantFrom('', ' \n', 'half \ud83d of a pair', '\udc00', '[Omitted]')
  const id = fc.constantFrom(
    'call_1',
    '',
    'x'.repeat(65),
    'ä / b',
    '\ud800',
    'function_call:search',
    'by-name:1:search',
  )
  return fc.array(
    fc.oneof<fc.Arbitrary<Mutation>[]>(
      fc.record({ kind: fc.constant('drop' as const), at }),
      fc.record({ kind: fc.constant('duplicate' as const), at }),
      fc.record({ kind: fc.constant('swap' as const), at, other: at }),
      fc.record({ kind: fc.constant('move' as const), at, to: at }),
      fc.record({ kind: fc.constant('truncate' as const), at }),
      fc.record({ kind: fc.constant('behead' as const), at }),
      fc.record({ kind: fc.constant('insert' as const), at, message }),
      fc.record({ kind: fc.constant('re-id' as const), at, id }),
      fc.record({ kind: fc.constant('reuse-id' as const), at, other: at }),
      fc.record({ kind: fc.constant('strange-id' as const), at, id }),
      fc.record({ kind: fc.constant('set-text' as const), at, text }),
      fc.record({ kind: fc.constant('set-content' as const), at, content }),
      fc.record({ kind: fc.constant('add-field' as const), at, fields: anyFields() }),
      fc.record({ kind: fc.constant('add-block' as const), at, block }),
      fc.record({ kind: fc.constant('merge' as const), at }),
    ),
    { maxLength: 5 },
  )
}

/** Conversations of a format that are mostly broken, as in the wild. */
export function brokenConversation(format: FormatName): fc.Arbitrary<Conversation> {
  return fc
    .tuple(conversationOf(format), mutationsArbitrary(format))
    .map(([conversation, mutations]) => mutate(conversation, mutations))
}

type Editable = Record<string, unknown>

function apply(messages: Editable[], mutation: Mutation): Conversation {
  const { length } = messages
  const at = mutation.at % length
  const message = messages[at] as Editable
  switch (mutation.kind) {
    case 'drop':
      messages.splice(at, 1)
      break
    case 'duplicate':
      messages.splice(at, 0, copy([message as JsonObject])[0] as Editable)
      break
    case 'swap': {
      const other = mutation.other % length
      messages[at] = messages[other] as Editable
      messages[other] = message
      break
    }
    case 'move':
      messages.splice(at, 1)
      messages.splice(mutation.to % length, 0, message)
      break
    case 'truncate':
      messages.length = at + 1
      break
    case 'behead':
      messages.splice(0, at)
      break
    case 'insert':
      messages.splice(at, 0, copy([mutation.message])[0] as Editable)
      break
    case 'add-field':
      for (const key of Object.keys(mutation.fields)) {
        if (!(key in message) || key === '__proto__') setField(message, key, mutation.fields[key])
      }
      break
    case 'set-content':
      if (mutation.content === undefined) delete message[contentKey(message)]
      else message[contentKey(message)] = copyOf(mutation.content)
      break
    case 'add-block':
      message[contentKey(message)] = [...blocksOf(message), copyOf(mutation.block)]
      break
    case 'merge':
      if (at > 0) {
        const before = messages[at - 1] as Editable
        before[contentKey(before)] = [...blocksOf(before), ...blocksOf(message)]
        messages.splice(at, 1)
      }
      break
    default:
      replaceStrings(messages, mutation)
  }
  // The copies are JSON and were changed only by JSON.
  return messages as unknown as Conversation
}

type OfStrings = Extract<Mutation, { kind: 're-id' | 'reuse-id' | 'strange-id' | 'set-text' }>

function replaceStrings(messages: readonly Editable[], mutation: OfStrings): void {
  const isText = mutation.kind === 'set-text'
  const spots = messages.flatMap((message) => spotsOf(message, isText ? isTextSpot : isIdSpot))
  const spot = spots[mutation.at % Math.max(1, spots.length)]
  if (spot === undefined) return
  const value = spot.holder[spot.key]
  if (mutation.kind === 'set-text') spot.holder[spot.key] = mutation.text
  else if (mutation.kind === 're-id') spot.holder[spot.key] = mutation.id
  else {
    const id =
      mutation.kind === 'strange-id' ? mutation.id : idAt(spots[mutation.other % spots.length])
    for (const one of spots) if (one.holder[one.key] === value) one.holder[one.key] = id
  }
}

/** A replaceable string inside a message. */
interface Spot {
  readonly holder: Editable
  readonly key: string
}

function idAt(spot: Spot | undefined): unknown {
  return spot?.holder[spot.key]
}

/** Call arguments are data, whatever their keys. */
const dataKeys = ['input', 'arguments', 'args', 'x', 'x_user', 'x_assistant', 'x_system', 'source']

function spotsOf(holder: Editable, matches: (spot: Spot) => boolean): readonly Spot[] {
  return Object.keys(holder).flatMap((key) => {
    const value = holder[key]
    if (typeof value === 'string') return matches({ holder, key }) ? [{ holder, key }] : []
    if (dataKeys.includes(key)) return []
    const inner = Array.isArray(value) ? value : [value]
    return inner.flatMap((one) => (isObject(one) ? spotsOf(one as Editable, matches) : []))
  })
}

const callTypes = [
  ...['function', 'custom', 'tool_use', 'tool_call'],
  ...['server_tool_use', 'mcp_tool_use', 'mcp_approval_request'],
]
const idKeys = [
  ...['tool_call_id', 'tool_use_id', 'call_id', 'toolCallId'],
  ...['approvalId', 'approval_request_id'],
]

function isIdSpot({ holder, key }: Spot): boolean {
  // The calls and responses of Gemini have no type.
  if (key === 'id') {
    return callTypes.includes(String(holder.type)) || 'args' in holder || 'response' in holder
  }
  return idKeys.includes(key)
}

function isTextSpot({ key }: Spot): boolean {
  return ['text', 'content', 'output', 'refusal', 'value'].includes(key)
}

/** Where a message has its blocks: those of Gemini's model may have lost them. */
function contentKey(message: Editable): 'content' | 'parts' {
  return 'parts' in message || message.role === 'model' ? 'parts' : 'content'
}

function blocksOf(message: Editable): readonly unknown[] {
  const content = message[contentKey(message)]
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content : []
}

function copy(messages: Conversation): Editable[] {
  return messages.map((message) => copyOf(message) as Editable)
}

/** Also copies a field called `__proto__`, and lone surrogates. */
function copyOf(value: Json): Json | Editable {
  return JSON.parse(JSON.stringify(value)) as Json | Editable
}
