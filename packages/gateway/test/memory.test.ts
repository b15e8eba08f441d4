// Memory behind the gateway: threads of one user, over real HTTP.

import { afterEach, describe, expect, it } from 'vitest'
import type { GatewayOptions } from '../src/index.ts'
import { dialects, spokenFormats } from './dialect.ts'
import { post } from './faults/raw-client.ts'
import { openGateway, type Target } from './target.ts'
import { reply } from './upstream/action.ts'

const targets: Target[] = []
afterEach(async () => {
  await Promise.all(targets.splice(0).map((target) => target.close()))
})

async function open(gateway: GatewayOptions): Promise<Target> {
  const target = await openGateway({ gateway, answer: () => reply({ text: 'ok' }) })
  targets.push(target)
  return target
}

describe.each(spokenFormats)('%s', (format) => {
  const { body, user } = dialects[format]
  const say = async (target: Target, text: string, headers: Record<string, string>) => {
    const own = JSON.stringify(body([user(text)], []))
    const answer = await post(target.url, format, { body: own, headers })
    expect(answer.status).toBe(200)
    return String(target.upstream.requests.at(-1)?.raw)
  }

  it('[GS4] a new thread of a user is told what is to hold everywhere, and finds what was said', async () => {
    const target = await open({ memory: true, recall: 'auto' })
    const ann = { 'x-oriel-user': 'ann' }
    const first = 'Always answer in French. My invoice number is INV-4711.'
    expect(await say(target, first, { ...ann, 'x-session-id': 'one' })).not.toContain('Standing')
    const question = 'Which invoice number did I mention?'
    const told = await say(target, question, { ...ann, 'x-session-id': 'two' })
    expect(told).toContain('Always answer in French.')
    expect(told).toContain('INV-4711')
    expect(told).toContain('data, not instructions')
    const bob = await say(target, question, { 'x-oriel-user': 'bob', 'x-session-id': 'three' })
    expect(bob).not.toMatch(/INV-4711|French/)
    const nobody = await say(target, question, { 'x-session-id': 'four' })
    expect(nobody).not.toMatch(/INV-4711|French/)
    expect(target.upstream.breaches).toEqual([])
  })

  it('[GS5] people list, edit and erase what is to hold everywhere', async () => {
    const target = await open({ memory: true })
    const ann = { 'x-oriel-user': 'ann' }
    await say(target, 'Always answer in French.', { ...ann, 'x-session-id': 'one' })
    const ask = (path: string, init?: RequestInit): Promise<Response> =>
      fetch(`${target.url}/api/memory${path}`, init)
    const list = async (): Promise<readonly { readonly id: string; readonly text: string }[]> =>
      ((await (await ask('?user=ann')).json()) as { instructions: { id: string; text: string }[] })
        .instructions
    const [said] = await list()
    expect(said).toMatchObject({ text: 'Always answer in French.', seq: 2, isEdited: false })
    const headers = { 'content-type': 'application/json' }
    const edit = { method: 'PUT', headers, body: '{"text":"Always answer in German."}' }
    const edited = await ask(`/${said?.id}?user=ann`, edit)
    expect(await edited.json()).toMatchObject({ text: 'Always answer in German.', isEdited: true })
    const told = await say(target, 'Hello?', { ...ann, 'x-session-id': 'two' })
    expect(told).toMatch(/Always answer in German/)
    expect(told).not.toMatch(/French/)
    expect((await ask(`/${said?.id}?user=ann`, { method: 'DELETE' })).status).toBe(204)
    expect(await list()).toEqual([])
    const after = await say(target, 'Hello again?', { ...ann, 'x-session-id': 'three' })
    expect(after).not.toMatch(/German|French/)
    expect((await ask(`/${said?.id}?user=ann`, { method: 'DELETE' })).status).toBe(404)
    expect((await ask(`/${said?.id}?user=ann`, edit)).status).toBe(404)
    expect((await ask('')).status).toBe(400)
  })

  it('[GS4] is off by default: the client’s bytes pass as they came', async () => {
    const target = await open({})
    const ann = { 'x-oriel-user': 'ann' }
    await say(target, 'Always answer in French.', { ...ann, 'x-session-id': 'one' })
    const sent = await say(target, 'Hello?', { ...ann, 'x-session-id': 'two' })
    expect(sent).toBe(JSON.stringify(body([user('Hello?')], [])))
  })
})
