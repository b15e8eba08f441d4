// LangChain's trimMessages with the same arguments, and a result that providers accept.

import {
  type BaseMessage,
  trimMessages as langchainTrim,
  type TrimMessagesFields,
} from '@langchain/core/messages'
import { type Runnable, RunnableLambda } from '@langchain/core/runnables'
import { wrongOption } from '../core/log/errors.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { project } from '../project.ts'
import { validateLangchainBody } from '../providers/langchain/rules.ts'

const trimOptions: OptionNames<TrimMessagesFields> = {
  maxTokens: true,
  tokenCounter: true,
  strategy: true,
  allowPartial: true,
  endOn: true,
  startOn: true,
  includeSystem: true,
  textSplitter: true,
}

/**
 * LangChain's `trimMessages`: the same arguments, the same two ways to call it, and the same result wherever that is valid. Where its cut
 * goes through an exchange (a result without its call, a call without all its results), the whole exchange is left out.
 *
 * - The result never counts more tokens than LangChain's.
 * - The messages that go in are not changed; with `allowPartial`, LangChain's own function writes into them.
 */
export function trimMessages(options: TrimMessagesFields): Runnable<BaseMessage[], BaseMessage[]>
export function trimMessages(
  messages: BaseMessage[],
  options: TrimMessagesFields,
): Promise<BaseMessage[]>
export function trimMessages(
  first: BaseMessage[] | TrimMessagesFields,
  second?: TrimMessagesFields,
): Runnable<BaseMessage[], BaseMessage[]> | Promise<BaseMessage[]> {
  if (!Array.isArray(first)) {
    assertOptions<TrimMessagesFields>(first, trimOptions, 'trimMessages')
    const trim = (messages: BaseMessage[]): Promise<BaseMessage[]> => trimmed(messages, first)
    return RunnableLambda.from(trim).withConfig({ runName: 'trim_messages' })
  }
  if (second === undefined) throw wrongOption('options', 'given with the messages')
  assertOptions<TrimMessagesFields>(second, trimOptions, 'trimMessages')
  return trimmed(first, second)
}

async function trimmed(
  messages: readonly BaseMessage[],
  options: TrimMessagesFields,
): Promise<BaseMessage[]> {
  let whole = messages.map(copyOf)
  for (;;) {
    const cut = await langchainTrim(whole, options)
    // For a budget below the system message its list has a hole.
    const there = cut.filter((message: BaseMessage | undefined) => message !== undefined)
    whole = withoutHalves(there)
    // Leaving a half out may uncover a message that `startOn` or `endOn` refuses.
    if (whole.length === there.length) break
  }
  if (whole.length === 0 || validateLangchainBody(whole).length === 0) return whole
  return project(whole, {}, { format: 'langchain' }).messages
}

/** Without calls that lack a result and results that lack a call. */
function withoutHalves(messages: BaseMessage[]): BaseMessage[] {
  const halves = new Set(
    validateLangchainBody(messages)
      .filter(({ rule }) => rule === 'LC1' || rule === 'LC2')
      .map(({ path }) => Number(/^messages\[(\d+)\]/.exec(path)?.[1])),
  )
  if (halves.size === 0) return messages
  return withoutHalves(messages.filter((_, index) => !halves.has(index)))
}

function copyOf(message: BaseMessage): BaseMessage {
  return Object.assign(Object.create(Object.getPrototypeOf(message)), message)
}
