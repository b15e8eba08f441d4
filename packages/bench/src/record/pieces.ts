// Pieces of provider messages that can be found again in a later request.

import type { WireFormat } from './reply.ts'
import { messagesOf } from './script.ts'
import type { Body } from './server.ts'

export interface Piece {
  readonly kind: string
  /** Names the piece within its conversation: a call's id, or a text or reasoning with its number. */
  readonly id: string
  /** The foreign fields, as they stand. */
  readonly value: unknown
}

type Fields = Readonly<Record<string, unknown>>

export function requestPieces(format: WireFormat, body: Body): readonly Piece[] {
  return piecesOf(format, messagesOf(body) as readonly Fields[])
}

export function replyPieces(format: WireFormat, body: Body): readonly Piece[] {
  if (format === 'openai-responses') return piecesOf(format, listOf(body.output))
  if (format === 'anthropic')
    return piecesOf(format, [{ role: 'assistant', content: body.content }])
  const [choice] = listOf(body.choices)
  return piecesOf(format, [(choice?.message ?? {}) as Fields])
}

function piecesOf(format: WireFormat, messages: readonly Fields[]): readonly Piece[] {
  if (format === 'openai-responses') return messages.flatMap(itemPieces)
  return messages.flatMap(format === 'anthropic' ? blockPieces : chatPieces)
}

function chatPieces(message: Fields): readonly Piece[] {
  const { role, content, tool_calls: calls, tool_call_id: callId, ...rest } = message
  if (role === 'tool') return [{ kind: 'result', id: String(callId), value: { content, ...rest } }]
  const named = listOf(calls).map((call) => ({ kind: 'call', id: String(call.id), value: call }))
  // An answer without text is known by its first call.
  const id = textOf(content) === '' ? (named[0]?.id ?? '') : textOf(content)
  return [{ kind: `${String(role)} message`, id, value: { content, ...rest } }, ...named]
}

function blockPieces({ role, content }: Fields): readonly Piece[] {
  if (typeof content === 'string') {
    return [{ kind: `${String(role)} text`, id: content, value: content }]
  }
  return listOf(content).map((block) => {
    const { type } = block
    if (type === 'tool_use') return { kind: 'call', id: String(block.id), value: block }
    if (type === 'tool_result') {
      return { kind: 'result', id: String(block.tool_use_id), value: block }
    }
    if (type === 'text') {
      return { kind: `${String(role)} text`, id: String(block.text), value: block }
    }
    return { kind: String(type), id: String(block.signature ?? block.data), value: block }
  })
}

function itemPieces(item: Fields): readonly Piece[] {
  switch (item.type) {
    case 'function_call':
    case 'custom_tool_call':
      return [{ kind: 'call', id: String(item.call_id), value: item }]
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [{ kind: 'result', id: String(item.call_id), value: item }]
    case 'reasoning':
      return [{ kind: 'reasoning', id: JSON.stringify(item.summary), value: item }]
    case 'item_reference':
      return [{ kind: 'reference', id: String(item.id), value: item }]
    default:
      return [{ kind: `${String(item.role)} message`, id: textOf(item.content), value: item }]
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => String(part.text ?? ''))
    .join('\n')
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? (value as readonly Fields[]) : []
}
