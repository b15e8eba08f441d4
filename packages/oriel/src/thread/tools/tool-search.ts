// Finds tools among many by words: ranked over their names, descriptions and arguments.

import type { Json } from '../../core/log/json.ts'
import { isObject } from '../../core/log/json.ts'
import { analyse } from '../../core/search/analysis.ts'
import { hintOf } from '../../core/search/hint.ts'
import { analyseQuery } from '../../core/search/query.ts'
import { scorePassages, type TermMatches } from '../../core/search/rank.ts'

/** What is known of a tool before it is listed. */
export interface SearchedTool {
  readonly name: string
  readonly description: string
  readonly parameters: Json
}

/** A match must have at least this share of the best one's score: what is added stays. */
const fairShare = 0.6
/** A name says more about a tool than its description. */
const nameWeight = 3
/** Descriptions may be manuals. */
const maxDescription = 2000

export class ToolSearch {
  readonly #tools: readonly SearchedTool[]
  readonly #tokens: readonly (readonly string[])[]

  constructor(tools: readonly SearchedTool[]) {
    this.#tools = tools
    this.#tokens = tools.map(tokensOf)
  }

  /** Names of the tools that fit best; those that the query names come alone. */
  find(query: string, limit: number): readonly string[] {
    const named = this.#named(query)
    if (named.length > 0) return named.slice(0, Math.max(limit, maxNamed))
    const matches = analyseQuery(query).flatMap((term): TermMatches[] => {
      const ids = this.#tokens.flatMap((tokens, index) => (tokens.includes(term) ? [-index] : []))
      return ids.length === 0 ? [] : [{ term, ids, count: ids.length }]
    })
    const ids = new Set(matches.flatMap((one) => one.ids))
    // Ids fall, so that of two that fit alike the first of the list wins.
    const passages = [...ids].map((id) => {
      const tokens = this.#tokens[-id] as readonly string[]
      return {
        ...{ id, thread: '', seq: 0, index: -id, block: 0, from: 0, to: 0 },
        ...{ isOpen: true, speaker: 'other' as const, hint: hintOf('other', tokens.length) },
        tokens: tokens.join(' '),
      }
    })
    const scored = scorePassages(passages, matches, this.#tools.length)
    const fair = (scored[0]?.score ?? 0) * fairShare
    const best = scored.filter(({ score }) => score >= fair).slice(0, limit)
    return best.map(({ id }) => (this.#tools[-id] as SearchedTool).name)
  }

  /** The tools whose names stand in the query. */
  #named(query: string): readonly string[] {
    const words = new Set(query.split(/[\s,;:"'`()[\]]+/))
    return this.#tools.filter(({ name }) => words.has(name)).map(({ name }) => name)
  }
}

/** Of tools that are named, more may come at once. */
const maxNamed = 10

function tokensOf({ name, description, parameters }: SearchedTool): readonly string[] {
  const own = analyse(name)
  const named = Array.from({ length: nameWeight }, () => own).flat()
  return [
    ...named,
    ...analyse(description.slice(0, maxDescription)),
    ...analyse(wordsOf(parameters)),
  ]
}

/** The names of the arguments. */
function wordsOf(parameters: Json): string {
  const properties = isObject(parameters) ? parameters.properties : undefined
  return isObject(properties) ? Object.keys(properties).join(' ') : ''
}
