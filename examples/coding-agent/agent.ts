// A coding agent on LangChain whose tools write long outputs: each is bounded when it comes in, older ones become placeholders, and
// the model can have any of them back. `OPENAI_API_KEY=... npx node examples/coding-agent/agent.ts` asks a real model.

import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { createAgent, HumanMessage, initChatModel, tool } from 'langchain'
import { memoryStore, type Store } from 'oriel'
import { orielMiddleware } from 'oriel/langchain'
import { z } from 'zod'
import { ScriptedModel } from './scripted-model.ts'

/** A build log as they are: thousands of lines, the one that matters at the end. */
const runTests = tool(
  async ({ name }) => {
    const lines = Array.from(
      { length: 3000 },
      (_, index) => `ok ${index + 1} - ${name} case ${index}`,
    )
    return [...lines, `not ok 3001 - ${name} fails at line ${name.length * 7}`].join('\n')
  },
  {
    name: 'run_tests',
    description: 'Runs the tests of a module',
    schema: z.object({ name: z.string() }),
  },
)

export async function work(
  task: string,
  {
    model,
    store,
    threadId,
  }: { readonly model: BaseChatModel; readonly store: Store; readonly threadId: string },
): Promise<string> {
  const policy = {
    toolOutput: { maxLines: 40, truncateMode: 'head_tail' },
    toolResults: { strategy: 'keepRecent', max: 2, cutoff: 0 },
  } as const
  const agent = createAgent({
    model,
    tools: [runTests],
    systemPrompt: 'You repair failing tests.',
    middleware: [orielMiddleware({ threads: { store, policy } })],
  })
  const { messages } = await agent.invoke(
    { messages: [new HumanMessage(task)] },
    { configurable: { thread_id: threadId }, recursionLimit: 50 },
  )
  return messages.at(-1)?.text ?? ''
}

if (import.meta.main) {
  const isReal = process.env.OPENAI_API_KEY !== undefined
  const model = isReal ? await initChatModel('openai:gpt-5-mini') : new ScriptedModel()
  const store = memoryStore()
  console.log(
    await work('Which tests fail in parser, lexer and printer?', {
      model,
      store,
      threadId: 'task-1',
    }),
  )
}
