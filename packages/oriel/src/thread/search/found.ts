// What a search has found, before what stands around it is looked up.

import type { MessageEntry } from '../../core/log/entry.ts'
import type { Place } from '../../core/search/passages.ts'
import type { ThreadSearchResult } from './search.ts'

export type Found = Omit<ThreadSearchResult, 'marks' | 'previous' | 'next'> & {
  readonly place: Place
}

export function toolOf(entry: MessageEntry): string | undefined {
  if (entry.tool !== undefined) return entry.tool
  const result = entry.blocks.find(({ type }) => type === 'tool-result')
  return result?.type === 'tool-result' ? result.name : undefined
}

/** The tools that a message has results or calls of. */
export function namesOf(entry: MessageEntry): readonly string[] {
  const called = entry.blocks.flatMap((block) =>
    block.type === 'tool-call' || block.type === 'tool-result' ? (block.name ?? []) : [],
  )
  return entry.tool === undefined ? called : [entry.tool, ...called]
}
