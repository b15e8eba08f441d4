// Which format messages are in, where the caller does not say: read off what only some formats have, refused where that is not clear.

import { OrielError } from '../core/log/errors.ts'
import { isObject } from '../core/log/json.ts'
import type { FormatName } from './format.ts'
import { hasForeignField, refuseMisplaced, refuseSlips } from './neutral/index.ts'
import { formatNames } from './registry.ts'

/** A format, or Oriel's own form. */
export type Form = FormatName | 'neutral'

type Fields = Readonly<Record<string, unknown>>

/** What has no mark of any format is in all of them. Among those that remain, the first that means the same is taken. */
const all: readonly Form[] = ['neutral', ...formatNames]

/**
 * The form of each message of a list: Oriel's own, or the one foreign format that all others can be in. Throws 'invalid-input' with the
 * path where a message is in no format, or where messages of different formats stand side by side.
 */
export function detectForms(messages: readonly unknown[], path: string): readonly Form[] {
  messages.forEach((message, index) => {
    if (!isObject(message)) return
    refuseSlips(message, `${path}[${index}]`)
    partsOf(message).forEach((part, at) => {
      refuseMisplaced(part, `${path}[${index}].content[${at}]`)
    })
  })
  const found = formsIn(messages, path)
  const [format] = commonTo(found, path, (forms) => !forms.includes('neutral'))
  return found.map((forms, index) => {
    if (isOwn(messages[index]) && forms.includes('neutral')) return 'neutral'
    // What every format has goes with its neighbours.
    return format !== undefined && forms.includes(format) ? format : 'neutral'
  })
}

/** The one format of a history as a client resends it; where nothing tells, OpenAI's chat. */
export function detectFormat(messages: readonly unknown[], path: string): FormatName {
  const found = formsIn(messages, path)
  const own = found.findIndex((forms) => forms.every((form) => form === 'neutral'))
  if (own !== -1) {
    const why = "is in Oriel's own form, which clients do not resend: use append"
    throw unclear(`${path}[${own}]`, why)
  }
  return commonTo(found, path, () => true)[0] ?? 'openai-chat'
}

function formsIn(messages: readonly unknown[], path: string): readonly (readonly Form[])[] {
  return messages.map((message, index) => formsOf(message, `${path}[${index}]`))
}

/** The formats that all messages which count can be in; none where none counts. */
function commonTo(
  found: readonly (readonly Form[])[],
  path: string,
  counts: (forms: readonly Form[]) => boolean,
): readonly FormatName[] {
  let common: readonly FormatName[] | undefined
  for (const [index, forms] of found.entries()) {
    if (!counts(forms)) continue
    const foreign = forms.filter((form) => form !== 'neutral')
    const shared: readonly FormatName[] = common?.filter((one) => foreign.includes(one)) ?? foreign
    if (shared.length === 0) {
      const why = `looks like ${foreign.join(' or ')}, those before it like ${common?.join(' or ')}`
      throw unclear(`${path}[${index}]`, why)
    }
    common = shared
  }
  return common ?? []
}

/** The forms that a message can be in. Never empty. */
function formsOf(message: unknown, path: string): readonly Form[] {
  if (!isObject(message)) return all
  // Nothing else has parts without content; nothing of Gemini has content.
  if (isGemini(message)) return ['gemini']
  const marks = isDecoded(message)
    ? []
    : [...marksOf(message), ...partsOf(message).map(marksOfPart)]
  // What we do not know is kept for its format; in Oriel's own form it would say nothing.
  if (!isOwn(message) && marks.every(mayBeOwn) && hasForeignField(message, 'message')) {
    marks.push(formatNames)
  }
  let forms = all.filter((form) => form !== 'gemini')
  for (const mark of marks) {
    const left = mark === undefined ? forms : forms.filter((form) => mark.includes(form))
    if (left.length === 0) throw unclear(path, 'has parts of different formats')
    forms = left
  }
  return forms
}

function mayBeOwn(mark: readonly Form[] | undefined): boolean {
  return mark === undefined || mark.includes('neutral')
}

function unclear(path: string, why: string): OrielError {
  const message = `The message at ${path} ${why}. Pass the messages' format, one of ${formatNames.join(', ')}.`
  return new OrielError('invalid-input', message, { path })
}

/** A decoded message says where it came from. */
function isDecoded({ source, native }: Fields): boolean {
  return source !== undefined || native !== undefined
}

/** Fields of Oriel's own: alone they tell the form; beside the marks of a format they come with it. */
function isOwn(message: unknown): boolean {
  if (!isObject(message)) return false
  const { origin, expiry, audience } = message
  return isDecoded(message) || [origin, expiry, audience].some((field) => field !== undefined)
}

function isGemini(message: Fields): boolean {
  return Array.isArray(message.parts) && message.content === undefined && !isOwn(message)
}

/** Formats that share a mark. */
const chats = ['openai-chat', 'langchain'] as const
const thinking = ['anthropic', 'langchain'] as const

/** What each mark of a message leaves as its form. */
function marksOf(message: Fields): (readonly Form[])[] {
  const marks: (readonly Form[])[] = []
  const has = (...keys: readonly string[]): boolean =>
    keys.some((key) => message[key] !== undefined && message[key] !== null)
  const { role, type, tool_calls: calls } = message
  if (isLangchain(message)) marks.push(['langchain'])
  else if (typeof type === 'string' && typeof role !== 'string') marks.push(['openai-responses'])
  else if (type === 'message') marks.push(['openai-responses', 'anthropic'])
  if (has('stop_reason')) marks.push(['anthropic'])
  if (has('function_call', 'refusal', 'reasoning_content', 'audio')) marks.push(['openai-chat'])
  if ('tool_calls' in message || 'tool_call_id' in message) marks.push(chats)
  if (Array.isArray(calls) && calls.some((call) => isObject(call) && 'args' in call)) {
    marks.push(['langchain'])
  }
  if (role === 'function') marks.push(chats)
  if (role === 'developer') marks.push([...chats, 'openai-responses'])
  return marks
}

const langchainTypes: ReadonlySet<unknown> = new Set([
  ...['human', 'ai', 'system', 'tool', 'function', 'generic', 'chat', 'remove', 'developer'],
])

/** A message of LangChain, unless it is written with a role and nothing else of its own. */
function isLangchain(message: Fields): boolean {
  const { lc, kwargs, type, role } = message
  if (typeof message._getType === 'function' || typeof message.getType === 'function') return true
  if (lc !== undefined && isObject(kwargs)) return true
  if (typeof role !== 'string' && langchainTypes.has(type)) return true
  const own = ['additional_kwargs', 'response_metadata', 'invalid_tool_calls', 'usage_metadata']
  return own.some((key) => isObject(message[key]) || Array.isArray(message[key]))
}

function partsOf({ content }: Fields): readonly Fields[] {
  return Array.isArray(content) ? content.filter(isObject) : []
}

/** Types of parts that tell their formats by themselves. */
const marksByType: ReadonlyMap<unknown, readonly Form[]> = new Map([
  ...each(['opaque'], ['neutral']),
  ...each(['input_audio', 'refusal', 'video_url'], ['openai-chat']),
  ...each(['input_text', 'output_text', 'input_image', 'input_file'], ['openai-responses']),
  ...each(['thinking', 'redacted_thinking', 'tool_use'], thinking),
  ...each(['tool_result', 'document', 'search_result', 'server_tool_use'], ['anthropic']),
  ...each(['mcp_tool_use', 'container_upload'], ['anthropic']),
  ...each(['tool-approval-request', 'tool-approval-response'], ['ai-sdk']),
])

function each(
  types: readonly string[],
  forms: readonly Form[],
): readonly (readonly [string, readonly Form[]])[] {
  return types.map((type) => [type, forms] as const)
}

/** What a part of a message leaves as its form; undefined where all may have it. */
function marksOfPart(part: Fields): readonly Form[] | undefined {
  const mark = markByFields(part)
  const isOwnPart = part.lifetime !== undefined || part.audience !== undefined
  return isOwnPart && mayBeOwn(mark) ? ['neutral'] : mark
}

function markByFields(part: Fields): readonly Form[] | undefined {
  const { type } = part
  const has = (...keys: readonly string[]): boolean => keys.some((key) => part[key] !== undefined)
  const known = marksByType.get(type)
  if (known !== undefined) return known
  if (typeof type === 'string' && type.endsWith('_tool_result')) return ['anthropic']
  if (has('providerOptions', 'toolCallId')) return ['ai-sdk']
  if (has('source_type', 'mimeType', 'mime_type')) return ['langchain']
  switch (type) {
    case 'text':
      if (has('citations')) return ['anthropic']
      return all.filter((form) => form !== 'openai-responses' && isFormOf(part, form))
    case 'tool-call':
    case 'tool-result':
      return ['neutral']
    case 'image':
      if (isObject(part.source)) return ['anthropic']
      return has('image') ? ['ai-sdk'] : has('data', 'url') ? ['neutral', 'langchain'] : undefined
    case 'file':
      if (isObject(part.file)) return ['openai-chat']
      if (has('filename') || !isText(part.data) || isPicture(part)) return ['ai-sdk']
      return has('url') ? ['neutral', 'langchain'] : ['neutral', 'ai-sdk', 'langchain']
    case 'image_url':
      // LangChain also takes the address alone.
      return typeof part.image_url === 'string' ? ['langchain'] : chats
    case 'reasoning':
      // LangChain writes the words as `reasoning`, the AI SDK and Oriel as `text`.
      return has('reasoning') ? ['langchain'] : ['neutral', 'ai-sdk', 'langchain']
    default:
      return undefined
  }
}

/** A part with fields that Oriel's own do not have is not in its form. */
function isFormOf(part: Fields, form: Form): boolean {
  return form !== 'neutral' || !hasForeignField(part, 'part')
}

/** A picture is a file only in the AI SDK. */
function isPicture({ mediaType }: Fields): boolean {
  return typeof mediaType === 'string' && mediaType.startsWith('image/')
}

/** Data as text, or none: not bytes, and not an address where data is expected. */
function isText(data: unknown): boolean {
  return data === undefined || (typeof data === 'string' && !/^[a-z][a-z0-9+.-]*:/i.test(data))
}
