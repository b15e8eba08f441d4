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

describe('lines and warnings', () => {
  const agents = { demo: { chatSettings: { historyPolicy: 'lastN', historyLength: 2 } } } as const
  const history = [
    { role: 'system', content: 'Be brief.' },
    ...[1, 2, 3].flatMap((turn) => [
      { role: 'user', content: `Question ${turn}` },
      { role: 'assistant', content: `Answer ${turn}` },
    ]),
    { role: 'user', content: 'More' },
  ]

  it("[DA7] name the agent of the request, and count the client's messages alike before and after", async () => {
    const env = process.env.NODE_ENV
    process.env.NODE_ENV = 'development'
    const lines: string[] = []
    try {
      target = await openGateway({
        gateway: { agents, log: (line) => lines.push(line) },
        answer: () => reply({ text: 'Yes.' }),
      })
      await ask('?agent=demo', history)
    } finally {
      process.env.NODE_ENV = env
    }
    const said = lines.join('\n')
    expect(said).toContain(
      '[History] Agent demo history settings: {policy: "lastN", length: 2, messageCount: 8}',
    )
    expect(said).toContain('[History] Trimmed messages from 8 to 4')
  })

  it.each<[string, object, object]>([
    ['a header that is nearly ours', { 'x-oriel-polcy': '{}' }, {}],
    ['an unknown field of `oriel`', {}, { oriel: { polcy: {} } }],
    ['`oriel` that is no object', {}, { oriel: 'recommended' }],
    ['a policy one level too high', {}, { oriel: { history: { length: 1 } } }],
    ['a field one level too high', {}, { oriel: { policy: { length: 1 } } }],
    ['a field one level too high, in a header', { 'x-oriel-policy': '{"length":1}' }, {}],
  ])('[C2] %s is a 400, and nothing is sent', async (_, headers, body) => {
    let asked = 0
    target = await openGateway({
      gateway: {},
      answer: () => {
        asked += 1
        return reply({ text: 'Yes.' })
      },
    })
    const response = await fetch(`${target.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers },
      body: JSON.stringify({ model: 'gpt-4o', messages: history, ...body }),
    })
    expect(await response.json()).toMatchObject({
      error: { code: expect.stringMatching(/^invalid-/) },
    })
    expect([response.status, asked]).toEqual([400, 0])
  })

  it.each([
    ['?historyLenght=2', 'historyLenght is not known; did you mean historyLength'],
    ['?historyLength=-1', 'historyLength'],
    ['?historyLength=1&historyLength=9', 'historyLength'],
  ])('[C2] %s is answered with a warning, and ignored', async (query, warning) => {
    const sent: number[] = []
    target = await openGateway({
      gateway: {},
      answer: ({ body }) => {
        sent.push((body as unknown as Sent).messages.length)
        return reply({ text: 'Yes.' })
      },
    })
    const response = await fetch(`${target.url}/v1/chat/completions${query}`, {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-4o', messages: history }),
    })
    await response.text()
    expect(response.headers.get('x-oriel-warnings')).toContain(warning)
    expect(sent).toEqual([history.length])
  })
})
