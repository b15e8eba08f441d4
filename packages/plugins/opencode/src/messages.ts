// opencode's messages as those of the AI SDK, and back. What is shown whole is opencode's very message.

import { canonicalJson, type Json, type JsonObject } from 'oriel'

/** What is looked at in a part of a message. */
export interface OpencodePart {
  readonly type: string
  readonly text?: string
  /** Shown to people only. */
  readonly ignored?: boolean
  readonly callID?: string
  readonly tool?: string
  readonly state?: ToolState
  readonly mime?: string
  readonly url?: string
  readonly filename?: string
  readonly metadata?: JsonObject
  readonly [key: string]: unknown
}

interface ToolState {
  readonly status: string
  readonly input?: Json
  readonly output?: string
  readonly error?: string
  readonly time?: { readonly compacted?: number; readonly [key: string]: unknown }
  readonly attachments?: readonly OpencodePart[]
  readonly [key: string]: unknown
}

/** What is looked at in a message. */
export interface OpencodeMessage {
  readonly info: {
    readonly id: string
    readonly sessionID: string
    readonly role: string
    readonly modelID?: string
    readonly model?: { readonly modelID: string }
    readonly error?: { readonly name?: string }
    readonly [key: string]: unknown
  }
  readonly parts: readonly OpencodePart[]
}

/** What opencode itself says of a call that never ended. */
const interrupted = '[Tool execution was interrupted]'

/** A message as the model gets it: none, one, or an answer with the results of its calls. */
export function toAiSdk({ info, parts }: OpencodeMessage): readonly JsonObject[] {
  if (info.role === 'user') {
    const content = parts.flatMap(userPart)
    return content.length === 0 ? [] : [{ role: 'user', content }]
  }
  if (isLeftOut({ info, parts })) return []
  const content = parts.flatMap(answerPart)
  if (content.length === 0) return []
  const results = parts.filter(isTool).map(resultOf)
  return [
    { role: 'assistant', content },
    ...(results.length === 0 ? [] : [{ role: 'tool', content: results }]),
  ]
}

/** opencode sends no answer that failed, unless the user broke it off when something was said. */
function isLeftOut({ info, parts }: OpencodeMessage): boolean {
  if (info.error === undefined) return false
  const isSaid = parts.some(({ type }) => type !== 'step-start' && type !== 'reasoning')
  return info.error.name !== 'MessageAbortedError' || !isSaid
}

/** The view as messages of opencode. `originals` are those that it was made of. */
export function fromAiSdk(
  view: readonly Json[],
  originals: readonly OpencodeMessage[],
): readonly OpencodeMessage[] {
  const whole = new Queues<OpencodeMessage>()
  const calls = new Queues<OpencodeMessage>()
  for (const original of originals) {
    const [first] = toAiSdk(original)
    if (first === undefined) continue
    const ids = original.parts.filter(isTool).map(({ callID = '' }) => callID)
    if (ids.length === 0) whole.add(canonicalJson(first), original)
    for (const id of ids) calls.add(id, original)
  }
  const base = originals.find(({ info }) => info.role === 'user') ?? originals[0]
  const shown: OpencodeMessage[] = []
  // The view is in the AI SDK's format.
  const messages = view as unknown as readonly AiSdkMessage[]
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') continue
    const parts = partsOf(message)
    const call = parts.find(({ type }) => type === 'tool-call')
    const original =
      call === undefined
        ? whole.take(canonicalJson(message as unknown as Json))
        : calls.take(String(call.toolCallId))
    if (original !== undefined && call !== undefined) {
      shown.push(reducedAnswer(original, parts, resultsBehind(messages, index)))
    } else if (original !== undefined) shown.push(original)
    else if (base !== undefined) {
      const text = textsOf(parts)
      // An answer cannot be distinguished from opencode's own: what is left of one is told in the user's role.
      const said = message.role === 'assistant' && text !== '' ? `[Earlier answer]\n${text}` : text
      if (said !== '') shown.push(told(base, said, shown.length))
    }
  }
  return shown
}

interface AiSdkPart {
  readonly type: string
  readonly text?: string
  readonly toolCallId?: string
  readonly output?: { readonly value?: Json }
}

interface AiSdkMessage {
  readonly role: string
  readonly content: string | readonly AiSdkPart[]
}

/** Several things under one key, each taken once; the last one stays. */
class Queues<T> {
  readonly #lists = new Map<string, T[]>()

  add(key: string, item: T): void {
    const list = this.#lists.get(key)
    if (list === undefined) this.#lists.set(key, [item])
    else list.push(item)
  }

  take(key: string): T | undefined {
    const list = this.#lists.get(key)
    return list !== undefined && list.length > 1 ? list.shift() : list?.[0]
  }
}

/** The results of the calls of the message at an index, by call id. */
function resultsBehind(
  messages: readonly AiSdkMessage[],
  index: number,
): ReadonlyMap<string, AiSdkPart> {
  const results = new Map<string, AiSdkPart>()
  for (const message of messages.slice(index + 1)) {
    if (message.role !== 'tool') break
    for (const part of partsOf(message)) results.set(String(part.toolCallId), part)
  }
  return results
}

/** An answer whose results, texts or reasoning may have become shorter. The calls are opencode's own. */
function reducedAnswer(
  original: OpencodeMessage,
  said: readonly AiSdkPart[],
  results: ReadonlyMap<string, AiSdkPart>,
): OpencodeMessage {
  const texts = said.filter(({ type }) => type === 'text').map(({ text = '' }) => text)
  const hasReasoning = said.some(({ type }) => type === 'reasoning')
  const isSaidWhole =
    canonicalJson(texts) ===
    canonicalJson(original.parts.filter(isText).map(({ text = '' }) => text))
  let textAt = 0
  const parts = original.parts.flatMap((part): readonly OpencodePart[] => {
    if (part.type === 'reasoning' && !hasReasoning) return []
    if (isText(part) && !isSaidWhole) {
      const text = texts[textAt++]
      return text === undefined ? [] : [{ ...part, text }]
    }
    if (!isTool(part)) return [part]
    const result = results.get(part.callID ?? '')
    return result === undefined ? [part] : [withResult(part, result)]
  })
  const isSame =
    parts.length === original.parts.length && parts.every((one, at) => one === original.parts[at])
  return isSame ? original : { ...original, parts }
}

/** A call with its result as it is shown. A result that opencode itself would clear is shown as the view has it. */
function withResult(part: OpencodePart, result: AiSdkPart): OpencodePart {
  const { state } = part
  if (state === undefined) return part
  const isWhole = canonicalJson(result.output ?? null) === canonicalJson(outputOf(part))
  const isCleared = state.time?.compacted !== undefined
  if (isWhole && !isCleared) return part
  const { compacted: _compacted, ...time } = state.time ?? {}
  if (isWhole) return { ...part, state: { ...state, time } }
  const text = textOfOutput(result.output)
  if (state.status !== 'completed') return { ...part, state: { ...state, error: text } }
  const { attachments: _attachments, ...rest } = state
  return { ...part, state: { ...rest, output: text, time } }
}

function textOfOutput(output: AiSdkPart['output']): string {
  const value = output?.value
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return JSON.stringify(value ?? '')
  return textsOf(value as unknown as readonly AiSdkPart[])
}

/** A message of Oriel's own: a checkpoint, or what is left of a message. */
function told({ info }: OpencodeMessage, text: string, index: number): OpencodeMessage {
  const id = `msg_oriel_${index}`
  const { error: _error, ...rest } = info
  return {
    info: { ...rest, role: 'user', id },
    parts: [
      { id: `prt_oriel_${index}`, messageID: id, sessionID: info.sessionID, type: 'text', text },
    ],
  }
}

function userPart(part: OpencodePart): readonly Json[] {
  switch (part.type) {
    case 'text':
      return part.ignored === true || part.text === '' ? [] : [{ type: 'text', text: textOf(part) }]
    case 'file': {
      const { mime = '', url = '', filename } = part
      // Their text stands beside them already.
      if (mime === 'text/plain' || mime === 'application/x-directory') return []
      const name = filename === undefined ? {} : { filename }
      return [{ type: 'file', mediaType: mime, data: url, ...name }]
    }
    case 'compaction':
      return [{ type: 'text', text: 'What did we do so far?' }]
    case 'subtask':
      return [{ type: 'text', text: 'The following tool was executed by the user' }]
    default:
      return []
  }
}

function answerPart(part: OpencodePart): readonly Json[] {
  if (isText(part)) return [{ type: 'text', text: textOf(part) }]
  if (part.type === 'reasoning') {
    const options = part.metadata === undefined ? {} : { providerOptions: part.metadata }
    return [{ type: 'reasoning', text: textOf(part), ...options }]
  }
  if (!isTool(part)) return []
  const { callID = '', tool = '', state } = part
  return [{ type: 'tool-call', toolCallId: callID, toolName: tool, input: state?.input ?? {} }]
}

function resultOf(part: OpencodePart): Json {
  const { callID = '', tool = '' } = part
  return { type: 'tool-result', toolCallId: callID, toolName: tool, output: outputOf(part) }
}

function outputOf({ state }: OpencodePart): Json {
  if (state?.status === 'completed') {
    const { output = '', attachments = [] } = state
    if (attachments.length === 0) return { type: 'text', value: output }
    const files = attachments.map(({ mime = '', url = '' }): Json => {
      const data = url.replace(/^data:[^,]*,/, '')
      const type = mime.startsWith('image/') ? 'image-data' : 'file-data'
      return { type, data, mediaType: mime }
    })
    return { type: 'content', value: [{ type: 'text', text: output }, ...files] }
  }
  return { type: 'error-text', value: state?.error ?? interrupted }
}

function isTool({ type }: OpencodePart): boolean {
  return type === 'tool'
}

function isText({ type, text }: OpencodePart): boolean {
  return type === 'text' && text !== ''
}

function textOf({ text }: OpencodePart): string {
  return text ?? ''
}

function partsOf({ content }: AiSdkMessage): readonly AiSdkPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function textsOf(parts: readonly AiSdkPart[]): string {
  return parts.flatMap(({ text = '' }) => (text === '' ? [] : [text])).join('\n')
}
