// Arbitraries for fast-check: conversations that a provider accepts, policies and budgets.

import * as fc from 'fast-check'
import type { JsonObject } from '../core/json.ts'
import type { FormatName } from '../formats/format.ts'
import type { HistoryPolicy } from '../policy.ts'
import { script } from './script.ts'
import { writeAiSdk } from './write-ai-sdk.ts'
import { writeAnthropic } from './write-anthropic.ts'
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
  }
}

/** Any setting of the policy part `history`. Shrinks to the defaults. */
export function historyArbitrary(): fc.Arbitrary<HistoryPolicy> {
  return fc.record(
    {
      policy: fc.constantFrom('lastN' as const, 'all' as const, 'none' as const),
      length: fc.nat({ max: 5 }),
      preserveSystemMessages: fc.boolean(),
      maxMessages: fc.nat({ max: 12 }),
      keepRecentMessages: fc.nat({ max: 6 }),
    },
    { requiredKeys: [], noNullPrototype: true },
  )
}

/** Any policy: often none, else one with a `history`. Shrinks to none. */
export function policyArbitrary(): fc.Arbitrary<{ readonly history: HistoryPolicy } | undefined> {
  return fc.option(
    historyArbitrary().map((history) => ({ history })),
    { nil: undefined, freq: 4 },
  )
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
