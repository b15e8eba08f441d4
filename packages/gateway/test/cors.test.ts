import { describe, expect, it } from 'vitest'
import { createGateway } from '../src/index.ts'

const page = 'http://app.example'
const gateway = createGateway({
  keys: [{ name: 'one', key: 'a-key-of-the-gateway' }],
  origins: [page],
})

function ask(path: string, init: RequestInit): Promise<Response> {
  return gateway.fetch(new Request(`http://localhost${path}`, init))
}

describe('pages of other origins', () => {
  it('[GW77] that are listed may ask, send a key and read every answer', async () => {
    const asked = await ask('/v1/chat/completions', {
      method: 'OPTIONS',
      headers: {
        origin: page,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    })
    expect(asked.status).toBe(200)
    expect(asked.headers.get('access-control-allow-origin')).toBe(page)
    expect(asked.headers.get('access-control-allow-headers')).toBe('authorization,content-type')
    const refused = await ask('/v1/models', { headers: { origin: page } })
    expect(refused.status).toBe(401)
    expect(refused.headers.get('access-control-allow-origin')).toBe(page)
    const answered = await ask('/v1/chat/completions', {
      method: 'POST',
      headers: { origin: page, authorization: 'Bearer a-key-of-the-gateway' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    expect(answered.status).toBe(200)
    expect(answered.headers.get('access-control-allow-origin')).toBe(page)
    expect(answered.headers.get('vary')).toContain('origin')
  })

  it('[GW77] that are not listed get nothing, and others are told of no origin', async () => {
    const foreign = await ask('/v1/chat/completions', {
      method: 'OPTIONS',
      headers: { origin: 'http://evil.example', 'access-control-request-method': 'POST' },
    })
    expect(foreign.status).toBe(403)
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
    const own = await ask('/healthz', {})
    expect(own.headers.get('access-control-allow-origin')).toBeNull()
  })
})
