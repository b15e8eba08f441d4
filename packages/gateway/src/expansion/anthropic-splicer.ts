// Streams of Anthropic's Messages, several rounds as one: one message, blocks numbered through, numbers added up.

import type { Json, JsonObject } from 'oriel'
import { parseObject } from '../answers/collector.ts'
import { isObject } from '../rewrite.ts'
import {
  type SpliceOptions,
  type Splicer,
  type StreamEvent,
  type StreamFailure,
  type Verdict,
  writeEvent,
} from './splicer.ts'
import { sumUsage } from './usage.ts'

export function anthropicSplicer({ name }: SpliceOptions): Splicer {
  return new AnthropicSplicer(name)
}

class AnthropicSplicer implements Splicer {
  readonly pulse = writeEvent({ type: 'ping' }, 'ping')
  readonly #name: string
  #isFirst = true
  /** Blocks that the client has seen begin. */
  #blocks = 0
  #places = new Map<Json | undefined, number | 'own'>()
  #owns = 0
  #others = 0
  #usage: JsonObject | undefined
  #roundUsage: JsonObject = {}
  #isCut = false
  #held: string[] = []

  constructor(name: string) {
    this.#name = name
  }

  get verdict(): Verdict {
    if (this.#owns === 0) return 'plain'
    return this.#others === 0 ? 'own' : 'mixed'
  }

  get isCut(): boolean {
    return this.#isCut
  }

  take({ raw, data }: StreamEvent): readonly string[] {
    const event = parseObject(data)
    switch (event?.type) {
      case 'message_start': {
        const message = isObject(event.message) ? event.message : {}
        this.#roundUsage = isObject(message.usage) ? message.usage : {}
        return this.#isFirst ? [raw] : []
      }
      case 'content_block_start':
        return this.#begin(raw, event)
      case 'content_block_delta':
      case 'content_block_stop':
        return this.#goOn(raw, event)
      case 'message_delta':
        return this.#hold(this.#end(raw, event))
      case 'message_stop':
        return this.#hold(raw)
      default:
        return [raw]
    }
  }

  finish(): readonly string[] {
    const held = this.#held
    this.#held = []
    return held
  }

  nextRound(): void {
    this.#usage = sumUsage(this.#usage, this.#roundUsage)
    this.#isFirst = false
    this.#roundUsage = {}
    this.#places = new Map()
    this.#owns = 0
    this.#others = 0
    this.#isCut = false
    this.#held = []
  }

  failure({ body, type, message }: StreamFailure): string {
    const isOwn = body?.type === 'error' && isObject(body.error)
    return writeEvent(isOwn ? body : { type: 'error', error: { type, message } }, 'error')
  }

  #begin(raw: string, event: JsonObject): readonly string[] {
    const block = isObject(event.content_block) ? event.content_block : {}
    const isCall = block.type === 'tool_use'
    if (isCall && block.name === this.#name) {
      this.#owns += 1
      this.#places.set(event.index, 'own')
      return []
    }
    if (isCall) this.#others += 1
    this.#places.set(event.index, this.#blocks)
    this.#blocks += 1
    return this.#goOn(raw, event)
  }

  #goOn(raw: string, event: JsonObject): readonly string[] {
    const place = this.#places.get(event.index)
    if (place === 'own') return []
    if (place === undefined || place === event.index) return [raw]
    return [writeEvent({ ...event, index: place }, String(event.type))]
  }

  /** The stop reason, and the numbers of all rounds. */
  #end(raw: string, event: JsonObject): string {
    const delta = isObject(event.delta) ? event.delta : {}
    const { stop_reason: reason } = delta
    this.#isCut = reason !== 'tool_use' && reason !== 'end_turn'
    const usage = isObject(event.usage) ? event.usage : {}
    const known = Object.entries(usage).filter(([, value]) => value !== null)
    this.#roundUsage = { ...this.#roundUsage, ...Object.fromEntries(known) }
    const isStripped = reason === 'tool_use' && this.#owns > 0 && this.#others === 0
    if (this.#usage === undefined && !isStripped) return raw
    const sum = this.#usage === undefined ? usage : sumUsage(this.#usage, this.#roundUsage)
    const stop = isStripped ? { stop_reason: 'end_turn' } : {}
    return writeEvent({ ...event, delta: { ...delta, ...stop }, usage: sum }, 'message_delta')
  }

  #hold(text: string): readonly string[] {
    if (this.#owns === 0) return [text]
    this.#held.push(text)
    return []
  }
}
