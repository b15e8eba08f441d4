import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../core/log/json.ts'
import type { Provider } from '../providers/provider.ts'
import { providers } from '../providers/registry.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread, type Thread } from '../thread/thread.ts'
import { managed as managedAnthropic } from './anthropic.ts'
import { managed } from './openai.ts'

/** Answers every request in the provider's words, and keeps the bodies. */
function answering(provider: Provider, bodies: JsonObject[]): typeof fetch {
  return async (_, init) => {
    const request = JSON.parse(String(init?.body)) as JsonObject
    bodies.push(request)
    const { body } = provider.writeAnswer([{ type: 'text', text: 'Yes.' }], {
      request,
      measured: { input: 10, cached: 0, written: 0, output: 1, reasoning: 0 },
      makeId: (prefix) => `${prefix}_1`,
      seal: (text) => text,
    })
    return Response.json(body)
  }
}

async function framesIn(thread: Thread): Promise<readonly unknown[]> {
  const log = await thread.log()
  return log.flatMap((entry) =>
    entry.type === 'setting' && entry.name.startsWith('frame/') ? [entry.value] : [],
  )
}

const ask = { model: 'm', temperature: 0.5, user: 'u', metadata: { user_id: 'u' } }
const content = 'Is it?'

type Ask = (fetch: typeof globalThis.fetch, thread: Thread) => Promise<unknown>

/** Those whose official SDKs can be managed. */
const asks: Readonly<Partial<Record<keyof typeof providers, Ask>>> = {
  'openai-chat': (fetch, thread) =>
    managed(new OpenAI({ apiKey: 'none', fetch }), { thread }).chat.completions.create({
      ...{ ...ask, seed: 3, messages: [{ role: 'user', content }] },
    }),
  'openai-responses': (fetch, thread) =>
    managed(new OpenAI({ apiKey: 'none', fetch }), { thread }).responses.create({
      ...{ ...ask, input: content, instructions: 'Be brief.', text: { verbosity: 'low' } },
    }),
  anthropic: (fetch, thread) =>
    managedAnthropic(new Anthropic({ apiKey: 'none', fetch }), { thread }).messages.create({
      ...{ model: 'm', temperature: 0.5, metadata: { user_id: 'u' }, max_tokens: 99 },
      ...{ system: 'Be brief.', messages: [{ role: 'user', content }] },
    }),
}

const spoken = Object.values(providers).filter(({ name }) => asks[name] !== undefined)

describe.each(spoken)('a request of the SDK in $name', (provider) => {
  it('[PV2] has the frame that the gateway gives it', async () => {
    const thread = await openThread({ store: memoryStore() })
    const bodies: JsonObject[] = []
    await asks[provider.name]?.(answering(provider, bodies), thread)
    expect(bodies).toHaveLength(1)
    expect(await framesIn(thread)).toEqual([provider.request.frame(bodies[0] ?? {})])
  })
})
