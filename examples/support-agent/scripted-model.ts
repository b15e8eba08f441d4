// What a model would say, so that the example runs without one.

import { MockLanguageModelV4 } from 'ai/test'

type Prompt = MockLanguageModelV4['doGenerateCalls'][number]['prompt']

const usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
}

/** Searches by the newest question, answers with the first sentence of what was found, and asks back for what has expired. */
export function scriptedModel(): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const { call, text } = next(prompt)
      return {
        content: [call ?? { type: 'text', text: text ?? '' }],
        finishReason: { unified: call === undefined ? 'stop' : 'tool-calls', raw: undefined },
        usage,
        warnings: [],
      }
    },
  })
}

type Call = { type: 'tool-call'; toolCallId: string; toolName: string; input: string }

function next(prompt: Prompt): { readonly call?: Call; readonly text?: string } {
  const last = prompt.at(-1)
  if (last?.role === 'tool') {
    const result = resultsIn(prompt).at(-1) ?? ''
    return { text: result.split('\n')[0] ?? '' }
  }
  const question = textOf(prompt)
  const expired = /\b(e[0-9][0-9a-z_]*)\b/.exec(resultsIn(prompt)[0] ?? '')?.[1]
  if (question.includes('form') && expired !== undefined) {
    return { call: call(prompt, 'expand_message', { id: expired, query: 'form' }) }
  }
  return {
    call: call(prompt, 'search', { topic: question.includes('parcel') ? 'delivery' : 'refund' }),
  }
}

function call(prompt: Prompt, toolName: string, input: object): Call {
  return {
    type: 'tool-call',
    toolCallId: `call_${prompt.length}`,
    toolName,
    input: JSON.stringify(input),
  }
}

function resultsIn(prompt: Prompt): readonly string[] {
  return prompt.flatMap((message) =>
    message.role === 'tool'
      ? message.content.flatMap((part) =>
          part.type === 'tool-result' && part.output.type === 'text' ? [part.output.value] : [],
        )
      : [],
  )
}

function textOf(prompt: Prompt): string {
  const user = prompt.findLast(({ role }) => role === 'user')
  const parts = user?.role === 'user' ? user.content : []
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
