// Windows of document 002 through a gateway with its default policy: enforced at every request, and wider again when asked for.

import type { GatewayOptions } from '@oriel/gateway'
import { afterEach, describe, expect, it } from 'vitest'
import { openGateway, type Target } from './target.ts'
import { reply } from './upstream/action.ts'

let target: Target
afterEach(() => target.close())

interface Sent {
  readonly messages: readonly { readonly role: string; readonly content: string }[]
}

/** User messages of each request that reached the upstream, over a chat of `turns` turns whose client resends everything. */
async function usersSent(
  gateway: GatewayOptions,
  { turns, query = '' }: { readonly turns: number; readonly query?: string },
): Promise<readonly number[]> {
  const sent: number[] = []
  target = await openGateway({
    gateway,
    answer: ({ body }) => {
      const { messages } = body as unknown as Sent
      sent.push(messages.filter(({ role }) => role === 'user').length)
      return reply({ text: `Answer ${sent.length}.` })
    },
  })
  const messages: { role: string; content: string }[] = []
  for (let turn = 1; turn <= turns; turn++) {
    messages.push({ role: 'user', content: questionOf(turn) })
    await ask(query, messages)
    messages.push({ role: 'assistant', content: `Answer ${turn}.` })
  }
  return sent
}

/** Each is longer than those before: to drop the old ones costs more cache than it saves. */
function questionOf(turn: number): string {
  return `Question ${turn} ${'with many words '.repeat(2 ** turn)}`
}

async function ask(query: string, messages: readonly object[]): Promise<void> {
  const response = await fetch(`${target.url}/v1/chat/completions${query}`, {
    method: 'POST',
    body: JSON.stringify({ model: 'gpt-4o', messages }),
  })
  expect(response.status).toBe(200)
  await response.text()
}

describe('with the default policy', () => {
  it.each([
    ['none', '20', [1, 1, 1, 1, 1, 1, 1, 1]],
    ['lastN', '2', [1, 2, 2, 2, 2, 2, 2, 2]],
    ['lastN', '0', [1, 1, 1, 1, 1, 1, 1, 1]],
    ['all', '2', [1, 2, 3, 4, 5, 6, 7, 8]],
  ])('[DA2] the environment sets %s %s at every request', async (policy, length, expected) => {
    const env = {
      NEXT_PUBLIC_DEFAULT_HISTORY_POLICY: policy,
      NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH: length,
    }
    expect(await usersSent({ env }, { turns: 8 })).toEqual(expected)
    await target.close()
    expect(await usersSent({ env }, { turns: 8, query: '?historyPolicy=all' })).toEqual(expected)
  })

  it('[DA2] an agent template sets it, and the URL stands over the template', async () => {
    const agents = { demo: { chatSettings: { historyPolicy: 'lastN', historyLength: 3 } } } as const
    const template = await usersSent({ agents }, { turns: 8, query: '?agent=demo' })
    expect(template).toEqual([1, 2, 3, 3, 3, 3, 3, 3])
    await target.close()
    const query = '?agent=demo&historyPolicy=lastN&historyLength=2'
    expect(await usersSent({ agents }, { turns: 5, query })).toEqual([1, 2, 2, 2, 2])
  })

  it('[DA5] a ceiling on the length stops ?historyPolicy=all', async () => {
    const ceilings = { 'history.length': 2 }
    const query = '?historyPolicy=all'
    expect(await usersSent({ ceilings }, { turns: 4, query })).toEqual([1, 2, 2, 2])
  })

  it('[DA1] ?historyPolicy=all sends all again after a narrow window', async () => {
    const agents = { demo: { chatSettings: { historyPolicy: 'lastN', historyLength: 1 } } } as const
    const sent = await usersSent({ agents }, { turns: 10, query: '?agent=demo' })
    expect(sent).toEqual(new Array(10).fill(1))
    const history = Array.from({ length: 10 }, (_, index) => [
      { role: 'user', content: questionOf(index + 1) },
      { role: 'assistant', content: `Answer ${index + 1}.` },
    ]).flat()
    await ask('?agent=demo&historyPolicy=all', [...history, { role: 'user', content: 'More' }])
    expect((sent as number[]).at(-1)).toBe(11)
    await ask('?agent=demo', [...history, { role: 'user', content: 'More' }])
    expect((sent as number[]).at(-1)).toBe(1)
  })
})
