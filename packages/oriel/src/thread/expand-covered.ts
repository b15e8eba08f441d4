// What a checkpoint or a digest stands for, read back: everything it covers, or only the lines that contain a query.

import { parseId } from '../core/handle.ts'
import { type ExpandOptions, type Expansion, expandText, originalText, refuse } from './expand.ts'
import type { Journal } from './journal.ts'

/** The most characters of originals that are gathered, and lines that match a query: reading on is by ids. */
const maxGathered = 200_000
const maxLines = 200

/** The messages that an id stands for: a checkpoint's own, or a range as a digest prints it (`e1ab to e9cd`). */
export function coveredBy(
  { state }: Journal,
  id: string,
): readonly (readonly [from: number, to: number])[] | undefined {
  const edit = state.dropEdits.find((one) => one.id === id)
  if (edit !== undefined && 'ranges' in edit.target) return edit.target.ranges
  const [first, last] = /^(\w+) (?:to|-) (\w+)$/.exec(id)?.slice(1) ?? []
  if (first === undefined || last === undefined) return undefined
  const [from, to] = [parseId(state.salt, first)?.seq, parseId(state.salt, last)?.seq]
  return from === undefined || to === undefined || to < from ? undefined : [[from, to]]
}

/** Reads it. Each message begins with its id, so that one can be asked for alone. */
export async function expandCovered(
  journal: Journal,
  ranges: readonly (readonly [from: number, to: number])[],
  { query, ...options }: ExpandOptions,
): Promise<Expansion> {
  const wanted = query?.toLowerCase()
  const parts: string[] = []
  let length = 0
  for (const [from, to] of ranges) {
    for await (const entry of journal.store.read(journal.key, { from, to })) {
      if (entry.type !== 'message') continue
      // What may not be expanded alone may not be read here either.
      const isFinal = entry.blocks.some(
        (_, block) => journal.state.blockEdit(entry.seq, block)?.isFinal === true,
      )
      const text = isFinal ? '[not preserved]' : originalText(entry, undefined)
      if (wanted === undefined) parts.push(`[${entry.id} ${entry.role}]\n${text}`)
      else {
        const lines = text.split('\n').filter((line) => line.toLowerCase().includes(wanted))
        parts.push(...lines.map((line) => `${entry.id}: ${line}`))
      }
      length += parts.at(-1)?.length ?? 0
      if (length > maxGathered || (wanted !== undefined && parts.length >= maxLines)) break
    }
  }
  if (wanted !== undefined && parts.length === 0) return refuse('no line contains the query')
  return expandText(parts.slice(0, maxLines).join('\n'), options)
}
