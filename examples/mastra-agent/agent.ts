// A support agent on Mastra that reads long tickets. The agent's own messages stay whole; the model sees the newest tickets, a placeholder
// for each older one, and can have any of them back. `OPENAI_API_KEY=... npx node examples/mastra-agent/agent.ts` asks a real model.

import { Agent, type AgentConfig } from '@mastra/core/agent'
import { MockMemory } from '@mastra/core/memory'
import { createTool } from '@mastra/core/tools'
import { memoryStore, openThread, type Store } from 'oriel'
import { expandTool } from 'oriel/ai-sdk'
import { orielProcessor } from 'oriel/mastra'
import { z } from 'zod'
import { scriptedModel } from './scripted-model.ts'

/** A ticket as they are: a long exchange, with one line that matters. */
const readTicket = createTool({
  id: 'read_ticket',
  description: 'Reads a ticket',
  inputSchema: z.object({ number: z.number() }),
  execute: async ({ number }) =>
    [
      `Ticket ${number}`,
      ...Array.from({ length: 60 }, (_, line) => `Customer ${number} writes line ${line}.`),
      `Ticket ${number} was closed with the code K-${number * 7}.`,
    ].join('\n'),
})

export async function createSupportAgent({
  model,
  store,
  threadId,
}: {
  readonly model: AgentConfig['model']
  readonly store: Store
  readonly threadId: string
}): Promise<(question: string) => Promise<string>> {
  const policy = { toolResults: { strategy: 'keepRecent', max: 3, cutoff: 0 } } as const
  const thread = await openThread({ id: threadId, store, policy })
  const agent = new Agent({
    id: 'support',
    name: 'support',
    instructions: 'You answer questions about tickets.',
    model,
    tools: { read_ticket: readTicket, expand_message: expandTool(thread) },
    memory: new MockMemory(), // in your application: new Memory({ storage }) of @mastra/memory
    inputProcessors: [orielProcessor({ thread })],
  })
  const memory = { thread: threadId, resource: 'desk' }
  return async (question) => {
    const output = await agent.stream(question, { memory, maxSteps: 20 })
    return output.text
  }
}

if (import.meta.main) {
  const isReal = process.env.OPENAI_API_KEY !== undefined
  const ask = await createSupportAgent({
    model: isReal ? 'openai/gpt-5-mini' : scriptedModel().model,
    store: memoryStore(),
    threadId: 'desk-1',
  })
  for (const question of ['Read the tickets 1 to 8.', 'With which code was ticket 2 closed?']) {
    console.log(`> ${question}\n${await ask(question)}`)
  }
}
