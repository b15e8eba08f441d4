// The format of the AI SDK: `ModelMessage`, and the prompt that its language models get.

import type { Block } from '../../core/log/block.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { equalJson, isObject } from '../../core/log/json.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import {
  type BuiltMessages,
  encodeEach,
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
import { type BuildOptions, buildAiSdkMessages } from './build.ts'
import {
  aiSdkFormat,
  approvalRequest,
  approvalResponse,
  classText,
  decodeAiSdkMessage,
} from './decode.ts'
import { messageViolations } from './rules.ts'

/**
 * The format of the AI SDK, versions 6 and 7. Contracts, besides those of `Format`:
 * - One draft for each message. System messages keep their place among the others.
 * - Bytes and URLs are read as base64 and text; a message that is shown unchanged comes back as the object it was.
 * - Calls that the provider itself runs, their results and approvals stay as they came, in their place.
 * - An approval belongs to the exchange of its call: they stay or go together.
 */
export const aiSdkCodec: MessageCodec = {
  name: aiSdkFormat,
  profile: {
    startsWithUser: false,
    endsWithUser: false,
    refusesBlankText: false,
    bindsReasoning: ({ signature }) => signature !== undefined,
    mayWait: ({ blocks }, missing) => missing.every(({ callId }) => isAsked(blocks, callId)),
    hasToolParts: true,
    maxIdLength: 256,
    idPattern: /^\P{Cs}{1,256}$/u,
    rules: {
      start: 'AI4',
      end: 'AI4',
      unanswered: 'AI1',
      orphan: 'AI2',
      duplicate: 'AI3',
      order: 'AI1',
      blank: 'AI4',
      id: 'AI3',
      reasoning: 'AI5',
    },
  },
  decode,
  encode,
  restore,
}

function decode(messages: readonly unknown[], path: string): readonly Decoded[] {
  const converted = new Set<number>()
  const places = readList(messages, path, (value, { depth, index }) => {
    const text = depth === 0 ? undefined : classText(value)
    if (text !== undefined) converted.add(index)
    return text
  })
  return places.map((place, index) => {
    const draft = decodeAiSdkMessage(place)
    const rebuilt = buildAiSdkMessages(materialOfDraft(draft))
    const native = nativeIfNeeded({ format: aiSdkFormat, original: [place.value], rebuilt })
    const held = converted.has(index)
      ? { held: { json: place.value, original: messages[index] } }
      : {}
    return { draft: { ...draft, ...native }, from: index, to: index + 1, ...held }
  })
}

function encode(view: readonly ViewMessage[]): Encoded {
  const losses = createLosses()
  const names = namesIn(view)
  // A model's prompt has no requests for approval, only answers.
  const hasRequests = view.some((message) => requestsIn(message).length > 0)
  const asked = new Set<unknown>()
  const encoded = encodeEach(view, (message, index) => {
    const note = losses.noteFor(message, index)
    for (const id of requestsIn(message)) asked.add(id)
    const isStray = (block: Block): boolean => hasRequests && answersNone(block, asked)
    return encodeMessage(message, { names, note, isStray })
  })
  tellIllFormed(view, losses, 'AI5')
  return { ...encoded, ...losses.found() }
}

function encodeMessage(message: ViewMessage, options: Required<BuildOptions>): BuiltMessages {
  const canReplay = !message.blocks.some(options.isStray)
  const native = canReplay ? nativeOf(message, aiSdkFormat) : undefined
  const [fault] = native?.flatMap((one) => messageViolations(wellFormed(one), '')) ?? []
  if (native !== undefined && fault === undefined) return { built: native, isWhole: true }
  const built = buildAiSdkMessages(materialOfView(message, aiSdkFormat), options)
  if (fault !== undefined)
    options.note(undefined, 'full', `${fault.rule}: sent in an accepted shape`)
  return { built, isWhole: canReplay && isRebuilt(message, aiSdkFormat) }
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

/** Whether a message asks for an approval of its calls with this id, of each where several have it. */
function isAsked(blocks: readonly Block[], callId: string): boolean {
  const calls = blocks.filter((block) => block.type === 'tool-call' && block.callId === callId)
  const requests = blocks.filter(
    (block) => isPart(block, approvalRequest) && (block.value as JsonObject).toolCallId === callId,
  )
  return requests.length >= calls.length
}

/** Ids of the approvals that a message asks for. */
function requestsIn({ role, blocks }: ViewMessage): readonly unknown[] {
  if (role !== 'assistant') return []
  return blocks.flatMap((block) =>
    isPart(block, approvalRequest) ? [(block.value as JsonObject).approvalId] : [],
  )
}

/** Whether a block answers an approval that was not asked for by then. */
function answersNone(block: Block, asked: ReadonlySet<unknown>): boolean {
  if (!isPart(block, approvalResponse)) return false
  const { approvalId, providerExecuted } = block.value as JsonObject
  return providerExecuted !== true && !asked.has(approvalId)
}

function isPart(block: Block, type: string): block is Block & { type: 'opaque' } {
  return block.type === 'opaque' && isObject(block.value) && block.value.type === type
}

/** Messages that hold bytes or URLs, and are shown unchanged, as the objects they came as. */
function restore(messages: readonly Json[], held: readonly WrappedOriginal[]): readonly unknown[] {
  const left = [...held]
  return messages.map((message) => {
    const at = left.findIndex(({ json }) => equalJson(json, message))
    return at === -1 ? message : (left.splice(at, 1)[0] as WrappedOriginal).original
  })
}
