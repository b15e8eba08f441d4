// The formats by name.

import type { Draft, EntryId } from '../core/log/entry.ts'
import { OrielError } from '../core/log/errors.ts'
import type { ViewMessage } from '../core/view/view.ts'
import { aiSdk } from './ai-sdk/index.ts'
import { anthropic } from './anthropic/index.ts'
import {
  type Decoded,
  type Encoded,
  type Format,
  type FormatName,
  formatNames,
  type Violation,
} from './format.ts'
import { gemini } from './gemini/index.ts'
import { langchain } from './langchain/index.ts'
import { decodeNeutral } from './neutral/index.ts'
import { openaiChat } from './openai-chat/index.ts'
import { openaiResponses } from './openai-responses/index.ts'

const formats: Readonly<Record<FormatName, Format>> = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  anthropic,
  gemini,
  'ai-sdk': aiSdk,
  langchain,
}

/** The format of that name, or OrielError 'unknown-format'. */
export function formatNamed(name: string): Format {
  if (Object.hasOwn(formats, name)) return formats[name as FormatName]
  throw new OrielError(
    'unknown-format',
    `No message format is called '${name}'; known: ${formatNames.join(', ')}.`,
    { path: 'format' },
  )
}

/** The provider's rules that a request body breaks, by rule id; an empty list means the provider will accept it. */
export function validate(format: FormatName, body: unknown): readonly Violation[] {
  return formatNamed(format).validate(body)
}

/** Foreign messages as drafts: what the log would keep of each, and which foreign messages it came from. */
export function decode(format: FormatName, messages: readonly unknown[]): readonly Decoded[] {
  return formatNamed(format).decode(messages, 'messages')
}

/**
 * Drafts as foreign messages: the way back from `decode`. Nothing is reduced or repaired. Throws OrielError 'invalid-input' (or
 * 'not-json', 'too-deep', 'too-large') with the path of what is no draft.
 */
export function encode(
  format: FormatName,
  drafts: readonly Draft[],
): Pick<Encoded, 'messages' | 'system'> {
  const target = formatNamed(format)
  const checked = decodeNeutral(drafts, 'drafts').map(({ draft }) => draft)
  const { messages, system } = target.encode(checked.map(asShown))
  return { messages, ...(system === undefined ? {} : { system }) }
}

/** A draft as an encoder takes it, outside any log. */
function asShown(draft: Draft): ViewMessage {
  const { role, origin = role, content, source, extra, native } = draft
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  const entry = {
    type: 'message' as const,
    id: 'draft' as EntryId,
    seq: 0,
    at: 0,
    turn: 0,
    step: 0,
    role,
    origin,
    blocks,
    ...(source === undefined ? {} : { source }),
    ...(extra === undefined ? {} : { extra }),
    ...(native === undefined ? {} : { native }),
  }
  return { role, origin, blocks, entry }
}
