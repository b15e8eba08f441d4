// The format of LangChain: `BaseMessage` objects, and every way in which they are written down.

import type { Json, JsonObject } from '../../core/log/json.ts'
import { equalJson, isObject } from '../../core/log/json.ts'
import { bytesToBase64 } from '../../core/text/bytes.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import {
  type BuiltMessages,
  encodeEach,
  extraOf,
  isRebuilt,
  materialOfDraft,
  materialOfView,
  nativeIfNeeded,
  nativeOf,
  readList,
  wellFormed,
} from '../foreign.ts'
import type { Decoded, Encoded, MessageCodec, WrappedOriginal } from '../format.ts'
import { createLosses, tellIllFormed } from '../losses.ts'
import { type BuildOptions, buildLangchainMessages } from './build.ts'
import { decodeLangchainMessage, langchainFormat } from './decode.ts'
import { messageViolations, toPlain } from './rules.ts'
import { type Wrapping, wrappings } from './wrap.ts'

/**
 * The format of LangChain 1.x messages. Contracts, besides those of `Format`:
 * - One draft for each message. System messages keep their place among the others.
 * - Each message goes back written as it came; messages that Oriel writes, or that came in another format, like the first one of
 *   this format, else as `{ role, content }`.
 * - Instances come back as instances: the very ones where they are shown unchanged, else new ones of the same class.
 * - What a result carries for the program only (`artifact`) and is no JSON is left out of the log.
 */
export const langchainCodec: MessageCodec = {
  name: langchainFormat,
  profile: {
    startsWithUser: false,
    endsWithUser: false,
    refusesBlankText: false,
    bindsReasoning: ({ signature }) => signature !== undefined,
    maxIdLength: 256,
    idPattern: /^\P{Cs}{1,256}$/u,
    rules: {
      start: 'LC4',
      end: 'LC4',
      unanswered: 'LC1',
      orphan: 'LC2',
      duplicate: 'LC3',
      order: 'LC1',
      blank: 'LC4',
      id: 'LC3',
      reasoning: 'LC5',
    },
  },
  hasMessageIds: true,
  decode,
  encode,
  restore,
}

function decode(messages: readonly unknown[], path: string): readonly Decoded[] {
  const instances = new Set<number>()
  const places = readList(messages, path, (value, { depth, index }) => {
    if (depth > 0) return value instanceof URL ? value.href : bytesToBase64(value)
    const plain = readInstance(value)
    if (plain !== undefined) instances.add(index)
    return plain
  })
  return places.map((place, index) => {
    const draft = decodeLangchainMessage(place)
    const rebuilt = buildLangchainMessages(materialOfDraft(draft))
    const native = nativeIfNeeded({ format: langchainFormat, original: [place.value], rebuilt })
    const held = instances.has(index)
      ? { held: { json: place.value, original: messages[index] } }
      : {}
    return { draft: { ...draft, ...native }, from: index, to: index + 1, ...held }
  })
}

/** Fields of an instance that are for the program, not for the model: anything may be in them. */
const programFields = ['artifact', 'response_metadata', 'additional_kwargs', 'metadata']

/** The plain data of an instance of LangChain's classes, of any copy of the package. */
function readInstance(value: object): unknown {
  const plain = toPlain(value)
  if (plain === value || !isObject(plain) || !isObject(plain.kwargs)) return undefined
  const kwargs: Record<string, unknown> = { ...plain.kwargs }
  for (const field of programFields) {
    if (kwargs[field] !== undefined) kwargs[field] = jsonOf(kwargs[field])
  }
  return { ...plain, kwargs }
}

function jsonOf(value: unknown): unknown {
  try {
    const text = JSON.stringify(value)
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

function encode(view: readonly ViewMessage[]): Encoded {
  const losses = createLosses()
  const names = namesIn(view)
  const wrapping = wrappingIn(view)
  const encoded = encodeEach(view, (message, index) =>
    encodeMessage(message, { wrapping, names, note: losses.noteFor(message, index) }),
  )
  tellIllFormed(view, losses, 'LC5')
  return { ...encoded, ...losses.found() }
}

function encodeMessage(message: ViewMessage, options: Required<BuildOptions>): BuiltMessages {
  const native = nativeOf(message, langchainFormat)
  const [fault] = native?.flatMap((one) => messageViolations(wellFormed(one), '')) ?? []
  if (native !== undefined && fault === undefined) return { built: native, isWhole: true }
  const built = buildLangchainMessages(materialOfView(message, langchainFormat), options)
  if (fault !== undefined) {
    options.note(undefined, 'full', `${fault.rule}: sent in an accepted shape`)
  }
  return { built, isWhole: isRebuilt(message, langchainFormat) }
}

/** The tool of each call, by the id that goes on the wire. */
function namesIn(view: readonly ViewMessage[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const { blocks, wireIds } of view) {
    blocks.forEach((block, index) => {
      if (block.type === 'tool-call') names.set(wireIds?.get(index) ?? block.callId, block.name)
    })
  }
  return names
}

/** How the conversation is written. */
function wrappingIn(view: readonly ViewMessage[]): Wrapping {
  for (const { entry } of view) {
    if (entry?.source?.format !== langchainFormat) continue
    const found = wrappings.find((one) => one === entry.extra?.wrapping)
    if (found !== undefined) return found
  }
  return 'role'
}

type MessageClass = new (fields: JsonObject) => unknown

/** Instances for the messages: the ones that came in, or new ones of the classes that came in. */
function restore(messages: readonly Json[], held: readonly WrappedOriginal[]): readonly unknown[] {
  const left = [...held]
  const classes = new Map<string, MessageClass>()
  for (const { json, original } of held) {
    classes.set(classNameOf(json), (original as { constructor: MessageClass }).constructor)
  }
  return messages.map((message) => {
    const at = left.findIndex(({ json }) => isSame(json, message))
    if (at !== -1) return (left.splice(at, 1)[0] as WrappedOriginal).original
    const Message = classes.get(classNameOf(message))
    if (Message === undefined || !isObject(message) || !isObject(message.kwargs)) return message
    return new Message(message.kwargs as JsonObject)
  })
}

/** An agent puts its name, and an id where there is none, on an answer after it was recorded: it is the same answer. */
function isSame(came: Json, message: Json): boolean {
  if (equalJson(came, message)) return true
  if (!classNameOf(message).startsWith('AIMessage') || !isObject(came)) return false
  const [kwargs, recorded] = [came.kwargs, (message as JsonObject).kwargs]
  if (!isObject(kwargs) || !isObject(recorded)) return false
  const added = ['name', 'id'].filter((key) => recorded[key] === undefined)
  return equalJson({ ...came, kwargs: extraOf(kwargs, added).extra ?? {} }, message)
}

function classNameOf(message: Json): string {
  const id = isObject(message) ? message.id : undefined
  return Array.isArray(id) ? String(id.at(-1)) : ''
}
