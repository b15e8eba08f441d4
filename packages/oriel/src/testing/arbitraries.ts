// fast-check arbitraries: valid conversations, policies and budgets.

import * as fc from 'fast-check'
import type { Audience, Block, Lifetime } from '../core/log/block.ts'
import type { Draft, Expiry } from '../core/log/entry.ts'
import type { JsonObject } from '../core/log/json.ts'
import type { ObjectSchema, Schema } from '../core/schema/schema.ts'
import { operatorPaths } from '../policy/caller-policy.ts'
import { presets } from '../policy/presets.ts'
import {
  type HistoryPolicy,
  type Policy,
  type PolicyInput,
  type PresetName,
  policySchema,
} from '../policy/schema.ts'
import type { FormatName } from '../providers/format.ts'
import { formatNamed } from '../providers/registry.ts'
import type { CompactionSettings, MemorySettings } from '../rules/compaction.ts'
import type { ExpirySettings } from '../rules/expiry.ts'
import { rules } from '../rules/index.ts'
import type { RetentionSettings } from '../rules/retention.ts'
import type { ToolOutputSettings } from '../rules/tool-output.ts'
import type { ToolResultsSettings } from '../rules/tool-results.ts'
import { script } from './script.ts'
import { writeAiSdk } from './write-ai-sdk.ts'
import { writeAnthropic } from './write-anthropic.ts'
import { writeGemini } from './write-gemini.ts'
import { writeLangchain } from './write-langchain.ts'
import { writeOpenaiChat } from './write-openai-chat.ts'
import { writeOpenaiResponses } from './write-openai-responses.ts'

/** Provider messages, or items for openai-responses. */
export type Conversation = readonly JsonObject[]

/** Valid OpenAI Chat Completions conversations. Shrinks to one user message. */
export function openaiChatConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeOpenaiChat).map(plain)
}

/** Valid Anthropic conversations that end with the user's side. Shrinks to one user message. */
export function anthropicConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeAnthropic).map(plain)
}

/** Valid OpenAI Responses item lists. Shrinks to one user message. */
export function openaiResponsesConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeOpenaiResponses).map(plain)
}

/** Valid AI SDK conversations. Shrinks to one user message. */
export function aiSdkConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeAiSdk).map(plain)
}

/** Valid LangChain conversations, in any serialized form. Shrinks to one user message. */
export function langchainConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeLangchain).map(plain)
}

/** Valid contents of Gemini, ending with the user's side. Shrinks to one content of the user. */
export function geminiConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeGemini).map(plain)
}

/** Valid conversations in the named format. */
export function conversationOf(format: FormatName): fc.Arbitrary<Conversation> {
  switch (format) {
    case 'openai-chat':
      return openaiChatConversation()
    case 'openai-responses':
      return openaiResponsesConversation()
    case 'anthropic':
      return anthropicConversation()
    case 'ai-sdk':
      return aiSdkConversation()
    case 'langchain':
      return langchainConversation()
    case 'gemini':
      return geminiConversation()
  }
}

/**
 * Conversations as Oriel's own messages: decoded from a format, with lifetimes, audiences, kinds,
 * expiries and plugins on some messages and blocks. Shrinks to one user message without any.
 */
export function neutralConversation(format: FormatName): fc.Arbitrary<readonly Draft[]> {
  const at = fc.nat({ max: 30 })
  const ofBlock = fc.oneof(
    fc.record({ audience: audienceArbitrary() }),
    fc.record({ lifetime: lifetimeArbitrary() }),
    fc.record({ plugin: fc.constantFrom('clock', 'screen'), lifetime: lifetimeArbitrary() }),
  )
  const ofMessage = fc.oneof(
    fc.record({ audience: audienceArbitrary() }),
    fc.record({ kind: fc.constantFrom('note', 'tool-result', 'constructor') }),
    fc.record({ expiry: expirySettingArbitrary() }),
    fc.record({ tool: fc.constantFrom('search', 'nobody_calls_this') }),
  )
  const mark = fc.record({ at, block: at, ofBlock, ofMessage, isMessage: fc.boolean() })
  return fc
    .tuple(conversationOf(format), fc.array(mark, { maxLength: 6 }))
    .map(([messages, marks]) => {
      const drafts = formatNamed(format)
        .decode(messages, 'messages')
        .map(({ draft: { native: _, ...draft } }): Draft => draft)
      return marks.reduce<readonly Draft[]>((marked, one) => {
        const index = one.at % marked.length
        const draft = marked[index] as Draft
        const next = one.isMessage ? { ...draft, ...one.ofMessage } : withMark(draft, one)
        return marked.with(index, next)
      }, drafts)
    })
}

function withMark(draft: Draft, mark: { readonly block: number; readonly ofBlock: object }): Draft {
  const { content } = draft
  const blocks: readonly Block[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  if (blocks.length === 0) return draft
  const at = mark.block % blocks.length
  return { ...draft, content: blocks.with(at, { ...(blocks[at] as Block), ...mark.ofBlock }) }
}

/** Audiences; people-only is overrepresented. */
export function audienceArbitrary(): fc.Arbitrary<Audience> {
  const peopleOnly: Audience = { now: false, later: false }
  return fc.oneof(
    fc.constant(peopleOnly),
    fields({ now: fc.boolean(), later: fc.boolean(), person: fc.boolean() }),
  )
}

export function lifetimeArbitrary(): fc.Arbitrary<Lifetime> {
  const count = counts(3)
  return fc.oneof(
    fc.record({ newer: count }),
    fc.record({ turns: count }),
    fc.record({ steps: count }),
  )
}

/** Any setting of the policy part `history`. Shrinks to the defaults. */
export function historyArbitrary(): fc.Arbitrary<HistoryPolicy> {
  return partArbitrary('history')
}

/** Any setting of the policy part `retention`. Shrinks to the defaults. */
export function retentionArbitrary(): fc.Arbitrary<RetentionSettings> {
  return partArbitrary('retention')
}

/**
 * Any setting of the policy part `expiry`, for the tools of these conversations. Shrinks to the
 * defaults.
 */
export function expiryArbitrary(): fc.Arbitrary<ExpirySettings> {
  return partArbitrary('expiry')
}

/** One setting of `expiry`, for a tool, a kind or a message. Shrinks to one that has no effect. */
export function expirySettingArbitrary(): fc.Arbitrary<Expiry> {
  // It is what the schema of `expiry.tools` checks.
  return valueArbitrary('expiry.tools.*', settingSchema) as fc.Arbitrary<Expiry>
}

/**
 * Any setting of the policy part `toolOutput`, except `directory`: generators never name a path.
 * Shrinks to the defaults.
 */
export function toolOutputArbitrary(): fc.Arbitrary<ToolOutputSettings> {
  return partArbitrary('toolOutput')
}

/** Any setting of the policy part `toolResults`. Shrinks to the defaults. */
export function toolResultsArbitrary(): fc.Arbitrary<ToolResultsSettings> {
  return partArbitrary('toolResults')
}

/**
 * Any setting of the policy part `compaction`, including a window smaller than its reserve. Shrinks
 * to the defaults.
 */
export function compactionArbitrary(): fc.Arbitrary<CompactionSettings> {
  return partArbitrary('compaction')
}

/**
 * Any setting of the policy part `memory`, which requires `compaction`. Shrinks to the defaults.
 */
export function memoryArbitrary(): fc.Arbitrary<MemorySettings> {
  return partArbitrary('memory')
}

/** Any settings of one part of a policy, made from its schema: a new rule needs nothing here. */
function partArbitrary<Part extends keyof Policy>(
  part: Part,
): fc.Arbitrary<NonNullable<Policy[Part]>> {
  // The schema checks exactly what the type says.
  return valueArbitrary(part, policySchema.fields[part]) as fc.Arbitrary<NonNullable<Policy[Part]>>
}

/** Policies given as parts: one or several. Shrinks to the empty policy. */
export function policyPartsArbitrary(): fc.Arbitrary<Policy> {
  const names = Object.keys(policySchema.fields) as (keyof Policy)[]
  const alone = names.map((name) => partArbitrary(name).map((value): Policy => ({ [name]: value })))
  return fc
    .oneof(
      { withCrossShrink: true },
      { weight: 1, arbitrary: fc.constant<Policy>({}) },
      { weight: 8, arbitrary: fc.oneof(...alone) },
      { weight: 8, arbitrary: valueArbitrary('', policySchema) as fc.Arbitrary<Policy> },
    )
    .map((policy) =>
      // A memory requires a checkpoint; without one the policy is rejected.
      policy.memory === undefined ? policy : { compaction: {}, ...policy },
    )
}

/** Any value that a schema accepts, as far as the conversations here can distinguish values. */
function valueArbitrary(path: string, schema: Schema): fc.Arbitrary<unknown> {
  if (schema.isNullable === true)
    return orNull(valueArbitrary(path, { ...schema, isNullable: false }))
  const field = path.replace(/^.*\./, '')
  switch (schema.type) {
    case 'object':
      return fieldsArbitrary(path, schema)
    case 'record':
      return byName(
        field === 'kinds' ? kindNames : toolNames,
        valueArbitrary(`${path}.*`, schema.value),
      )
    case 'list':
      // The one list of a policy: names of tools.
      return fc.subarray([...toolNames])
    case 'choice':
      return fc.constantFrom(...schema.choices)
    case 'boolean': {
      const off = offSwitches[path]
      return off === undefined ? fc.boolean() : seldomTrue().map((isOff) => isOff === off)
    }
    case 'text':
      return fc.constantFrom(...promptIds)
    case 'number':
      if (!schema.isInteger) return shareArbitrary()
      return counts(usual[path] ?? usual[field] ?? 20).map((n) => Math.max(schema.min ?? 0, n))
    default:
      throw new Error(`No generator for the kind of ${path}.`)
  }
}

function fieldsArbitrary(path: string, schema: ObjectSchema): fc.Arbitrary<unknown> {
  const shape = Object.entries(schema.fields)
    .map(([name, value]) => [name, path === '' ? name : `${path}.${name}`, value] as const)
    .filter(([, own]) => !operatorPaths.has(own))
  const requiredKeys = shape.flatMap(([name, , { isOptional }]) =>
    isOptional === true ? [] : [name],
  )
  return fc.record(
    Object.fromEntries(shape.map(([name, own, value]) => [name, valueArbitrary(own, value)])),
    { requiredKeys, noNullPrototype: true },
  )
}

/** The schema of one setting of `expiry`. */
const settingSchema = rules.expiry.schema.fields.tools.value

/** Numbers up to which a field matters for the conversations here, by its path or name. */
const usual: Readonly<Record<string, number>> = {
  after: 4,
  'expiry.tools.*.length': 600,
  'expiry.kinds.*.length': 600,
  'expiry.override.length': 600,
  'history.length': 5,
  'history.maxMessages': 12,
  keepRecentMessages: 6,
  maxBytes: 2000,
  maxChars: 2000,
  largeOutputThreshold: 3000,
  max: 5,
  maxImages: 3,
  maxImageBytes: 2000,
  cutoff: 5,
  contextWindow: 3000,
  reserveTokens: 2000,
  maxTokens: 2000,
  'compaction.maxMessages': 15,
  keepRecentTokens: 1000,
  keepRecent: 10,
  lines: 500,
  values: 200,
}

/** Switches that turn a whole part off, with the value that does: seldom, or little would be tested. */
const offSwitches: Readonly<Record<string, boolean>> = {
  'expiry.disable': true,
  'compaction.auto': false,
}

function shareArbitrary(): fc.Arbitrary<number> {
  return fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }))
}

/** Any policy as callers write it: none, parts, the name of a preset, parts over a preset. Always valid. Shrinks to none. */
export function policyArbitrary(): fc.Arbitrary<PolicyInput | undefined> {
  const preset = fc.constantFrom(...(Object.keys(presets) as PresetName[]))
  const refined = fc
    .tuple(preset, policyPartsArbitrary())
    .map(([name, parts]): PolicyInput => ({ preset: name, ...parts }))
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 10, arbitrary: policyPartsArbitrary() },
    { weight: 2, arbitrary: preset },
    { weight: 4, arbitrary: refined },
  )
}

/**
 * The tools of these conversations by name and by pattern, an unused one, and names such as
 * `constructor`.
 */
const toolNames = [
  ...['search', 'bash', ' READ_FILE ', '*', '**', 're*', '*e*', 'get-*er', 'nobody_calls_this'],
  ...['constructor', 'toString'],
]
const kindNames = ['tool-result', 'tool-*', '*', 'note', 'constructor']
/** `project` knows only Oriel's own. */
const promptIds = ['compactMessagePrompt', 'unknown-prompt', 'constructor']

/** Settings with any of their fields present. */
function fields<T extends object>(
  of: {
    readonly [K in keyof T]: fc.Arbitrary<T[K]>
  },
): fc.Arbitrary<Partial<T>> {
  return fc.record(of as { [K in keyof T]: fc.Arbitrary<T[K]> }, {
    requiredKeys: [],
    noNullPrototype: true,
  }) as unknown as fc.Arbitrary<Partial<T>>
}

/** Settings by name or pattern. */
function byName<T>(names: readonly string[], of: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> {
  return fc.dictionary(fc.constantFrom(...names), of, { maxKeys: 4, noNullPrototype: true })
}

/** A number that matters for these conversations, or an extreme one: 0, 1, a very large one. */
function counts(usual: number): fc.Arbitrary<number> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 4, arbitrary: fc.nat({ max: usual }) },
    { weight: 2, arbitrary: fc.constantFrom(0, 1) },
    { weight: 1, arbitrary: fc.constantFrom(1_000_000, Number.MAX_SAFE_INTEGER) },
  )
}

function orNull<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.option(arbitrary, { nil: null, freq: 4 })
}

/** For switches that turn a whole part off. */
function seldomTrue(): fc.Arbitrary<boolean> {
  return fc.nat({ max: 7 }).map((value) => value === 7)
}

/** A token budget, from too small for anything to enough for every generated conversation. */
export function budgetArbitrary(): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 100 }) },
    { weight: 4, arbitrary: fc.integer({ min: 100, max: 4000 }) },
    { weight: 2, arbitrary: fc.integer({ min: 4000, max: 40_000 }) },
    { weight: 1, arbitrary: fc.constant(1_000_000) },
  )
}

/** JSON as it comes off the wire: no undefined fields, no shared objects. */
function plain(messages: readonly JsonObject[]): Conversation {
  return JSON.parse(JSON.stringify(messages)) as Conversation
}
