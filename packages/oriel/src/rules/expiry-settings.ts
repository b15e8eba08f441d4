// Which setting of `expiry` holds for a result or a message.

import type { Expiry } from '../core/log/entry.ts'
import { lookupOf } from './name-lookup.ts'

type Loose<T> = { readonly [K in keyof T]?: T[K] | null | undefined }

export interface ExpirySettings {
  /** By tool name, or by a pattern with `*`. @default none */
  readonly tools?: Readonly<Record<string, Expiry>> | undefined
  /** By a message's `kind`, or by a pattern; a tool result without one is a 'tool-result'. @default none */
  readonly kinds?: Readonly<Record<string, Expiry>> | undefined
  /** By tool name or pattern: the prompt for its summaries, where its setting names none. @default none */
  readonly toolDefaults?:
    | Readonly<Record<string, { readonly prompt?: string | undefined }>>
    | undefined
  /** Stands over every setting, field by field; null or absent leaves the field; mode `none` disables. @default nothing */
  readonly override?: Loose<Expiry> | undefined
  /** Nothing expires. @default false */
  readonly disable?: boolean | undefined
  /** Whether an expired result can be expanded again. @default true */
  readonly preserveOriginals?: boolean | undefined
  /** Folds results that a newer one repeats into that one. @default off */
  readonly duplicates?: { readonly similarity?: number | undefined } | undefined
  /** Expires results that have nothing to do with what is said since. @default off */
  readonly relevance?: { readonly threshold?: number | undefined } | undefined
}

/** What a setting is looked up by. */
export interface Named {
  /** The message's own setting. */
  readonly own?: Expiry | undefined
  readonly tool?: string
  readonly kind?: string | undefined
}

const none: Readonly<Record<string, never>> = {}

/** Characters that a compacted result keeps when nothing is said. */
export const defaultLength = 500

/** The setting that holds: override > the message's own > its tool's > its kind's. Undefined where nothing can expire. */
export function settingFor(named: Named, settings: ExpirySettings): Expiry | undefined {
  const { tools = none, kinds = none, override } = settings
  const own =
    named.own ??
    (named.tool === undefined ? undefined : lookupOf(tools).find(named.tool)) ??
    (named.kind === undefined ? undefined : lookupOf(kinds).find(named.kind))
  if (override === undefined) return own
  if (override.mode === 'none') return undefined
  if (own === undefined) {
    if (override.after === undefined || override.after === null) return undefined
    return { ...present(override), after: override.after, mode: override.mode ?? 'remove' }
  }
  return { ...own, ...present(override) }
}

/** The id of the prompt that summarizes it: its setting's, else its tool's default, else the one for all. */
export function promptFor(
  tool: string | undefined,
  setting: Expiry,
  { toolDefaults = none }: ExpirySettings,
): string {
  const fallback = tool === undefined ? undefined : lookupOf(toolDefaults).find(tool)?.prompt
  return setting.prompt ?? fallback ?? 'compactMessagePrompt'
}

/** Of several results of one step the most aggressive setting holds: earliest, then remove, then the shortest. */
export function moreAggressive(a: Expiry | undefined, b: Expiry | undefined): Expiry | undefined {
  const isActive = (setting: Expiry | undefined): setting is Expiry =>
    setting !== undefined && setting.mode !== 'none' && setting.after !== null
  if (!isActive(b)) return isActive(a) ? a : undefined
  if (!isActive(a)) return b
  const order = (setting: Expiry): readonly number[] => [
    setting.after ?? Infinity,
    setting.mode === 'remove' ? 0 : 1,
    setting.length ?? defaultLength,
  ]
  const [left, right] = [order(a), order(b)]
  const differs = left.findIndex((value, index) => value !== right[index])
  return differs === -1 || (left[differs] as number) < (right[differs] as number) ? a : b
}

/** Fields that say something: null and absent ones leave the tool's own. */
function present(override: Loose<Expiry>): Partial<Expiry> {
  const entries = Object.entries(override).filter(
    ([, value]) => value !== null && value !== undefined,
  )
  return Object.fromEntries(entries) as Partial<Expiry>
}
