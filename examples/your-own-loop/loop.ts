// Your own agent loop on a thread: the whole of it. `tools` maps a tool's name to what it does.
import type OpenAI from 'openai'
import { openThread, type Store } from 'oriel'

type Tools = Readonly<Record<string, (input: unknown) => Promise<string>>>
export interface Agent {
  readonly client: OpenAI
  readonly model: string
  readonly store: Store
  readonly tools: Tools
  readonly onText: (text: string) => void
}

export async function ask(agent: Agent, threadId: string, question: string): Promise<void> {
  const { client, model, store, tools, onText } = agent
  const thread = await openThread({ id: threadId, store, policy: { history: { length: 20 } } })
  const definitions = Object.keys(tools).map((name) => ({
    type: 'function' as const,
    function: { name, parameters: { type: 'object' } },
  }))
  const frame = { tools: definitions }
  await thread.append([{ role: 'user', content: question }])
  for (let step = 0; step < 20; step++) {
    const view = await thread.view<OpenAI.ChatCompletionMessageParam>({
      model,
      frame,
      budget: 100_000,
    })
    const stream = client.chat.completions
      .stream({
        model,
        messages: view.messages,
        tools: definitions,
        stream_options: { include_usage: true },
      })
      .on('content', onText)
    const { choices, usage } = await stream.finalChatCompletion()
    const message = choices[0]?.message
    if (message === undefined) return
    await thread.append([message], { format: 'openai-chat' })
    if (usage !== undefined) await thread.usage(usage, view.id)
    const calls = (message.tool_calls ?? []).flatMap((call) => ('function' in call ? [call] : []))
    if (calls.length === 0) return
    const results = calls.map(async ({ id, function: { name, arguments: text } }) => {
      const run = tools[name] ?? (async () => `There is no tool called ${name}.`)
      const content = await run(JSON.parse(text)).catch(
        (error: unknown) => `Failed: ${String(error)}`,
      )
      return { role: 'tool', tool_call_id: id, content }
    })
    await thread.append(await Promise.all(results), { format: 'openai-chat' })
  }
}
