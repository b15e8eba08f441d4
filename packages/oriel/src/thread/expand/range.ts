// Many messages at once: everything between two ids, as digests and checkpoints name it, or everything that a checkpoint covers.

import type { MessageEntry } from '../../core/log/entry.ts'
import { readableIn, readableMessage } from '../../core/text/readable.ts'
import type { Journal } from '../journal/journal.ts'
import { isFinal } from '../view/reading.ts'
import { type ExpandOptions, type Expansion, expandText, originalText, refuse } from './expand.ts'

/** What expanding a range needs of a thread. */
interface Expanding {
  readonly journal: Journal
  find(id: string): Promise<{ readonly entry: MessageEntry } | undefined>
}

type Ranges = readonly (readonly [from: number, to: number])[]

/** Reading stops here: an answer is cut off long before. */
const maxCharacters = 1_000_000

/**
 * The originals of all messages from one id to another (`e1ab to e9cd`), or of all that a checkpoint covers (its id), each headed by its
 * id and role; with a query, only the lines that contain it. Undefined where the id names neither. What is for people only, was excluded or
 * must not be shown again is left out.
 */
export async function expandRange(
  thread: Expanding,
  id: string,
  options: ExpandOptions,
): Promise<Expansion | undefined> {
  const { journal } = thread
  const checkpoint = journal.state.dropEdits.find((edit) => edit.id === id)
  if (checkpoint !== undefined && 'ranges' in checkpoint.target) {
    return expandRanges(journal, checkpoint.target.ranges, options)
  }
  const [, first, last] = /^(e\w{3,20}) to (e\w{3,20})$/.exec(id.trim()) ?? []
  if (first === undefined || last === undefined) return undefined
  const [from, to] = [await thread.find(first), await thread.find(last)]
  if (from === undefined || to === undefined) {
    return refuse(
      `nothing here has the ids ${first} to ${last}. Do not request this expansion again`,
    )
  }
  return expandRanges(journal, [[from.entry.seq, to.entry.seq]], options)
}

async function expandRanges(
  journal: Journal,
  ranges: Ranges,
  { query, inPlace, ...options }: ExpandOptions,
): Promise<Expansion> {
  if (inPlace === true) {
    return refuse('what a summary covers is not shown in its place; ask for it without inPlace')
  }
  const readable = readableIn(journal.state)
  const parts: string[] = []
  let characters = 0
  for (const [from, to] of ranges) {
    if (to < from || characters >= maxCharacters) continue
    for await (const entry of journal.store.read(journal.key, { from, to })) {
      if (entry.type !== 'message' || isFinal(journal, entry)) continue
      const said = readableMessage(readable, entry)
      const part = said === undefined ? undefined : partOf(said, query)
      if (part === undefined) continue
      parts.push(`[${entry.id} ${entry.role}]\n${part}`)
      characters += part.length
      if (characters >= maxCharacters) break
    }
  }
  if (parts.length === 0) return refuse('no line contains the query')
  return expandText(parts.join('\n\n'), options)
}

function partOf(entry: MessageEntry, query: string | undefined): string | undefined {
  const text = originalText(entry)
  if (query === undefined) return text
  const found = expandText(text, { query })
  return found.ok ? found.text : undefined
}
