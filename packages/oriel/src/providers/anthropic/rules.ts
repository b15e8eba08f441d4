// What Anthropic's Messages API refuses: the rules A1 to A19, in the provider's own words where they are known.

import { OrielError } from '../../core/log/errors.ts'
import { checkJson, isObject, type Json, type JsonObject, maxDepth } from '../../core/log/json.ts'
import { findIllFormed } from '../foreign.ts'
import type { Violation } from '../format.ts'

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
    ...judgeCompactions(conversation),
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
  if (first !== undefined && first.role !== 'user' && !isCompacted(first)) {
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
  // Nothing is said behind a conversation that is to be compacted.
  const isEnd = isObject(request.compaction) || (last?.blocks?.length === 1 && isCompacted(last))
  if (last?.role === 'assistant' && !isPaused(last) && !isEnd) {
    const message =
      'This model does not support assistant message prefill. The conversation must end with a user message.'
    yield violation('A6', last.path, message)
  }
}

/** Whether a message of the assistant begins with a compaction, which stands for all messages before it. */
function isCompacted({ role, blocks = [] }: ReadMessage): boolean {
  const { type, content } = blocks[0]?.value ?? {}
  return role === 'assistant' && type === 'compaction' && typeof content === 'string'
}

/** A19: a compaction that the provider signed stands alone and first, in place of what it summarizes. */
function* judgeCompactions({ messages }: Conversation): Iterable<Violation> {
  const found = messages.flatMap(({ index, blocks = [] }) =>
    blocks.flatMap(({ value, path }, position) =>
      value.type === 'compaction' && typeof value.content === 'string'
        ? [{ value, path, isFirst: index === 0 && position === 0 }]
        : [],
    ),
  )
  for (const { value, path, isFirst } of found) {
    if (value.content === '') {
      const text = `${dotted(path)}.compaction.content: String should have at least 1 character`
      yield violation('A19', path, text)
    } else if (typeof value.signature === 'string' && found.length > 1) {
      const text =
        '`messages` holds more than one `compaction` block with content. Send only the block the conversation returned last.'
      yield violation('A19', path, text)
    } else if (typeof value.signature === 'string' && !isFirst) {
      const text =
        '`compaction` block must be sent first, in place of the messages it summarizes; remove those messages'
      yield violation('A19', path, text)
    }
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

/** Call ids on the wire (A10). */
export const idPattern = /^[a-zA-Z0-9_-]+$/
/** Anthropic states no limit; 64 is the longest that other servers are known to take (O3). */
export const maxIdLength = 64

export interface ReadMessage {
  readonly index: number
  readonly path: string
  readonly role: unknown
  /** A string is one text block. Absent when the content is neither a string nor a list. */
  readonly blocks: readonly ReadBlock[] | undefined
}

interface ReadBlock {
  readonly value: Readonly<Record<string, unknown>>
  readonly path: string
  readonly fault: Fault | undefined
}

/** A7, A8, A9. */
function* judgeCalls(messages: readonly ReadMessage[]): Iterable<Violation> {
  for (const message of messages) {
    const { index, path } = message
    const answered = new Set(resultsOf(messages[index + 1]).map(({ value }) => value.tool_use_id))
    const open = callsOf(message).flatMap(({ value: { id } }) => (answered.has(id) ? [] : [id]))
    if (open.length > 0) {
      const text = `messages.${index}: tool_use ids were found without tool_result blocks immediately after: ${open.join(', ')}. Each tool_use block must have a corresponding tool_result block in the next message.`
      yield violation('A7', path, text)
    }
    const called = new Set(callsOf(messages[index - 1]).map(({ value }) => value.id))
    const seen = new Set<unknown>()
    for (const { value, path: blockPath } of resultsOf(message)) {
      const { tool_use_id: id } = value
      if (!called.has(id)) {
        const text = `${dotted(blockPath)}: unexpected tool_use_id found in tool_result blocks: ${id}. Each tool_result block must have a corresponding tool_use block in the previous message.`
        yield violation('A8', blockPath, text)
      }
      if (seen.has(id)) {
        const text = `each tool_use must have a single result. Found multiple tool_result blocks with id: ${id}`
        yield violation('A9', blockPath, text)
      }
      seen.add(id)
    }
  }
}

/** A8, A9 and A10 for tools that the provider runs itself: call and result stand in one assistant content. */
function* judgeServerCalls(messages: readonly ReadMessage[]): Iterable<Violation> {
  let calls = noServerCalls
  for (const { role, blocks = [], index } of messages) {
    if (role !== 'assistant') continue
    const values = blocks.map(({ value }) => value)
    const { faults, ...next } = scanServerCalls(values, calls, index === messages.length - 1)
    calls = next
    for (const { position, rule, message } of faults) {
      const { path, value } = blocks[position] as ReadBlock
      const id = value.tool_use_id ?? value.id
      yield violation(rule, path, `${dotted(path)}: ${value.type} ${id}: ${message}`)
    }
  }
}

/** A10. */
function* judgeIds(messages: readonly ReadMessage[]): Iterable<Violation> {
  const seen = new Set<unknown>()
  for (const message of messages) {
    for (const { value, path } of callsOf(message)) {
      const id = value.id as string
      if (seen.has(id)) yield violation('A10', path, `${dotted(path)}: tool_use ids must be unique`)
      seen.add(id)
      if (!idPattern.test(id)) {
        const text = `${dotted(path)}.id: String should match pattern '${idPattern.source}'`
        yield violation('A10', `${path}.id`, text)
      }
      if (id.length > maxIdLength) {
        const text = `${dotted(path)}.id: String should have at most ${maxIdLength} characters`
        yield violation('A10', `${path}.id`, text)
      }
    }
  }
}

/** A11, A12. */
function* judgeOrder(messages: readonly ReadMessage[]): Iterable<Violation> {
  for (const { role, blocks = [] } of messages) {
    const others = blocks.findIndex(({ value }) => value.type !== 'tool_result')
    const calls = blocks.findIndex(({ value }) => value.type === 'tool_use')
    for (const [position, { value, path }] of blocks.entries()) {
      if (role === 'user' && value.type === 'tool_result' && others !== -1 && position > others) {
        const text = `${dotted(path)}: tool_result blocks must come first in a user message`
        yield violation('A11', path, text)
      }
      if (role === 'assistant' && value.type === 'text' && calls !== -1 && position > calls) {
        const text = `${dotted(path)}: text after tool_use leaves the calls before it without tool_result blocks immediately after`
        yield violation('A12', path, text)
      }
    }
  }
}

/** Calls that can be answered: those that stand in the right place with an id. */
function callsOf(message: ReadMessage | undefined): readonly ReadBlock[] {
  if (message?.role !== 'assistant') return []
  return (message.blocks ?? []).filter(
    ({ value }) => value.type === 'tool_use' && typeof value.id === 'string',
  )
}

function resultsOf(message: ReadMessage | undefined): readonly ReadBlock[] {
  if (message?.role !== 'user') return []
  return (message.blocks ?? []).filter(
    ({ value }) => value.type === 'tool_result' && typeof value.tool_use_id === 'string',
  )
}

/** The provider writes `messages.3.content.0` where we write `messages[3].content[0]`. */
function dotted(path: string): string {
  return path.replaceAll(/\[(\d+)\]/g, '.$1')
}

function violation(rule: string, path: string, message: string): Violation {
  return { rule, path, message }
}

/** Cache breakpoints in one request: tools, system and messages together (A17). */
export const maxBreakpoints = 4

const maxMessages = 100_000
/** Largest request (A17). */
export const maxBytes = 32 * 1024 * 1024

/** The limits of a body whose `messages` are a list. */
function* judgeLimits(request: Fields): Iterable<Violation> {
  const messages = request.messages as readonly unknown[]
  if (messages.length > maxMessages) {
    const message = `messages: at most ${maxMessages} messages are allowed`
    yield { rule: 'A17', path: 'messages', message }
  }
  // One on the body itself asks the provider to place a breakpoint, which takes its share.
  const own = isObject(request.cache_control) ? 1 : 0
  const contents = messages.map((message) => (isObject(message) ? message.content : undefined))
  const breakpoints = own + countBreakpoints([request.tools, request.system, contents])
  if (breakpoints > maxBreakpoints) {
    const message = `A maximum of ${maxBreakpoints} blocks with cache_control may be provided. Found ${breakpoints}.`
    yield { rule: 'A17', path: '', message }
  }
}

/** How many blocks in a list, or a list of lists, ask for a cache breakpoint. */
export function countBreakpoints(blocks: readonly unknown[]): number {
  let count = 0
  for (const block of blocks) {
    if (Array.isArray(block)) count += countBreakpoints(block)
    if (!isObject(block)) continue
    if (isObject(block.cache_control)) count += 1
    // Only results hold blocks of their own; what a call's input holds is data.
    if (block.type === 'tool_result' && Array.isArray(block.content)) {
      count += countBreakpoints(block.content)
    }
  }
  return count
}

/** Whether the body can be written as JSON in UTF-8, and how large it then is. */
function* judgeText(request: Fields): Iterable<Violation> {
  const illFormed = findIllFormed(request, '')
  if (illFormed !== undefined) {
    const message = 'no low surrogate in string: surrogates not allowed'
    yield { rule: 'A18', path: illFormed.replace(/^\./, ''), message }
  }
  try {
    // The body and its list of messages stand around a message that may itself be as deep as the log allows.
    checkJson(request, '', maxDepth + 2)
    const isTooLarge = exceeds(JSON.stringify(request), maxBytes)
    if (isTooLarge) yield { rule: 'A17', path: '', message: 'request_too_large' }
  } catch (error) {
    if (!OrielError.is(error)) throw error
    const path = (error.path ?? '').replace(/^\./, '')
    const isTooLarge = error.code === 'too-large'
    yield isTooLarge
      ? { rule: 'A17', path, message: 'request_too_large' }
      : { rule: 'A18', path, message: `the body is not valid JSON: ${error.message}` }
  }
}

/** Whether a text takes more bytes in UTF-8. */
function exceeds(text: string, bytes: number): boolean {
  // A UTF-16 unit takes at most three bytes, so most requests need no counting.
  return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes
}

/** Where a block stands: in a message of that role, inside a tool result, or in the system text. */
export type Standing = 'user' | 'assistant' | 'result' | 'system'

export interface Fault {
  readonly rule: string
  readonly message: string
}

/** The first rule that the block breaks by itself; undefined if none. Types that are not known pass. */
export function faultOf(block: unknown, standing: Standing): Fault | undefined {
  if (!isObject(block) || typeof block.type !== 'string') {
    return { rule: 'A18', message: 'a content block must be an object with a type' }
  }
  if (!belongs(block.type, standing)) {
    const place = standing === 'result' ? 'tool_result blocks' : `${standing} messages`
    return { rule: 'A1', message: `${block.type} blocks are not allowed in ${place}` }
  }
  switch (block.type) {
    case 'text':
      return textFault(block)
    case 'thinking':
    case 'redacted_thinking':
      return thinkingFault(block)
    case 'tool_use':
      return callFault(block)
    case 'tool_result':
      return resultFault(block)
    case 'image':
    case 'document':
      if (isObject(block.source)) return undefined
      return { rule: 'A18', message: `${block.type}.source: Field required` }
    default:
      return undefined
  }
}

/** The first rule that the block, or one inside a result, breaks by itself. */
export function deepFaultOf(block: JsonObject, standing: Standing): Fault | undefined {
  const fault = faultOf(block, standing)
  if (fault !== undefined || block.type !== 'tool_result') return fault
  const inside: readonly Json[] = Array.isArray(block.content) ? block.content : []
  return inside.map((inner) => faultOf(inner, 'result')).find((inner) => inner !== undefined)
}

/** A block of a server tool that cannot stand where it is. */
interface ServerFault extends Fault {
  readonly position: number
}

/** What earlier messages say of server tools' calls. */
interface ServerCalls {
  /** Calls that may still be answered. */
  readonly open: ReadonlySet<unknown>
  /** The ids of all of them. */
  readonly used: ReadonlySet<unknown>
}

export const noServerCalls: ServerCalls = { open: new Set(), used: new Set() }

/**
 * Pairs the server tools' calls and results of one assistant message: each id is used once (A10), each result follows its call (A8)
 * and is the only one (A9). A call is open for the next message only while client tools that it called itself wait for their results:
 * their `caller` names it. Another call without a result is refused too, except at the end or beside calls of client tools, where the
 * provider may continue with it.
 */
export function scanServerCalls(
  blocks: readonly Fields[],
  { open, used }: ServerCalls,
  isLast: boolean,
): ServerCalls & { readonly faults: readonly ServerFault[] } {
  const waiting = new Map<unknown, number | undefined>([...open].map((id) => [id, undefined]))
  const answered = new Set<unknown>()
  const faults: ServerFault[] = []
  const ids = new Set(used)
  const callers = new Set<unknown>()
  blocks.forEach((block, position) => {
    const fault = (rule: string, message: string): void => {
      faults.push({ position, rule, message })
    }
    if (block.type === 'server_tool_use' || block.type === 'mcp_tool_use') {
      if (ids.has(block.id)) fault('A10', 'its id is used twice')
      else waiting.set(block.id, position)
      ids.add(block.id)
    } else if (isServerResult(block.type)) {
      const id = block.tool_use_id
      if (answered.has(id)) fault('A9', 'its call already has a result')
      else if (!waiting.has(id)) fault('A8', 'its call does not come before it')
      else answered.add(id)
    }
    if (block.type === 'tool_use' && isObject(block.caller)) callers.add(block.caller.tool_id)
  })
  const left = [...waiting].filter(([id]) => !answered.has(id) && !callers.has(id))
  const mayGoOn = isLast || blocks.some(({ type }) => type === 'tool_use')
  if (!mayGoOn) {
    for (const [, position] of left) {
      if (position !== undefined) faults.push({ position, rule: 'A8', message: 'has no result' })
    }
  }
  return { faults, used: ids, open: new Set([...waiting.keys()].filter((id) => callers.has(id))) }
}

const modelTypes = ['tool_use', 'thinking', 'redacted_thinking', 'server_tool_use', 'mcp_tool_use']

function belongs(type: string, standing: Standing): boolean {
  if (standing === 'system') return type === 'text'
  if (standing === 'assistant') return type !== 'tool_result'
  if (modelTypes.includes(type) || isServerResult(type)) return false
  return standing === 'user' || type !== 'tool_result'
}

/** Whether the block is the result of a tool that the provider ran itself, such as `web_search_tool_result`. */
function isServerResult(type: unknown): boolean {
  return typeof type === 'string' && type.endsWith('_tool_result')
}

function textFault({ text }: Fields): Fault | undefined {
  if (typeof text !== 'string') return { rule: 'A18', message: 'text.text: Field required' }
  if (text === '') return { rule: 'A4', message: 'text content blocks must be non-empty' }
  if (text.trim() !== '') return undefined
  return { rule: 'A4', message: 'text content blocks must contain non-whitespace text' }
}

/** Whether a signature is genuine only the provider knows; that there is one can be seen. */
function thinkingFault({ type, thinking, signature, data }: Fields): Fault | undefined {
  if (type === 'redacted_thinking') {
    if (typeof data === 'string' && data !== '') return undefined
    return { rule: 'A14', message: 'Invalid data in redacted_thinking block' }
  }
  if (typeof thinking === 'string' && typeof signature === 'string' && signature !== '') {
    return undefined
  }
  const message =
    'thinking or redacted_thinking blocks in the latest assistant message cannot be modified: text or signature is missing'
  return { rule: 'A14', message }
}

function callFault({ id, name, input }: Fields): Fault | undefined {
  if (typeof id !== 'string') return { rule: 'A10', message: 'tool_use.id: Field required' }
  if (typeof name !== 'string') return { rule: 'A18', message: 'tool_use.name: Field required' }
  if (isObject(input)) return undefined
  return { rule: 'A18', message: 'tool_use.input: Input should be a valid dictionary' }
}

function resultFault({ tool_use_id: id, content }: Fields): Fault | undefined {
  if (typeof id !== 'string')
    return { rule: 'A8', message: 'tool_result.tool_use_id: Field required' }
  if (content === undefined || typeof content === 'string' || Array.isArray(content))
    return undefined
  return {
    rule: 'A18',
    message: 'tool_result.content: Input should be a string or a list of blocks',
  }
}
