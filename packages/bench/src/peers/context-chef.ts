// context-chef, compiling the whole history before each model call, as documented.

import { ContextChef, type Message, summarize } from '@context-chef/core'
import type { ChatMessage } from '../conversations.ts'
import { extract, rewriting } from '../naive.ts'
import type { CreateManager } from '../oriel.ts'

export function contextChef(
  contextWindow: number,
  tokens: (message: ChatMessage) => number,
): CreateManager {
  return rewriting(() => {
    const compressionModel = async (messages: readonly Message[]): Promise<string> =>
      extract(messages.map(({ content }) => String(content)))
    const chef = new ContextChef({
      janitor: {
        contextWindow,
        tokenizer: (messages: readonly Message[]) =>
          messages.reduce((sum, message) => sum + tokens(message as unknown as ChatMessage), 0),
      },
      overflow: { strategy: summarize({ compressionModel }) },
    })
    return async (messages) => {
      const system = messages.filter(({ role }) => role === 'system')
      const others = messages.filter(({ role }) => role !== 'system')
      const payload = await chef
        .setSystemPrompt(system.map(toChef))
        .setHistory(others.map(toChef))
        .compile({ target: 'openai' })
      return payload.messages as unknown as readonly ChatMessage[]
    }
  })
}

function toChef(message: ChatMessage): Message {
  return { ...message, content: message.content ?? '' } as unknown as Message
}
