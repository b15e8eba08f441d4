// The codecs of all message formats by name: one line for each. Nothing here knows HTTP, so that pages can use it.

import { OrielError } from '../core/log/errors.ts'
import { aiSdkCodec } from './ai-sdk/codec.ts'
import { anthropicCodec } from './anthropic/codec.ts'
import type { MessageCodec } from './format.ts'
import { geminiCodec } from './gemini/codec.ts'
import { langchainCodec } from './langchain/codec.ts'
import { openaiChatCodec } from './openai-chat/codec.ts'
import { openaiResponsesCodec } from './openai-responses/codec.ts'

const codecs = {
  'openai-chat': openaiChatCodec,
  'openai-responses': openaiResponsesCodec,
  anthropic: anthropicCodec,
  gemini: geminiCodec,
  'ai-sdk': aiSdkCodec,
  langchain: langchainCodec,
}

export type FormatName = keyof typeof codecs
export const formatNames: readonly FormatName[] = Object.keys(codecs) as FormatName[]

/** The codec of that format, or OrielError 'unknown-format'. */
export function codecNamed(name: string): MessageCodec {
  if (isFormatName(name)) return codecs[name]
  throw new OrielError(
    'unknown-format',
    `No message format is called '${String(name)}'; known: ${formatNames.join(', ')}.`,
    { path: 'format' },
  )
}

export function isFormatName(name: string): name is FormatName {
  return Object.hasOwn(codecs, name)
}
