// Everything between two ids, as digests and checkpoints name it: `expand e1ab to e9cd`.

import type { MessageEntry } from '../core/entry.ts'
import type { State } from '../core/state.ts'
import { type ExpandOptions, type Expansion, expandText, originalText } from './expand.ts'

/** What expanding a range needs of a thread. */
interface Expanding {
  readonly journal: {
    readonly state: Pick<State, 'blockEdit'>
    message(seq: number): Promise<MessageEntry | undefined>
  }
  find(id: string): Promise<{ readonly entry: MessageEntry } | undefined>
}

/** Without a query, reading stops here: an answer is cut off long before. */
const maxCharacters = 1_000_000

/**
 * The originals of all messages from one id to another, each headed by its id and role; with a query, only the lines that contain
 * it. Undefined where the id names no range. What must not be shown again is left out.
 */
export async function expandRange(
  thread: Expanding,
  id: string,
  options: ExpandOptions,
): Promise<Expansion | undefined> {
  const [, first, last] = /^(e\w{3,20}) to (e\w{3,20})$/.exec(id.trim()) ?? []
  if (first === undefined || last === undefined) return undefined
  const [from, to] = [await thread.find(first), await thread.find(last)]
  if (from === undefined || to === undefined) {
    return { ok: false, reason: `Not expanded: nothing here has the ids ${first} to ${last}.` }
  }
  const { query, ...rest } = options
  const parts: string[] = []
  let characters = 0
  for (let seq = from.entry.seq; seq <= to.entry.seq && characters < maxCharacters; seq++) {
    const entry = await thread.journal.message(seq)
    if (entry === undefined || isFinal(thread.journal.state, entry)) continue
    const part = partOf(entry, query)
    if (part === undefined) continue
    parts.push(`[${entry.id} ${entry.role}]\n${part}`)
    characters += part.length
  }
  if (parts.length === 0) return { ok: false, reason: 'Not expanded: no line contains the query.' }
  return expandText(parts.join('\n\n'), rest)
}

function partOf(entry: MessageEntry, query: string | undefined): string | undefined {
  const text = originalText(entry, undefined)
  if (query === undefined) return text
  const found = expandText(text, { query })
  return found.ok ? found.text : undefined
}

function isFinal(state: Pick<State, 'blockEdit'>, { seq, blocks }: MessageEntry): boolean {
  return blocks.some((_, block) => state.blockEdit(seq, block)?.isFinal === true)
}
