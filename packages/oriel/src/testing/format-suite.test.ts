import { describe, expect, it } from 'vitest'
import { aiSdk } from '../providers/ai-sdk/index.ts'
import { anthropic } from '../providers/anthropic/index.ts'
import type { Format } from '../providers/format.ts'
import { gemini } from '../providers/gemini/index.ts'
import { langchain } from '../providers/langchain/index.ts'
import { openaiChat } from '../providers/openai-chat/index.ts'
import { openaiResponses } from '../providers/openai-responses/index.ts'
import {
  aiSdkConversation,
  anthropicConversation,
  geminiConversation,
  langchainConversation,
  openaiChatConversation,
  openaiResponsesConversation,
} from './arbitraries.ts'
import { describeFormat, formatCases } from './format-suite.ts'

describeFormat(openaiChat, openaiChatConversation())
describeFormat(anthropic, anthropicConversation())
describeFormat(openaiResponses, openaiResponsesConversation())
describeFormat(aiSdk, aiSdkConversation())
describeFormat(langchain, langchainConversation())
describeFormat(gemini, geminiConversation())

describe('describeFormat', () => {
  it.each<[string, Partial<Format>, string]>([
    [
      'changes a text',
      {
        encode: (view) => JSON.parse(JSON.stringify(openaiChat.encode(view)).replaceAll('e', 'E')),
      },
      'gives back every valid conversation exactly',
    ],
    [
      'forgets fields it does not know',
      { decode: (messages, path) => openaiChat.decode(messages.map(known), path) },
      'gives back fields that it does not know',
    ],
    [
      'skips a message',
      { decode: (messages, path) => openaiChat.decode(messages, path).slice(1) },
      'reads every broken conversation, each message once and in order',
    ],
    [
      'writes into its input',
      { decode: (messages, path) => openaiChat.decode(messages.map(marked), path) },
      'leaves its input as it was',
    ],
    [
      'takes anything for a message',
      { decode: (messages, path) => openaiChat.decode(messages.filter(isMessage), path) },
      'refuses what is no message, with the path',
    ],
    ['counts its own calls', { encode: counting(openaiChat) }, 'answers the same bytes every time'],
    [
      'sends a result twice',
      { encode: (view) => openaiChat.encode([...view, ...view.slice(-1)]) },
      'sends nothing that the provider refuses',
    ],
    [
      'shortens reasoning',
      { encode: (view) => shortened(openaiChat.encode(view)) },
      'sends reasoning byte for byte or not at all',
    ],
    [
      'takes what it reduced for what came',
      { encode: (view) => claimed(openaiChat.encode(view)) },
      'says where each message comes from: whole ones are what came',
    ],
    [
      'refuses what is fine',
      { validate: () => [{ rule: 'X1', path: '', message: 'never' }] },
      'accepts every valid conversation',
    ],
    [
      'throws when it judges',
      { validate: (body) => (body as { messages: [] }).messages },
      'judges anything without throwing',
    ],
  ])('catches a format that %s', (_, fault, name) => {
    const broken: Format = { ...openaiChat, ...fault }
    expect(formatCases(broken, openaiChatConversation(), { runs: 300 })[name]).toThrow(
      'Property failed',
    )
  })
})

function known(message: unknown): unknown {
  const { role, content, tool_calls, tool_call_id } = message as Record<string, unknown>
  return { role, content, tool_calls, tool_call_id }
}

function marked(message: unknown): unknown {
  return Object.assign(message as object, { seen: true })
}

function isMessage(message: unknown): boolean {
  return typeof message === 'object' && message !== null && 'role' in message
}

function counting(format: Format): Format['encode'] {
  let count = 0
  return (view) => {
    count += 1
    const { messages, origins } = format.encode(view)
    return {
      messages: [...messages, { role: 'user', content: `${count}` }],
      origins: [...origins, { entries: [], shown: [], isWhole: false }],
    }
  }
}

function claimed(encoded: ReturnType<Format['encode']>): ReturnType<Format['encode']> {
  return { ...encoded, origins: encoded.origins.map((one) => ({ ...one, isWhole: true })) }
}

function shortened(encoded: ReturnType<Format['encode']>): ReturnType<Format['encode']> {
  const cut = (key: string, value: unknown): unknown =>
    key === 'reasoning_content' ? String(value).slice(1) : value
  return JSON.parse(JSON.stringify(encoded, cut))
}
