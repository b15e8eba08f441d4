// Results that expire (document 001): after so many steps or turns they are removed or compacted, by tool, kind or default.

import {
  type Block,
  type FileBlock,
  type ImageBlock,
  type TextBlock,
  textOf,
} from '../core/log/block.ts'
import type { Edit, Expiry } from '../core/log/entry.ts'
import {
  boolean,
  choice,
  count,
  nullable,
  object,
  optional,
  positive,
  record,
  share,
  text,
} from '../core/schema/schema.ts'
import { type Result, resultsOf } from '../core/state/results.ts'
import { settledBy } from '../core/state/settled.ts'
import type { Clock, Item, State } from '../core/state/state.ts'
import { around, type SummaryRequest } from '../core/state/summary-request.ts'
import { beginningOf } from '../core/text/first-characters.ts'
import { placeholder } from '../core/text/placeholder.ts'
import { readableIn } from '../core/text/readable.ts'
import { isCurrent } from '../core/view/audience.ts'
import {
  omitResult,
  type Reduction,
  type ReductionTarget,
  reduceResult,
} from '../core/view/reduction.ts'
import { compactMessagePrompt, renderPrompt } from './compact-prompt.ts'
import { foldDuplicates } from './duplicates.ts'
import { lookupOf } from './name-lookup.ts'
import { expireIrrelevant, type RelevanceSettings } from './relevance.ts'
import type { Defaults, Rule, RuleContext } from './rule.ts'

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
  readonly relevance?: Omit<RelevanceSettings, 'judge'> | undefined
}

/** How a result that has nothing to do with what is said since expires, where no setting says it. */
const irrelevantDefault: Expiry = { after: null, mode: 'compact' }
/** An override of one view, over the settings in force: of each field, and of two of the settings' own. */
export type ExpiryOverride = Loose<Expiry> &
  Loose<Pick<ExpirySettings, 'disable' | 'preserveOriginals'>>

/** Settings with an override over their own. Null and absent fields leave what was there. */
export function withOverride(
  settings: ExpirySettings = {},
  override: ExpiryOverride,
): ExpirySettings {
  const { disable, preserveOriginals, ...fields } = override
  return {
    ...settings,
    override: { ...settings.override, ...present(fields) },
    ...(disable == null ? {} : { disable }),
    ...(preserveOriginals == null ? {} : { preserveOriginals }),
  }
}

const defaults = { disable: false, preserveOriginals: true } as const satisfies Defaults
/** Characters that a compacted result keeps when its setting names no length. */
const lengthDefault = 500

const unit = choice('steps', 'turns')
const mode = choice('none', 'remove', 'compact')
const form = choice('first-chars', 'summary')

const settingSchema = object({
  after: nullable(count),
  unit: optional(unit),
  mode,
  compact: optional(form),
  length: optional(positive),
  prompt: optional(text),
})

const overrideSchema = object({
  after: optional(nullable(count)),
  unit: optional(nullable(unit)),
  mode: optional(nullable(mode)),
  compact: optional(nullable(form)),
  length: optional(nullable(positive)),
  prompt: optional(nullable(text)),
})

export const expiry = {
  name: 'expiry',
  schema: object({
    tools: optional(record(settingSchema)),
    kinds: optional(record(settingSchema)),
    toolDefaults: optional(record(object({ prompt: optional(text) }))),
    override: optional(overrideSchema),
    disable: optional(boolean),
    preserveOriginals: optional(boolean),
    duplicates: optional(object({ similarity: optional(share) })),
    relevance: optional(
      object({
        threshold: optional(share),
        tools: optional(record(object({ threshold: optional(share) }))),
      }),
    ),
  }),
  defaults,
  // A message may bring a setting of its own.
  isAlwaysAsked: true,
  propose(state, settings, context) {
    const { disable = defaults.disable, duplicates, relevance } = settings
    const { preserveOriginals = defaults.preserveOriginals } = settings
    if (disable || !hasSettings(state, settings)) return []
    // Which result repeats another, and which one is relevant, is asked of all of them.
    const isByAge = duplicates === undefined && relevance === undefined
    const settled = isByAge ? settledBy(state, 'expiry', settings) : undefined
    const results = resultsOf(state, [], settled?.upTo(state))
    const work: Work = { state, settings, context, clock: state.clock }
    const bySetting = settingsByMessage(results, settings)
    const settingsFor = ({ item }: Result): readonly Expiry[] => bySetting.get(item.entry.seq) ?? []
    const quiet = new Set<Result>()
    const edits = results.flatMap((result) => {
      const own = result.isProtected ? [] : expire(work, subjectOf(result), settingsFor(result))
      if (own.length === 0) quiet.add(result)
      return own
    })
    settled?.pass(
      results,
      (result) => quiet.has(result) && isDone(work, result, settingsFor(result)),
    )
    edits.push(...messagesIn(state).flatMap((message) => expireMessage(work, message)))
    if (duplicates !== undefined) {
      edits.push(
        ...foldDuplicates(state, results, {
          ...duplicates,
          preserveOriginals,
          compare: context.similarity,
        }),
      )
    }
    if (relevance !== undefined) {
      const judge = context.relevance
      for (const result of expireIrrelevant(state, results, { ...relevance, judge })) {
        const due = firstDue(work, subjectOf(result), settingsFor(result))
        // It had expired before.
        if (due !== undefined && due.since <= result.since) continue
        const [setting = irrelevantDefault] = settingsFor(result)
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
  return state.hasOwnSettings && state.visible.some(({ entry }) => entry.expiry !== undefined)
}

/**
 * Whether nothing more will happen to a result for which no edit is proposed: it never expires, or it has expired and its form is in force,
 * or no form is shorter than it. A summary may still come.
 */
function isDone({ state, ...work }: Work, result: Result, settings: readonly Expiry[]): boolean {
  if (result.isProtected) return false
  if (settings.length === 0) return true
  const due = firstDue({ state, ...work }, subjectOf(result), settings)
  if (due === undefined) return false
  const { mode: how, compact: form } = due.setting
  const mayCome = how === 'compact' && form === 'summary'
  return !mayCome || state.blockEdit(result.item.entry.seq, result.block)?.rule === 'expiry'
}

interface Work {
  readonly state: State
  readonly settings: ExpirySettings
  readonly context: RuleContext
  readonly clock: Clock
}

/** What can expire: a result, or a block of a message that has a setting. */
interface Subject {
  readonly item: Item
  readonly block: number
  readonly content: ReductionTarget['content']
  readonly tool?: string
  /** The model call after which it came. */
  readonly addedAt: number
  /** From where on the model has seen it. */
  readonly seenAt: number
}

function subjectOf({ item, block, content, tool, seenAt = 0 }: Result): Subject {
  return { item, block, content, tool, addedAt: item.entry.step, seenAt }
}

/** The settings of each message with results: of those that it holds, the most aggressive, in each unit. */
function settingsByMessage(
  results: readonly Result[],
  settings: ExpirySettings,
): ReadonlyMap<number, readonly Expiry[]> {
  const found = new Map<number, readonly Expiry[]>()
  for (const { item, tool } of results) {
    const { seq, expiry: own, kind = 'tool-result' } = item.entry
    const setting = settingFor({ own, tool, kind }, settings)
    const others = found.get(seq) ?? []
    if (isActive(setting)) found.set(seq, withSetting(others, setting))
  }
  return found
}

/** Ages in different units cannot be compared beforehand: one setting of each stays. */
function withSetting(others: readonly Expiry[], setting: Expiry): readonly Expiry[] {
  const isSameUnit = (other: Expiry): boolean => unitOf(other) === unitOf(setting)
  const known = others.find(isSameUnit)
  const chosen = known === undefined ? setting : moreAggressive(known, setting)
  return [...others.filter((other) => !isSameUnit(other)), chosen]
}

function unitOf({ unit = 'steps' }: Expiry): 'steps' | 'turns' {
  return unit
}

interface NamedMessage {
  readonly item: Item
  readonly blocks: readonly Subject[]
}

/** Messages of the user's side that are no results and that the host gave a tool, a kind or a setting of their own. */
function messagesIn(state: State): readonly NamedMessage[] {
  if (!state.hasOwnSettings) return []
  const readable = readableIn(state)
  return state.visible.flatMap((item) => {
    const { seq, role, step, tool, kind, expiry: own } = item.entry
    const isNamed = tool !== undefined || kind !== undefined || own !== undefined
    if (role !== 'user' || !isNamed) return []
    if (seq === state.newestUser || state.isPinned(seq) || isCurrent(state, seq)) return []
    const blocks = readable(item.entry).flatMap(
      ({ block: content, position: block }): Subject[] => {
        if (!isOwnContent(content)) return []
        const named = tool === undefined ? {} : { tool }
        return [{ item, block, content, addedAt: step - 1, seenAt: 0, ...named }]
      },
    )
    return blocks.length === 0 ? [] : [{ item, blocks }]
  })
}

function isOwnContent(block: Block): block is TextBlock | ImageBlock | FileBlock {
  if (block.plugin !== undefined) return false
  return block.type === 'text' || block.type === 'image' || block.type === 'file'
}

/** A message that is removed leaves once, whatever it holds; one that is compacted, block by block. */
function expireMessage(work: Work, { item, blocks }: NamedMessage): readonly Edit[] {
  const { tool, kind, expiry: own } = item.entry
  const named = { own, kind, ...(tool === undefined ? {} : { tool }) }
  const setting = settingFor(named, work.settings)
  if (!isActive(setting)) return []
  // It came after a model call, as a result comes after the one that asked for it; the next call is the first that sees it.
  const seenAt = work.clock.steps.get(item.entry.step) ?? 0
  const subjects = setting.mode === 'remove' ? blocks.slice(0, 1) : blocks
  return subjects.flatMap((subject) => expire(work, { ...subject, seenAt }, [setting]))
}

function expire(work: Work, subject: Subject, settings: readonly Expiry[]): readonly Edit[] {
  const due = firstDue(work, subject, settings)
  return due === undefined ? [] : change(work, subject, due)
}

function firstDue(work: Work, subject: Subject, settings: readonly Expiry[]): Due | undefined {
  const dues = settings.flatMap((setting) => dueOf(work, subject, setting))
  return dues.sort((a, b) => a.since - b.since || byAggression(a.setting, b.setting))[0]
}

/** What falls due by a setting, and since when: from the first request that was too late for it, once the model had seen it. */
function dueOf(
  { state, clock }: Work,
  { item, addedAt, seenAt }: Subject,
  setting: Expiry,
): readonly Due[] {
  const { turn } = item.entry
  const isByTurns = unitOf(setting) === 'turns'
  const age = isByTurns ? state.turn - turn : state.step - addedAt
  if (setting.after === null || age <= setting.after) return []
  const unit = isByTurns ? 'turn' : 'step'
  const reason = `older than ${setting.after} ${unit}${setting.after === 1 ? '' : 's'}`
  const began = isByTurns
    ? clock.turns.get(turn + setting.after + 1)
    : clock.steps.get(addedAt + setting.after)
  return [{ setting, reason, since: Math.max(began ?? 0, seenAt) }]
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
  if (content.type !== 'tool-result')
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
  return omitResult(state, subject, { ...reduction, text })
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
  const { kind = content.type === 'tool-result' ? 'tool-result' : 'unknown', step } = item.entry
  const data = {
    originalLength: original.length,
    targetLength: length,
    messageType: kind,
  }
  const template = prompt?.template ?? ''
  // The same content has the same summary, whenever it came.
  const promptKey = renderPrompt(template, data)
  return {
    kind: content.type === 'tool-result' ? 'tool-result' : 'message',
    source: content,
    text: original,
    about: `Type: ${kind}${tool === undefined ? '' : `; tool: ${tool.slice(0, 60)}`}`,
    prompt: renderPrompt(template, { ...data, turnAdded: step }),
    promptKey,
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
  if (content.type === 'text') return content.text
  return content.type === 'tool-result' ? textOf(content.content) : ''
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
  if (text === '') return `[Compacted:${media} ${how}]`
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
  const count = mediaCount(content)
  return count === 0
    ? ''
    : ` ${count} picture${count === 1 ? '' : 's'} or other part${count === 1 ? '' : 's'} left out.`
}

function mediaCount(content: Subject['content']): number {
  if (content.type === 'text') return 0
  if (content.type !== 'tool-result') return 1
  if (typeof content.content === 'string') return 0
  return content.content.filter(({ type }) => type !== 'text').length
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
  // Nobody configured it: the mode is `none` unless the override names one.
  if (own === undefined) return { after: null, mode: 'none', ...present(override) }
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

/** Whether anything ever expires by a setting. */
function isActive(setting: Expiry | undefined): setting is Expiry {
  return setting !== undefined && setting.mode !== 'none' && setting.after !== null
}

/** Of several results in one message the most aggressive setting holds: earliest, then remove, then the shortest. */
function moreAggressive(a: Expiry, b: Expiry): Expiry {
  const earlier = (a.after ?? Infinity) - (b.after ?? Infinity)
  return (earlier || byAggression(a, b)) <= 0 ? a : b
}

function byAggression(a: Expiry, b: Expiry): number {
  const rank = ({ mode }: Expiry): number => (mode === 'remove' ? 0 : 1)
  return rank(a) - rank(b) || (a.length ?? lengthDefault) - (b.length ?? lengthDefault)
}

/** Fields that say something: null and absent ones leave the tool's own. */
function present(override: Loose<Expiry>): Partial<Expiry> {
  const entries = Object.entries(override).filter(
    ([, value]) => value !== null && value !== undefined,
  )
  return Object.fromEntries(entries) as Partial<Expiry>
}
