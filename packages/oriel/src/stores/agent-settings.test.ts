import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { resolvePolicy } from '../policy/resolve.ts'
import { eraseOlderThan, eraseTenant } from '../thread/erase.ts'
import { openThread } from '../thread/thread.ts'
import { memoryStore } from './memory/index.ts'
import { sqliteStore } from './sqlite/index.ts'

const directory = mkdtempSync(join(tmpdir(), 'oriel-settings-'))
const database = sqliteStore(join(directory, 'a.db'))
afterAll(async () => {
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

describe.each([
  { name: 'memory', store: memoryStore() },
  { name: 'sqlite', store: database },
])('settings of agents on $name', ({ store }) => {
  const sage = { agent: 'sage' }

  it('[C4] are kept by tenant, agent and tool; mode none is the default', async () => {
    const { settings } = store
    expect(await settings.read(sage)).toEqual({ tools: {}, toolDefaults: {} })
    await settings.saveTool(sage, 'search', {
      after: 2,
      mode: 'compact',
      length: 500,
      prompt: null,
    })
    await settings.saveTool(sage, 'read', { after: 5 })
    await settings.saveTool(sage, 'gone', { after: 5 })
    await settings.saveTool(sage, 'gone', null)
    await settings.saveToolDefault(sage, 'query', 'database-summary')
    expect(await settings.read(sage)).toEqual({
      tools: {
        search: { after: 2, mode: 'compact', length: 500 },
        read: { after: 5, mode: 'none' },
      },
      toolDefaults: { query: { prompt: 'database-summary' } },
    })
    expect((await settings.read({ agent: 'other' })).tools).toEqual({})
    expect((await settings.read({ agent: 'sage', tenant: 'b' })).tools).toEqual({})
    expect(await store.list('default')).toEqual([])
  })

  it('[C4] win over the policy, tool by tool, and the override over them', async () => {
    const words = 'found a line '.repeat(100)
    const policy = { expiry: { tools: { Search: { after: 50, mode: 'remove' } } } } as const
    const run = async (id: string, options: object) => {
      const thread = await openThread({ id, store, policy, ...options })
      await thread.append([
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: [{ type: 'tool-call', callId: 'c', name: 'search', arguments: '{}' }],
        },
        { role: 'tool', content: [{ type: 'tool-result', callId: 'c', content: words }] },
        ...Array.from({ length: 3 }, () => ({ role: 'assistant', content: 'ok' })),
      ])
      return (await thread.view()).trace.map(({ form }) => form)
    }
    expect(await run('a', {})).toEqual([])
    expect(await run('b', { agent: 'sage' })).toEqual(['clipped'])
    const off = { expiry: { ...policy.expiry, override: { mode: 'none' } } } as const
    expect(await run('c', { agent: 'sage', policy: off })).toEqual([])
    const again = await openThread({ id: 'b', store })
    expect(again.policy.expiry?.tools?.search).toEqual({ after: 2, mode: 'compact', length: 500 })
  })

  it('[DB3] act in an open thread from its next view on, and leave when they are taken away', async () => {
    const tool = { role: 'tool', content: [{ type: 'tool-result', callId: 'c', content: 'x' }] }
    const messages = [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId: 'c', name: 'scan', arguments: '{}' }],
      },
      { ...tool, content: [{ ...tool.content[0], content: 'found a line '.repeat(100) }] },
      ...Array.from({ length: 3 }, () => ({ role: 'assistant', content: 'ok' })),
    ]
    const begin = async (id: string, options = {}) => {
      const thread = await openThread({ id, store, agent: 'open', ...options })
      await thread.append(messages)
      return thread
    }
    const open = { agent: 'open' }
    const early = await begin('early')
    expect((await early.view()).trace).toEqual([])
    await store.settings.saveTool(open, 'scan', { after: 1, mode: 'compact', length: 40 })
    expect((await early.view()).trace.map(({ form }) => form)).toEqual(['clipped'])
    expect((await early.requestAt(5)).exact).toBe(true)
    // Reopened without an agent, it continues with what held.
    const again = await openThread({ id: 'early', store })
    expect(again.policy.expiry?.tools?.scan?.after).toBe(1)
    await store.settings.saveTool(open, 'scan', null)
    const late = await openThread({ id: 'early', store, agent: 'open' })
    expect(late.policy).toEqual({})
    expect((await late.view()).epoch.applied).toBe(0)
    expect((await openThread({ id: 'early', store })).policy).toEqual({})
    // Another agent does not work with what was stored for the former one.
    await store.settings.saveTool(open, 'scan', { after: 50, mode: 'remove' })
    const own = { expiry: { kinds: { note: { after: 9, mode: 'remove' } } } } as const
    await (await begin('shared', { policy: own })).view()
    const other = await openThread({ id: 'shared', store, agent: 'nobody' })
    expect(other.policy).toEqual(own)
  })

  it('[C4] stand in the chain of settings where the template stands', async () => {
    const stored = await store.settings.read(sage)
    const agent = {
      policy: { expiry: { tools: { search: { after: 9, mode: 'remove' } } } },
    } as const
    const { policy } = resolvePolicy({ agent, stored })
    expect(policy.expiry?.tools?.search).toEqual({ after: 2, mode: 'compact', length: 500 })
    expect(policy.expiry?.toolDefaults).toEqual({ query: { prompt: 'database-summary' } })
    expect(resolvePolicy({ agent }).policy.expiry?.tools?.search?.after).toBe(9)
  })

  it('[C4] two writers at once both hold; wrong values are refused', async () => {
    const key = { agent: 'busy' }
    await Promise.all(
      Array.from({ length: 5 }, (_, n) =>
        store.settings.saveTool(key, `t${n}`, { after: n, mode: 'remove' }),
      ),
    )
    expect(Object.keys((await store.settings.read(key)).tools).sort()).toEqual([
      't0',
      't1',
      't2',
      't3',
      't4',
    ])
    for (const wrong of [
      { after: -1 },
      { mode: 'soon' },
      { length: 0 },
      { compact: 'x' },
      { unit: 'days' },
      { prompt: '' },
      { lenght: 40 },
    ]) {
      await expect(store.settings.saveTool(key, 'x', wrong as never)).rejects.toMatchObject({
        code: 'invalid-option',
        path: Object.keys(wrong)[0],
      })
    }
    await expect(store.settings.read({ agent: '' })).rejects.toMatchObject({ path: 'agent' })
  })

  it('[C4] of a chat say how much history it has, over the template; null takes one away', async () => {
    const chat = { agent: 'chatty' }
    const { settings } = store
    await settings.saveChat(chat, { historyPolicy: 'lastN', historyLength: 4 })
    await settings.saveChat(chat, { historyLength: 2 })
    const stored = await settings.read(chat)
    expect(stored.chat).toEqual({ historyPolicy: 'lastN', historyLength: 2 })
    const agent = { chatSettings: { historyPolicy: 'all', historyLength: 9 } }
    const resolved = resolvePolicy({ agent, stored })
    expect(resolved.policy.history).toMatchObject({ policy: 'lastN', length: 2 })
    expect(resolved.sources['history.length']).toBe('agent')
    const thread = await openThread({ id: 'chat', store, agent: 'chatty' })
    expect(thread.policy.history).toMatchObject({ policy: 'lastN', length: 2 })
    await settings.saveChat(chat, { historyPolicy: null, historyLength: null })
    expect(await settings.read(chat)).toEqual({ tools: {}, toolDefaults: {} })
    for (const wrong of [
      { historyPolicy: 'some' },
      { historyLength: -1 },
      { historyLength: 1.5 },
    ]) {
      await expect(settings.saveChat(chat, wrong as never)).rejects.toMatchObject({
        code: 'invalid-option',
        path: Object.keys(wrong)[0],
      })
    }
  })

  it('[C4] leave with their tenant, and never by age', async () => {
    const { settings } = store
    const key = { tenant: 'leaving', agent: 'sage' }
    await settings.saveTool(key, 'search', { after: 3, mode: 'remove' })
    await settings.saveTool({ ...key, tenant: 'staying' }, 'search', { after: 3, mode: 'remove' })
    await eraseOlderThan({ store, maxAgeMs: 0, now: () => Date.now() + 1e9 })
    expect(Object.keys((await settings.read(key)).tools)).toEqual(['search'])
    await eraseTenant({ store, tenant: 'leaving' })
    expect((await settings.read(key)).tools).toEqual({})
    for (const after of [4, 5, 6]) {
      await settings.saveTool(key, 'search', { after, mode: 'remove' })
      await settings.saveChat(key, { historyLength: after })
      expect((await settings.read(key)).tools).toEqual({ search: { after, mode: 'remove' } })
      expect((await settings.read({ ...key, agent: 'sag' })).tools).toEqual({})
      await eraseTenant({ store, tenant: 'leaving' })
      expect(await settings.read(key)).toEqual({ tools: {}, toolDefaults: {} })
    }
    expect(Object.keys((await settings.read({ ...key, tenant: 'staying' })).tools)).toEqual([
      'search',
    ])
  })
})
