import { AbstractChat, type ChatState, DefaultChatTransport, type UIMessage } from 'ai'
import { memoryStore, openThread } from 'oriel'
import { expect, it } from 'vitest'
import { chatRoute } from './route.ts'
import { scriptedModel } from './scripted-model.ts'

/** The state behind `useChat`, without a page around it. */
class PlainState implements ChatState<UIMessage> {
  messages: UIMessage[] = []
  status: ChatState<UIMessage>['status'] = 'ready'
  error: Error | undefined = undefined

  pushMessage = (message: UIMessage): void => {
    this.messages = [...this.messages, message]
  }
  popMessage = (): void => {
    this.messages = this.messages.slice(0, -1)
  }
  replaceMessage = (index: number, message: UIMessage): void => {
    this.messages = this.messages.with(index, message)
  }
  snapshot = <T>(value: T): T => structuredClone(value)
}

class PlainChat extends AbstractChat<UIMessage> {}

it('a chat of useChat goes on for three turns; the model sees two, the page and the thread all', async () => {
  const store = memoryStore()
  const model = scriptedModel()
  const route = chatRoute({ model, store })
  const chat = new PlainChat({
    id: 'chat-1',
    state: new PlainState(),
    transport: new DefaultChatTransport({
      api: 'http://127.0.0.1/api/chat',
      fetch: async (input, init) => route(new Request(input, init)),
    }),
  })
  for (const text of ['One', 'Two', 'Three']) await chat.sendMessage({ text })
  expect(chat.error).toBeUndefined()
  const answers = chat.messages.filter(({ role }) => role === 'assistant')
  expect(JSON.stringify(answers.at(-1)?.parts)).toContain('I see 4 messages.')
  expect(chat.messages.length).toBe(6)
  expect(model.doStreamCalls.map(({ prompt }) => prompt.length)).toEqual([2, 4, 4])
  const thread = await openThread({ id: 'chat-1', store })
  const log = await thread.log()
  expect(log.filter(({ type }) => type === 'message').length).toBe(6)
  // A question that is asked anew continues in a fork; the first answer is kept.
  await chat.regenerate()
  expect(chat.messages.length).toBe(6)
  expect((await thread.log()).filter(({ type }) => type === 'message').length).toBe(6)
})
