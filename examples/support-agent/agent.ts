// A support agent on the AI SDK whose search results expire: two steps after a search its result is cut to the first characters, and
// the model can have the original back. `AI_GATEWAY_API_KEY=... npx node examples/support-agent/agent.ts` asks a real model.

import { gateway, generateText, type LanguageModel, stepCountIs, tool } from 'ai'
import { memoryStore, openThread, type Store } from 'oriel'
import { expandTool, type LanguageModelLike, withOriel } from 'oriel/ai-sdk'
import { z } from 'zod'
import { scriptedModel } from './scripted-model.ts'

const articles: Readonly<Record<string, string>> = {
  refund:
    'Refunds take five days. They go back to the card that was used. Write the order number into the form R-17.',
  delivery:
    'Parcels leave our house within a day and arrive within three. After ten days a parcel counts as lost.',
  account:
    'A password is changed on the page Settings. After three wrong attempts the account is closed for an hour.',
}

/** Long, as search results are: what matters of it stands in front. */
function found(topic: string): string {
  const article = articles[topic] ?? 'Nothing was found.'
  const rest = Object.entries(articles).map(([name, text]) => `See also ${name}: ${text}`)
  return [article, ...Array.from({ length: 8 }, () => rest).flat()].join('\n')
}

const search = tool({
  description: 'Searches the help pages',
  inputSchema: z.object({ topic: z.enum(['refund', 'delivery', 'account']) }),
  execute: async ({ topic }) => found(topic),
})

export async function answer<M extends LanguageModelLike & LanguageModel>(
  question: string,
  {
    model,
    store,
    threadId,
  }: { readonly model: M; readonly store: Store; readonly threadId: string },
): Promise<string> {
  const thread = await openThread({
    id: threadId,
    store,
    policy: {
      expiry: {
        tools: { search: { after: 2, mode: 'compact', compact: 'first-chars', length: 200 } },
      },
    },
  })
  const { text } = await generateText({
    model: withOriel(model, { thread }),
    system: 'You answer customers. Search before you answer.',
    prompt: question,
    tools: { search, expand_message: expandTool(thread) },
    stopWhen: stepCountIs(10),
  })
  return text
}

if (import.meta.main) {
  const isReal = process.env.AI_GATEWAY_API_KEY !== undefined
  const model = isReal ? gateway('openai/gpt-5-mini') : scriptedModel()
  const store = memoryStore()
  for (const question of ['Where is my refund?', 'And my parcel?', 'How was that with the form?']) {
    console.log(
      `> ${question}\n${await answer(question, { model, store, threadId: 'customer-1' })}`,
    )
  }
}
