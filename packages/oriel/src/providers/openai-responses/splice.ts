// Streams of Responses, several rounds as one: one response, items and events numbered through, the last event with all of them.

import { isJsonObject as isObject, type Json, type JsonObject } from '../../core/log/json.ts'
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
import { compactionEvents } from './compaction.ts'
import { OutputPlaces } from './stream.ts'

export function responsesSplicer(options: SpliceOptions): Splicer {
  return new ResponsesSplicer(options)
}

const beginnings: ReadonlySet<Json | undefined> = new Set([
  'response.created',
  'response.queued',
  'response.in_progress',
])
const endings: ReadonlySet<Json | undefined> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
])

class ResponsesSplicer implements Splicer {
  readonly keepAlive = ': waiting\n\n'
  readonly #options: SpliceOptions
  readonly #names: readonly string[]
  #isFirst = true
  /** Whether the items that the gateway made were passed on. */
  #isBegun: boolean
  #head: JsonObject = {}
  /** The number of the next event. */
  #sequence: number | undefined
  /** Items of earlier rounds that the client saw, and how many it has seen begin. */
  #output: readonly JsonObject[] = []
  #items = 0
  #roundItems: JsonObject[] = []
  #index = new OutputPlaces()
  /** Where the client sees an item of the round. */
  #places = new Map<number, number | 'own'>()
  #owns = 0
  #others = 0
  #usage: JsonObject | undefined
  #roundUsage: JsonObject | undefined
  #isCut = false
  #held: JsonObject[] = []

  constructor(options: SpliceOptions) {
    this.#options = options
    this.#names = options.names
    this.#output = options.begun ?? []
    this.#items = this.#output.length
    this.#isBegun = this.#items === 0
  }

  get verdict(): RoundKind {
    return verdictOf(this.#owns, this.#others)
  }

  get isCut(): boolean {
    return this.#isCut
  }

  take({ raw, value: event }: StreamEvent): readonly string[] {
    if (event === undefined || event === endOfStream) return [raw]
    const begun = this.#beginning(event)
    const shown = this.#rewrite(event)
    if (shown === undefined) return begun
    // A failure is final, whatever was called before it.
    if (this.#owns > 0 && endings.has(event.type) && event.type !== 'response.failed') {
      this.#held.push(shown)
      return begun
    }
    const numbered = this.#number(shown)
    return [...begun, numbered === event ? raw : written(numbered)]
  }

  /** Items that the gateway made stand before the first of the upstream's. */
  #beginning(event: JsonObject): readonly string[] {
    if (this.#isBegun || beginnings.has(event.type)) return []
    this.#isBegun = true
    const { sequence_number: from } = event
    const numbered = from === undefined ? {} : { sequence_number: from }
    return this.#output
      .flatMap(compactionEvents)
      .map((one) => written(this.#number({ ...one, ...numbered })))
  }

  finish(): readonly string[] {
    const held = this.#held.map((event) => written(this.#number(event)))
    this.#held = []
    return held
  }

  nextRound(): void {
    if (this.#roundUsage !== undefined) this.#usage = sumUsage(this.#usage, this.#roundUsage)
    this.#output = [...this.#output, ...this.#roundItems]
    this.#isFirst = false
    this.#roundItems = []
    this.#roundUsage = undefined
    this.#index = new OutputPlaces()
    this.#places = new Map()
    this.#owns = 0
    this.#others = 0
    this.#isCut = false
    this.#held = []
  }

  failure({ body, type, message }: StreamFailure): string {
    const told = isObject(body?.error) ? body.error : {}
    return written(
      this.#number({
        type: 'error',
        code: told.code ?? told.type ?? type,
        message: told.message ?? message,
        param: told.param ?? null,
        sequence_number: 0,
      }),
    )
  }

  #rewrite(event: JsonObject): JsonObject | undefined {
    const response = isObject(event.response) ? event.response : undefined
    if (response !== undefined && beginnings.has(event.type)) return this.#begin(event, response)
    if (response !== undefined && endings.has(event.type)) return this.#end(event, response)
    const { type, item, output_index: given, item_id: id } = event
    if ((item ?? given ?? id) === undefined) return event
    const index = this.#index.of(event)
    const isDone = type === 'response.output_item.done'
    // Some servers do not announce items.
    const isNew = isDone && !this.#places.has(index)
    if (isNew || type === 'response.output_item.added') this.#place(item, index)
    const place = this.#places.get(index)
    if (place === 'own') return undefined
    if (isDone && isObject(item)) this.#roundItems.push(item)
    const isSame = place === undefined || given === undefined || place === given
    return isSame ? event : { ...event, output_index: place }
  }

  #begin(event: JsonObject, response: JsonObject): JsonObject | undefined {
    if (!this.#isFirst) return undefined
    if (this.#head.id === undefined) {
      const { id, created_at: at } = response
      this.#head = {
        ...(id === undefined ? {} : { id }),
        ...(at === undefined ? {} : { created_at: at }),
      }
    }
    const clean = withoutTool(response, this.#options)
    return clean === response ? event : { ...event, response: clean }
  }

  #place(item: Json | undefined, index: number): void {
    const own = isObject(item) ? item : {}
    if (isOwnCall(own, this.#names)) {
      this.#owns += 1
      this.#places.set(index, 'own')
      return
    }
    if (isCall(own)) this.#others += 1
    this.#places.set(index, this.#items)
    this.#items += 1
  }

  #end(event: JsonObject, response: JsonObject): JsonObject {
    this.#isCut = event.type !== 'response.completed'
    this.#roundUsage = isObject(response.usage) ? response.usage : undefined
    const output = outputOf(response)
    const whole = output.filter((item) => !isOwnCall(item, this.#names))
    // Some servers leave the output out of the last event, or have items only there.
    if (output.length > 0) this.#roundItems = [...whole]
    this.#owns = Math.max(this.#owns, output.length - whole.length)
    this.#others = Math.max(this.#others, whole.filter(isCall).length)
    const clean = withoutTool(response, this.#options)
    if (this.#isFirst && this.#owns === 0 && this.#output.length === 0) {
      return clean === response ? event : { ...event, response: clean }
    }
    const usage = this.#roundUsage
    return {
      ...event,
      response: {
        ...clean,
        ...this.#head,
        output: [...this.#output, ...this.#roundItems],
        ...(usage === undefined ? {} : { usage: sumUsage(this.#usage, usage) }),
      },
    }
  }

  #number(event: JsonObject): JsonObject {
    const { sequence_number: number } = event
    if (typeof number !== 'number') return event
    const next = this.#sequence ?? number
    this.#sequence = next + 1
    return next === number ? event : { ...event, sequence_number: next }
  }
}

function written(event: JsonObject): string {
  return writeEvent(event, String(event.type))
}

/** What a client hears that says nothing of tools. */
export const defaultChoice = 'auto'

/** Answers repeat the list of tools, the injected ones too, and the choice of them. */
export function withoutTool(response: JsonObject, options: SpliceOptions): JsonObject {
  const { names, isOpen, tools: own, echo = {} } = options
  const { tools, tool_choice: choice } = response
  const hasTool = Array.isArray(tools) && tools.some((tool) => isNamed(tool, names))
  const hasChoice = !isOpen && choice !== undefined
  if (!hasTool && !hasChoice && Object.keys(echo).length === 0) return response
  return {
    ...response,
    ...(hasTool ? { tools: own ?? tools.filter((tool: Json) => !isNamed(tool, names)) } : {}),
    ...(hasChoice ? { tool_choice: defaultChoice } : {}),
    ...echo,
  }
}

export function isOwnCall(item: JsonObject, names: readonly string[]): boolean {
  return item.type === 'function_call' && names.includes(String(item.name))
}

/** Items that wait for something from the client. */
const callTypes: ReadonlySet<Json | undefined> = new Set([
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'computer_call',
  'mcp_approval_request',
])

export function isCall({ type }: JsonObject): boolean {
  return callTypes.has(type)
}

export function outputOf({ output }: JsonObject): readonly JsonObject[] {
  return Array.isArray(output) ? output.filter(isObject) : []
}

/** Whether a tool is a function of one of these names. */
export function isNamed(tool: unknown, names: readonly string[]): boolean {
  return isObject(tool) && tool.type === 'function' && names.includes(String(tool.name))
}
