// Tool definitions that a request does not carry: a search stands for them, and what it finds is listed from then on.

import { isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { resolveCounter } from '../../counters.ts'
import type { ListedTool, ToolDefinition, ToolFormat } from '../../providers/provider.ts'
import { lookupOf } from '../../rules/name-lookup.ts'
import { type ToolsSettings, toolsDefaults } from '../../rules/tools.ts'
import { ToolSearch } from './tool-search.ts'

/** Names of the search. The second is used if another tool already has the first. */
export const findToolNames = ['find_tool', 'oriel_find_tool'] as const

/** What a thread knows of its deferred definitions: a setting of its log. */
export interface ShownTools {
  /** The name of the search. */
  readonly find: string
  /** The definitions that its requests carry beside those that they always do, in the order in which they were added. */
  readonly names: readonly string[]
}

export interface DeferralRequest {
  readonly format: ToolFormat
  /** The caller's list of tools. */
  readonly list: readonly Json[]
  readonly settings: ToolsSettings
  /** What the thread's requests carried before. @default nothing was deferred so far */
  readonly known?: ShownTools | undefined
  /** Names of tools that the history calls, and those that the request asks for. */
  readonly used: Iterable<string>
}

/** What a search says to the model, and the definitions that the next request carries. */
export interface FoundTools {
  readonly text: string
  readonly names: readonly string[]
}

/**
 * A request's tools with most definitions deferred. Contracts:
 * - The list begins as it did before: definitions are added at its end and stay.
 * - The list and the words of the search depend on the caller's list and on `shown` alone.
 */
export class Deferral {
  readonly shown: ShownTools
  /** The list to send. */
  readonly tools: readonly Json[]
  /** How many definitions it leaves out. */
  readonly count: number
  readonly #parts: Parts

  constructor(parts: Parts, shown: ShownTools) {
    const { kept, deferrable, search } = parts
    this.#parts = parts
    const listed = shown.names.flatMap((name) => deferrable.get(name)?.element ?? [])
    this.shown = shown
    this.tools = [...kept, search, ...listed]
    this.count = deferrable.size - listed.length
  }

  /** Answers a call of the search. Never throws on what a model may write. */
  find(input: unknown): FoundTools {
    const query = queryOf(input)
    if (query === undefined) return none('Not found: the arguments need a query, as a text.')
    const { deferrable, results } = this.#parts
    const names = this.#parts.searched().find(query, results)
    if (names.length === 0) {
      return none('Not found: no tool fits. Use other words, or names of the list.')
    }
    const added = names.filter((name) => !this.shown.names.includes(name))
    const lines = names.map((name) => `- ${name}: ${firstSentence(deferrable.get(name))}`)
    const opening = added.length === 0 ? 'These are in your list already' : 'Added to your tools'
    return { text: `${opening}; call them directly:\n${lines.join('\n')}`, names: added }
  }

  /** The same with more definitions. */
  with(names: readonly string[]): Deferral {
    const { deferrable } = this.#parts
    const added = names.filter((name) => deferrable.has(name))
    const all = [...new Set([...this.shown.names, ...added])]
    if (all.length === this.shown.names.length) return this
    return new Deferral(this.#parts, { ...this.shown, names: all })
  }
}

interface Parts {
  /** Elements of the caller's list that always stay. */
  readonly kept: readonly Json[]
  readonly deferrable: ReadonlyMap<string, ListedTool & { readonly name: string }>
  /** The definition of the search. */
  readonly search: JsonObject
  readonly results: number
  /** Made when first asked. */
  readonly searched: () => ToolSearch
}

const counter = resolveCounter('estimate')

/** The tools of a request with deferred definitions; undefined where all of them are sent. */
export function deferralOf(request: DeferralRequest): Deferral | undefined {
  const { format, list, settings, known, used } = request
  const { mode = toolsDefaults.mode, above = toolsDefaults.above } = settings
  const { results = toolsDefaults.results, keep = [] } = settings
  const isBegun = known !== undefined
  const size = sizeOf(list)
  if (!isBegun && mode === 'auto' && size <= above) return undefined
  const all = format.definitions(list)
  const taken = all.map(({ name }) => name)
  const find = [known?.find, ...findToolNames].find(
    (one) => one !== undefined && !taken.includes(one),
  )
  if (find === undefined) return undefined
  const isKept = keptBy(keep)
  const names = taken.filter((name): name is string => name !== undefined)
  const isDouble = new Set(names).size < names.length
  const deferrable = new Map(
    all.flatMap((tool) => (isDeferrable(tool) && !isKept(tool.name) ? [[tool.name, tool]] : [])),
  )
  // Two tools of one name are the caller's mistake, and the provider's to refuse.
  if (isDouble || deferrable.size === 0) return undefined
  const search = format.define(searchTool(find, [...deferrable.keys()]))
  // A search that costs more than the definitions saves nothing.
  if (
    !isBegun &&
    sizeOf([...deferrable.values()].map(({ element }) => element)) <= sizeOf([search])
  )
    return undefined
  const kept = all.filter((tool) => tool.name === undefined || !deferrable.has(tool.name))
  let made: ToolSearch | undefined
  const parts = {
    ...{ kept: kept.map(({ element }) => element), deferrable, search, results },
    searched: () => {
      made ??= new ToolSearch([...deferrable.values()])
      return made
    },
  }
  const before = (known?.names ?? []).filter((name) => deferrable.has(name))
  return new Deferral(parts, { find, names: before }).with([...used])
}

/** Lists of tools are the same objects in few requests, and the same words in most. */
const sizes = new Map<string, number>()
const maxSizes = 64

function sizeOf(list: readonly Json[]): number {
  const text = JSON.stringify(list)
  const known = sizes.get(text)
  if (known !== undefined) return known
  const size = counter.count(text)
  if (sizes.size >= maxSizes) sizes.delete(sizes.keys().next().value as string)
  sizes.set(text, size)
  return size
}

function isDeferrable(tool: ListedTool): tool is ListedTool & { readonly name: string } {
  return tool.name !== undefined
}

function keptBy(keep: readonly string[]): (name: string) => boolean {
  if (keep.length === 0) return () => false
  const lookup = lookupOf(Object.fromEntries(keep.map((name) => [name, true])))
  return (name) => lookup.find(name) === true
}

/** Characters of the list of names: behind it, groups and their sizes stand for them. */
const maxCatalogue = 8000

/** The search. It names what it can find, so that a model knows whether to ask; the names do not change when some are listed. */
function searchTool(name: string, names: readonly string[]): ToolDefinition {
  const catalogue = catalogueOf(names, true)
  const short = catalogue.length <= maxCatalogue ? catalogue : catalogueOf(names, false)
  const description = [
    `Finds tools that are not in your list, and adds them to it. ${names.length} tools can be found:`,
    `${short.slice(0, maxCatalogue)}.`,
    'Before you say that you cannot do something, look for a tool. Ask by what you want to do, or by names as they are written here.',
    'A tool that was found is in your list from then on: call it directly, not through this one.',
  ].join(' ')
  const query = {
    type: 'string',
    description: 'What the tool should do, or names of tools with commas between them.',
  }
  return {
    name,
    description,
    parameters: {
      type: 'object',
      properties: { query },
      required: ['query'],
      additionalProperties: false,
    },
  }
}

/** Names by what they begin with, so that no server's name is repeated for each of its tools. */
function catalogueOf(names: readonly string[], isWhole: boolean): string {
  const groups = new Map<string, string[]>()
  for (const name of names) {
    const prefix = /^(?:mcp__)?.+?(?:__|\.|\/)/.exec(name)?.[0] ?? ''
    groups.set(prefix, [...(groups.get(prefix) ?? []), name.slice(prefix.length)])
  }
  const shown = [...groups].map(([prefix, rest]) => {
    if (!isWhole) return `${prefix}* (${rest.length})`
    return prefix === '' ? rest.join(', ') : `${prefix}{${rest.join(', ')}}`
  })
  return shown.join('; ')
}

function none(text: string): FoundTools {
  return { text, names: [] }
}

/** Arguments as a model writes them: an object, JSON text of one, or the query itself. */
function queryOf(input: unknown): string | undefined {
  const value = typeof input === 'string' ? (parsed(input) ?? input) : input
  const query = isObject(value) ? (value.query ?? value.name ?? value.names) : value
  const text = Array.isArray(query) ? query.join(' ') : query
  return typeof text === 'string' && text.trim() !== '' ? text : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The first sentence of a description: the definition itself is in the list. */
function firstSentence(tool: ListedTool | undefined): string {
  const text = (tool?.description ?? '').replaceAll(/\s+/g, ' ').trim()
  const sentence = /^.*?[.!?](?=\s|$)/.exec(text)?.[0] ?? text
  return sentence.length <= 160 ? sentence : `${sentence.slice(0, 157)}...`
}
