// Mastra's processors, at the stage that edits the model's input.

import { type Processor, TokenLimiterProcessor, ToolCallFilter } from '@mastra/core/processors'
import { rewriting } from '../naive.ts'
import type { CreateManager } from '../oriel.ts'
import { fromAiSdk, toAiSdk } from './ai-sdk.ts'

/** Keeps calls and results of the newest steps that used tools; older ones leave, in pairs. */
export function toolCallFilter(newest: number): CreateManager {
  return processed(new ToolCallFilter({ filterAfterToolSteps: newest }))
}

export function tokenLimiter(
  limit: number,
  trimMode: 'best-fit' | 'contiguous' = 'best-fit',
): CreateManager {
  return processed(new TokenLimiterProcessor({ limit, trimMode }))
}

function processed(processor: Processor): CreateManager {
  return rewriting(() => {
    const state = {}
    return async (messages) => {
      const prompt = toAiSdk(messages).map((message) =>
        message.role === 'user'
          ? { ...message, content: [{ type: 'text', text: String(message.content) }] }
          : message,
      )
      // Of its arguments these processors read the prompt, and a state of their own.
      const result = await processor.processLLMRequest?.({ prompt, state } as never)
      const kept = (result as { readonly prompt?: typeof prompt } | undefined)?.prompt ?? prompt
      return fromAiSdk(kept as unknown as Parameters<typeof fromAiSdk>[0])
    }
  })
}
