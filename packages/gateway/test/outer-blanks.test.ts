// A client that changes only the blanks around its words: the model reads them as they are now.

import { afterEach, describe, expect, it } from 'vitest'
import { openGateway, type Target } from './target.ts'
import { reply } from './upstream/action.ts'

let target: Target
afterEach(() => target.close())

const formats = {
  'openai-chat': { path: '/v1/chat/completions', list: 'messages', more: {} },
  'openai-responses': { path: '/v1/responses', list: 'input', more: {} },
  anthropic: { path: '/v1/messages', list: 'messages', more: { max_tokens: 50 } },
} as const

describe('blanks around a message of the user', () => {
  it.each(Object.entries(formats))(
    '[GW7] are sent as the client sends them now, in the same thread: %s',
    async (_format, { path, list, more }) => {
      target = await openGateway({ answer: () => reply({ text: 'Yes.' }) })
      const user = (content: string) => ({ role: 'user', content })
      const answer = { role: 'assistant', content: 'Yes.' }
      const ask = async (messages: readonly object[]): Promise<string | null> => {
        const response = await fetch(`${target.url}${path}`, {
          method: 'POST',
          headers: { 'x-session-id': 'one' },
          body: JSON.stringify({ model: 'm', [list]: messages, ...more }),
        })
        expect([response.status, await response.text()]).toEqual([200, expect.any(String)])
        expect(target.upstream.requests.at(-1)?.body[list]).toEqual(messages)
        return response.headers.get('x-oriel-thread')
      }
      const thread = await ask([user('Hello there.')])
      const again = [user('  Hello there.\n\n'), answer, user('More.')]
      expect(await ask(again)).toBe(thread)
      expect(await ask([...again, answer, user(' The end. ')])).toBe(thread)
      const less = [user('Hello there.'), answer, user('More.\t'), answer, user('The end.')]
      expect(await ask([...less, answer, user('Once more.')])).toBe(thread)
    },
  )
})
