// A streamed answer of Responses: the last event holds all of it; the items before it are for streams that break off.

import type { Json, JsonObject } from 'oriel'
import { type Answer, type Collector, noteFacts, parseObject } from './collector.ts'

export function responsesCollector(): Collector {
  const items: Json[] = []
  let text = ''
  const facts = {}
  let usage: JsonObject | undefined
  let whole: readonly Json[] | undefined
  return {
    take({ data }) {
      const event = parseObject(data)
      switch (event?.type) {
        case 'response.output_text.delta':
          if (typeof event.delta === 'string') text += event.delta
          break
        case 'response.output_item.done':
          if (isRecord(event.item)) items.push(event.item)
          text = ''
          break
        case 'response.completed':
        case 'response.incomplete': {
          const { response } = event
          if (!isRecord(response)) break
          if (isRecord(response.usage)) usage = response.usage
          noteFacts(facts, { ...response, finish: finishOf(response) })
          // Some servers leave the output out of the last event.
          const output = Array.isArray(response.output) ? response.output : []
          whole = output.length > 0 ? output : items
          break
        }
      }
    },
    get isComplete() {
      return whole !== undefined
    },
    get isOver() {
      return whole !== undefined
    },
    answer(): Answer | undefined {
      const partial = text === '' ? [] : [{ role: 'assistant', content: text }]
      const messages = whole ?? [...items, ...partial]
      if (messages.length === 0 && usage === undefined) return undefined
      return { messages, ...(usage === undefined ? {} : { usage }), response: facts }
    },
  }
}

/** `completed`, or why not. */
export function finishOf({ status, incomplete_details: details }: JsonObject): Json | undefined {
  return isRecord(details) && typeof details.reason === 'string' ? details.reason : status
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
