// Both tools by which a model looks things up, as one: a call says by its name which it means.

import { searchToolBeside, searchToolNames } from '../../core/state/expansion.ts'
import { windowOfModel } from '../../plan.ts'
import type { Policy } from '../../policy/schema.ts'
import type { ToolDefinition } from '../../providers/provider.ts'
import { readableBy } from '../../rules/compaction.ts'
import { injectedSearchTool, type Searchable, searchTool } from '../search/tool.ts'
import { type Expandable, expandTool, injectedTool } from './tool.ts'

/** A call to one of them. */
export interface LookupCall {
  readonly name: string
  readonly input: unknown
}

export interface LookupTool {
  /** Answers a call with the text for its result. Never throws on what a model may write. */
  handle(call: LookupCall): Promise<string>
}

export function lookupTool(thread: Expandable & Searchable): LookupTool {
  const expanding = expandTool(thread)
  const searching = searchTool(thread)
  const isSearch = (name: string): boolean => searchToolNames.some((one) => one === name)
  return {
    handle: ({ name, input }) => (isSearch(name) ? searching : expanding).handle(input),
  }
}

/** How much of what the model can read is used: counters and providers differ. */
const readableShare = 0.9
/** A few lines may always be read: a request that is nearly full is made smaller. */
const leastTokens = 1000

/** Tokens that the results of lookups may have beside a request with so many; infinite where nobody knows the window. */
export function lookupRoom({
  policy = {},
  model,
  usedTokens,
}: {
  readonly policy?: Policy
  readonly model: string | undefined
  readonly usedTokens: number
}): number {
  const readable = readableBy(policy.compaction ?? {}, windowOfModel(policy, model))
  return Math.max(leastTokens, Math.floor(readable * readableShare) - usedTokens)
}

/** The expand tool under this name and the search tool beside it, for a request whose system prompt does not introduce them. */
export function injectedTools(name: string): readonly ToolDefinition[] {
  return [injectedTool(name), injectedSearchTool(searchToolBeside(name))]
}
