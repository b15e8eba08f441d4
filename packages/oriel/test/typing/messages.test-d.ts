// Types of messages, checked by the compiler (`npm run types`): views pass to the SDKs as they are.

import type Anthropic from '@anthropic-ai/sdk'
import type { Content } from '@google/genai'
import type OpenAI from 'openai'
import { type MessageOf, memoryStore, openThread, project, type View } from 'oriel'

/** True if the two types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <_ extends true>(): void => undefined

export async function views(openai: OpenAI, anthropic: Anthropic): Promise<void> {
  const thread = await openThread({ store: memoryStore() })

  const chat = await thread.view({ format: 'openai-chat', model: 'gpt-5' })
  await openai.chat.completions.create({ model: 'gpt-5', messages: chat.messages })
  // Without a format it is that of chat completions.
  const plain = await thread.view()
  holds<Same<typeof plain, typeof chat>>()
  const params: OpenAI.ChatCompletionMessageParam[] = plain.messages

  const { messages } = await thread.view({ format: 'anthropic' })
  await anthropic.messages.create({ model: 'claude', max_tokens: 10, messages })

  const { messages: contents } = await thread.view({ format: 'gemini' })
  const gemini: Content[] = contents

  const requested = await thread.request([], { format: 'anthropic' })
  holds<Same<(typeof requested)['view'], View<MessageOf<'anthropic'>>>>()
  const recovered = await thread.recover(new Error('too long'), { format: 'gemini' })
  holds<Same<typeof recovered, View<MessageOf<'gemini'>>>>()

  // The caller may name a type, such as that of an SDK's version.
  const named = await thread.view<Anthropic.MessageParam>({ format: 'anthropic' })
  holds<Same<typeof named, View<Anthropic.MessageParam>>>()

  // @ts-expect-error Messages of one provider are not those of another.
  const wrong: OpenAI.ChatCompletionMessageParam[] = messages
  // @ts-expect-error There is no such format.
  await thread.view({ format: 'openai' })
  console.log(params, gemini, wrong)
}

export function projections(history: OpenAI.ChatCompletionMessageParam[]): void {
  // Messages in, messages of the same type out.
  const { messages } = project(history, 'recommended')
  holds<Same<typeof messages, OpenAI.ChatCompletionMessageParam[]>>()
}
