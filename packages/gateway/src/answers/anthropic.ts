// A streamed answer of Anthropic's Messages: content blocks that begin, grow and end.

import type { Json, JsonObject } from 'oriel'
import { type Answer, type Collector, noteFacts, parseObject } from './collector.ts'

interface Block {
  value: Record<string, Json>
  /** The input of a call, as text. */
  json?: string
}

export function anthropicCollector(): Collector {
  const blocks: Block[] = []
  const response = {}
  let usage: Record<string, Json> | undefined
  let isComplete = false
  return {
    take({ data }) {
      const event = parseObject(data)
      switch (event?.type) {
        case 'message_start': {
          const { message } = event
          if (!isRecord(message)) break
          if (isRecord(message.usage)) usage = { ...message.usage }
          noteFacts(response, message)
          break
        }
        case 'content_block_start':
          if (isIndex(event.index) && isRecord(event.content_block)) {
            blocks[event.index] = { value: { ...event.content_block } }
          }
          break
        case 'content_block_delta':
          if (isIndex(event.index) && isRecord(event.delta)) grow(blocks[event.index], event.delta)
          break
        case 'message_delta':
          if (isRecord(event.usage)) usage = { ...usage, ...withoutNulls(event.usage) }
          if (isRecord(event.delta)) noteFacts(response, { finish: event.delta.stop_reason })
          break
        case 'message_stop':
          isComplete = true
          break
      }
    },
    get isComplete() {
      return isComplete
    },
    get isOver() {
      return isComplete
    },
    answer(): Answer | undefined {
      const content = blocks.filter(Boolean).map(finish)
      const numbers = usage === undefined ? { response } : { usage, response }
      if (content.length === 0 && usage === undefined) return undefined
      return { messages: content.length === 0 ? [] : [{ role: 'assistant', content }], ...numbers }
    },
  }
}

function grow(block: Block | undefined, delta: JsonObject): void {
  if (block === undefined) return
  const { value } = block
  const add = (key: string, text: Json | undefined): void => {
    if (typeof text !== 'string') return
    value[key] = typeof value[key] === 'string' ? value[key] + text : text
  }
  switch (delta.type) {
    case 'text_delta':
      add('text', delta.text)
      break
    case 'thinking_delta':
      add('thinking', delta.thinking)
      break
    case 'signature_delta':
      add('signature', delta.signature)
      break
    case 'input_json_delta':
      if (typeof delta.partial_json === 'string')
        block.json = (block.json ?? '') + delta.partial_json
      break
    case 'citations_delta': {
      const known = Array.isArray(value.citations) ? value.citations : []
      if (delta.citation !== undefined) value.citations = [...known, delta.citation]
    }
  }
}

/** The block as the provider would give it whole. Input that broke off stays what it was at the start. */
function finish({ value, json }: Block): JsonObject {
  if (json === undefined || json === '') return value
  return { ...value, input: parseObject(json) ?? value.input ?? {} }
}

function withoutNulls(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null))
}

function isIndex(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 10_000
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
