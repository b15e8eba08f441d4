// Every way in which a summarizer can fail: the call is answered with the deterministic form, and the log has the code. One process of
// `oriel serve`, a real server for the models.

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { summarizerFailures } from '../src/settings/summarizer.ts'
import { type ServeProcess, startServe } from './faults/serve-process.ts'
import { type ModelServer, say, sendJson, startModels } from './model-server.ts'

type Answer = (response: ServerResponse) => void

const html: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/html' })
  response.end('<html>Please log in.</html>')
}
const raw =
  (text: string, type = 'application/json'): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': type })
    response.end(text)
  }
const json =
  (value: unknown, status = 200): Answer =>
  (response) =>
    sendJson(response, value, status)
const completion =
  (content: unknown, finish = 'stop'): Answer =>
  (response) =>
    say(response, content, finish)
const withChoice = (choice: object): Answer => json({ choices: [{ index: 0, ...choice }] })

const failures: readonly (readonly [string, string, Answer])[] = [
  ['connection', 'a closed connection', (response) => response.destroy()],
  [
    'connection',
    'a connection that breaks in the body',
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"choices": [{"message": {"con', () => response.destroy())
    },
  ],
  ['timeout', 'no answer', () => undefined],
  ['timeout', 'a head and no body', (response) => response.writeHead(200).flushHeaders()],
  [
    'redirect',
    'a redirect',
    (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  ],
  ['status', 'a server error', json({ error: { message: 'overloaded' } }, 500)],
  ['status', 'a rate limit', json({ error: { message: 'slow down' } }, 429)],
  ['status', 'an error that is a page', (response) => response.writeHead(502).end('<html>')],
  ['status', 'no content', (response) => response.writeHead(204).end()],
  ['status', 'a part', json({ choices: [] }, 206)],
  ['content-type', 'a page', html],
  ['content-type', 'a stream', raw('data: {"choices": []}\n\n', 'text/event-stream')],
  [
    'content-type',
    'a compressed body',
    (response) => {
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
      response.writeHead(200, headers).end('{}')
    },
  ],
  ['too-large', 'a huge body', raw(`{"choices": "${'x'.repeat(1024 * 1024)}"}`)],
  ['broken-body', 'an empty body', raw('')],
  ['broken-body', 'half a body', raw('{"choices": [{"message": {"content": "Fou')],
  ['broken-body', 'a list', raw('[]')],
  ['error-body', 'an error as 200', json({ error: { message: 'overloaded' } })],
  ['error-body', 'an error as a text', json({ error: 'overloaded' })],
  ['error-body', 'an error in the choice', withChoice({ error: { code: 502 }, message: {} })],
  ['no-choices', 'no choices', json({ id: 'x' })],
  ['no-choices', 'an empty list of choices', json({ choices: [] })],
  ['no-choices', 'a choice that is none', json({ choices: [null] })],
  ['no-text', 'a choice without a message', withChoice({ finish_reason: 'stop' })],
  ['no-text', 'a message without content', completion(null)],
  ['no-text', 'an empty text', completion('')],
  ['no-text', 'white space', completion(' \n ')],
  ['no-text', 'parts without text', completion([{ type: 'image' }])],
  ['refused', 'a refusal', withChoice({ message: { content: null, refusal: 'I cannot.' } })],
  ['incomplete', 'a text that is cut off', completion('Found 3 fi', 'length')],
  ['incomplete', 'a filtered text', completion('Found 3 fi', 'content_filter')],
  ['incomplete', 'a tool call', completion(null, 'tool_calls')],
  ['unusable-answer', 'an error as the text', completion('{"error": "overloaded"}')],
  ['unusable-answer', 'JSON that is cut off', completion('{"summary": "Fou')],
  ['unusable-answer', 'a reason of another provider', completion('Found 3 fi', 'max_tokens')],
]

let answer: Answer
let models: ModelServer
let serve: ServeProcess
beforeAll(async () => {
  models = await startModels(({ model }, response) => {
    if (model === 'm') say(response, 'Yes.')
    else answer(response)
  })
  serve = await startServe({
    config: {
      policy: { expiry: { tools: { '*': { after: 1, mode: 'compact', compact: 'summary' } } } },
      upstreams: [
        { name: 'main', baseUrl: models.url },
        { name: 'side', baseUrl: models.url, key: 'its-own', models: [] },
      ],
      summarizer: { upstream: 'side', model: 'small', timeoutMs: 300 },
    },
  })
})
afterAll(async () => {
  await serve.stop()
  models.close()
})

/** A request with an expired result; resolves to what the model saw of it. */
async function ask(thread: string): Promise<string> {
  const messages: object[] = [{ role: 'user', content: 'Look.' }]
  for (const id of ['a', 'b']) {
    const call = { id, type: 'function', function: { name: 's', arguments: '{}' } }
    messages.push({ role: 'assistant', content: null, tool_calls: [call] })
    const content = `${thread} ${id}. ${'Some words of it. '.repeat(100)}`
    messages.push({ role: 'tool', tool_call_id: id, content })
  }
  const response = await fetch(`${serve.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-oriel-thread': thread },
    body: JSON.stringify({ model: 'm', messages }),
  })
  expect(response.status).toBe(200)
  await response.text()
  return String(models.asked.findLast(({ model }) => model === 'm')?.messages[2]?.content)
}

let count = 0

describe('a summarizer that fails', () => {
  it.each(failures)('[GW85] is told by the code %s: %s', async (code, _, given) => {
    answer = given
    count += 1
    const thread = `t${count}`
    const failed = await serve.metric('oriel_jobs_failed_total')
    const shown = await ask(thread)
    expect(shown).toContain(`${thread} a. Some words`)
    expect(shown.length).toBeLessThan(1000)
    await serve.wrote(`"event":"job-failed","thread":"${thread}","code":"${code}"`)
    expect(await serve.metric('oriel_jobs_failed_total')).toBe(failed + 1)
  })

  it('[GW85] has a case here for every code', () => {
    const tested = new Set(failures.map(([code]) => code))
    expect(Object.keys(summarizerFailures).filter((code) => !tested.has(code))).toEqual([])
  })

  it.each<readonly [string, Answer]>([
    ['content in parts', completion([{ type: 'text', text: 'Found 3 files.' }])],
    ['JSON without a content type', (response) => response.end(completed('Found 3 files.'))],
    ['JSON with a charset', raw(completed('Found 3 files.'), 'application/json; charset=utf-8')],
  ])('[GW85] is not one that answers %s', async (_, given) => {
    answer = given
    count += 1
    expect(await ask(`t${count}`)).toContain('Found 3 files.')
  })
})

function completed(content: string): string {
  return JSON.stringify({ choices: [{ index: 0, message: { content }, finish_reason: 'stop' }] })
}
