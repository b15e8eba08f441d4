// The checkpoint (document 003): when the conversation reaches its limit, everything before a boundary gives way to one summary.

import { overheadOf } from '../core/counter.ts'
import { Digest } from '../core/digest.ts'
import { isInRanges } from '../core/edit-index.ts'
import type { Edit } from '../core/entry.ts'
import type { Item } from '../core/item.ts'
import type { State } from '../core/state.ts'
import { isProtected, rangesOf, tokensOf, type Unit, unitsOf } from '../core/units.ts'
import type { Rule, RuleContext } from './rule.ts'

export interface CompactionSettings {
  /** Make a checkpoint by itself when the limit is reached. @default true */
  readonly auto?: boolean | undefined
  /** The model's context window in tokens. @default unknown */
  readonly contextWindow?: number | undefined
  /** Tokens of the window that are kept free for the answer. @default 16384 */
  readonly reserveTokens?: number | undefined
  /** The limit where the window is unknown; 0 = none. @default 8000 */
  readonly maxTokens?: number | undefined
  /** Where neither is known: the limit in messages; 0 = none. @default 50 */
  readonly maxMessages?: number | undefined
  /** Tokens of the newest messages that stay; at most half the limit; 0 = by number. @default 20000 */
  readonly keepRecentTokens?: number | undefined
  /** Messages that stay, where they are counted. @default 5 */
  readonly keepRecent?: number | undefined
}

/** The document's opening; what follows is ours. */
const opening = '[Previous conversation summary]'

export const compaction: Rule<CompactionSettings> = {
  name: 'compaction',
  propose(state, settings, context) {
    if (settings.auto === false) return []
    const limit = limitOf(settings)
    if (!isReached(state, settings, limit, context)) return []
    const reason = 'the conversation reached its limit'
    return checkpoint(state, settings, {
      limit: limit || Infinity,
      reason,
      planned: context.planned,
    })
  },
}

/** The limit in tokens: the window without its reserve, else the fixed one; 0 where there is none. */
export function limitOf(settings: CompactionSettings): number {
  const { contextWindow = 0, reserveTokens, maxTokens = 8000 } = settings
  // As the document has it: a reserve of 0 means its default.
  const room = contextWindow - (reserveTokens || 16_384)
  return room > 0 ? room : maxTokens
}

function isReached(
  state: State,
  { maxMessages = 50 }: CompactionSettings,
  limit: number,
  { frameTokens, planned }: RuleContext,
): boolean {
  const items = remaining(state, planned)
  if (limit === 0) return maxMessages > 0 && items.length >= maxMessages
  const weigh = weigher(state, planned)
  return items.reduce((sum, item) => sum + weigh(item), frameTokens) >= limit
}

/** Visible messages that no other rule drops in this pass. */
function remaining(state: State, planned: readonly Edit[]): readonly Item[] {
  const drops = planned.filter((edit) => !('seq' in edit.target))
  return state.visible.filter(({ entry }) => !drops.some((edit) => isInRanges(edit, entry.seq)))
}

/** Tokens of a message in the form that live and planned edits give it. */
function weigher(state: State, planned: readonly Edit[]): (item: Item) => number {
  const byBlock = new Map<string, number>()
  for (const { target, tokensAfter } of planned) {
    if ('seq' in target) byBlock.set(`${target.seq}:${target.block}`, tokensAfter)
  }
  return ({ entry, tokens }) =>
    tokens.reduce((sum, full, block) => {
      const live = state.blockEdit(entry.seq, block)?.tokensAfter
      return sum + (byBlock.get(`${entry.seq}:${block}`) ?? live ?? full)
    }, overheadOf(entry.role))
}

export interface CheckpointOptions {
  /** Tokens that the conversation may have; the newest half of it stays at most. */
  readonly limit: number
  readonly reason: string
  readonly planned: readonly Edit[]
}

/** The edit that puts a summary in the place of all but the newest units; none when nothing can give way. */
export function checkpoint(
  state: State,
  settings: CompactionSettings,
  { limit, reason, planned }: CheckpointOptions,
): readonly Edit[] {
  const units = unitsOf(state, remaining(state, planned))
  const folded = foldable(state, units, settings, { limit, weigh: weigher(state, planned) })
  if (folded.length === 0) return []
  const items = folded.flatMap((unit) => unit.items)
  const digest = Digest.from(state.checkpoint?.digest)
  for (const { entry } of items) digest.add(entry)
  const text = `${opening}\n\n${digest.text(false)}`
  const tokensBefore = tokensOf(items)
  const tokensAfter = overheadOf('user') + state.counter.count(text)
  if (tokensAfter >= tokensBefore) return []
  return [
    {
      rule: 'compaction',
      form: 'dropped',
      target: { ranges: rangesOf(state.visible, new Set(items.map(({ entry }) => entry.seq))) },
      text,
      digest: digest.data(),
      reason,
      tokensBefore,
      tokensAfter,
    },
  ]
}

/** The oldest units before the boundary. The first user message, which states the goal, stays, and so does what is protected. */
function foldable(
  state: State,
  units: readonly Unit[],
  { keepRecentTokens = 20_000, keepRecent = 5 }: CompactionSettings,
  { limit, weigh }: { readonly limit: number; readonly weigh: (item: Item) => number },
): readonly Unit[] {
  const keepTokens = Math.min(keepRecentTokens, Math.floor(limit / 2))
  let boundary = units.length
  let kept = 0
  while (boundary > 0) {
    const unit = units[boundary - 1] as Unit
    const size =
      keepRecentTokens > 0
        ? unit.items.reduce((sum, item) => sum + weigh(item), 0)
        : unit.items.length
    if (kept > 0 && kept + size > (keepRecentTokens > 0 ? keepTokens : keepRecent || 5)) break
    kept += size
    boundary -= 1
  }
  const goal = units.find((unit) => unit.isUser)
  const newestAssistant = units.findLast((unit) => unit.isAssistant)
  return units
    .slice(0, boundary)
    .filter(
      (unit) =>
        unit !== goal &&
        !(unit === newestAssistant && unit.isExchange) &&
        !isProtected(state, unit),
    )
}
