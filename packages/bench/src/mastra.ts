// A real Mastra agent with a scripted model and 40 tool calls over two turns, with and without the processor.
// `node src/mastra.ts`; ends with a code other than 0 where an answer differs, a prompt is invalid or the input is not smaller.

import { Agent } from '@mastra/core/agent'
import { MastraLanguageModelV2Mock } from '@mastra/core/test-utils/llm-mock'
import { createTool } from '@mastra/core/tools'
import { z } from 'zod'
import { orielProcessor } from '../../oriel/src/integrations/mastra.ts'
import { validate } from '../../oriel/src/providers/registry.ts'
import { memoryStore } from '../../oriel/src/stores/memory/index.ts'
import { type AnyThread, openThread } from '../../oriel/src/thread/thread.ts'

const steps = 20
const read = createTool({
  id: 'read',
  description: 'Reads a page',
  inputSchema: z.object({ page: z.number() }),
  execute: async (input: { page: number }) =>
    `page ${input.page}: ${`line of page ${input.page} `.repeat(150)}`,
})

interface Outcome {
  readonly answers: readonly string[]
  readonly inputChars: number
  readonly violations: number
  readonly requests: number
}

async function run(thread: AnyThread | undefined): Promise<Outcome> {
  const prompts: unknown[][] = []
  let calls = 0
  const model = new MastraLanguageModelV2Mock({
    doStream: async ({ prompt }: { prompt: unknown[] }) => {
      prompts.push(prompt)
      const isOver = calls > 0 && calls % steps === 0 && prompts.length % (steps + 1) === 0
      const id = `c${calls}`
      const parts = isOver
        ? [
            { type: 'text-start', id: 't' },
            { type: 'text-delta', id: 't', delta: `Read ${calls} pages.` },
            { type: 'text-end', id: 't' },
          ]
        : [
            {
              type: 'tool-call',
              toolCallId: id,
              toolName: 'read',
              input: JSON.stringify({ page: calls++ }),
            },
          ]
      const usage = { inputTokens: JSON.stringify(prompt).length, outputTokens: 5, totalTokens: 5 }
      const end = { type: 'finish', finishReason: isOver ? 'stop' : 'tool-calls', usage }
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of [{ type: 'stream-start', warnings: [] }, ...parts, end]) {
              controller.enqueue(part)
            }
            controller.close()
          },
        }),
      }
    },
  } as never)
  const agent = new Agent({
    id: 'reader',
    name: 'reader',
    instructions: 'Read what is asked for.',
    model: model as never,
    tools: { read },
    ...(thread === undefined ? {} : { inputProcessors: [orielProcessor({ thread }) as never] }),
  })
  const history: unknown[] = []
  const answers: string[] = []
  for (const question of ['Read the first pages.', 'Read on.']) {
    history.push({ role: 'user', content: question })
    const output = await agent.stream(history as never, { maxSteps: steps + 5 })
    answers.push(await output.text)
    const { messages } = (await output.response) as { messages?: unknown[] }
    history.push(...(messages ?? []))
  }
  return {
    answers,
    inputChars: prompts.reduce((sum, prompt) => sum + JSON.stringify(prompt).length, 0),
    violations: prompts.reduce((sum, prompt) => sum + validate('ai-sdk', prompt).length, 0),
    requests: prompts.length,
  }
}

const without = await run(undefined)
const store = memoryStore()
const thread = await openThread({ id: 'mastra', store, policy: 'recommended' })
const managed = await run(thread)
const share = managed.inputChars / without.inputChars
console.log(JSON.stringify({ without, managed, share: Number(share.toFixed(3)) }, null, 2))
const isSame = JSON.stringify(without.answers) === JSON.stringify(managed.answers)
const recorded = (await thread.log()).filter(({ type }) => type === 'usage').length
console.log(
  `same answers: ${isSame}; violations: ${managed.violations}; usage entries: ${recorded}`,
)
if (!isSame || managed.violations > 0 || share >= 1) process.exit(1)
