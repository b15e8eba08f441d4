// `/api/memory`: the caller's tenant only.

import { memoryStore, openThread } from 'oriel'
import { expect, it } from 'vitest'
import { createGateway } from '../src/index.ts'

const keys = [
  { name: 'mine', key: 'key-of-mine-0123456789', tenant: 'mine' },
  { name: 'other', key: 'key-of-other-0123456789', tenant: 'other' },
  { name: 'boss', key: 'key-of-boss-0123456789', tenant: 'boss', isAdmin: true },
]

async function serving() {
  const store = memoryStore()
  for (const tenant of ['mine', 'other']) {
    const thread = await openThread({ id: 't', tenant, store, scope: { user: 'ann' } })
    await thread.append({ role: 'user', content: `Always write ${tenant} in capitals.` })
    await thread.settled()
  }
  const gateway = createGateway({ keys, store })
  return async (name: string, path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer key-of-${name}-0123456789` }
    const url = `http://localhost/api/memory${path}`
    const answer = await gateway.fetch(new Request(url, { ...init, headers }))
    const body = answer.status === 204 ? undefined : await answer.json()
    return {
      status: answer.status,
      body: body as { instructions?: { id: string; text: string }[] },
    }
  }
}

it('[GS5] no key reads, edits or erases what another tenant has, whatever it names', async () => {
  const ask = await serving()
  const texts = async (name: string, path: string) =>
    (await ask(name, path)).body.instructions?.map(({ text }) => text)
  expect(await texts('mine', '?user=ann')).toEqual(['Always write mine in capitals.'])
  expect(await texts('mine', '?user=ann&tenant=other')).toEqual(['Always write mine in capitals.'])
  expect(await texts('boss', '?user=ann&tenant=other')).toEqual(['Always write other in capitals.'])
  expect(await texts('mine', '?user=bob')).toEqual([])
  expect(await texts('mine', '?project=ann')).toEqual([])
  const id = (await ask('other', '?user=ann')).body.instructions?.[0]?.id
  for (const path of [`/${id}?user=ann`, `/${id}?user=ann&tenant=other`]) {
    expect((await ask('mine', path, { method: 'DELETE' })).status).toBe(404)
    const edit = await ask('mine', path, { method: 'PUT', body: '{"text":"x"}' })
    expect(edit.status).toBe(404)
  }
  expect(await texts('other', '?user=ann')).toEqual(['Always write other in capitals.'])
  expect((await ask('boss', `/${id}?user=ann&tenant=other`, { method: 'DELETE' })).status).toBe(204)
  expect(await texts('other', '?user=ann')).toEqual([])
})

it.each([['{"text":""}'], ['{"text":7}'], ['{}'], ['{"text":"x","more":1}'], ['{']])(
  '[GS5] refuses the edit %s',
  async (body) => {
    const ask = await serving()
    const id = (await ask('mine', '?user=ann')).body.instructions?.[0]?.id
    expect((await ask('mine', `/${id}?user=ann`, { method: 'PUT', body })).status).toBe(400)
  },
)
