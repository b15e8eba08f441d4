// LangChain's agent middleware, called as its agent calls it: clearing of tool results, and
// summaries.

import { SimpleChatModel } from '@langchain/core/language_models/chat_models'
import type { BaseMessage, ToolMessage } from '@langchain/core/messages'
import { ClearToolUsesEdit, countTokensApproximately, summarizationMiddleware } from 'langchain'
import type { ChatMessage } from '../conversations.ts'
import { extract, rewriting } from '../naive.ts'
import type { CreateManager } from '../oriel.ts'
import { toLangchain } from './langchain.ts'

/** `contextEditingMiddleware` with one edit: it changes the messages of a request, and never the state. */
export function clearToolUses(
  options: ConstructorParameters<typeof ClearToolUsesEdit>[0] = {},
): CreateManager {
  return rewriting(() => {
    const edit = new ClearToolUsesEdit(options)
    const converted: BaseMessage[] = []
    return async (messages) => {
      converted.push(...toLangchain(messages.slice(converted.length), converted.length))
      const request = [...converted]
      const countTokens = (list: BaseMessage[]) => countTokensApproximately(list)
      // The model is asked for its profile only, and only by fractions of a window.
      await edit.apply({ messages: request, model: {} as never, countTokens })
      // A cleared message is a new one without an id, in place of the old one; orphans are already removed.
      let next = 0
      return request.map((message) => {
        if (message.id !== undefined) next = Number(message.id)
        else {
          const { tool_call_id: id } = message as ToolMessage
          while (next < messages.length && messages[next]?.tool_call_id !== id) next += 1
        }
        const original = messages[next] as ChatMessage
        next += 1
        return message.id === undefined
          ? { ...original, content: String(message.content) }
          : original
      })
    }
  })
}

/** The middleware keeps what it made: the messages it removes are gone from the state. */
export function summarize(options: {
  readonly trigger: number
  readonly keep: number
}): CreateManager {
  const middleware = summarizationMiddleware({
    model: new Extractor({}),
    trigger: { tokens: options.trigger },
    keep: { messages: options.keep },
    // The declared parameter is the input of a schema whose type comes out as never (langchain 1.5.14).
  } as never)
  const { beforeModel } = middleware
  const hook = typeof beforeModel === 'function' ? beforeModel : beforeModel?.hook
  if (hook === undefined) throw new Error('summarizationMiddleware has no beforeModel any more.')
  return rewriting(() => {
    let state: BaseMessage[] = []
    let seen = 0
    return async (messages) => {
      state.push(...toLangchain(messages.slice(seen), seen))
      seen = messages.length
      const update = (await hook({ messages: state } as never, { context: {} } as never)) as
        | { readonly messages?: readonly BaseMessage[] }
        | undefined
      if (update?.messages !== undefined) {
        // The first removes everything, the others take its place.
        state = update.messages.filter((message) => message.getType() !== 'remove')
      }
      return state.map((message) => fromState(message, messages))
    }
  })
}

function fromState(message: BaseMessage, messages: readonly ChatMessage[]): ChatMessage {
  const original = message.id === undefined ? undefined : messages[Number(message.id)]
  return original ?? { role: 'user', content: String(message.content) }
}

/** Answers with the beginning of each line it is given: a model that needs no network. */
class Extractor extends SimpleChatModel {
  _llmType(): string {
    return 'extractor'
  }

  async _call(messages: BaseMessage[]): Promise<string> {
    return extract(messages.flatMap(({ content }) => String(content).split('\n')))
  }
}
