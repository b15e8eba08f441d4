// What a provider says about its own cache reaches the log.

import Anthropic from '@anthropic-ai/sdk'
import type { JsonObject } from 'oriel'
import { afterEach, expect, it } from 'vitest'
import { logOf, newestThread } from './faults/raw-client.ts'
import { openGateway, type Target } from './target.ts'
import { reply } from './upstream/action.ts'

let target: Target | undefined
afterEach(async () => target?.close())

const diagnostics = {
  cache_miss_reason: { type: 'tools_changed', cache_missed_input_tokens: 3210 },
}

it('[EC9] the reason of a miss is recorded with the request that asked for it', async () => {
  target = await openGateway({
    answer: ({ index }) => {
      const said = reply({ text: `Answer ${index}.` })
      if (said.type !== 'reply' || index === 0) return said
      return { ...said, alter: (body: JsonObject) => ({ ...body, diagnostics }) }
    },
  })
  const client = new Anthropic({ baseURL: target.url, apiKey: 'fault-key', maxRetries: 0 })
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'One' }]
  const ask = async (previous: string | null) => {
    const asked = { diagnostics: { previous_message_id: previous } }
    const body = { model: 'claude-demo', max_tokens: 100, messages, ...asked }
    const answer = await client.messages.create(body)
    messages.push({ role: 'assistant', content: answer.content }, { role: 'user', content: 'More' })
    return answer
  }
  const first = await ask(null)
  const second = await ask(first.id)
  expect(second).toMatchObject({ diagnostics })
  const log = await logOf(target.url, await newestThread(target.url))
  const usage = log.flatMap((entry) => (entry.type === 'usage' ? [entry] : []))
  const [before, after] = usage
  expect(before?.broken).toBeUndefined()
  const miss = { cause: 'tools', word: 'tools_changed', tokens: 3210 }
  expect(after).toMatchObject({
    sample: { miss },
    broken: { cause: 'tools', lost: 3210, told: 'tools_changed' },
  })
  // The name of the request before is no part of what the model is asked.
  const frames = log.filter((entry) => entry.type === 'setting' && entry.name.startsWith('frame/'))
  expect(frames).toHaveLength(1)
})
