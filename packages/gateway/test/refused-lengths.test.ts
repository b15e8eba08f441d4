// An upstream that refuses long requests: a plain `oriel serve` is refused once, then never again for that model, also after a restart.

import { mkdtempSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { project } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { type ServeProcess, startServe } from './faults/serve-process.ts'
import { type Completion, type ModelServer, say, sendJson, startModels } from './model-server.ts'

const data = mkdtempSync(join(tmpdir(), 'oriel-refused-'))
let models: ModelServer | undefined
let serve: ServeProcess | undefined
afterEach(async () => {
  await serve?.stop()
  models?.close()
  rmSync(data, { recursive: true, force: true })
})

const most = 8000

/** Tokens of a request, counted as the provider does. */
function tokensOf({ messages }: Completion): number {
  return project(messages, {}, { tokens: 'o200k' }).tokens.before
}

interface Refusing {
  readonly refusal: (sent: number) => object
  readonly status?: number
}

const openai = (sent: number): object => ({
  error: {
    message: `This model's maximum context length is ${most} tokens. However, your messages resulted in ${sent} tokens. Please reduce the length of the messages.`,
    type: 'invalid_request_error',
    param: 'messages',
    code: 'context_length_exceeded',
  },
})

async function start({ refusal, status = 400 }: Refusing): Promise<ServeProcess> {
  models ??= await startModels((asked: Completion, response: ServerResponse) => {
    const sent = tokensOf(asked)
    if (sent > most) sendJson(response, refusal(sent), status)
    else say(response, 'Going on.')
  })
  serve = await startServe({
    config: { data, upstreams: [{ name: 'main', baseUrl: models.url }] },
  })
  return serve
}

/** A tool loop of so many steps, each with a result of about 700 tokens; the statuses of its answers. */
async function run({ url }: ServeProcess, steps: number, thread: string): Promise<Set<number>> {
  const messages: object[] = [{ role: 'user', content: 'Find the fault.' }]
  const statuses = new Set<number>()
  for (let step = 0; step < steps; step++) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-oriel-thread': thread },
      body: JSON.stringify({ model: 'm', messages }),
    })
    await response.text()
    statuses.add(response.status)
    const input = JSON.stringify({ path: `src/part${step}.ts` })
    const call = { id: `c${step}`, type: 'function', function: { name: 'read', arguments: input } }
    messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    const lines = Array.from(
      { length: 40 },
      (_, line) =>
        `${line}: export const value${step * 40 + line} = '${(step * 7919 + line * 104_729).toString(36)}'`,
    )
    messages.push({ role: 'tool', tool_call_id: call.id, content: lines.join('\n') })
  }
  return statuses
}

describe('a refused length', () => {
  it('[RC5] is learned: 29 steps ask the upstream 30 times, and a restart or another thread none in vain', async () => {
    const first = await start({ refusal: openai })
    expect(await run(first, 29, 'one')).toEqual(new Set([200]))
    expect(models?.asked).toHaveLength(30)
    expect(await run(first, 29, 'two')).toEqual(new Set([200]))
    expect(models?.asked).toHaveLength(59)
    await first.stop()
    const second = await start({ refusal: openai })
    expect(await run(second, 29, 'three')).toEqual(new Set([200]))
    expect(models?.asked).toHaveLength(88)
  }, 60_000)
})
