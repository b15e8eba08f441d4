// What an original holds, without showing it: enough to decide whether to expand it.

import type { Block } from '../../core/log/block.ts'
import { head } from '../../core/text/clip.ts'
import { itemsIn, jsonIn } from '../../core/text/json-items.ts'
import type { ThreadEngine } from '../engine.ts'
import { mediaIn, originalText } from './expand.ts'
import { findReadable } from './show-again.ts'

/** What is known of an original, without expanding it. */
export interface Hints {
  readonly id: string
  /** A model's summary where there is one, else the first line. */
  readonly summary: string
  readonly characters: number
  readonly lines: number
  /** Tokens of the original, by the thread's counter. */
  readonly tokens: number
  /** Pictures and files in it. */
  readonly media: number
  /** Items of the list in it, and where the list is; absent where there is none, or several. */
  readonly items?: { readonly count: number; readonly path: string }
  /** Keys of the JSON object, or of the first item. */
  readonly keys?: readonly string[]
  readonly canExpand: true
}

export type HintsAnswer =
  | (Hints & { readonly ok: true })
  | { readonly ok: false; readonly reason: string; readonly canExpand: false }

const summaryLength = 200
const maxKeys = 30

export async function hintsOf(session: ThreadEngine, id: string | number): Promise<HintsAnswer> {
  const { journal } = session
  await journal.refresh()
  const found = await findReadable(session, id)
  if ('reason' in found) return { ok: false, reason: found.reason, canExpand: false }
  const { entry, blocks, positions } = found
  const text = originalText({ ...entry, blocks })
  const { state } = journal
  const tokens = state.facts(entry.seq)?.tokens ?? []
  const list = itemsIn(text)
  const keys = keysOf(typeof list === 'string' ? jsonIn(text) : list.items[0])
  return {
    ok: true,
    id: state.blockIdAt({ seq: entry.seq, block: positions[0] ?? 0 }),
    summary: summaryOf(session, entry.seq, positions) ?? firstLine(text, blocks),
    characters: text.length,
    lines: text === '' ? 0 : text.split('\n').length,
    tokens: positions.reduce((sum, position) => sum + (tokens[position] ?? 0), 0),
    media: mediaIn(blocks).length,
    ...(typeof list === 'string' ? {} : { items: { count: list.items.length, path: list.path } }),
    ...(keys.length === 0 ? {} : { keys }),
    canExpand: true,
  }
}

/** What a model said of it. */
function summaryOf(
  { journal }: ThreadEngine,
  seq: number,
  positions: readonly number[],
): string | undefined {
  for (const position of positions) {
    const edit = journal.state.blockEdit(seq, position)
    if (edit?.summary !== undefined) return edit.text?.slice(...edit.summary.at)
  }
  return undefined
}

function firstLine(text: string, blocks: readonly Block[]): string {
  const line = text.trimStart().split('\n', 1)[0]?.trim() ?? ''
  return line === ''
    ? mediaIn(blocks)
        .map(({ type }) => `[${type}]`)
        .join(' ')
    : head(line, summaryLength)
}

function keysOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.keys(value)
    .slice(0, maxKeys)
    .map((key) => head(key, 60))
}
