// Results that a newer one repeats or replaces (document 001's future work): folded into the newer one, which is named.

import type { Edit } from '../core/log/entry.ts'
import { canonicalJson, type Json } from '../core/log/json.ts'
import { isCall } from '../core/state/exchange.ts'
import type { Result } from '../core/state/results.ts'
import type { State } from '../core/state/state.ts'
import { placeholder } from '../core/text/placeholder.ts'
import { bucketsOf, similarity } from '../core/text/similar.ts'
import { reduceResult } from '../core/view/reduction.ts'

/** How similar two results are: 0 not at all, 1 the same. Anything else than a number keeps both. */
export type Similarity = (older: string, newer: string) => number

export interface DuplicatesSettings {
  /** Share of word triples from which on two results count as the same. @default 0.9 */
  readonly similarity?: number | undefined
  readonly preserveOriginals: boolean
  /** Compares two results. @default the share of word triples that they have in common */
  readonly compare?: Similarity | undefined
}

/** Newer results of the same tool that a host's own comparison looks at. */
const comparedResults = 20

/** Shorter results are not worth a placeholder. */
const leastLength = 120

/**
 * Each result is folded into the next newer one that is exactly or nearly the same, or that answers the same call (same tool, same
 * arguments): the older one is out of date then. A failure never replaces what worked.
 */
export function foldDuplicates(
  state: State,
  results: readonly Result[],
  { similarity: least = 0.9, preserveOriginals, compare }: DuplicatesSettings,
): readonly Edit[] {
  const newer = new Newer(state, least, compare)
  const edits: Edit[] = []
  for (let index = results.length - 1; index >= 0; index--) {
    const result = results[index] as Result
    const found = newer.find(result)
    newer.add(result)
    if (found === undefined || result.isProtected) continue
    const { seq } = result.item.entry
    const { content, block, tool } = result
    if (state.blockEdit(seq, block)?.form === 'omitted') continue
    const other = state.blockIdAt({ seq: found.result.item.entry.seq, block: found.result.block })
    const note = `${found.relation} ${other}`
    const id = state.blockIdAt({ seq, block })
    const text = placeholder({ ...content, tool, id, note, canExpand: preserveOriginals })
    const since = Math.max(found.result.item.entry.seq, result.seenAt ?? 0)
    const final = preserveOriginals ? {} : { isFinal: true }
    const reduction = {
      rule: 'expiry',
      form: 'omitted',
      text,
      reason: note,
      since,
      ...final,
    } as const
    edits.push(...reduceResult(state, result, reduction))
  }
  return edits
}

interface Match {
  readonly result: Result
  readonly relation:
    | 'same as the newer'
    | 'nearly the same as the newer'
    | 'superseded by the newer'
}

/** Results that are newer than the one in question, found by their call and by their text; of several the next one. */
class Newer {
  readonly #state: State
  readonly #least: number
  readonly #byCall = new Map<string, Result>()
  readonly #byBucket = new Map<string, Result>()
  readonly #byTool = new Map<string, readonly Result[]>()
  readonly #compare: Similarity | undefined

  constructor(state: State, least: number, compare: Similarity | undefined) {
    this.#state = state
    this.#least = least
    this.#compare = compare
  }

  add(result: Result): void {
    const { call, buckets } = this.#known(result)
    if (call !== undefined) this.#byCall.set(call, result)
    for (const bucket of buckets) this.#byBucket.set(bucket, result)
    if (this.#compare === undefined) return
    const others = this.#byTool.get(result.tool) ?? []
    this.#byTool.set(result.tool, [...others.slice(1 - comparedResults), result])
  }

  find(result: Result): Match | undefined {
    if (result.said.length < leastLength) return undefined
    const { call, buckets } = this.#known(result)
    const candidates = new Set<Result>(this.#byTool.get(result.tool))
    for (const bucket of buckets) {
      const other = this.#byBucket.get(bucket)
      if (other !== undefined) candidates.add(other)
    }
    const sameCall = call === undefined ? undefined : this.#byCall.get(call)
    if (sameCall !== undefined) candidates.add(sameCall)
    const inOrder = [...candidates].sort(
      (a, b) => a.item.entry.seq - b.item.entry.seq || a.block - b.block,
    )
    for (const other of inOrder) {
      const relation = this.#relation(result, other, other === sameCall)
      if (relation !== undefined) return { result: other, relation }
    }
    return undefined
  }

  #relation(older: Result, other: Result, isSameCall: boolean): Match['relation'] | undefined {
    if (other.content.isError === true && older.content.isError !== true) return undefined
    // By what came in: forms of two results are more alike than the results.
    const [a, b] = [older.said, other.said]
    if (a === b) return 'same as the newer'
    if (this.#similarity(older, other) >= this.#least) return 'nearly the same as the newer'
    return isSameCall ? 'superseded by the newer' : undefined
  }

  /** A host's own comparison is asked once for each pair. */
  #similarity(older: Result, other: Result): number {
    const compare = this.#compare
    if (compare === undefined) return similarity(older.said, other.said)
    const [from, to] = [older, other].map(({ item, block }) =>
      this.#state.blockIdAt({ seq: item.entry.seq, block }),
    )
    return this.#state.derive(`similar:${from}:${to}`, () => ({
      score: compare(older.said, other.said),
    })).score
  }

  #known({ item, block, said, tool }: Result): {
    readonly call: string | undefined
    readonly buckets: readonly string[]
  } {
    const place = { seq: item.entry.seq, block }
    const id = this.#state.blockIdAt(place)
    return this.#state.derive(`alike:${id}`, () => {
      return {
        call: callOf(this.#state, place, tool),
        buckets: said.length < leastLength ? [] : bucketsOf(said),
      }
    })
  }
}

/** A call's tool and arguments; undefined without arguments: what such a call asks for may differ each time. */
function callOf(
  state: State,
  place: { readonly seq: number; readonly block: number },
  tool: string,
): string | undefined {
  const answered = state.exchanges.answeredBy(place)
  if (answered === undefined) return undefined
  const { seq, block } = answered.call.place
  const call = state.item(seq)?.entry.blocks[block]
  if (call === undefined || !isCall(call)) return undefined
  const text = canonical(call.arguments)
  return text === '' || text === '{}' ? undefined : `${tool}\n${text}`
}

function canonical(text: string): string {
  try {
    return canonicalJson(JSON.parse(text) as Json)
  } catch {
    return text.trim()
  }
}
