// Expansions: originals shown again in place for a few steps, after which the previous form
// returns.

import type { Edit, MessageEntry } from '../log/entry.ts'
import { waitsFrom } from './reasoning.ts'
import type { State } from './state.ts'

/** Names of the expand tool. The second is used if another tool already has the first. */
export const expandToolNames = ['expand_message', 'oriel_expand_message'] as const

/** Names of the tool that finds what was left out, in the same order: a request carries both under names of one place. */
export const searchToolNames = ['search_conversation', 'oriel_search_conversation'] as const

/** Whether results of a tool are originals that the model asked for. */
export function isLookupTool(name: string): boolean {
  return [...expandToolNames, ...searchToolNames].some((one) => one === name)
}

/** The name of the search tool beside an expand tool of this name. */
export function searchToolBeside(expandTool: string): string {
  return expandTool === expandToolNames[0] ? searchToolNames[0] : searchToolNames[1]
}

/** Whether a call is to the expand tool of this name or to the search tool beside it. */
export function isLookupOf(expandTool: string, called: unknown): boolean {
  return called === expandTool || called === searchToolBeside(expandTool)
}

/** Tools are the same objects in most requests. */
const offers = new WeakMap<object, boolean>()

/** Whether a request carries the expand tool; undefined where nobody said what stands around its messages. */
export function carriesExpandTool(
  frame: { readonly tools?: unknown } | undefined,
): boolean | undefined {
  return frame === undefined ? undefined : offersExpansion(frame.tools)
}

/** The name of the search tool in the tools of a request, in any provider's shape; undefined where it is not there. */
export function searchToolIn(frame: { readonly tools?: unknown } | undefined): string | undefined {
  const tools = frame?.tools
  if (typeof tools !== 'object' || tools === null) return undefined
  const known = searches.get(tools)
  if (known !== undefined) return known === '' ? undefined : known
  const text = JSON.stringify(tools)
  const found = searchToolNames.findLast((name) => text.includes(`"${name}"`))
  searches.set(tools, found ?? '')
  return found
}

const searches = new WeakMap<object, string>()

/** Whether the tools of a request, in any provider's shape, have the expand tool, also behind an MCP prefix. */
function offersExpansion(tools: unknown): boolean {
  if (typeof tools !== 'object' || tools === null) return false
  const known = offers.get(tools)
  if (known !== undefined) return known
  const found = JSON.stringify(tools).includes(`${expandToolNames[0]}"`)
  offers.set(tools, found)
  return found
}

/** An expanded block. */
export interface ExpandedBlock {
  /** The last step whose request shows the original. */
  readonly until: number
  /** The excerpt that is shown; absent for the whole original. */
  readonly text?: string
  /** Log length when the expansion was requested. */
  readonly since: number
}

/** Looks up the active expansion of a block. */
export type Expansions = (seq: number, block: number) => ExpandedBlock | undefined

/**
 * Returns the active expansions. An expansion that would end inside an open tool loop with signed
 * reasoning lasts until the loop ends, because its end would change the prefix of that reasoning.
 */
export function expansionsOf(state: State): Expansions {
  if (!state.hasExpansions) return () => undefined
  const waits = waitsFrom(state)
  const step = waits === Infinity ? state.step : (state.item(waits)?.entry.step ?? state.step)
  return (seq, block) => {
    const found = state.expansion(seq, block)
    return found !== undefined && found.until >= step ? found : undefined
  }
}

/** True for messages with an active expansion. They must not be dropped meanwhile. */
export function shownAgainIn(state: State): (message: MessageEntry) => boolean {
  const expansionOf = expansionsOf(state)
  return ({ seq, blocks }) => blocks.some((_, block) => expansionOf(seq, block) !== undefined)
}

/**
 * Represents an excerpt as an edit for the trace. Undefined for the whole original, which has full
 * form.
 */
export function asEdit(
  { text }: ExpandedBlock,
  target: { readonly seq: number; readonly block: number },
): Edit | undefined {
  if (text === undefined) return undefined
  const reason = 'a part was asked for again'
  return { rule: 'expand', form: 'clipped', target, text, reason, tokensBefore: 0, tokensAfter: 0 }
}
