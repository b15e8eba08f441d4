// What Anthropic's Messages API refuses: the rules A1 to A18, in the provider's own words where they are known.

import { isObject } from '../core/json.ts'
import type { ReadBlock, ReadMessage } from './anthropic-calls.ts'
import {
  callsOf,
  dotted,
  judgeCalls,
  judgeIds,
  judgeOrder,
  judgeServerCalls,
  resultsOf,
  violation,
} from './anthropic-calls.ts'
import { faultOf } from './anthropic-faults.ts'
import { judgeLimits, judgeText } from './anthropic-limits.ts'
import type { Violation } from './format.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Every rule that a request body breaks; none if it is valid. Never throws. A list is taken for the messages alone.
 *
 * A list of messages or a body with neither `model` nor `max_tokens` is part of a request: nothing says that its tools are
 * not defined elsewhere, or that more messages do not follow. So A16, and an empty list, are judged only in a whole request.
 */
export function validateBody(body: unknown): readonly Violation[] {
  try {
    const request = Array.isArray(body) ? { messages: body } : body
    if (!isObject(request)) return [violation('A18', '', 'the body must be a JSON object')]
    if (!Array.isArray(request.messages)) {
      return [...judgeText(request), violation('A18', 'messages', 'messages: Field required')]
    }
    return judge({ request, messages: request.messages.map(readMessage) })
  } catch {
    // Only a value that no parser of JSON can have made gets here, such as a getter that throws.
    return [violation('A18', '', 'the body cannot be read')]
  }
}

interface Conversation {
  readonly request: Fields
  readonly messages: readonly ReadMessage[]
}

function readMessage(message: unknown, index: number): ReadMessage {
  const path = `messages[${index}]`
  const { role, content }: Fields = isObject(message) ? message : {}
  const place = role === 'assistant' ? 'assistant' : 'user'
  const read = (value: unknown, blockPath: string): ReadBlock => ({
    value: isObject(value) ? value : {},
    path: blockPath,
    fault: faultOf(value, place),
  })
  if (typeof content === 'string') {
    // An empty string is a message without content, not an empty block.
    const blocks = content === '' ? [] : [read({ type: 'text', text: content }, `${path}.content`)]
    return { index, path, role, blocks }
  }
  const blocks = Array.isArray(content)
    ? content.map((value, position) => read(value, `${path}.content[${position}]`))
    : undefined
  return { index, path, role, blocks }
}

function judge(conversation: Conversation): readonly Violation[] {
  return [
    ...judgeRoles(conversation),
    ...judgeSystem(conversation),
    ...judgeContent(conversation),
    ...judgeCalls(conversation.messages),
    ...judgeServerCalls(conversation.messages),
    ...judgeIds(conversation.messages),
    ...judgeOrder(conversation.messages),
    ...judgeThinking(conversation),
    ...judgeTools(conversation),
    ...judgeLimits(conversation.request),
    ...judgeText(conversation.request),
  ]
}

/** A1, A2, A3, A6. */
function* judgeRoles({ request, messages }: Conversation): Iterable<Violation> {
  const first = messages[0]
  if (first === undefined && isWhole(request)) {
    yield violation('A2', 'messages', 'messages: at least one message is required')
  }
  if (first !== undefined && first.role !== 'user') {
    yield violation('A2', first.path, 'messages: first message must use the "user" role')
  }
  for (const { role, path, index } of messages) {
    if (role === 'system') {
      const message =
        'messages: Unexpected role "system". System text goes to the top-level system parameter'
      yield violation('A1', `${path}.role`, message)
    } else if (role !== 'user' && role !== 'assistant') {
      yield violation(
        'A1',
        `${path}.role`,
        `messages.${index}.role: Input should be 'user' or 'assistant'`,
      )
    } else if (role === messages[index - 1]?.role) {
      const message = `messages: roles must alternate between "user" and "assistant", but found multiple "${role}" roles in a row`
      yield violation('A3', `${path}.role`, message)
    }
  }
  const last = messages.at(-1)
  if (last?.role === 'assistant' && !isPaused(last)) {
    const message =
      'This model does not support assistant message prefill. The conversation must end with a user message.'
    yield violation('A6', last.path, message)
  }
}

/** Whether it may be an answer that the provider paused, which is sent back as it is: only its own tools make it do that. */
function isPaused({ blocks = [] }: ReadMessage): boolean {
  return blocks.some(({ value }) => value.type === 'server_tool_use')
}

function* judgeSystem({ request: { system } }: Conversation): Iterable<Violation> {
  if (system === undefined || system === '') return
  const blocks = typeof system === 'string' ? [{ type: 'text', text: system }] : system
  if (!Array.isArray(blocks)) {
    yield violation('A18', 'system', 'system: Input should be a string or a list of text blocks')
    return
  }
  for (const [index, block] of blocks.entries()) {
    const fault = faultOf(block, 'system')
    const path = typeof system === 'string' ? 'system' : `system[${index}]`
    if (fault !== undefined) yield violation(fault.rule, path, `system: ${fault.message}`)
  }
}

/** A4, A5, A14, and blocks that stand in the wrong place or lack what they must have. */
function* judgeContent({ messages }: Conversation): Iterable<Violation> {
  for (const { index, path, role, blocks } of messages) {
    if (blocks === undefined) {
      yield violation('A18', `${path}.content`, `messages.${index}.content: Field required`)
      continue
    }
    const isFinalAssistant = index === messages.length - 1 && role === 'assistant'
    if (blocks.length === 0 && !isFinalAssistant) {
      const message = `messages.${index}: all messages must have non-empty content except for the optional final assistant message`
      yield violation('A4', `${path}.content`, message)
    }
    for (const block of blocks) yield* judgeBlock(block)
    const text = blocks.at(-1)?.value.text
    if (isFinalAssistant && typeof text === 'string' && text !== text.trimEnd()) {
      const message = 'messages: final assistant content cannot end with trailing whitespace'
      yield violation('A5', blocks.at(-1)?.path ?? path, message)
    }
  }
}

function* judgeBlock({ value, path, fault }: ReadBlock): Iterable<Violation> {
  if (fault !== undefined) yield violation(fault.rule, path, `messages: ${fault.message}`)
  if (value.type !== 'tool_result' || !Array.isArray(value.content)) return
  for (const [index, inner] of value.content.entries()) {
    const innerFault = faultOf(inner, 'result')
    if (innerFault === undefined) continue
    yield violation(innerFault.rule, `${path}.content[${index}]`, `messages: ${innerFault.message}`)
  }
}

/** A13, A15. */
function* judgeThinking({ request, messages }: Conversation): Iterable<Violation> {
  const mode = isObject(request.thinking) ? request.thinking.type : undefined
  const isOn = mode === 'enabled' || mode === 'adaptive'
  const last = messages.at(-1)
  if (!isOn && last?.role === 'assistant') {
    const thinking = last.blocks?.find(({ value }) => isThinking(value))
    const text =
      'When thinking is disabled, an assistant message in the final position cannot contain thinking'
    if (thinking !== undefined) yield violation('A15', thinking.path, text)
  }
  // A tool loop is one turn of the assistant: it starts behind the last user message that holds no result.
  // Adaptive thinking may skip a turn, so turns without it are accepted there.
  if (mode !== 'enabled' || resultsOf(last).length === 0) return
  const opener = messages.findLastIndex((one) => one.role === 'user' && resultsOf(one).length === 0)
  const start = messages.slice(opener + 1).find((one) => one.role === 'assistant')
  const first = start?.blocks?.[0]
  if (first !== undefined && !isThinking(first.value)) {
    const text = `${dotted(first.path)}.type: Expected thinking or redacted_thinking, but found ${first.value.type}. When thinking is enabled, a final assistant message must start with a thinking block (preceeding the lastmost set of tool_use and tool_result blocks)`
    yield violation('A13', first.path, text)
  }
}

/** A16. */
function* judgeTools({ request, messages }: Conversation): Iterable<Violation> {
  const { tools } = request
  const isEmpty = Array.isArray(tools) && tools.length === 0
  const isMissing = tools === undefined || tools === null
  if (!isEmpty && !(isMissing && isWhole(request))) return
  const used = messages.find((one) => callsOf(one).length > 0 || resultsOf(one).length > 0)
  if (used === undefined) return
  const text = 'Requests which include tool_use or tool_result blocks must define tools'
  yield violation('A16', used.path, text)
}

function isWhole(request: Fields): boolean {
  return request.model !== undefined || request.max_tokens !== undefined
}

function isThinking({ type }: Fields): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}
