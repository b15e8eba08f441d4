// What `cacheHints` adds to a request, and what it leaves alone.

import type { JsonObject } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { post } from './faults/raw-client.ts'
import { openGateway, type Target } from './target.ts'
import { reply } from './upstream/action.ts'

let target: Target | undefined
afterEach(() => target?.close())

async function open(cacheHints: boolean): Promise<Target> {
  target = await openGateway({ cacheHints, answer: () => reply({ text: 'Yes.' }) })
  return target
}

/** The body that reached the upstream, and the message that came back. */
async function ask({ url, upstream }: Target, body: object) {
  const response = await post(url, 'openai-chat', { body: JSON.stringify(body) })
  const answer = (await response.json()) as { choices: readonly { message: JsonObject }[] }
  expect(response.status).toBe(200)
  return { sent: upstream.requests.at(-1)?.body, message: answer.choices[0]?.message }
}

const first = { role: 'user', content: 'Is it?' }

describe('cache hints', () => {
  it('[GW82] adds one key for all requests of a thread, and changes nothing else', async () => {
    const gateway = await open(true)
    const { sent: one, message } = await ask(gateway, { model: 'm', messages: [first] })
    const body = { model: 'm', messages: [first, message, { role: 'user', content: 'Sure?' }] }
    const { sent: next } = await ask(gateway, { ...body, seed: 1.5 })
    const { sent: other } = await ask(gateway, {
      model: 'm',
      messages: [{ ...first, content: 'Another.' }],
    })
    expect(one?.prompt_cache_key).toMatch(/^oriel-[0-9a-f]{32}$/)
    expect(next).toEqual({ ...body, seed: 1.5, prompt_cache_key: one?.prompt_cache_key })
    expect(other?.prompt_cache_key).not.toBe(one?.prompt_cache_key)
  })

  it("[GW82] leaves the client's own key, and adds none where nobody asked for it", async () => {
    const own = { model: 'm', messages: [first], prompt_cache_key: 'mine' }
    expect((await ask(await open(true), own)).sent).toEqual(own)
    await target?.close()
    const { prompt_cache_key: _key, ...plain } = own
    expect((await ask(await open(false), plain)).sent).toEqual(plain)
  })
})
