// Gemini's format: contents of a user and a model, each a list of parts; responses of functions in the user's, system text outside.

import type { Draft } from '../../core/log/entry.ts'
import { isCall, isIdByName, isResult } from '../../core/state/exchange.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import type { MessageCodec } from '../format.ts'
import { decodeContents } from './decode.ts'
import { encodeView } from './encode.ts'
import { idPattern, maxIdLength } from './rules.ts'

/**
 * The format of the `contents` of `models/{model}:generateContent`. Contracts, besides those of `Format`:
 * - Contents of the model in a row are one message.
 * - A user's content with responses and other parts becomes two messages, the responses first: what follows them starts a turn.
 * - System messages are handed out as `system`, a content for `systemInstruction`, never among the contents.
 * - Signatures and thoughts go back byte for byte, and only if they came from this format.
 * - Calls and responses that came without ids go back without ids: their names and order pair them.
 */
export const geminiCodec: MessageCodec = {
  name: 'gemini',
  profile: {
    startsWithUser: true,
    endsWithUser: true,
    refusesBlankText: true,
    maxIdLength,
    idPattern,
    ignoresIds: hasNoIds,
    mayIgnoreIds: hasIdByName,
    rules: {
      start: 'GC2',
      end: 'GC5',
      unanswered: 'GC6',
      orphan: 'GC7',
      duplicate: 'GC8',
      order: 'GC9',
      blank: 'GC4',
      id: 'GC10',
      reasoning: 'GC12',
    },
  },
  decode: decodeContents,
  encode: encodeView,
}

/** Whether the calls of a message all came without ids. */
function hasNoIds(messages: readonly ViewMessage[], index: number): boolean {
  const calls = messages[index]?.blocks.filter(isCall) ?? []
  return calls.every(({ callId }) => isIdByName(callId))
}

/** Whether a message calls or answers by a tool's name alone. */
function hasIdByName({ content }: Draft): boolean {
  return (
    typeof content !== 'string' &&
    content.some((block) => (isCall(block) || isResult(block)) && isIdByName(block.callId))
  )
}
