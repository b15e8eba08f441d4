// What only Responses has: endings that fail, items that are not announced, an echo of the request.

import type { JsonObject } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects } from '../dialect.ts'
import { sdkClient } from '../sdk/sdk-client.ts'
import { openGateway, type Target } from '../target.ts'
import { type Action, reply } from '../upstream/action.ts'
import { openScene, type Scene, type SceneOptions } from './story.ts'

const targets: Target[] = []
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()))
})

async function open(options: Omit<SceneOptions, 'format'>): Promise<Scene> {
  const scene = await openScene({ format: 'openai-responses', binding: 'none', ...options })
  targets.push(scene.target)
  return scene
}

const call = {
  ...{ id: 'fc_1', type: 'function_call', call_id: 'call_1', status: 'completed' },
  ...{ name: 'expand_message', arguments: '{"id":"e0"}' },
}

function response(more: JsonObject): JsonObject {
  return { id: 'resp_1', object: 'response', created_at: 1, model: 'm', tools: [], ...more }
}

const failed = response({
  ...{ status: 'failed', output: [call] },
  error: { code: 'server_error', message: 'The model broke.' },
})

/** A stream of these events, numbered. */
function stream(events: readonly JsonObject[]): Action {
  const texts = events.map((event, index) => {
    const data = JSON.stringify({ ...event, sequence_number: index })
    return `event: ${String(event.type)}\ndata: ${data}\n\n`
  })
  const headers = { 'content-type': 'text/event-stream' }
  return { type: 'raw', status: 200, headers, body: texts.join('') }
}

function whole(body: JsonObject): Action {
  const headers = { 'content-type': 'application/json' }
  return { type: 'raw', status: 200, headers, body: JSON.stringify(body) }
}

const created = {
  type: 'response.created',
  response: response({ status: 'in_progress', output: [] }),
}

describe('openai-responses', () => {
  it.each([false, true])(
    '[GX7] an answer that fails after a call of ours has failed for the client too (streamed: %s)',
    async (isStream) => {
      const events = [
        created,
        { type: 'response.output_item.added', output_index: 0, item: { ...call, arguments: '' } },
        { type: 'response.output_item.done', output_index: 0, item: call },
        { type: 'response.failed', response: failed },
      ]
      const { ask, options, history } = await open({
        ...{ isStream, says: [() => (isStream ? stream(events) : whole(failed))] },
      })
      const told = await ask(history, options)
      expect(told.whole).toMatchObject({ status: 'failed', error: failed.error, output: [] })
    },
  )

  it.each([false, true])(
    '[GX1] an answer does not repeat a tool that was only listed (streamed: %s)',
    async (isStream) => {
      const target = await openGateway({
        ...{ gateway: { expand: true }, answer: () => reply({ text: '{}' }) },
      })
      targets.push(target)
      const { user } = dialects['openai-responses']
      const ask = sdkClient('openai-responses', { url: target.url })
      const first = await ask([user('Hi.')], { isStream })
      const format = { type: 'json_schema', name: 'x', schema: {} }
      const history = [user('Hi.'), ...first.messages, user('As JSON.')]
      const told = await ask(history, { isStream, extra: { text: { format } } })
      expect(target.upstream.requests[1]?.body.tool_choice).toBe('none')
      expect(told.whole).toMatchObject({ tools: [], tool_choice: 'auto' })
    },
  )

  it.each([
    ['announced', [{ type: 'response.output_item.done', output_index: 0, item: call }]],
    ['told before the end', []],
  ])('[GX1] a call of ours that is not %s is not seen either', async (_, events) => {
    const end = response({ status: 'completed', output: [call] })
    const { target, ask, options, history } = await open({
      isStream: true,
      says: [
        () => stream([created, ...events, { type: 'response.completed', response: end }]),
        () => ({ text: 'Here.' }),
      ],
    })
    const told = await ask(history, options)
    expect(told.calls).toEqual([])
    expect(told.text).toBe('Here.')
    expect(JSON.stringify(told.whole)).not.toContain('expand_message')
    expect(target.upstream.breaches).toEqual([])
  })
})
