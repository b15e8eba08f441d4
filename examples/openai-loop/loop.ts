// A plain loop on OpenAI's SDK. The history is the thread's: each call sends only what is new, and a long conversation stays short.
// `OPENAI_API_KEY=... npx node examples/openai-loop/loop.ts` asks a real model.

import OpenAI from 'openai'
import { memoryStore, openThread, type Store } from 'oriel'
import { managed } from 'oriel/openai'

const tools: OpenAI.ChatCompletionFunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
  },
]

export async function ask(
  question: string,
  {
    client,
    store,
    threadId,
  }: { readonly client: OpenAI; readonly store: Store; readonly threadId: string },
): Promise<string> {
  const policy = {
    history: { length: 10 },
    toolResults: { strategy: 'keepRecent', max: 3, cutoff: 0 },
  } as const
  const thread = await openThread({ id: threadId, store, policy })
  const { chat } = managed(client, { thread, sends: 'new' })
  let messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: question }]
  for (let step = 0; step < 10; step++) {
    const stream = chat.completions.stream({ model: 'gpt-5-mini', messages, tools })
    const { content, tool_calls: calls = [] } = await stream.finalMessage()
    if (calls.length === 0) return content ?? ''
    messages = calls.flatMap((call): OpenAI.ChatCompletionMessageParam[] => {
      if (call.type !== 'function') return []
      const { city } = JSON.parse(call.function.arguments) as { city?: string }
      return [{ role: 'tool', tool_call_id: call.id, content: `Sunny in ${city}.` }]
    })
  }
  return 'Too many steps.'
}

if (import.meta.main) {
  const { scriptedServer } = await import('./scripted-server.ts')
  const isReal = process.env.OPENAI_API_KEY !== undefined
  const server = isReal ? undefined : await scriptedServer()
  const client = isReal ? new OpenAI() : new OpenAI({ apiKey: 'none', baseURL: server?.url })
  const store = memoryStore()
  for (const question of ['Weather in Oslo?', 'And in Rome?']) {
    console.log(`> ${question}\n${await ask(question, { client, store, threadId: 'chat-1' })}`)
  }
  server?.close()
}
