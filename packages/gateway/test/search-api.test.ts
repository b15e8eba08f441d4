// `GET /api/search`: ranked, in the caller's threads only.

import { memoryStore, openThread } from 'oriel'
import { describe, expect, it } from 'vitest'
import { createGateway } from '../src/index.ts'

const keys = [
  { name: 'mine', key: 'key-of-mine-0123456789', tenant: 'mine' },
  { name: 'other', key: 'key-of-other-0123456789', tenant: 'other' },
]

async function serving() {
  const store = memoryStore()
  for (const tenant of ['mine', 'other']) {
    const thread = await openThread({ id: `${tenant}-1`, tenant, store })
    const [, hidden] = await thread.append([
      { role: 'user', content: `The invoice of ${tenant} is INV-4711.` },
      { role: 'user', content: `The pass phrase of ${tenant} is marmalade.` },
      { role: 'assistant', content: 'Noted.' },
    ])
    await thread.exclude(hidden?.id ?? '')
  }
  const gateway = createGateway({ keys, store })
  const ask = async (query: string, key = 'key-of-mine-0123456789') => {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await gateway.fetch(
      new Request(`http://localhost/api/search${query}`, { headers }),
    )
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
  return { gateway, ask }
}

describe('GET /api/search', () => {
  it('[GS1] answers the best messages of the caller with their passages', async () => {
    const { ask } = await serving()
    const { status, body } = await ask('?q=invoice+number')
    expect(status).toBe(200)
    expect(body).toEqual({
      results: [
        expect.objectContaining({
          thread: 'mine-1',
          index: 0,
          text: 'The invoice of mine is INV-4711.',
        }),
      ],
    })
    const one = await ask('?q=invoice&thread=mine-1&limit=1')
    expect(one.body).toMatchObject({ results: [{ thread: 'mine-1' }] })
  })

  it('[GS1] never shows what was excluded, nor what another tenant has', async () => {
    const { ask } = await serving()
    expect((await ask('?q=marmalade')).body).toEqual({ results: [] })
    expect((await ask('?q=invoice&thread=other-1')).status).toBe(404)
    expect((await ask('?q=invoice', 'wrong')).status).toBe(401)
    const { body } = await ask('?q=invoice', 'key-of-other-0123456789')
    expect(body).toMatchObject({ results: [{ thread: 'other-1' }] })
  })

  it('[GS1] refuses a query that is none', async () => {
    const { ask } = await serving()
    for (const query of ['', '?q=', '?q=%20', `?q=${'x'.repeat(3000)}`])
      expect((await ask(query)).status).toBe(400)
  })
})

describe('memory behind the gateway', () => {
  const headersOf = (extra: Record<string, string>) => ({
    'content-type': 'application/json',
    authorization: 'Bearer key-of-mine-0123456789',
    ...extra,
  })

  it('[GS2] marks the words that match, and keeps to a kind and a scope', async () => {
    const store = memoryStore()
    const scope = { user: 'ann' }
    const thread = await openThread({ id: 'a', tenant: 'mine', store, scope })
    await thread.append([
      { role: 'user', content: 'Never use tables for an invoice.' },
      { role: 'assistant', content: 'The invoice is plain text now.' },
    ])
    const gateway = createGateway({ keys, store })
    const ask = async (query: string) => {
      const url = `http://localhost/api/search?q=invoices&${query}`
      const answer = await gateway.fetch(new Request(url, { headers: headersOf({}) }))
      return (await answer.json()) as { results: { text: string; marks: [number, number][] }[] }
    }
    const { results } = await ask('kind=directive')
    expect(results).toMatchObject([{ kind: 'directive', next: { role: 'assistant' } }])
    const [{ text, marks } = { text: '', marks: [] }] = results
    expect(marks.map(([from, to]) => text.slice(from, to))).toEqual(['invoice'])
    expect((await ask('user=ann')).results).toHaveLength(2)
    expect((await ask('user=bob')).results).toHaveLength(0)
  })

  it('[GS3] the context of a thread is live', async () => {
    const { gateway } = await serving()
    const url = 'http://localhost/api/threads/mine-1/context'
    const answer = await gateway.fetch(new Request(url, { headers: headersOf({}) }))
    expect(await answer.json()).toMatchObject({ tokens: { system: 0 }, format: 'openai-chat' })
    const foreign = 'http://localhost/api/threads/other-1/context'
    expect((await gateway.fetch(new Request(foreign, { headers: headersOf({}) }))).status).toBe(404)
  })
})
