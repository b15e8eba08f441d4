// Results that expire (document 001): after so many steps or turns they are removed or compacted, by tool, kind or default.

import { textOf } from '../core/block.ts'
import { head } from '../core/clip.ts'
import { type Clock, clockOf } from '../core/clock.ts'
import type { Edit, Expiry } from '../core/entry.ts'
import { placeholder } from '../core/placeholder.ts'
import { reduceResult } from '../core/reduction.ts'
import { type Result, resultsOf } from '../core/results.ts'
import type { State } from '../core/state.ts'
import type { Rule } from './rule.ts'

type Loose<T> = { readonly [K in keyof T]?: T[K] | null | undefined }
/** A setting as a policy has it. */
type ExpirySetting = Pick<Expiry, 'after' | 'mode'> & Loose<Omit<Expiry, 'after' | 'mode'>>

export interface ExpirySettings {
  /** By tool name, or by a pattern with `*`. */
  readonly tools?: Readonly<Record<string, ExpirySetting>> | undefined
  /** By a message's `kind`. */
  readonly kinds?: Readonly<Record<string, ExpirySetting>> | undefined
  readonly toolDefaults?: unknown
  /** Stands over every setting, field by field; null or absent leaves the field; mode `none` disables. */
  readonly override?: Loose<Expiry> | undefined
  /** Nothing expires. @default false */
  readonly disable?: boolean | undefined
  /** Whether an expired result can be expanded again. @default true */
  readonly preserveOriginals?: boolean | undefined
  readonly duplicates?: unknown
  readonly relevance?: unknown
}

/** Characters that a compacted result keeps when nothing is said. */
const defaultLength = 500

export const expiry: Rule<ExpirySettings> = {
  name: 'expiry',
  propose(state, settings) {
    if (settings.disable === true) return []
    const { preserveOriginals = true } = settings
    const results = resultsOf(state)
    const clock = clockOf(state)
    const byExchange = new Map<number, ExpirySetting | undefined>()
    for (const result of results) {
      const known = byExchange.get(result.exchange)
      byExchange.set(result.exchange, moreAggressive(known, settingOf(result, settings)))
    }
    return results.flatMap((result) => {
      const setting = byExchange.get(result.exchange)
      if (setting === undefined || result.isProtected) return []
      return expire(state, result, setting, { preserveOriginals, clock })
    })
  },
}

/** The setting of one result: override > the message's own > its tool's > its kind's. */
function settingOf({ item, tool }: Result, settings: ExpirySettings): ExpirySetting | undefined {
  const { tools = {}, kinds = {}, override } = settings
  const { entry } = item
  const own =
    entry.expiry ??
    byName(tools, tool) ??
    (entry.kind === undefined ? undefined : byName(kinds, entry.kind))
  if (override === undefined) return own
  if (override.mode === 'none') return undefined
  if (own === undefined) {
    if (override.after === undefined || override.after === null) return undefined
    return { ...present(override), after: override.after, mode: override.mode ?? 'remove' }
  }
  return { ...own, ...present(override) }
}

/** Fields that say something: null and absent ones leave the tool's own. */
function present(override: Loose<Expiry>): Partial<Expiry> {
  const entries = Object.entries(override).filter(
    ([, value]) => value !== null && value !== undefined,
  )
  return Object.fromEntries(entries) as Partial<Expiry>
}

/** The exact name, else the longest pattern that matches. Names compare trimmed and without case. */
function byName(
  settings: Readonly<Record<string, ExpirySetting>>,
  name: string,
): ExpirySetting | undefined {
  const wanted = name.trim().toLowerCase()
  let best: { readonly length: number; readonly setting: ExpirySetting } | undefined
  for (const [key, setting] of Object.entries(settings)) {
    const pattern = key.trim().toLowerCase()
    if (pattern === wanted) return setting
    if (!matches(pattern, wanted)) continue
    if (best === undefined || pattern.length > best.length)
      best = { length: pattern.length, setting }
  }
  return best?.setting
}

/** `*` stands for any text; everything else for itself. Linear: each part is looked for once, in order. */
function matches(pattern: string, name: string): boolean {
  if (!pattern.includes('*')) return false
  const parts = pattern.split('*')
  const [first = '', ...middle] = parts
  const last = middle.pop() ?? ''
  if (!name.startsWith(first) || !name.endsWith(last)) return false
  let from = first.length
  const end = name.length - last.length
  if (from > end) return false
  for (const part of middle) {
    const found = name.indexOf(part, from)
    if (found === -1 || found + part.length > end) return false
    from = found + part.length
  }
  return true
}

/** Of several results of one step the most aggressive setting holds: earliest, then remove, then the shortest. */
function moreAggressive(
  a: ExpirySetting | undefined,
  b: ExpirySetting | undefined,
): ExpirySetting | undefined {
  const isActive = (setting: ExpirySetting | undefined): setting is ExpirySetting =>
    setting !== undefined && setting.mode !== 'none' && setting.after !== null
  if (!isActive(b)) return isActive(a) ? a : undefined
  if (!isActive(a)) return b
  const order = (setting: ExpirySetting): readonly number[] => [
    setting.after ?? Infinity,
    setting.mode === 'remove' ? 0 : 1,
    setting.length ?? defaultLength,
  ]
  const [left, right] = [order(a), order(b)]
  const differs = left.findIndex((value, index) => value !== right[index])
  return differs === -1 || (left[differs] as number) < (right[differs] as number) ? a : b
}

function expire(
  state: State,
  result: Result,
  setting: ExpirySetting,
  { preserveOriginals, clock }: { readonly preserveOriginals: boolean; readonly clock: Clock },
): readonly Edit[] {
  const { item, block, content, tool } = result
  const { seq, turn, step } = item.entry
  const isByTurns = setting.unit === 'turns'
  const age = isByTurns ? state.turn - turn : state.step - step
  if (setting.after === null || age <= setting.after) return []
  const id = state.blockIdAt({ seq, block })
  const unit = isByTurns ? 'turn' : 'step'
  const reason = `older than ${setting.after} ${unit}${setting.after === 1 ? '' : 's'}`
  // It took effect in the first request that was too late for it, and not before the model had seen it.
  const began = isByTurns
    ? clock.turns.get(turn + setting.after + 1)
    : clock.steps.get(step + setting.after)
  const since = Math.max(began ?? 0, result.seenAt ?? 0)
  const final = preserveOriginals ? { since } : { since, isFinal: true }
  if (setting.mode === 'remove') {
    const text = placeholder({ ...content, tool, id, canExpand: preserveOriginals })
    return reduceResult(state, result, { rule: 'expiry', form: 'omitted', text, reason, ...final })
  }
  const handle = preserveOriginals ? id : undefined
  const text = firstCharacters(textOf(content.content), setting.length ?? defaultLength, handle)
  return reduceResult(state, result, { rule: 'expiry', form: 'clipped', text, reason, ...final })
}

/** The first characters and the document's notice, with the handle. Never splits a character. */
function firstCharacters(text: string, length: number, id: string | undefined): string {
  if (text.length <= length) return text
  const shown = head(text, length)
  const how =
    id === undefined ? 'The original was not kept.' : `Agent can request expansion if needed: ${id}`
  return `${shown}...\n\n[Compacted: showing first ${shown.length} of ${text.length} characters. ${how}]`
}
