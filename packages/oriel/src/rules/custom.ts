// A user's own rule: how it is defined, what it sees, and the edits that its proposals become. It cannot break the structure of a view:
// what it proposes for something protected has no effect, and calls and results stay together.

import { type Block, type Role, type ToolResultBlock, textOf } from '../core/log/block.ts'
import type { Edit, Form } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import { copyPlain, isObject, type Json } from '../core/log/json.ts'
import { assertOptions } from '../core/log/options.ts'
import { shownAgainIn } from '../core/state/expansion.ts'
import type { Item, State } from '../core/state/state.ts'
import { isKept, isWaiting, rangesOf, tokensOf, type Unit, unitsOf } from '../core/state/units.ts'
import { remaining } from '../core/state/weight.ts'
import { head } from '../core/text/clip.ts'
import { placeholder } from '../core/text/placeholder.ts'
import { readableIn } from '../core/text/readable.ts'
import { countBlock } from '../core/tokens/counter.ts'
import { isCurrent } from '../core/view/audience.ts'
import { finalIn, reduceResult } from '../core/view/reduction.ts'
import { reduce } from '../core/view/render.ts'
import { rules } from './index.ts'
import type { Rule, RuleContext } from './rule.ts'

/** What a rule of your own sees of a conversation: the messages that the next request would show. */
export interface RuleState {
  /** Oldest first, without what earlier edits or other rules have dropped, and without what models may not read. */
  readonly messages: readonly RuleMessage[]
  /** The newest turn: how many messages the user wrote. */
  readonly turn: number
  /** The model call that comes next: 1 + the answers so far. */
  readonly step: number
}

export interface RuleMessage {
  readonly id: string
  readonly role: Role
  /** The turn that it belongs to; a result has that of its call. */
  readonly turn: number
  /** The model call that it belongs to; a result has that of its call. */
  readonly step: number
  /** The host's own name for what it is. */
  readonly kind?: string
  /** The host's own data. */
  readonly meta?: Json
  readonly blocks: readonly RuleBlock[]
  /**
   * Whether proposals for it have no effect: a system or pinned message, the newest user message, what the model has not seen yet, calls
   * that wait for a result, an original that was asked for again.
   */
  readonly isProtected: boolean
}

export interface RuleBlock {
  readonly id: string
  readonly type: Block['type']
  /** The original: the text, the reasoning, the arguments of a call, the text of a result; empty for pictures and files. */
  readonly text: string
  /** Tokens of the original. */
  readonly tokens: number
  /** The form that earlier edits gave it. */
  readonly form: Form
  /** For calls and results: the tool. */
  readonly tool?: string
  /** For calls and results: which call. */
  readonly callId?: string
  /** For results: whether the tool failed. */
  readonly isError?: boolean
}

/**
 * One change that a rule asks for. `reason` is what the trace says.
 * - `clipped`, `summarized`: the block with a shorter text. Texts, results, pictures and files.
 * - `omitted`: a placeholder that says what is gone and how to get it back, or a text of your own.
 *   A model takes what stands in an assistant's message for its own words: a block of one may be clipped to its beginning, and leaves
 *   where any other text is asked for.
 * - `dropped`: a block leaves; a result leaves a placeholder, because its call needs it.
 * - `dropped` for a message: it leaves whole. The message that made calls leaves with their results; a result alone leaves placeholders.
 *
 * Calls and blocks of types that Oriel does not know stay as they are; reasoning can only be dropped. A form that does not make a block
 * shorter, or that a person took back, has no effect.
 */
export type RuleProposal =
  | {
      readonly block: string
      readonly form: 'clipped' | 'summarized' | 'omitted'
      readonly text: string
      readonly reason: string
    }
  | { readonly block: string; readonly form: 'omitted' | 'dropped'; readonly reason: string }
  | { readonly message: string; readonly form: 'dropped'; readonly reason: string }

/** What a rule knows beside the conversation. */
export interface CustomRuleContext {
  /** Milliseconds since 1970, from the host. */
  readonly now: number
  /** Tokens of the request beside its messages: system text, tools. */
  readonly frameTokens: number
  /** The model's context window, where it is known. */
  readonly contextWindow?: number
}

/** A schema that checks settings: the part of Standard Schema that is used. Schemas of Zod, Valibot and ArkType have it. */
export interface SettingsSchema<Written = unknown, Checked = Written> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Checked> | Promise<SchemaResult<Checked>>
    readonly types?: { readonly input: Written; readonly output: Checked } | undefined
  }
}

export type SchemaResult<Checked> =
  | { readonly value: Checked; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
      }[]
    }

/** A rule of your own, as `defineRule` gives it: pass it in `rules` and name it in the policy. */
export interface CustomRule<Name extends string = string, Written extends object = object> {
  readonly name: Name
  readonly schema?: SettingsSchema<Written, object> | undefined
  readonly defaults: object
  /** Settings as a policy writes them, checked; then with the defaults. */
  // biome-ignore lint/suspicious/noExplicitAny: rules of every kind of settings stand in one list.
  propose(state: RuleState, settings: any, context: CustomRuleContext): readonly RuleProposal[]
  /** For types only: what a policy may write under the rule's name. */
  readonly '~written'?: Written
}

/** Fields that have a default: they are always there. */
type Present<Settings, Field extends keyof Settings> = {
  readonly [F in Field]-?: Exclude<Settings[F], undefined>
}

type Propose<Settings> = (
  state: RuleState,
  settings: Settings,
  context: CustomRuleContext,
) => readonly RuleProposal[]

/**
 * A rule of your own, named in the policy like Oriel's.
 * - `name`: its part of the policy; the trace names it for each change.
 * - `schema`: checks what the policy says under that name. Without one, the fields are those of `defaults`, of the same types.
 * - `defaults`: what a field is that the policy leaves out.
 * - `propose`: looks at the conversation and asks for changes. It must be pure: the same state, settings and context give the same
 *   proposals. It must not await. What it throws comes out as an OrielError with the code 'rule-failed' and the rule's name.
 *
 * Throws OrielError 'invalid-option' for a name that is taken or is not one word.
 */
export function defineRule<
  const Name extends string,
  Written extends object,
  Checked extends object,
  Field extends keyof Checked = never,
>(definition: {
  readonly name: Name
  readonly schema: SettingsSchema<Written, Checked>
  readonly defaults?: Present<Checked, Field>
  readonly propose: Propose<Checked & Present<Checked, Field>>
}): CustomRule<Name, Written>
export function defineRule<
  const Name extends string,
  Settings extends object = Record<never, never>,
>(definition: {
  readonly name: Name
  readonly schema?: undefined
  readonly defaults?: Settings
  readonly propose: Propose<Settings>
}): CustomRule<Name, Partial<Settings>>
export function defineRule(definition: {
  readonly name: string
  readonly schema?: SettingsSchema<object, object> | undefined
  readonly defaults?: object
  readonly propose: Propose<never>
}): CustomRule {
  const names = { name: true, schema: true, defaults: true, propose: true } as const
  assertOptions(definition, names, 'defineRule')
  const { name, schema, defaults = {}, propose } = definition
  const rule: CustomRule = Object.freeze({
    name,
    schema,
    defaults: Object.freeze(defaults),
    propose,
  })
  assertRule(rule, 'rule')
  return rule
}

/** Throws 'invalid-option' unless the value is a rule. */
function assertRule(rule: unknown, path: string): asserts rule is CustomRule {
  const wrong = (problem: string): OrielError =>
    new OrielError('invalid-option', `${path} ${problem}.`, { path })
  if (!isObject(rule)) throw wrong('must be a rule, as defineRule gives it')
  const { name, schema, defaults, propose } = rule
  if (typeof name !== 'string' || !/^[A-Za-z][\w-]{0,63}$/.test(name)) {
    throw wrong('must have a name of letters, digits, _ and -, at most 64 of them')
  }
  if (reserved.has(name)) throw wrong(`must not be called '${name}': that name is Oriel's own`)
  if (typeof propose !== 'function') throw wrong(`'${name}' must have a function propose`)
  if (!isObject(defaults)) throw wrong(`'${name}' must have an object as defaults`)
  const isSchema = (value: unknown): boolean =>
    (typeof value === 'object' || typeof value === 'function') && value !== null
  if (schema !== undefined && !(isSchema(schema) && '~standard' in (schema as object))) {
    throw wrong(`'${name}' must have a schema of Zod or another library with Standard Schema`)
  }
}

/** Parts of a policy, and names in the trace that are not rules. */
const reserved: ReadonlySet<string> = new Set([
  ...Object.keys(rules),
  ...[
    'memory',
    'schedule',
    'preset',
    'budget',
    'repair',
    'audience',
    'exclude',
    'expand',
    'client',
  ],
])

/** Throws 'invalid-option' unless the value is a list of rules with different names. */
export function assertRules(list: readonly CustomRule[], path = 'rules'): void {
  if (!Array.isArray(list)) {
    throw new OrielError('invalid-option', `${path} must be a list of rules.`, { path })
  }
  list.forEach((rule, index) => {
    assertRule(rule, `${path}[${index}]`)
    if (list.findIndex(({ name }) => name === rule.name) === index) return
    const message = `${path}[${index}] has the name of another rule, '${rule.name}'.`
    throw new OrielError('invalid-option', message, { path: `${path}[${index}]` })
  })
}

/** What asking a rule needs of it. */
type AskedRule = Pick<Rule, 'name' | 'propose' | 'isAlwaysAsked' | 'isAskedAgain'>

/**
 * All rules in the order in which they are asked: a user's own after those of ours that change blocks, so that the window and the limit
 * count what is left.
 */
export function rulesWith(own: readonly CustomRule[]): readonly AskedRule[] {
  const { history, compaction, ...others } = rules
  return [...Object.values(others), ...own.map(asRule), history, compaction]
}

function asRule(rule: CustomRule): AskedRule {
  return {
    name: rule.name,
    propose: (state, part, context) => {
      const seen = seenBy(state, context.planned)
      const proposals = ask(rule, seen.state, part, context)
      return editsOf(state, rule, seen, proposals)
    },
  }
}

/** What a rule answers. An exception, a promise or anything but a list is the rule's failure. */
function ask(
  rule: CustomRule,
  state: RuleState,
  part: object,
  { now, frameTokens, contextWindow }: RuleContext,
): readonly RuleProposal[] {
  const context = { now, frameTokens, ...(contextWindow === undefined ? {} : { contextWindow }) }
  let answer: unknown
  try {
    answer = rule.propose(state, settingsOf(rule, part), context)
  } catch (cause) {
    throw failed(rule, 'threw an exception: see the cause', cause)
  }
  if (Array.isArray(answer)) return answer
  const isPromise = isObject(answer) && typeof answer.then === 'function'
  if (isPromise) Promise.resolve(answer).catch(() => undefined)
  throw failed(rule, isPromise ? 'must not be async' : 'must answer with a list of proposals')
}

function failed({ name }: CustomRule, problem: string, cause?: unknown): OrielError {
  const message = `The rule '${name}' failed: it ${problem}.`
  return new OrielError('rule-failed', message, { details: { rule: name }, cause })
}

/** Settings by rule and by the part of the policy that they come from: checked policies never change. */
const knownSettings = new WeakMap<CustomRule, WeakMap<object, object>>()

/** The settings that a rule is asked with: what the policy says, through the schema, over the defaults. */
function settingsOf(rule: CustomRule, part: object): object {
  const known = knownSettings.get(rule) ?? new WeakMap<object, object>()
  knownSettings.set(rule, known)
  const settings = known.get(part) ?? withDefaults(rule, part)
  known.set(part, settings)
  return settings
}

function withDefaults({ schema, defaults }: CustomRule, part: object): object {
  const result = schema?.['~standard'].validate(part) ?? { value: part }
  if (result instanceof Promise || result.issues !== undefined) {
    throw new TypeError('The schema did not accept settings that it had accepted before.')
  }
  const given = Object.entries(result.value).filter(([, value]) => value !== undefined)
  return Object.freeze({ ...defaults, ...Object.fromEntries(given) })
}

/** What a rule sees, and where each of it is in the state. */
interface Seen {
  readonly state: RuleState
  readonly messages: ReadonlyMap<string, SeenMessage>
  readonly blocks: ReadonlyMap<string, SeenBlock>
  readonly canExpand: (block: SeenBlock) => boolean
}

interface SeenMessage {
  readonly item: Item
  /** What it leaves with; absent for system messages, which stay. */
  readonly unit: Unit | undefined
  readonly isProtected: boolean
  readonly blocks: readonly SeenBlock[]
}

interface SeenBlock {
  readonly item: Item
  readonly position: number
  /** As a model may read it. */
  readonly content: Block
  readonly tool: string | undefined
  readonly isProtected: boolean
}

function seenBy(state: State, planned: readonly Edit[]): Seen {
  const items = remaining(state, planned)
  const unitOf = new Map<Item, Unit>()
  const protectedUnits = new Set<Unit>()
  const isShownAgain = shownAgainIn(state)
  for (const unit of unitsOf(state, items)) {
    for (const item of unit.items) unitOf.set(item, unit)
    const isInUse =
      isKept(state, unit) ||
      isWaiting(state, unit) ||
      unit.items.some(({ entry }) => isShownAgain(entry) || isCurrent(state, entry.seq))
    if (isInUse) protectedUnits.add(unit)
  }
  const readable = readableIn(state, planned)
  const messages = new Map<string, SeenMessage>()
  const blocks = new Map<string, SeenBlock>()
  for (const item of items) {
    const { seq } = item.entry
    const unit = unitOf.get(item)
    const isProtected = unit === undefined || protectedUnits.has(unit)
    const own = readable(item.entry).flatMap(({ block: content, position }): SeenBlock[] => {
      const tool = toolOf(state, content, { seq, block: position })
      // A result without a call is not shown.
      if (content.type === 'tool-result' && tool === undefined) return []
      return [{ item, position, content, tool, isProtected }]
    })
    if (own.length === 0) continue
    messages.set(state.blockIdAt({ seq, block: 0 }), { item, unit, isProtected, blocks: own })
    for (const block of own) blocks.set(state.blockIdAt({ seq, block: block.position }), block)
  }
  const isLost = finalIn(state, planned)
  return {
    state: {
      messages: [...messages].map(([id, message]) => messageFor(state, id, message)),
      turn: state.turn,
      step: state.step,
    },
    messages,
    blocks,
    canExpand: ({ item, position }) => !isLost(item.entry.seq, position),
  }
}

function toolOf(
  state: State,
  content: Block,
  place: { readonly seq: number; readonly block: number },
): string | undefined {
  if (content.type === 'tool-call') return content.name
  return content.type === 'tool-result' ? state.exchanges.answeredBy(place)?.call.name : undefined
}

function messageFor(
  state: State,
  id: string,
  { item, isProtected, blocks }: SeenMessage,
): RuleMessage {
  const { role, turn, step, kind, meta } = item.entry
  return {
    id,
    role,
    turn,
    step,
    ...(kind === undefined ? {} : { kind }),
    // The host's data is the log's: a rule gets its own copy.
    ...(meta === undefined ? {} : { meta: copyPlain(meta) }),
    blocks: blocks.map((block) => blockFor(state, block)),
    isProtected,
  }
}

function blockFor(state: State, { item, position, content, tool }: SeenBlock): RuleBlock {
  const { seq } = item.entry
  const isPart = content.type === 'tool-call' || content.type === 'tool-result'
  return {
    id: state.blockIdAt({ seq, block: position }),
    type: content.type,
    text: wordsOf(content),
    // Counted only where somebody asks.
    get tokens() {
      return item.tokens[position] ?? 0
    },
    form: state.blockEdit(seq, position)?.form ?? 'full',
    ...(tool === undefined ? {} : { tool }),
    ...(isPart ? { callId: content.callId } : {}),
    ...(content.type === 'tool-result' ? { isError: content.isError === true } : {}),
  }
}

function wordsOf(block: Block): string {
  if (block.type === 'tool-call') return block.arguments
  if (block.type === 'tool-result') return textOf(block.content)
  return block.type === 'text' || block.type === 'reasoning' ? (block.text ?? '') : ''
}

/** The edits that proposals become: whole units first, then blocks of what stays. */
function editsOf(
  state: State,
  rule: CustomRule,
  seen: Seen,
  proposals: readonly RuleProposal[],
): readonly Edit[] {
  const named = proposals.map((proposal) => read(rule, seen, proposal))
  const leaving = new Map<Unit, string>()
  for (const { message, reason } of named) {
    const unit = message?.unit
    if (unit === undefined || message?.isProtected !== false) continue
    const isVetoed = unit.items.some(({ entry }) => state.isVetoed(entry.seq, '*', 'dropped'))
    if (!isVetoed && !isResultOf(unit, message) && !leaving.has(unit)) leaving.set(unit, reason)
  }
  const gone = new Set([...leaving.keys()].flatMap(({ items }) => items))
  const drops = [...leaving].map(([{ items }, reason]): Edit => {
    const ranges = rangesOf(state.visible, new Set(items.map(({ entry }) => entry.seq)))
    const tokensBefore = tokensOf(items)
    return {
      rule: rule.name,
      form: 'dropped',
      target: { ranges },
      reason,
      tokensBefore,
      tokensAfter: 0,
    }
  })
  const blocks = named.flatMap(({ message, block, ...change }) => {
    const own = block === undefined ? (message?.blocks ?? []).filter(isResultBlock) : [block]
    return own
      .filter(({ item, isProtected }) => !isProtected && !gone.has(item))
      .flatMap((one) =>
        blockEdits(state, one, { ...change, rule: rule.name, canExpand: seen.canExpand(one) }),
      )
  })
  return [...drops, ...blocks]
}

/** Whether a message is only an answer to calls of another one, which may not lose it. */
function isResultOf({ items }: Unit, { item, blocks }: SeenMessage): boolean {
  return items.length > 1 && items[0] !== item && blocks.some(isResultBlock)
}

function isResultBlock({ content }: SeenBlock): boolean {
  return content.type === 'tool-result'
}

interface Named {
  /** The message to drop, or the block to change. */
  readonly message?: SeenMessage
  readonly block?: SeenBlock
  readonly form: 'clipped' | 'summarized' | 'omitted' | 'dropped'
  readonly text?: string
  readonly reason: string
}

/** The longest reason that the log keeps. */
const reasonLength = 300

/** A proposal that can be understood: of something that the rule was shown, with a reason. */
function read(rule: CustomRule, { messages, blocks }: Seen, proposal: unknown): Named {
  if (!isObject(proposal)) throw failed(rule, 'proposed something that is no object')
  const { message: messageId, block: blockId, form, text, reason } = proposal
  const what = `proposed a change of ${describeId(messageId ?? blockId)}`
  const message = typeof messageId === 'string' ? messages.get(messageId) : undefined
  const block = typeof blockId === 'string' ? blocks.get(blockId) : undefined
  if ((message === undefined) === (block === undefined)) {
    throw failed(rule, `${what}, which is not one message or one block that it was shown`)
  }
  if (typeof reason !== 'string' || reason.trim() === '') {
    throw failed(rule, `${what} without a reason`)
  }
  const isShortened = form === 'clipped' || form === 'summarized'
  const isText = typeof text === 'string' && text.trim() !== ''
  if (!isShortened && form !== 'omitted' && form !== 'dropped') {
    throw failed(rule, `${what} to a form that does not exist`)
  }
  if (message !== undefined && form !== 'dropped') {
    throw failed(rule, `${what}: a whole message can only be dropped`)
  }
  if (isShortened ? !isText : text !== undefined && !(form === 'omitted' && isText)) {
    throw failed(rule, `${what} with a text that is missing, blank or not wanted`)
  }
  return {
    ...(message === undefined ? {} : { message }),
    ...(block === undefined ? {} : { block }),
    form,
    ...(isText ? { text: text.toWellFormed() } : {}),
    reason: head(reason, reasonLength).toWellFormed(),
  }
}

/** An id as an error may show it: never content. */
function describeId(id: unknown): string {
  return typeof id === 'string' && /^\w{1,40}$/.test(id) ? id : 'something without an id'
}

interface BlockChange extends Omit<Named, 'message' | 'block'> {
  readonly rule: string
  readonly canExpand: boolean
}

/** The edit of one block, in the nearest form that keeps the view valid; none where no form is allowed or shorter. */
function blockEdits(state: State, found: SeenBlock, change: BlockChange): readonly Edit[] {
  const { item, position, content } = found
  const { rule, reason } = change
  if (content.type === 'tool-call' || content.type === 'opaque') return []
  if (content.type === 'tool-result') {
    const form = change.form === 'dropped' ? 'omitted' : change.form
    const text = change.text ?? noteOn(state, found, content, change.canExpand)
    return reduceResult(state, { item, block: position, content }, { rule, form, reason, text })
  }
  const { seq, role } = item.entry
  const tokensBefore = item.tokens[position] as number
  if (isShortening(change) && !isShorter(content, change)) return []
  const isLeaving =
    change.form === 'dropped' || (role === 'assistant' && !isBeginning(content, change))
  if (isLeaving) {
    if (state.isVetoed(seq, position, 'dropped')) return []
    const target = { seq, block: position }
    return [{ rule, form: 'dropped', target, reason, tokensBefore, tokensAfter: 0 }]
  }
  const { form, text = noteOn(state, found, undefined, change.canExpand) } = change
  if (content.type === 'text') {
    return reduceResult(state, { item, block: position, content }, { rule, form, reason, text })
  }
  const shown = reduce(content, { form, text })
  const tokensAfter = shown === undefined ? 0 : countBlock(state.counter, shown)
  if (state.isVetoed(seq, position, form) || tokensAfter >= tokensBefore) return []
  return [{ rule, form, target: { seq, block: position }, text, reason, tokensBefore, tokensAfter }]
}

function isShortening({ form }: BlockChange): boolean {
  return form === 'clipped' || form === 'summarized'
}

/** Reasoning is sent whole or not at all. */
function isShorter(content: Block, { text = '' }: BlockChange): boolean {
  if (content.type === 'reasoning') return false
  return content.type !== 'text' || text.length <= content.text.length
}

/** Whether a change leaves the beginning of a text: the only words beside the whole that an assistant can be said to have said. */
function isBeginning(content: Block, { form, text }: BlockChange): boolean {
  return content.type === 'text' && form === 'clipped' && content.text.startsWith(text ?? '\0')
}

/** The placeholder for a block: what it was, and how to get it back. */
function noteOn(
  state: State,
  { item, position, content, tool }: SeenBlock,
  result: ToolResultBlock | undefined,
  canExpand: boolean,
): string {
  const id = state.blockIdAt({ seq: item.entry.seq, block: position })
  if (result !== undefined) {
    return placeholder({ ...result, ...(tool === undefined ? {} : { tool }), id, canExpand })
  }
  const kind =
    'mediaType' in content && content.mediaType !== undefined ? ` ${content.mediaType}` : ''
  const size = content.type === 'text' ? `, ${content.text.length} characters` : ''
  return `[Omitted: ${content.type}${kind}${size}; ${canExpand ? `expand ${id}` : 'it was not kept'}]`
}
