// Screenshots that fade: each message of the user comes with a picture of the screen, which stays for the next two messages and then
// leaves the view. The words stay, the log keeps every picture. `OPENAI_API_KEY=... npx node examples/fading-screenshots/agent.ts` asks a
// real model.

import OpenAI from 'openai'
import { memoryStore, openThread, type Store } from 'oriel'
import { managed } from 'oriel/openai'

export interface Screen {
  /** Base64 of a PNG. */
  readonly png: string
  readonly title: string
}

export async function tell(
  text: string,
  screen: Screen,
  {
    client,
    store,
    threadId,
  }: { readonly client: OpenAI; readonly store: Store; readonly threadId: string },
): Promise<string> {
  const thread = await openThread({ id: threadId, store, policy: { retention: { unit: 'newer' } } })
  const { png: data, title } = screen
  await thread.append({
    role: 'user',
    content: [
      { type: 'text', text },
      { type: 'text', text: `Window: ${title}`, lifetime: { newer: 2 } },
      { type: 'image', mediaType: 'image/png', data, lifetime: { newer: 2 } },
    ],
  })
  const { chat } = managed(client, { thread, sends: 'new' })
  const { choices } = await chat.completions.create({ model: 'gpt-5-mini', messages: [] })
  return choices[0]?.message.content ?? ''
}

if (import.meta.main) {
  const { pixel, scriptedServer } = await import('./scripted-server.ts')
  const isReal = process.env.OPENAI_API_KEY !== undefined
  const server = isReal ? undefined : await scriptedServer()
  const client = isReal ? new OpenAI() : new OpenAI({ apiKey: 'none', baseURL: server?.url })
  const store = memoryStore()
  for (const title of ['Inbox', 'Settings', 'Calendar', 'Editor']) {
    const answer = await tell(
      'What is this?',
      { png: pixel, title },
      { client, store, threadId: 's' },
    )
    console.log(`${title}: ${answer}`)
  }
  server?.close()
}
