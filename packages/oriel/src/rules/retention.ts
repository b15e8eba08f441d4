// Blocks that fade (document 000): each block with a lifetime leaves when it is over. Assistant messages are never touched.

import type { Block, Lifetime } from '../core/block.ts'
import { countBlock } from '../core/counter.ts'
import type { Edit } from '../core/entry.ts'
import type { Item } from '../core/item.ts'
import { placeholder } from '../core/placeholder.ts'
import { reduce } from '../core/render.ts'
import type { State } from '../core/state.ts'
import type { Rule } from './rule.ts'

export interface RetentionSettings {
  /** What a plugin's number counts. @default 'newer' */
  readonly unit?: 'newer' | 'turns' | 'steps' | undefined
}

export const retention: Rule<RetentionSettings> = {
  name: 'retention',
  propose(state) {
    const bearing = state.visible.filter(isBearing)
    return bearing.flatMap((item, index) => {
      const newer = countNewer(state, bearing, index)
      return item.entry.blocks.flatMap((block, position) =>
        fade(state, item, { block, position, newer }),
      )
    })
  },
}

function isBearing({ entry }: Item): boolean {
  return entry.role !== 'assistant' && entry.blocks.some((block) => block.lifetime !== undefined)
}

/** Newer messages that bear lifetimes; the one that is being shown for the first time is not counted yet. */
function countNewer(state: State, bearing: readonly Item[], index: number): number {
  const newest = bearing[bearing.length - 1] as Item
  const isShownNow = newest.entry.seq > (state.newestAssistant ?? 0)
  return Math.max(0, bearing.length - 1 - index - (isShownNow ? 1 : 0))
}

interface Fading {
  readonly block: Block
  readonly position: number
  readonly newer: number
}

function fade(state: State, item: Item, { block, position, newer }: Fading): readonly Edit[] {
  const { entry, tokens } = item
  const { lifetime } = block
  if (lifetime === undefined || !isOver(state, item, lifetime, newer)) return []
  if (entry.seq === state.newestUser || state.isPinned(entry.seq)) return []
  const target = { seq: entry.seq, block: position }
  const tokensBefore = tokens[position] as number
  const common = { rule: 'retention', target, reason: reasonOf(lifetime), tokensBefore }
  if (block.type !== 'tool-result') {
    if (state.isVetoed(entry.seq, position, 'dropped')) return []
    return [{ ...common, form: 'dropped', tokensAfter: 0 }]
  }
  // A call needs its result: what fades there leaves a placeholder.
  if (state.isVetoed(entry.seq, position, 'omitted')) return []
  const id = state.blockIdAt({ seq: entry.seq, block: position })
  const text = placeholder({ ...block, id })
  const shown = reduce(block, { form: 'omitted', text })
  const tokensAfter = shown === undefined ? 0 : countBlock(state.counter, shown)
  return tokensAfter < tokensBefore ? [{ ...common, form: 'omitted', text, tokensAfter }] : []
}

function isOver(state: State, { entry }: Item, lifetime: Lifetime, newer: number): boolean {
  if ('newer' in lifetime) return newer >= lifetime.newer
  if ('turns' in lifetime) return state.turn - entry.turn > lifetime.turns
  return state.step - entry.step > lifetime.steps
}

function reasonOf(lifetime: Lifetime): string {
  if ('newer' in lifetime) return `its lifetime of ${lifetime.newer} newer messages is over`
  if ('turns' in lifetime) return `its lifetime of ${lifetime.turns} turns is over`
  return `its lifetime of ${lifetime.steps} steps is over`
}
