// Streams of Anthropic's Messages, several rounds as one: one message, blocks numbered through, numbers added up.

import { isJsonObject as isObject, type JsonObject } from '../../core/log/json.ts'
import {
  type RoundKind,
  type SpliceOptions,
  type Splicer,
  type StreamEvent,
  type StreamFailure,
  sumUsage,
  verdictOf,
  writeEvent,
} from '../splice.ts'
import { endOfStream } from '../stream.ts'
import { compactionEvents, withIteration } from './compaction.ts'
import { BlockPlaces } from './stream.ts'

export function anthropicSplicer(options: SpliceOptions): Splicer {
  return new AnthropicSplicer(options)
}

class AnthropicSplicer implements Splicer {
  readonly keepAlive = writeEvent({ type: 'ping' }, 'ping')
  readonly #names: readonly string[]
  readonly #isQuiet: boolean
  readonly #added: JsonObject | undefined
  readonly #begun: readonly JsonObject[]
  #isFirst = true
  /** Blocks that the client has seen begin. */
  #blocks = 0
  #index = new BlockPlaces()
  /** Where the client sees a block of the round. */
  #places = new Map<number, number | 'own'>()
  #owns = 0
  #others = 0
  #usage: JsonObject | undefined
  #roundUsage: JsonObject = {}
  #isCut = false
  #held: string[] = []
  /** What waits for the end of its round, and how many blocks there were before it. */
  #quiet: { readonly blocks: number; readonly texts: string[] } | undefined

  constructor({ names, isQuiet, added, begun = [] }: SpliceOptions) {
    this.#names = names
    this.#isQuiet = isQuiet
    this.#added = added
    this.#begun = begun
    this.#blocks = begun.length
  }

  get verdict(): RoundKind {
    return verdictOf(this.#owns, this.#others)
  }

  get isCut(): boolean {
    return this.#isCut
  }

  take({ raw, value }: StreamEvent): readonly string[] {
    const event = value === endOfStream || value === undefined ? {} : value
    switch (event.type) {
      case 'message_start': {
        const message = isObject(event.message) ? event.message : {}
        this.#roundUsage = isObject(message.usage) ? message.usage : {}
        return this.#isFirst ? [raw, ...this.#beginning()] : []
      }
      case 'content_block_start':
        return this.#begin(raw, event, this.#index.of(event))
      case 'content_block_delta':
      case 'content_block_stop':
        return this.#goOn(raw, event, this.#index.of(event))
      case 'message_delta':
        return [...this.#heard(), ...this.#hold(this.#end(raw, event))]
      case 'message_stop':
        return this.#hold(raw)
      default:
        return [raw]
    }
  }

  finish(): readonly string[] {
    const held = [...(this.#quiet?.texts ?? []), ...this.#held]
    this.#quiet = undefined
    this.#held = []
    return held
  }

  nextRound(): void {
    this.#usage = sumUsage(this.#usage, this.#roundUsage)
    // Of a round that is not seen, nothing after its first text was passed on.
    this.#blocks = this.#quiet?.blocks ?? this.#blocks
    this.#quiet = undefined
    this.#isFirst = false
    this.#roundUsage = {}
    this.#index = new BlockPlaces()
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

  #beginning(): readonly string[] {
    return this.#begun
      .flatMap(compactionEvents)
      .map((event) => writeEvent(event, String(event.type)))
  }

  #begin(raw: string, event: JsonObject, index: number): readonly string[] {
    const block = isObject(event.content_block) ? event.content_block : {}
    const isCall = block.type === 'tool_use'
    if (isCall && this.#names.includes(String(block.name))) {
      this.#owns += 1
      this.#places.set(index, 'own')
      return []
    }
    if (isCall) this.#others += 1
    if (this.#isQuiet && block.type === 'text') this.#quiet ??= { blocks: this.#blocks, texts: [] }
    this.#places.set(index, this.#blocks)
    this.#blocks += 1
    return this.#goOn(raw, event, index)
  }

  #goOn(raw: string, event: JsonObject, index: number): readonly string[] {
    const place = this.#places.get(index)
    if (place === 'own') return []
    const isSame = place === undefined || event.index === undefined || place === event.index
    const text = isSame ? raw : writeEvent({ ...event, index: place }, String(event.type))
    if (this.#quiet === undefined) return [text]
    this.#quiet.texts.push(text)
    return []
  }

  /** What waited, unless the round turns out to be one that the client does not see. */
  #heard(): readonly string[] {
    if (this.#quiet === undefined || this.verdict === 'own') return []
    const { texts } = this.#quiet
    this.#quiet = undefined
    return texts
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
    if (this.#usage === undefined && !isStripped && this.#begun.length === 0) {
      return this.#added === undefined
        ? raw
        : writeEvent({ ...event, ...this.#added }, 'message_delta')
    }
    const sum = this.#usage === undefined ? usage : sumUsage(this.#usage, this.#roundUsage)
    const stop = isStripped ? { stop_reason: 'end_turn' } : {}
    const counted = this.#begun.length === 0 ? sum : withIteration({ ...this.#roundUsage, ...sum })
    const whole = { ...event, delta: { ...delta, ...stop }, usage: counted, ...this.#added }
    return writeEvent(whole, 'message_delta')
  }

  #hold(text: string): readonly string[] {
    if (this.#owns === 0) return [text]
    this.#held.push(text)
    return []
  }
}
