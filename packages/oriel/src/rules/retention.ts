// Blocks that fade (document 000): each block with a lifetime leaves when it is over. Assistant messages are never touched.

import type { Block, Lifetime, ToolResultBlock } from '../core/log/block.ts'
import type { Edit } from '../core/log/entry.ts'
import { equalJson } from '../core/log/json.ts'
import { choice, object, optional } from '../core/schema/schema.ts'
import { readableResult } from '../core/state/results.ts'
import type { Clock, Item, State } from '../core/state/state.ts'
import { placeholder } from '../core/text/placeholder.ts'
import { hasLifetime, isCurrent } from '../core/view/audience.ts'
import { omitResult, reduceResult } from '../core/view/reduction.ts'
import type { Rule } from './rule.ts'

export interface RetentionSettings {
  /** What a plugin's number counts. @default 'newer' */
  readonly unit?: 'newer' | 'turns' | 'steps' | undefined
}

export const retention = {
  name: 'retention',
  schema: object({ unit: optional(choice('newer', 'turns', 'steps')) }),
  defaults: { unit: 'newer' },
  // A lifetime is said with its block; nobody has to ask for it again.
  isAlwaysAsked: true,
  // Plugins read the unit when they give a lifetime; here each block has its own.
  propose(state, _settings: RetentionSettings) {
    if (!state.hasLifetimes) return []
    const fading = state.visible.filter(
      ({ entry }) => entry.role !== 'assistant' && entry.blocks.some(hasLifetime),
    )
    if (fading.length === 0) return []
    const around = { clock: state.clock, seen: seenCounting(state) }
    return fading.flatMap((item) => {
      if (isCurrent(state, item.entry.seq) || state.isPinned(item.entry.seq)) return []
      return item.entry.blocks.flatMap((block, position) =>
        fade(state, item, { block, position, ...around }),
      )
    })
  },
} satisfies Rule<RetentionSettings>

interface Fading {
  readonly block: Block
  readonly position: number
  readonly clock: Clock
  /** The seq of the assistant message that answered each message that ages others, by its ordinal. */
  readonly seen: ReadonlyMap<number, number>
}

function fade(state: State, item: Item, fading: Fading): readonly Edit[] {
  const { entry, tokens } = item
  const { block, position } = fading
  const { lifetime } = block
  // What the user said is verbatim; what a plugin added to it was never meant to stay.
  if (entry.seq === state.newestUser && block.plugin === undefined) return []
  if (lifetime === undefined || !isOver(state, item, lifetime))
    return fadeInside(state, item, fading)
  const common = {
    rule: 'retention',
    reason: reasonOf(lifetime),
    since: sinceOf(item, lifetime, fading),
  }
  if (block.type === 'tool-result') return omit(state, { item, position, block }, common)
  if (state.isVetoed(entry.seq, position, 'dropped')) return []
  if (state.blockEdit(entry.seq, position)?.form === 'dropped') return []
  const target = { seq: entry.seq, block: position }
  const tokensBefore = tokens[position] as number
  return [{ ...common, form: 'dropped', target, tokensBefore, tokensAfter: 0 }]
}

type Common = Pick<Edit, 'rule' | 'reason' | 'since'>

interface FadingResult {
  readonly item: Item
  readonly position: number
  readonly block: ToolResultBlock
}

/** A call needs its result: what fades there leaves a placeholder. */
function omit(
  state: State,
  { item, position, block }: FadingResult,
  common: Common,
): readonly Edit[] {
  const { entry } = item
  if (state.blockEdit(entry.seq, position)?.form === 'omitted') return []
  const content = readableResult(state, entry, { content: block, block: position })
  const canExpand = !state.isFinal(entry.seq, position)
  const id = state.blockIdAt({ seq: entry.seq, block: position })
  const text = placeholder({ ...content, id, canExpand })
  return omitResult(state, { item, block: position, content }, { ...common, text })
}

/** Blocks inside a result whose lifetime is over: the others stay, and a line says what left. */
function fadeInside(state: State, item: Item, fading: Fading): readonly Edit[] {
  const { block, position } = fading
  const { seq } = item.entry
  if (block.type !== 'tool-result' || state.isFinal(seq, position)) return []
  const { content } = readableResult(state, item.entry, { content: block, block: position })
  if (typeof content === 'string') return []
  const over = content.flatMap(({ lifetime }, index) =>
    lifetime !== undefined && isOver(state, item, lifetime) ? [{ index, lifetime }] : [],
  )
  const [first] = over
  if (first === undefined) return []
  const newest = over.map(({ lifetime }) => sinceOf(item, lifetime, fading))
  const common = {
    rule: 'retention',
    reason: reasonOf(first.lifetime),
    since: Math.max(...newest),
  }
  const gone = new Set(over.map(({ index }) => index))
  const keeps = content.flatMap((_, index) => (gone.has(index) ? [] : [index]))
  if (keeps.length === 0) return omit(state, { item, position, block }, common)
  const live = state.blockEdit(seq, position)
  if (live?.rule === 'retention' && equalJson(live.keeps ?? [], keeps)) return []
  const what = `${gone.size} ${gone.size === 1 ? 'part' : 'parts'}`
  const line = `[${what} left out; expand ${state.blockIdAt({ seq, block: position })}]`
  const target = { item, block: position, content: { ...block, content } }
  const reduction = { ...common, form: 'clipped', keeps } as const
  const edits = reduceResult(state, target, { ...reduction, text: line })
  // A part that is shorter than the line leaves without one.
  return edits.length > 0 ? edits : reduceResult(state, target, { ...reduction, text: '' })
}

/** Ages count from the newest message that the model has answered: the one it is being shown now does not count yet. */
function isOver(state: State, { entry, ordinal = 0 }: Item, lifetime: Lifetime): boolean {
  if ('newer' in lifetime) return state.answeredOrdinal - ordinal >= lifetime.newer
  if ('turns' in lifetime) return state.turn - entry.turn > lifetime.turns
  return state.step - entry.step > lifetime.steps
}

/** It took effect in the first request that was too late for it. */
function sinceOf(
  { entry, ordinal = 0 }: Item,
  lifetime: Lifetime,
  { clock, seen }: Fading,
): number {
  if ('newer' in lifetime) return seen.get(ordinal + lifetime.newer) ?? 0
  if ('turns' in lifetime) return clock.turns.get(entry.turn + lifetime.turns + 1) ?? 0
  return clock.steps.get(entry.step + lifetime.steps) ?? 0
}

function seenCounting(state: State): ReadonlyMap<number, number> {
  const seen = new Map<number, number>()
  let next: number | undefined
  for (const { entry, ordinal } of [...state.visible].reverse()) {
    if (entry.role === 'assistant') next = entry.seq
    else if (ordinal !== undefined && next !== undefined) seen.set(ordinal, next)
  }
  return seen
}

function reasonOf(lifetime: Lifetime): string {
  if ('newer' in lifetime) return `its lifetime of ${lifetime.newer} newer messages is over`
  if ('turns' in lifetime) return `its lifetime of ${lifetime.turns} turns is over`
  return `its lifetime of ${lifetime.steps} steps is over`
}
