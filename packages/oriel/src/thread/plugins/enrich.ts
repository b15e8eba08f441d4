// A message with what plugins add to it, in two renditions: what the model sees now, and what stays, each block with its lifetime.

import type { Audience, Block, Lifetime } from '../../core/log/block.ts'
import type { Draft } from '../../core/log/entry.ts'
import { wrongOption } from '../../core/log/errors.ts'
import { assertOptions } from '../../core/log/options.ts'
import { decodeNeutral } from '../../providers/neutral/index.ts'
import {
  type Added,
  type Addition,
  askForMessage,
  type BlockMessage,
  checkPlugins,
  contentOf,
  type Plugin,
} from './plugin.ts'

/** What a plugin's number counts. */
export type RetentionUnit = 'newer' | 'turns' | 'steps'
const units: readonly unknown[] = ['newer', 'turns', 'steps']

export interface EnrichOptions {
  /** What a plugin's number counts. @default 'newer' */
  readonly unit?: RetentionUnit
  /** Told when a plugin failed: its name, and why. @default nobody */
  readonly onFailure?: (plugin: string, reason: string) => void
  /** What plugins are told about the conversation. @default the first step of the first turn */
  readonly context?: { readonly thread?: string; readonly turn: number; readonly step: number }
}

export interface Enriched {
  /** What the model sees in the request that is made now. */
  readonly display: BlockMessage
  /** What stays in the history, each added block with its lifetime. */
  readonly persistent: BlockMessage
}

/** Both renditions of a message: as it is shown now, and as history keeps it. The message's own blocks come first and stay for ever; nothing is shared with the input. */
export async function enrich(
  message: Draft,
  plugins: readonly Plugin[],
  options: EnrichOptions = {},
): Promise<Enriched> {
  checkPlugins(plugins)
  assertOptions(options, { unit: true, onFailure: true, context: true }, 'enrich')
  const { unit = 'newer', onFailure = () => {}, context = { turn: 1, step: 1 } } = options
  assertOptions(context, { thread: true, turn: true, step: true }, 'enrich', 'context')
  if (!units.includes(unit)) throw wrongOption('unit', `one of ${units.join(', ')}`)
  decodeNeutral([message], 'message')
  const own = structuredClone(contentOf(message))
  const added = await askForMessage(message, plugins, { context, onFailure })
  const shown = added.flatMap((one) =>
    group(one, { isIn: ({ isDisplayed }) => isDisplayed }).map(({ block }) => block),
  )
  const kept = added.flatMap((one) =>
    group(one, { isIn: isSaved }).map(({ block, saved }) => withLifetime(block, saved, unit)),
  )
  return {
    display: { ...message, content: [...own, ...shown] },
    persistent: { ...message, content: [...own, ...kept] },
  }
}

/**
 * Everything that plugins add, as the log keeps it: what stays, then what is shown only now, which a view renders at its tail. Both
 * renditions can be read off it, so what was shown is recorded with what was said.
 */
export function loggedBlocks(added: readonly Added[], unit: RetentionUnit): readonly Block[] {
  const kept = added.flatMap((one) => {
    const isShown = one.additions.some((addition) => isSaved(addition) && addition.isDisplayed)
    return group(one, { isIn: isSaved }).map(({ block, saved, addition }) =>
      marked(withLifetime(block, saved, unit), one.plugin, {
        ...((addition?.isDisplayed ?? isShown) ? {} : { now: false }),
      }),
    )
  })
  const onlyNow = added.flatMap((one) =>
    group(one, { isIn: (addition) => addition.isDisplayed && !isSaved(addition) }).map(
      ({ block }) => marked(block, one.plugin, { later: false }),
    ),
  )
  return [...kept, ...onlyNow]
}

interface Piece {
  readonly block: Block
  readonly saved: boolean | number
  /** Absent for the header. */
  readonly addition?: Addition
}

/** The header, and each addition with its spacing. Nothing when none is in. */
function group(
  { plugin, additions }: Added,
  { isIn }: { readonly isIn: (addition: Addition) => boolean },
): readonly Piece[] {
  const chosen = additions.filter(isIn)
  if (chosen.length === 0) return []
  const header = `\n### PLUGIN ${plugin.label ?? plugin.name} CONTEXT ###\n`
  return [
    { block: { type: 'text', text: header }, saved: longest(chosen) },
    ...chosen.flatMap((addition) =>
      [...addition.content, { type: 'text', text: '\n' } as const].map(
        (block): Piece => ({ block, saved: addition.saved, addition }),
      ),
    ),
  ]
}

/** A header stays as long as the longest addition below it. */
function longest(additions: readonly Addition[]): boolean | number {
  if (additions.some(({ saved }) => saved === true)) return true
  return Math.max(...additions.map(({ saved }) => Number(saved)))
}

function isSaved({ saved }: Addition): boolean {
  return saved !== false
}

function withLifetime(block: Block, saved: boolean | number, unit: RetentionUnit): Block {
  if (typeof saved !== 'number') return block
  return { ...block, lifetime: lifetimeOf(saved, unit) }
}

function lifetimeOf(count: number, unit: RetentionUnit): Lifetime {
  if (unit === 'turns') return { turns: count }
  return unit === 'steps' ? { steps: count } : { newer: count }
}

/** People did not write it and need not read it. */
function marked(block: Block, { name }: Plugin, audience: Audience): Block {
  return { ...block, plugin: name, audience: { ...audience, person: false } }
}
