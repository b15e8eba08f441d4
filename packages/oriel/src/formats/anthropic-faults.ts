// What makes a single block unacceptable to Anthropic, wherever the rest of the request stands.
// `validate` reports these faults; `encode` leaves such blocks out.

import type { Json, JsonObject } from '../core/json.ts'
import { isObject } from '../core/json.ts'

type Fields = Readonly<Record<string, unknown>>

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
export interface ServerFault extends Fault {
  readonly position: number
}

/** What earlier messages say of server tools' calls. */
export interface ServerCalls {
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
 * provider may go on with it.
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
