// Lists and searches over more threads than fit on a page, by real HTTP on a real store.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Entry, memoryStore, openThread, type Store, sqliteStore } from 'oriel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createGateway, type GatewayServer, serveGateway } from '../src/index.ts'

const mine = 'key-of-mine-0123456789'
const admin = 'key-of-the-operator-012'
const keys = [
  { name: 'mine', key: mine, tenant: 'mine' },
  { name: 'ops', key: admin, tenant: 'ops', isAdmin: true },
]

interface Listed {
  readonly threads: readonly { readonly id: string; readonly tenant?: string }[]
  readonly cursor?: string
}

async function list(server: GatewayServer, query: string, key = mine): Promise<Listed> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${server.url}/api/threads?${query}`, { headers })
  expect(response.status).toBe(200)
  return (await response.json()) as Listed
}

/** The log of a thread with one message. */
async function template(): Promise<readonly Entry[]> {
  const store = memoryStore()
  const thread = await openThread({ store, id: 'template' })
  await thread.append({ role: 'user', content: 'WORDS' })
  return thread.log()
}

function logWith(entries: readonly Entry[], words: string): readonly Entry[] {
  return JSON.parse(JSON.stringify(entries).replaceAll('WORDS', words)) as readonly Entry[]
}

describe('more than 10,000 threads', () => {
  const count = 10_200
  const directory = mkdtempSync(join(tmpdir(), 'oriel-list-'))
  let clock = 1_000_000
  let store: Store
  let server: GatewayServer

  beforeAll(async () => {
    store = sqliteStore(join(directory, 'store.db'), { now: () => clock })
    const entries = await template()
    const nameOf = (index: number): string => `thread-${String(index).padStart(6, '0')}`
    for (let from = 0; from < count; from += 500) {
      clock++
      const batch = Array.from({ length: 500 }, (_, index) => from + index)
      await Promise.all(
        batch
          .filter((index) => index < count)
          .map((index) => {
            const key = { tenant: 'mine', thread: nameOf(index) }
            return store.append(key, logWith(entries, `apple ${index}`), 0)
          }),
      )
    }
    clock++
    // Sorted by name it comes last.
    const newest = { tenant: 'mine', thread: 'zz-newest' }
    await store.append(newest, logWith(entries, 'The newest pear.'), 0)
    server = await serveGateway(createGateway({ keys, store }), { port: 0 })
  })

  afterAll(async () => {
    await server.close()
    await store.close()
    rmSync(directory, { recursive: true })
  })

  it('[GW10] the newest is first in the list and in a search', async () => {
    const { threads } = await list(server, 'limit=2')
    expect(threads[0]?.id).toBe('zz-newest')
    const found = await list(server, 'search=pear&limit=1')
    expect(found.threads.map(({ id }) => id)).toEqual(['zz-newest'])
  })

  it('[GM3] the newest is found over MCP first, and many are found at once', async () => {
    const client = new Client({ name: 'tests', version: '1.0.0' })
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
        requestInit: { headers: { authorization: `Bearer ${mine}` } },
      }),
    )
    const search = async (input: object): Promise<{ matches: { thread: string }[] }> => {
      const { content } = await client.callTool({ name: 'search_thread', arguments: { ...input } })
      return JSON.parse((content as { text: string }[])[0]?.text ?? '')
    }
    const { matches } = await search({ query: 'pear', limit: 1 })
    expect(matches.map(({ thread }) => thread)).toEqual(['zz-newest'])
    const found = await search({ query: 'apple', limit: 7 })
    expect(new Set(found.matches.map(({ thread }) => thread)).size).toBe(7)
    await client.close()
  })

  it('[GW10] `after` leads through all of them, each once', async () => {
    const seen: string[] = []
    let query = 'limit=200'
    for (;;) {
      const { threads, cursor } = await list(server, query)
      seen.push(...threads.map(({ id }) => id))
      if (cursor === undefined) break
      query = `limit=200&after=${cursor}`
    }
    expect(seen.length).toBe(count + 1)
    expect(new Set(seen).size).toBe(count + 1)
  })
})

describe('a list of several tenants', () => {
  it('[GW10] goes on after a cursor, whatever grows or is erased meanwhile', async () => {
    let clock = 1000
    const store = memoryStore({ now: () => clock })
    const entries = await template()
    const tenants = ['ops', 'a', 'b', 'c']
    const gateway = createGateway({ keys, store })
    const server = await serveGateway(gateway, { port: 0 })
    const index = { tenant: 'index:', thread: 'tenants' }
    const noted = tenants.map((tenant, at) => {
      return { type: 'x-gateway', id: `x-${at + 1}`, seq: at + 1, at: 1, value: { tenant } }
    }) as unknown as Entry[]
    await store.append(index, noted, 0)
    const all: string[] = []
    // Three threads of each tenant at the same time.
    for (let round = 0; round < 4; round++) {
      clock += 10
      for (const tenant of tenants) {
        for (const name of ['x', 'y', 'z']) {
          const thread = `${name}${round}`
          await store.append({ tenant, thread }, logWith(entries, 'x'), 0)
          all.push(`${tenant}/${thread}`)
        }
      }
    }
    const seen: string[] = []
    let query = 'limit=5'
    for (let page = 0; ; page++) {
      const { threads, cursor } = await list(server, query, admin)
      seen.push(...threads.map(({ id, tenant }) => `${tenant}/${id}`))
      if (cursor === undefined) break
      query = `limit=5&after=${cursor}`
      const last = threads.at(-1)
      const key = { tenant: String(last?.tenant), thread: String(last?.id) }
      clock += 10
      // The thread that the cursor names is erased, or becomes the newest.
      if (page % 2 === 0) await store.erase(key)
      else await store.append(key, [{ ...entries[1], seq: 3, id: 'e3' } as Entry], 2)
    }
    expect(seen.length).toBe(all.length)
    expect([...seen].sort()).toEqual([...all].sort())
    const wrong = await fetch(`${server.url}/api/threads?after=nonsense`, {
      headers: { authorization: `Bearer ${admin}` },
    })
    expect(wrong.status).toBe(400)
    await server.close()
  })
})
