// Units: the smallest compared parts of requests and answers, in all three formats.

import type { WireFormat } from '../reply.ts'
import { messagesOf } from '../script.ts'
import type { Body } from '../server.ts'

/** Everything that can be compared of one block. Reasoning, nulls, cache markers and ids of items are not here. */
export type Unit =
  | {
      readonly type: 'text'
      readonly role: string
      readonly text: string
      readonly itemId?: string
    }
  | {
      readonly type: 'call'
      readonly id: string
      readonly name: string
      readonly arguments: string
    }
  | { readonly type: 'result'; readonly id: string; readonly text: string }
  /** Stands for an item of an earlier answer that the provider keeps. */
  | { readonly type: 'reference'; readonly itemId: string }

/** A unit and the index of the message or item it came from. */
export interface Placed {
  readonly unit: Unit
  readonly message: number
}

type Fields = Readonly<Record<string, unknown>>

/** Leading system text and the names of the tools: what a request says about who is speaking. */
export interface Frame {
  readonly system: string
  readonly tools: readonly string[]
}

export function frameOf(body: Body): Frame {
  const messages = messagesOf(body).map(asItem)
  const start = messages.findIndex((message) => !isSystem(message))
  const leading = messages.slice(0, start === -1 ? messages.length : start)
  const outside = [body.system, body.instructions]
  const system = [...outside, ...leading.map((message) => message.content)]
    .flatMap((content) => contentUnits('system', content))
    .map((unit) => (unit.type === 'text' ? unit.text : ''))
    .join('\n')
  const inside = messages.flatMap((message) =>
    message.type === 'additional_tools' ? listOf(message.tools) : [],
  )
  return { system, tools: toolNames([...listOf(body.tools), ...inside]) }
}

function toolNames(tools: readonly Fields[]): readonly string[] {
  return tools
    .map(({ name, function: inner, type }) => String(name ?? (inner as Fields)?.name ?? type))
    .sort()
}

/** The units of a request, its leading system text left out: that is frame. */
export function requestUnits(format: WireFormat, body: Body): readonly Placed[] {
  const messages = messagesOf(body)
  const placed: Placed[] = []
  let isLeading = true
  for (const [index, message] of messages.entries()) {
    const fields = asItem(message)
    isLeading &&= isSystem(fields)
    if (isLeading) continue
    for (const unit of messageUnits(format, fields)) placed.push({ unit, message: index })
  }
  return sortResults(placed)
}

/** The units of an answer; all belong to one message. */
export function replyUnits(format: WireFormat, body: Body): readonly Unit[] {
  return replyMessages(format, body).flatMap((message) => messageUnits(format, message))
}

/** A request's messages as they stand, one unit each. */
export function rawRequestUnits(body: Body): readonly Placed[] {
  const messages = messagesOf(body).map(asItem)
  const start = messages.findIndex((message) => !isSystem(message))
  return messages
    .map((message, index) => ({ unit: rawUnit(message), message: index }))
    .slice(start === -1 ? messages.length : start)
}

/** An answer's messages as they stand, one unit each. */
export function rawReplyUnits(format: WireFormat, body: Body): readonly Unit[] {
  return replyMessages(format, body).map(rawUnit)
}

function rawUnit(message: Fields): Unit {
  return { type: 'text', role: String(message.role), text: JSON.stringify(message) }
}

function replyMessages(format: WireFormat, body: Body): readonly Fields[] {
  switch (format) {
    case 'openai-chat': {
      const [choice] = listOf(body.choices)
      return [(choice?.message ?? {}) as Fields]
    }
    case 'anthropic':
      return [{ role: 'assistant', content: body.content }]
    case 'openai-responses':
      return listOf(body.output)
  }
}

function asItem(message: unknown): Fields {
  return typeof message === 'string' ? { role: 'user', content: message } : (message as Fields)
}

function isSystem(fields: Fields): boolean {
  return fields.role === 'system' || fields.role === 'developer'
}

function messageUnits(format: WireFormat, message: Fields): readonly Unit[] {
  if (format === 'openai-responses') return itemUnits(message)
  if (message.role === 'tool') {
    return [result(message.tool_call_id, message.content)]
  }
  const role = isSystem(message) ? 'system' : String(message.role)
  const units = contentUnits(role, message.content)
  for (const call of listOf(message.tool_calls)) {
    const { name, arguments: args } = (call.function ?? {}) as Fields
    units.push({
      type: 'call',
      id: String(call.id),
      name: String(name),
      arguments: String(args),
    })
  }
  return units
}

function contentUnits(role: string, content: unknown): Unit[] {
  if (typeof content === 'string')
    return content === '' ? [] : [{ type: 'text', role, text: content }]
  return listOf(content).flatMap((block): Unit[] => {
    switch (block.type) {
      case 'text':
      case 'input_text':
      case 'output_text':
        return [{ type: 'text', role, text: String(block.text) }]
      case 'tool_use': {
        const args = JSON.stringify(block.input)
        return [{ type: 'call', id: String(block.id), name: String(block.name), arguments: args }]
      }
      case 'tool_result':
        return [result(block.tool_use_id, block.content)]
      case 'thinking':
      case 'redacted_thinking':
        return []
      default:
        return [{ type: 'text', role, text: JSON.stringify(block) }]
    }
  })
}

function itemUnits(item: Fields): readonly Unit[] {
  switch (item.type) {
    case 'function_call':
    case 'custom_tool_call': {
      const args = String(item.arguments ?? item.input)
      return [{ type: 'call', id: String(item.call_id), name: String(item.name), arguments: args }]
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [result(item.call_id, item.output)]
    case 'reasoning':
    case 'additional_tools':
      return []
    case 'item_reference':
      return [{ type: 'reference', itemId: String(item.id) }]
    default: {
      const role = isSystem(item) ? 'system' : String(item.role)
      const itemId = typeof item.id === 'string' ? { itemId: item.id } : {}
      return contentUnits(role, item.content).map((unit) => ({ ...unit, ...itemId }))
    }
  }
}

function result(id: unknown, content: unknown): Unit {
  return { type: 'result', id: String(id), text: resultText(content) }
}

function resultText(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((block) => (typeof block.text === 'string' ? block.text : JSON.stringify(block)))
    .join('\n')
}

/** Results of parallel calls come in the order in which they were ready: their order says nothing. */
function sortResults(placed: readonly Placed[]): readonly Placed[] {
  const sorted: Placed[] = []
  let group: Placed[] = []
  const flush = (): void => {
    sorted.push(...group.sort((a, b) => (idOf(a.unit) < idOf(b.unit) ? -1 : 1)))
    group = []
  }
  for (const entry of placed) {
    if (entry.unit.type === 'result') group.push(entry)
    else {
      flush()
      sorted.push(entry)
    }
  }
  flush()
  return sorted
}

function idOf(unit: Unit): string {
  return unit.type === 'result' ? unit.id : ''
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? (value as readonly Fields[]) : []
}
