// What the gateway does not manage passes through byte for byte.

import { afterEach, describe, expect, it } from 'vitest'
import { dialects, spokenFormats } from './dialect.ts'
import { post } from './faults/raw-client.ts'
import { openGateway, type Target } from './target.ts'
import { reply } from './upstream/action.ts'

let target: Target | undefined
afterEach(() => target?.close())

const answer = () => reply({ text: 'ok' })

/** A body as nobody would write it: odd spacing, escapes, numbers that JSON.parse cannot keep, keys twice. */
function strangeBody(key: 'messages' | 'input'): string {
  const message = '{ "role":"user" ,"content": "H\\u00e9llo \\/ \\ud83d\\udea2"}'
  return `{\n "model" : "m", "max_tokens": 10.0,"big":12345678901234567890, "x":1e2, "x" : 2,\t"${key}" :[${message} ] }\n`
}

describe.each(spokenFormats)('%s', (format) => {
  const body = strangeBody(format === 'openai-responses' ? 'input' : 'messages')

  it('[GW59] every byte of a call arrives with management off', async () => {
    target = await openGateway({ answer, gateway: { management: false } })
    const { url, upstream } = target
    const response = await post(url, format, { body })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-oriel-thread')).toBeNull()
    expect(upstream.requests.map(({ raw }) => raw.toString())).toEqual([body])
  })

  it('[GW59] every byte of a managed call arrives where the view changes nothing', async () => {
    target = await openGateway({ answer })
    const { url, upstream } = target
    expect((await post(url, format, { body })).headers.get('x-oriel-thread')).not.toBeNull()
    expect(upstream.requests.map(({ raw }) => raw.toString())).toEqual([body])
  })
})

describe('other calls', () => {
  it('[GW59] blank words of which no view is left reach the upstream, which says what is wrong', async () => {
    target = await openGateway({ answer })
    const body = '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":" "}]}'
    await post(target.url, 'anthropic', { body })
    expect(target.upstream.requests.map(({ raw }) => raw.toString())).toEqual([body])
  })

  it('[GW59] a history that the upstream keeps is left to it', async () => {
    target = await openGateway({ answer })
    const { url, upstream } = target
    const dialect = dialects['openai-responses']
    const body = JSON.stringify({
      ...dialect.body([dialect.user('And then?')], []),
      previous_response_id: 'resp_1',
    })
    const response = await post(url, 'openai-responses', { body })
    expect(response.headers.get('x-oriel-managed')).toBe('false')
    expect(upstream.requests.map(({ raw }) => raw.toString())).toEqual([body])
  })

  it.each([
    ['GET', '/v1/models?limit=3', undefined],
    ['POST', '/v1/messages/count_tokens', '{"model":"m","messages":[]}'],
    ['POST', '/v1/embeddings', '{ "input" : "x" }'],
    ['DELETE', '/v1/files/file-1', undefined],
  ])('[GW59] %s %s goes on as it is', async (method, path, body) => {
    target = await openGateway({ answer })
    const { url, upstream } = target
    const headers = { authorization: 'Bearer k', 'anthropic-version': '2023-06-01' }
    const response = await fetch(url + path, {
      ...{ method, headers },
      ...(body === undefined ? {} : { body }),
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-other')).toBe('yes')
    const [call] = upstream.others
    expect(call).toMatchObject({ method, headers })
    expect(`${call?.path}${call?.query}`).toBe(path)
    expect(call?.raw.toString()).toBe(body ?? '')
  })
})
