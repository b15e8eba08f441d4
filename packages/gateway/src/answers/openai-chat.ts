// A streamed answer of Chat Completions: deltas of one choice.

import type { Json, JsonObject } from 'oriel'
import { type Answer, type Collector, noteFacts, parseObject } from './collector.ts'

type Draft = Record<string, Json>

export function chatCollector(): Collector {
  const message: Draft = { role: 'assistant', content: null }
  const calls: Draft[] = []
  const response = {}
  let usage: JsonObject | undefined
  let isComplete = false
  let isPlural = false
  let isOver = false
  return {
    take({ data }) {
      if (data === '[DONE]') isOver = true
      const chunk = isOver ? undefined : parseObject(data)
      if (chunk === undefined) return
      if (isRecord(chunk.usage)) usage = chunk.usage
      noteFacts(response, chunk)
      for (const choice of listOf(chunk.choices)) {
        if (choice.index !== undefined && choice.index !== 0) isPlural = true
        else {
          if (isRecord(choice.delta)) merge(message, calls, choice.delta)
          if (typeof choice.finish_reason === 'string') isComplete = true
          noteFacts(response, { finish: choice.finish_reason })
        }
      }
    },
    get isComplete() {
      return isComplete
    },
    get isOver() {
      return isOver && isComplete
    },
    answer(): Answer | undefined {
      const said = Object.entries(message).some(
        ([key, value]) => key !== 'role' && value !== null && value !== '',
      )
      const numbers = usage === undefined ? { response } : { usage, response }
      // A whole answer may say nothing, and is sent back like any other.
      if (isPlural || (!isComplete && !said && calls.length === 0)) {
        return usage === undefined ? undefined : { messages: [], ...numbers }
      }
      const own = calls.filter(Boolean)
      const whole = { ...message, ...(own.length === 0 ? {} : { tool_calls: own }) }
      return { messages: [whole], ...numbers }
    },
  }
}

function merge(message: Draft, calls: Draft[], delta: JsonObject): void {
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'tool_calls') for (const call of listOf(value)) mergeCall(calls, call)
    else if (key !== 'role') join(message, key, value)
  }
}

function mergeCall(calls: Draft[], { index, ...delta }: JsonObject): void {
  const at = typeof index === 'number' ? index : calls.length
  if (at < 0 || at > 1000) return
  const call = calls[at] ?? {}
  calls[at] = call
  for (const [key, value] of Object.entries(delta)) {
    if (key === 'function' && isRecord(value)) {
      const known = isRecord(call.function) ? { ...call.function } : {}
      for (const [name, part] of Object.entries(value)) join(known, name, part)
      call.function = known
    } else if (key === 'id' || key === 'type') {
      if (typeof value === 'string' && value !== '') call[key] = value
    } else join(call, key, value)
  }
}

/** Texts grow piece by piece; lists too; anything else is replaced. */
function join(target: Draft, key: string, value: Json): void {
  const known = target[key]
  if (value === null || value === undefined) {
    if (known === undefined) set(target, key, value)
  } else if (typeof value === 'string' && typeof known === 'string' && key !== 'name') {
    set(target, key, known + value)
  } else if (Array.isArray(value) && Array.isArray(known)) set(target, key, [...known, ...value])
  else set(target, key, value)
}

function set(target: Draft, key: string, value: Json): void {
  if (key !== '__proto__') {
    target[key] = value
    return
  }
  // A field like any other, whatever it is called.
  Object.defineProperty(target, key, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  })
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
