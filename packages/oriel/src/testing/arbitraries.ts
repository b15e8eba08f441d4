// Arbitraries for fast-check: conversations that a provider accepts, policies and budgets.

import * as fc from 'fast-check'
import type { Audience, Block, Lifetime } from '../core/log/block.ts'
import type { Draft, Expiry } from '../core/log/entry.ts'
import type { JsonObject } from '../core/log/json.ts'
import { presets } from '../policy/presets.ts'
import type { HistoryPolicy, Policy, PolicyInput, PresetName } from '../policy/schema.ts'
import type { FormatName } from '../providers/format.ts'
import { formatNamed } from '../providers/registry.ts'
import type { CompactionSettings } from '../rules/compaction.ts'
import type { ExpirySettings } from '../rules/expiry-settings.ts'
import type { RetentionSettings } from '../rules/retention.ts'
import type { MemorySettings } from '../rules/rule.ts'
import type { ToolOutputSettings } from '../rules/tool-output.ts'
import type { ToolResultsSettings } from '../rules/tool-results.ts'
import { script } from './script.ts'
import { writeAiSdk } from './write-ai-sdk.ts'
import { writeAnthropic } from './write-anthropic.ts'
import { writeGemini } from './write-gemini.ts'
import { writeLangchain } from './write-langchain.ts'
import { writeOpenaiChat } from './write-openai-chat.ts'
import { writeOpenaiResponses } from './write-openai-responses.ts'

/** Foreign messages, or items for openai-responses. */
export type Conversation = readonly JsonObject[]

/** Valid conversations in the format of OpenAI's Chat Completions. Shrinks to one user message. */
export function openaiChatConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeOpenaiChat).map(plain)
}

/** Valid conversations in Anthropic's format, ending with the user's side. Shrinks to one user message. */
export function anthropicConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeAnthropic).map(plain)
}

/** Valid lists of items in the format of OpenAI's Responses. Shrinks to one user message. */
export function openaiResponsesConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeOpenaiResponses).map(plain)
}

/** Valid conversations of the AI SDK. Shrinks to one user message. */
export function aiSdkConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeAiSdk).map(plain)
}

/** Valid conversations of LangChain, in any of the ways in which they are written down. Shrinks to one user message. */
export function langchainConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeLangchain).map(plain)
}

/** Valid contents of Gemini, ending with the user's side. Shrinks to one content of the user. */
export function geminiConversation(): fc.Arbitrary<Conversation> {
  return script().map(writeGemini).map(plain)
}

/** Valid conversations in the format of that name. */
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
 * Conversations as Oriel's own messages: what a format reads, with lifetimes, audiences, kinds, expiries and plugins on some messages
 * and blocks. Shrinks to one user message without any.
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

/** Who sees a message or a block: people alone more often than by chance. */
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
  return fields({
    policy: fc.constantFrom('lastN' as const, 'all' as const, 'none' as const),
    length: counts(5),
    preserveSystemMessages: fc.boolean(),
    maxMessages: counts(12),
    keepRecentMessages: counts(6),
  })
}

/** Any setting of the policy part `retention`. Shrinks to the defaults. */
export function retentionArbitrary(): fc.Arbitrary<RetentionSettings> {
  return fields({ unit: fc.constantFrom('newer' as const, 'turns' as const, 'steps' as const) })
}

/** Any setting of the policy part `expiry`, for the tools that the conversations here use. Shrinks to the defaults. */
export function expiryArbitrary(): fc.Arbitrary<ExpirySettings> {
  const share = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }))
  const prompt = fc.constantFrom(...promptIds)
  return fields({
    tools: byName(toolNames, expirySettingArbitrary()),
    kinds: byName(kindNames, expirySettingArbitrary()),
    toolDefaults: byName(toolNames, fields({ prompt })),
    override: fields({
      after: orNull(counts(4)),
      unit: orNull(expiryFields.unit()),
      mode: orNull(expiryFields.mode()),
      compact: orNull(expiryFields.compact()),
      length: orNull(expiryFields.length()),
      prompt: orNull(prompt),
    }),
    disable: seldomTrue(),
    preserveOriginals: fc.boolean(),
    duplicates: fields({ similarity: share }),
    relevance: fields({ threshold: share }),
  })
}

/** One setting of `expiry`, as a tool, a kind or a message may have it. Shrinks to one that never acts. */
export function expirySettingArbitrary(): fc.Arbitrary<Expiry> {
  return fc.record(
    {
      after: orNull(counts(4)),
      mode: expiryFields.mode(),
      unit: expiryFields.unit(),
      compact: expiryFields.compact(),
      length: expiryFields.length(),
      prompt: fc.constantFrom(...promptIds),
    },
    { requiredKeys: ['after', 'mode'], noNullPrototype: true },
  )
}

/** Any setting of the policy part `toolOutput`, except `directory`: no generator names a path. Shrinks to the defaults. */
export function toolOutputArbitrary(): fc.Arbitrary<ToolOutputSettings> {
  return fields({
    maxLines: counts(20),
    maxBytes: counts(2000),
    maxChars: counts(2000),
    largeOutputThreshold: counts(3000),
    truncateMode: fc.constantFrom('head' as const, 'head_tail' as const),
  })
}

/** Any setting of the policy part `toolResults`. Shrinks to the defaults. */
export function toolResultsArbitrary(): fc.Arbitrary<ToolResultsSettings> {
  return fields({
    strategy: fc.constantFrom(
      'keepAll' as const,
      'keepRecent' as const,
      'keepSuccessful' as const,
      'keepOne' as const,
      'dropAll' as const,
    ),
    max: counts(5),
    placeholder: fc.constantFrom('informative' as const, 'plain' as const),
    maxImages: counts(3),
    cutoff: counts(5),
    summary: fc.constantFrom('llm' as const, 'heuristic' as const, 'off' as const),
  })
}

/** Any setting of the policy part `compaction`, a window smaller than its reserve included. Shrinks to the defaults. */
export function compactionArbitrary(): fc.Arbitrary<CompactionSettings> {
  return fields({
    auto: seldomTrue().map((isOff) => !isOff),
    contextWindow: counts(3000),
    reserveTokens: counts(2000),
    maxTokens: counts(2000),
    maxMessages: counts(15),
    keepRecentTokens: counts(1000),
    keepRecent: counts(10),
  })
}

/** Any setting of the policy part `memory`, which needs `compaction` beside it. Shrinks to the defaults. */
export function memoryArbitrary(): fc.Arbitrary<MemorySettings> {
  return fields({ lines: counts(500), values: counts(200) })
}

/** Policies written out part by part: one part alone, or several. Shrinks to the empty policy. */
export function policyPartsArbitrary(): fc.Arbitrary<Policy> {
  const parts = {
    history: historyArbitrary(),
    retention: retentionArbitrary(),
    expiry: expiryArbitrary(),
    toolOutput: toolOutputArbitrary(),
    toolResults: toolResultsArbitrary(),
    compaction: compactionArbitrary(),
    memory: memoryArbitrary(),
    schedule: fc.constantFrom('immediate' as const, 'cache-aware' as const),
  }
  const alone = Object.entries(parts).map(([name, part]) =>
    part.map((value): Policy => ({ [name]: value })),
  )
  return fc
    .oneof(
      { withCrossShrink: true },
      { weight: 1, arbitrary: fc.constant<Policy>({}) },
      { weight: 8, arbitrary: fc.oneof(...alone) },
      { weight: 8, arbitrary: fields(parts) },
    )
    .map((policy) =>
      // A memory lives in the checkpoint: without one the policy is refused.
      policy.memory === undefined ? policy : { compaction: {}, ...policy },
    )
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

/** The tools of the conversations here by name and by pattern, one that nobody calls, and names that are traps. */
const toolNames = [
  ...['search', 'bash', ' READ_FILE ', '*', '**', 're*', '*e*', 'get-*er', 'nobody_calls_this'],
  ...['constructor', 'toString'],
]
const kindNames = ['tool-result', 'tool-*', '*', 'note', 'constructor']
/** `project` knows none but Oriel's own. */
const promptIds = ['compactMessagePrompt', 'unknown-prompt', 'constructor']

const expiryFields = {
  unit: () => fc.constantFrom('steps' as const, 'turns' as const),
  mode: () => fc.constantFrom('none' as const, 'remove' as const, 'compact' as const),
  compact: () => fc.constantFrom('first-chars' as const, 'summary' as const),
  length: () => counts(600).map((length) => Math.max(1, length)),
} as const

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

/** A whole number that matters for the conversations here, or an extreme one: 0, 1, more than there can ever be. */
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

/** A budget in tokens, from too small for anything to enough for everything that the generators make. */
export function budgetArbitrary(): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 100 }) },
    { weight: 4, arbitrary: fc.integer({ min: 100, max: 4000 }) },
    { weight: 2, arbitrary: fc.integer({ min: 4000, max: 40_000 }) },
    { weight: 1, arbitrary: fc.constant(1_000_000) },
  )
}

/** As it comes off the wire: no field is undefined, no object is shared. */
function plain(messages: readonly JsonObject[]): Conversation {
  return JSON.parse(JSON.stringify(messages)) as Conversation
}
