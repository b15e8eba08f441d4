// The server side of a chat with `useChat`, on an Oriel store. The browser keeps and resends its messages; the model sees the view, and
// the thread keeps everything, so that the conversation can be looked at, resumed and searched later.
//
// The page:
//
//   const { messages, sendMessage } = useChat({ id, transport: new DefaultChatTransport({ api: '/api/chat' }) })
//
// `AI_GATEWAY_API_KEY=... npx node examples/chat-app/server.ts` serves it with a real model.

import { convertToModelMessages, type LanguageModel, streamText, type UIMessage } from 'ai'
import { openThread, type Store } from 'oriel'
import { type LanguageModelLike, withOriel } from 'oriel/ai-sdk'

export interface ChatOptions<M extends LanguageModelLike & LanguageModel> {
  readonly model: M
  readonly store: Store
}

/** A handler for `POST /api/chat` of any server that speaks Request and Response. */
export function chatRoute<M extends LanguageModelLike & LanguageModel>({
  model,
  store,
}: ChatOptions<M>): (request: Request) => Promise<Response> {
  return async (request) => {
    const { id, messages } = (await request.json()) as { id: string; messages: UIMessage[] }
    const thread = await openThread({ id, store, policy: { history: { length: 2 } } })
    const result = streamText({
      model: withOriel(model, { thread }),
      system: 'You are a friendly assistant.',
      messages: await convertToModelMessages(messages),
      abortSignal: request.signal,
    })
    return result.toUIMessageStreamResponse({ originalMessages: messages })
  }
}
