// The cases of the Open Responses compliance suite (openresponses/openresponses), in our own words: what each must give through the
// gateway, also where a hidden round comes first. Cases of hosted tools and of a server's own storage are the upstream's: the suite has none.

import { afterEach, describe, expect, it } from 'vitest'
import { hundredTools } from './expansion/catalogue.ts'
import { post } from './faults/raw-client.ts'
import { openGateway, type Target } from './target.ts'
import { type Action, reply } from './upstream/action.ts'
import type { Asked } from './upstream/upstream.ts'

let target: Target | undefined
afterEach(async () => target?.close())

type Fields = Readonly<Record<string, unknown>>

const says = (role: string, content: unknown): Fields => ({ type: 'message', role, content })
const weather = {
  ...{ type: 'function', name: 'get_weather', description: 'Tells the weather of a place.' },
  parameters: {
    type: 'object',
    properties: { location: { type: 'string' } },
    required: ['location'],
  },
}
const dot =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

interface Case {
  readonly name: string
  readonly body: Fields
  readonly isCalling?: boolean
}

const cases: readonly Case[] = [
  { name: 'a text', body: { input: [says('user', 'Greet me in three words.')] } },
  {
    name: 'a system message',
    body: { input: [says('system', 'Talk like a sailor.'), says('user', 'Greet me.')] },
  },
  {
    name: 'a call of a function',
    body: { input: [says('user', 'How is the weather in Lisbon?')], tools: [weather] },
    isCalling: true,
  },
  {
    name: 'a picture',
    body: {
      input: [
        says('user', [
          { type: 'input_text', text: 'What is this?' },
          { type: 'input_image', image_url: dot },
        ]),
      ],
    },
  },
  {
    name: 'several turns',
    body: {
      input: [
        says('user', 'I am Ada.'),
        says('assistant', 'Hello Ada.'),
        says('user', 'Who am I?'),
      ],
    },
  },
]

const rounds = [
  ['in one round', false],
  ['behind a hidden round', true],
] as const

describe.each(cases)('$name', ({ body, isCalling = false }) => {
  /** A model that answers at once, or searches first. */
  const answer =
    (isHidden: boolean) =>
    ({ index }: Asked): Action => {
      if (isHidden && index === 0) return reply({ calls: [['find_tool', '{"query":"read"}']] })
      return isCalling
        ? reply({ calls: [['get_weather', '{"location":"Lisbon"}']] })
        : reply({ text: 'Well then.' })
    }

  async function ask(isStream: boolean, isHidden: boolean): Promise<Response> {
    const policy = isHidden
      ? ({ preset: 'recommended', tools: 'deferred' } as const)
      : 'recommended'
    target = await openGateway({ answer: answer(isHidden), gateway: { policy } })
    const many = hundredTools.map((tool) => ({ type: 'function', ...tool }))
    const own = (body.tools ?? []) as readonly Fields[]
    const tools = isHidden ? [...own, ...many] : own
    const asked = { model: 'm', ...body, ...(tools.length > 0 && { tools }), stream: isStream }
    const response = await post(target.url, 'openai-responses', { body: JSON.stringify(asked) })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-oriel-thread')).toBeTruthy()
    return response
  }

  function check(response: Fields): void {
    expect(target?.upstream.breaches).toEqual([])
    expect(response).toMatchObject({ object: 'response', status: 'completed', error: null })
    expect(response.id).toMatch(/^resp_/)
    const output = response.output as readonly Fields[]
    expect(output.map(({ type }) => type)).toEqual([isCalling ? 'function_call' : 'message'])
    expect(response.usage).toMatchObject({
      ...{ input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
      total_tokens: expect.any(Number),
    })
  }

  it.each(rounds)('[KC6] is answered whole, %s', async (_, isHidden) => {
    check((await (await ask(false, isHidden)).json()) as Fields)
  })

  it.each(rounds)('[KC6] is answered as a stream, %s', async (_, isHidden) => {
    const text = await (await ask(true, isHidden)).text()
    const events = text
      .split('\n\n')
      .flatMap((event) => /^data: (\{.*\})$/m.exec(event)?.[1] ?? [])
      .map((data) => JSON.parse(data) as Fields)
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at))
    const types = events.map(({ type }) => type)
    const [first, last] = [types[0], types.at(-1)]
    expect([first, last]).toEqual(['response.created', 'response.completed'])
    const items = events.filter(({ type }) => String(type).startsWith('response.output_item.'))
    const item = isCalling ? 'function_call' : 'message'
    expect(items.map(({ type, item: one }) => [type, (one as Fields).type])).toEqual([
      ['response.output_item.added', item],
      ['response.output_item.done', item],
    ])
    const part = isCalling ? 'function_call_arguments' : 'output_text'
    expect(types).toContain(`response.${part}.delta`)
    expect(types).toContain(`response.${part}.done`)
    check(events.at(-1)?.response as Fields)
  })
})
