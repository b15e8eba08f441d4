// Results that expire (document 001): after so many steps or turns they are removed or compacted, by tool, kind or default.

import { z } from 'zod'
import { type Block, type TextBlock, type ToolResultBlock, textOf } from '../core/log/block.ts'
import type { Edit, Expiry } from '../core/log/entry.ts'
import { type Result, resultsOf } from '../core/state/results.ts'
import { type Clock, clockOf, type Item, type State } from '../core/state/state.ts'
import { around, type SummaryRequest } from '../core/state/summary-request.ts'
import { beginningOf } from '../core/text/first-characters.ts'
import { placeholder } from '../core/text/placeholder.ts'
import { readableIn } from '../core/text/readable.ts'
import { isCurrent } from '../core/view/audience.ts'
import { type Reduction, reduceResult } from '../core/view/reduction.ts'
import { compactMessagePrompt, renderPrompt } from './compact-prompt.ts'
import { foldDuplicates } from './duplicates.ts'
import { lookupOf } from './name-lookup.ts'
import { expireIrrelevant } from './relevance.ts'
import { count, type Defaults, positive, type Rule, type RuleContext } from './rule.ts'

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
  /** Overrides every setting, field by field; null or absent leaves the field; mode `none` disables. @default nothing */
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

const defaults = { disable: false, preserveOriginals: true } as const satisfies Defaults
/** Characters that a compacted result keeps when its setting names no length. */
const lengthDefault = 500

const name = z.string().min(1)
const unit = z.enum(['steps', 'turns'])
const mode = z.enum(['none', 'remove', 'compact'])
const form = z.enum(['first-chars', 'summary'])
const share = z.number().min(0).max(1)

const settingSchema = z.strictObject({
  after: count.nullable(),
  unit: unit.optional(),
  mode,
  compact: form.optional(),
  length: positive.optional(),
  prompt: name.optional(),
})

const overrideSchema = z.strictObject({
  after: count.nullable().optional(),
  unit: unit.nullable().optional(),
  mode: mode.nullable().optional(),
  compact: form.nullable().optional(),
  length: positive.nullable().optional(),
  prompt: name.nullable().optional(),
})

export const expiry = {
  name: 'expiry',
  schema: z.strictObject({
    tools: z.record(name, settingSchema).optional(),
    kinds: z.record(name, settingSchema).optional(),
    toolDefaults: z.record(name, z.strictObject({ prompt: name.optional() })).optional(),
    override: overrideSchema.optional(),
    disable: z.boolean().optional(),
    preserveOriginals: z.boolean().optional(),
    duplicates: z.strictObject({ similarity: share.optional() }).optional(),
    relevance: z.strictObject({ threshold: share.optional() }).optional(),
  }),
  defaults,
  // A message may bring a setting of its own.
  isAlwaysAsked: true,
  propose(state, settings, context) {
    const { disable = defaults.disable, duplicates, relevance } = settings
    const { preserveOriginals = defaults.preserveOriginals } = settings
    if (disable || !hasSettings(state, settings)) return []
    const results = resultsOf(state)
    const work: Work = { state, settings, context, clock: clockOf(state) }
    const bySetting = settingsByExchange(results, settings)
    const edits = results.flatMap((result) => {
      const setting = bySetting.get(result.exchange)
      if (setting === undefined || result.isProtected) return []
      return expire(work, subjectOf(result), setting)
    })
    edits.push(...messagesIn(state).flatMap((subject) => expireMessage(work, subject)))
    if (duplicates !== undefined) {
      edits.push(...foldDuplicates(state, results, { ...duplicates, preserveOriginals }))
    }
    if (relevance !== undefined) {
      const judge = context.relevance
      for (const result of expireIrrelevant(state, results, { ...relevance, judge })) {
        const setting = bySetting.get(result.exchange) ?? { after: null, mode: 'compact' }
        edits.push(
          ...change(work, subjectOf(result), {
            setting,
            reason: result.reason,
            since: result.since,
          }),
        )
      }
    }
    return edits
  },
} satisfies Rule<ExpirySettings>

/** Whether anybody said when something expires: the policy, or a message. */
function hasSettings(state: State, settings: ExpirySettings): boolean {
  if (Object.values(settings).some((value) => value !== undefined)) return true
  return state.visible.some(({ entry }) => entry.expiry !== undefined)
}

interface Work {
  readonly state: State
  readonly settings: ExpirySettings
  readonly context: RuleContext
  readonly clock: Clock
}

/** What can expire: a result, or a text of a message that has a setting. */
interface Subject {
  readonly item: Item
  readonly block: number
  readonly content: ToolResultBlock | TextBlock
  readonly tool?: string
  /** From where on the model has seen it. */
  readonly seenAt: number
}

function subjectOf({ item, block, content, tool, seenAt = 0 }: Result): Subject {
  return { item, block, content, tool, seenAt }
}

/** The setting of each exchange: the most aggressive of its results. */
function settingsByExchange(
  results: readonly Result[],
  settings: ExpirySettings,
): ReadonlyMap<number, Expiry> {
  const found = new Map<number, Expiry>()
  for (const { item, tool, exchange } of results) {
    const { expiry: own, kind = 'tool-result' } = item.entry
    const setting = moreAggressive(found.get(exchange), settingFor({ own, tool, kind }, settings))
    if (setting !== undefined) found.set(exchange, setting)
  }
  return found
}

/** Messages of the user's side that are no results and that the host gave a tool, a kind or a setting of their own. */
function messagesIn(state: State): readonly Subject[] {
  const readable = readableIn(state)
  return state.visible.flatMap((item) => {
    const { seq, role, tool, kind, expiry: own } = item.entry
    const isNamed = tool !== undefined || kind !== undefined || own !== undefined
    if (role !== 'user' || !isNamed) return []
    if (seq === state.newestUser || state.isPinned(seq) || isCurrent(state, seq)) return []
    return readable(item.entry).flatMap(({ block: content, position: block }) =>
      isOwnText(content)
        ? [{ item, block, content, seenAt: 0, ...(tool === undefined ? {} : { tool }) }]
        : [],
    )
  })
}

function isOwnText(block: Block): block is TextBlock {
  return block.type === 'text' && block.plugin === undefined
}

function expireMessage(work: Work, subject: Subject): readonly Edit[] {
  const { tool, kind, expiry: own } = subject.item.entry
  const named = { own, kind, ...(tool === undefined ? {} : { tool }) }
  const setting = moreAggressive(undefined, settingFor(named, work.settings))
  return setting === undefined ? [] : expire(work, subject, setting)
}

function expire(work: Work, subject: Subject, setting: Expiry): readonly Edit[] {
  const { state, clock } = work
  const { turn, step } = subject.item.entry
  const isByTurns = setting.unit === 'turns'
  const age = isByTurns ? state.turn - turn : state.step - step
  if (setting.after === null || age <= setting.after) return []
  const unit = isByTurns ? 'turn' : 'step'
  const reason = `older than ${setting.after} ${unit}${setting.after === 1 ? '' : 's'}`
  // It took effect in the first request that was too late for it, and not before the model had seen it.
  const began = isByTurns
    ? clock.turns.get(turn + setting.after + 1)
    : clock.steps.get(step + setting.after)
  return change(work, subject, { setting, reason, since: Math.max(began ?? 0, subject.seenAt) })
}

interface Due {
  readonly setting: Expiry
  readonly reason: string
  readonly since: number
}

function change(work: Work, subject: Subject, due: Due): readonly Edit[] {
  const { state, settings } = work
  const { preserveOriginals = defaults.preserveOriginals } = settings
  const { seq } = subject.item.entry
  const common = {
    rule: 'expiry',
    since: due.since,
    ...(preserveOriginals ? {} : { isFinal: true }),
  }
  if (due.setting.mode === 'compact') return compact(work, subject, { ...due, common })
  const { content, tool } = subject
  if (content.type === 'text')
    return removeMessage(state, subject, { ...common, reason: due.reason })
  const id = state.blockIdAt({ seq, block: subject.block })
  const reduction = { ...common, form: 'omitted', reason: due.reason } as const
  if (isInForce(state, subject, reduction)) return []
  const text = placeholder({
    ...content,
    ...(tool === undefined ? {} : { tool }),
    id,
    canExpand: preserveOriginals,
  })
  return reduceResult(state, subject, { ...reduction, text })
}

/** A message that is no part of an exchange leaves whole: nothing needs it. */
function removeMessage(
  state: State,
  { item }: Subject,
  common: Pick<Edit, 'rule' | 'reason' | 'since' | 'isFinal'>,
): readonly Edit[] {
  const { seq } = item.entry
  if (state.isVetoed(seq, '*', 'dropped')) return []
  const tokensBefore = item.tokens.reduce((a, b) => a + b, 0)
  return [
    { ...common, form: 'dropped', target: { ranges: [[seq, seq]] }, tokensBefore, tokensAfter: 0 },
  ]
}

type Common = Pick<Reduction, 'rule' | 'since' | 'isFinal'>

function compact(
  work: Work,
  subject: Subject,
  { setting, reason, common }: Due & { common: Common },
): readonly Edit[] {
  const { state } = work
  const { seq } = subject.item.entry
  const length = setting.length ?? lengthDefault
  const isSummary = setting.compact === 'summary'
  const clipped = {
    ...common,
    form: 'clipped',
    reason: `${reason}: first ${length} characters`,
  } as const
  if (isInForce(state, subject, clipped)) return []
  const live = state.blockEdit(seq, subject.block)
  // A result is compacted once: what a model could not summarize then is not tried again at every step.
  if (isSummary && live?.rule === 'expiry') return []
  const original = textOfSubject(subject.content)
  const id = common.isFinal === true ? undefined : state.blockIdAt({ seq, block: subject.block })
  if (isSummary && original.length > length && !state.isVetoed(seq, subject.block, 'summarized')) {
    const answer = work.context.summaryOf(
      summaryRequestFor(work, subject, { setting, original, length }),
    )
    if (answer.state === 'waiting') return []
    if (answer.state === 'ready') {
      const how =
        id === undefined
          ? 'The original was not kept.'
          : `Agent can request full expansion if needed: ${id}`
      const before = `[AI Summary of ${original.length} chars. ${how}]\n\n`
      const summarized = { ...common, form: 'summarized', reason: `${reason}: summary` } as const
      const edits = reduceResult(state, subject, {
        ...summarized,
        ...around(answer, { before, after: '' }),
      })
      if (edits.length > 0) return edits
    }
  }
  const text = firstCharacters(subject.content, length, id)
  return text === undefined ? [] : reduceResult(state, subject, { ...clipped, text })
}

/** Whether the very edit is in force: each is made once, however many steps pass. */
function isInForce(
  state: State,
  { item, block }: Subject,
  { form, reason, isFinal = false }: Pick<Edit, 'form' | 'reason' | 'isFinal'>,
): boolean {
  const live = state.blockEdit(item.entry.seq, block)
  if (live?.rule !== 'expiry' || live.form !== form) return false
  return live.reason === reason && (live.isFinal ?? false) === isFinal
}

function summaryRequestFor(
  { settings, context }: Work,
  { item, content, tool }: Subject,
  { setting, original, length }: { setting: Expiry; original: string; length: number },
): SummaryRequest {
  const id = promptFor(tool, setting, settings)
  const { prompts = {} } = context
  const known = Object.hasOwn(prompts, id) ? prompts[id] : undefined
  const prompt = known ?? (id === 'compactMessagePrompt' ? compactMessagePrompt : undefined)
  const { kind = content.type === 'text' ? 'unknown' : 'tool-result', step } = item.entry
  const data = {
    originalContent: original,
    originalLength: original.length,
    targetLength: length,
    messageType: kind,
    turnAdded: step,
  }
  return {
    kind: content.type === 'text' ? 'message' : 'tool-result',
    source: content,
    text: original,
    about: `Type: ${kind}${tool === undefined ? '' : `; tool: ${tool.slice(0, 60)}`}`,
    prompt: renderPrompt(prompt?.template ?? '', data),
    targetChars: length,
    maxChars: original.length,
    // What is not smaller than the original, or many times longer than asked for, is no summary of it.
    ceilingChars: Math.min(original.length - 1, Math.max(4 * length, 2000)),
    isAlone: true,
    ...(prompt?.models === undefined ? {} : { models: prompt.models }),
    ...(prompt === undefined ? { fault: `no prompt has the id ${id.slice(0, 60)}` } : {}),
  }
}

function textOfSubject(content: Subject['content']): string {
  return content.type === 'text' ? content.text : textOf(content.content)
}

/** The first characters and the document's notice, with the handle. Undefined for what is short already and has no pictures. */
function firstCharacters(
  content: Subject['content'],
  length: number,
  id: string | undefined,
): string | undefined {
  const text = textOfSubject(content)
  const media = mediaIn(content)
  if (text.length <= length && media === '') return undefined
  const how =
    id === undefined ? 'The original was not kept.' : `Agent can request expansion if needed: ${id}`
  if (text.length <= length) return `${text}\n\n[Compacted:${media} ${how}]`
  const { text: shown, count, items } = beginningOf(text, length)
  const part = items === undefined ? '' : ` ${itemsShown(...items)}`
  return `${shown}...\n\n[Compacted: showing first ${count} of ${text.length} characters.${part}${media} ${how}]`
}

function itemsShown(shown: number, all: number): string {
  if (shown === 0) return `This is a part of the first of ${all} items.`
  return shown === 1 ? `This is 1 of ${all} items.` : `These are ${shown} of ${all} items.`
}

function mediaIn(content: Subject['content']): string {
  if (content.type === 'text' || typeof content.content === 'string') return ''
  const count = content.content.filter(({ type }) => type !== 'text').length
  return count === 0
    ? ''
    : ` ${count} picture${count === 1 ? '' : 's'} or other part${count === 1 ? '' : 's'} left out.`
}

/** What a setting is looked up by. */
interface Named {
  /** The message's own setting. */
  readonly own?: Expiry | undefined
  readonly tool?: string
  readonly kind?: string | undefined
}

const none: Readonly<Record<string, never>> = {}

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
function promptFor(
  tool: string | undefined,
  setting: Expiry,
  { toolDefaults = none }: ExpirySettings,
): string {
  const fallback = tool === undefined ? undefined : lookupOf(toolDefaults).find(tool)?.prompt
  return setting.prompt ?? fallback ?? 'compactMessagePrompt'
}

/** Of several results of one step the most aggressive setting holds: earliest, then remove, then the shortest. */
function moreAggressive(a: Expiry | undefined, b: Expiry | undefined): Expiry | undefined {
  const isActive = (setting: Expiry | undefined): setting is Expiry =>
    setting !== undefined && setting.mode !== 'none' && setting.after !== null
  if (!isActive(b)) return isActive(a) ? a : undefined
  if (!isActive(a)) return b
  const order = (setting: Expiry): readonly number[] => [
    setting.after ?? Infinity,
    setting.mode === 'remove' ? 0 : 1,
    setting.length ?? lengthDefault,
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
