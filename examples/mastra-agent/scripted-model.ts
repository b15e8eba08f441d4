// What a model would say, so that the example runs without one.

import type { AgentConfig } from '@mastra/core/agent'
import { MastraLanguageModelV2Mock } from '@mastra/core/test-utils/llm-mock'

type Stream = NonNullable<ConstructorParameters<typeof MastraLanguageModelV2Mock>[0]['doStream']>
type Options = Parameters<Extract<Stream, (...call: never) => unknown>>[0]
type Prompt = Options['prompt']

/** What the agent takes. Mastra's mock is one, but its types allow `undefined` where the agent's do not. */
type Model = Extract<AgentConfig['model'], { readonly specificationVersion: 'v2' }>

/** Reads the tickets 1 to 8, and asks back for the one of the last question. `prompts` are what it was shown. */
export function scriptedModel(): {
  readonly model: Model
  readonly prompts: readonly Prompt[]
} {
  const prompts: Prompt[] = []
  const model = new MastraLanguageModelV2Mock({
    doStream: async ({ prompt }) => {
      prompts.push(prompt)
      const { call, text = '' } = next(prompt)
      const parts =
        call === undefined
          ? ([
              { type: 'text-start', id: 't' },
              { type: 'text-delta', id: 't', delta: text },
              { type: 'text-end', id: 't' },
            ] as const)
          : ([{ type: 'tool-call', toolCallId: `call_${prompts.length}`, ...call }] as const)
      const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 }
      const finishReason = call === undefined ? 'stop' : 'tool-calls'
      return {
        stream: ReadableStream.from([
          { type: 'stream-start', warnings: [] } as const,
          ...parts,
          { type: 'finish', finishReason, usage } as const,
        ]),
      }
    },
  })
  return { model: model as unknown as Model, prompts }
}

interface Step {
  readonly call?: { readonly toolName: string; readonly input: string }
  readonly text?: string
}

function next(prompt: Prompt): Step {
  const results = resultsIn(prompt)
  const question = JSON.stringify(prompt.findLast(({ role }) => role === 'user')?.content)
  if (!question.includes('which code')) {
    const number = results.length + 1
    if (number > 8) return { text: 'I have read eight tickets.' }
    return { call: { toolName: 'read_ticket', input: JSON.stringify({ number }) } }
  }
  if (prompt.at(-1)?.role === 'tool') return { text: /K-\d+/.exec(results.at(-1) ?? '')?.[0] ?? '' }
  const id = /; expand (\w+)\]/.exec(results[1] ?? '')?.[1]
  const input = JSON.stringify({ id, query: 'code' })
  return { call: { toolName: 'expand_message', input } }
}

/** The texts of tool results, in their order. */
export function resultsIn(prompt: Prompt): readonly string[] {
  return prompt.flatMap((message) =>
    message.role === 'tool'
      ? message.content.map(({ output }) =>
          output.type === 'text' ? output.value : JSON.stringify(output.value),
        )
      : [],
  )
}
