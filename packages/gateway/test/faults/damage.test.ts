// Entries that were changed in the store (RELIABILITY F6): their own thread fails, the others continue.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Store, sqliteStore } from 'oriel'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createGateway, type Gateway } from '../../src/index.ts'

type Message = { readonly role: string; readonly content: string }

let folder = ''
let store: Store
let gateway: Gateway

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oriel-damage-'))
  open()
})

afterEach(async () => {
  await close()
  rmSync(folder, { recursive: true })
})

function open(): void {
  store = sqliteStore(join(folder, 'oriel.db'))
  gateway = createGateway({ store, limits: { lateMs: 0 } })
}

async function close(): Promise<void> {
  await gateway.close()
  await store.close()
}

/** Does something to the file behind the store's back, while nobody has it open. */
async function change(sql: string, ...values: string[]): Promise<void> {
  await close()
  const database = new DatabaseSync(join(folder, 'oriel.db'))
  const { changes } = database.prepare(sql).run(...values)
  expect(changes).toBeGreaterThan(0)
  database.close()
  open()
}

async function ask(messages: readonly Message[]): Promise<{
  readonly status: number
  readonly thread: string
  readonly messages: readonly Message[]
}> {
  const request = new Request('http://localhost/v1/chat/completions', {
    method: 'POST',
    body: JSON.stringify({ model: 'oriel-demo', messages }),
  })
  const response = await gateway.fetch(request)
  const { choices } = (await response.json()) as { choices?: { message: Message }[] }
  const answered =
    choices === undefined ? messages : [...messages, ...choices.map((c) => c.message)]
  const thread = response.headers.get('x-oriel-thread') ?? ''
  return { status: response.status, thread, messages: answered }
}

async function list(query = ''): Promise<{ readonly status: number; readonly threads: object[] }> {
  const response = await gateway.fetch(new Request(`http://localhost/api/threads${query}`))
  const { threads = [] } = (await response.json()) as { threads?: object[] }
  return { status: response.status, threads }
}

const forged = `update entries set body = replace(body, 'Hello', 'Hullo')
  where seq = (select min(seq) from entries e where e.thread = entries.thread and e.body like '%Hello%')
  and thread = (select id from threads where thread = ?)`

describe('a damaged thread', () => {
  it('[GW10] is listed as such, beside the others, and hides no other from a search', async () => {
    const damaged = await ask([{ role: 'user', content: 'Hello one' }])
    const sound = await ask([{ role: 'user', content: 'Hello two' }])
    await change(forged, damaged.thread)
    const all = await list()
    expect(all.threads).toHaveLength(2)
    expect(all.threads).toContainEqual(
      expect.objectContaining({ id: damaged.thread, damage: 'corrupt-entry' }),
    )
    expect(all.threads).toContainEqual(
      expect.objectContaining({ id: sound.thread, title: 'Hello two' }),
    )
    expect(await list('?search=hello')).toMatchObject({ threads: [{ id: sound.thread }] })
  })
})

describe('a damaged entry of what the gateway itself keeps', () => {
  it.each([
    ['changed', "update entries set body = replace(body, 'x-gateway', 'x-gatewax')"],
    ['gone', 'delete from entries'],
  ])('[GW6] costs few conversations their thread, and none its answers (%s)', async (_, what) => {
    const first = await ask([{ role: 'user', content: 'Hello one' }])
    // An entry that follows one that is gone cannot be checked.
    await ask([{ role: 'user', content: 'Hello two' }])
    const third = await ask([{ role: 'user', content: 'Hello three' }])
    const where = `where seq = (select min(seq) from entries where type = 'x-gateway')
      and thread = (select id from threads where tenant = ? and thread = 'conversations')`
    await change(`${what} ${where}`, 'index:local')
    const go = { role: 'user', content: 'Go on' }
    const again = await ask([...third.messages, go])
    expect(again).toMatchObject({ status: 200, thread: third.thread })
    expect(await ask([...first.messages, go])).toMatchObject({ status: 200 })
    expect((await list()).status).toBe(200)
  })
})
