// Messages that a client which resends its history never saw as they are.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { sqliteStore } from '../../stores/sqlite/index.ts'
import type { ThreadOptions } from '../options.ts'
import { openThread, type Thread } from '../thread.ts'

const user = (content: string) => ({ role: 'user', content })
const said = (content: string) => ({ role: 'assistant', content })
const calling = (content: string | null, ...calls: readonly (readonly [string, string])[]) => ({
  ...{ role: 'assistant', content },
  tool_calls: calls.map(([id, name]) => ({
    ...{ id, type: 'function', function: { name, arguments: '{}' } },
  })),
})
const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })
const format = 'openai-chat' as const

const open = (options: Partial<ThreadOptions> = {}): Promise<Thread> =>
  openThread({ id: 't', store: memoryStore(), now: () => 1000, ...options })

const first = [user('What is it?')]
const round = [calling('Looking.', ['x1', 'expand_message']), result('x1', 'It is 7.')]
const seen = [said('Looking.\n\nIt is 7.')]
const all = [...first, ...round, said('It is 7.')]

/** A thread that looked something up on its own before it answered. */
async function looked(options: Partial<ThreadOptions> = {}): Promise<Thread> {
  const thread = await open(options)
  await thread.sync(first, { format })
  await thread.append(round, { format, resentAs: [] })
  await thread.append([said('It is 7.')], { format, resentAs: seen })
  return thread
}

describe('resentAs', () => {
  it('[GX11] the history that the client has matches the whole, and the view shows what was said', async () => {
    const thread = await looked()
    const next = await thread.sync([...first, ...seen, user('Thanks.')], { format })
    expect(next).toMatchObject({ matched: 2, appended: 1, isForked: false })
    expect((await thread.view({ format })).messages).toEqual([...all, user('Thanks.')])
  })

  it('[GX11] before the answer is whole, the client resends what it had, and nothing is doubled', async () => {
    const thread = await open()
    await thread.sync(first, { format })
    await thread.append(round, { format, resentAs: [] })
    expect(await thread.sync(first, { format })).toMatchObject({ matched: 1, appended: 0 })
    expect((await thread.view({ format })).messages).toEqual([...first, ...round])
  })

  it('[GX11] a client that keeps a part of an answer that broke off gets a fork before its rounds', async () => {
    const store = memoryStore()
    const thread = await open({ store, snapshotEvery: 2 })
    await thread.sync(first, { format })
    await thread.append(round, { format, resentAs: [] })
    await thread.settled()
    const kept = [...first, said('Looking.'), user('Go on.')]
    const other = await open({ store })
    expect(await other.sync(kept, { format })).toMatchObject({ matched: 1, isForked: true })
    expect((await other.view({ format })).messages).toEqual(kept)
    expect(await other.sync(kept, { format })).toMatchObject({ matched: 3, isForked: false })
  })

  it('[GX11] a client that edits the answer gets a fork before the first of its rounds', async () => {
    const thread = await looked()
    const edited = [...first, said('Never mind.'), user('So?')]
    expect(await thread.sync(edited, { format })).toMatchObject({ matched: 1, isForked: true })
    expect((await thread.view({ format })).messages).toEqual(edited)
  })

  it('[GX11] a client that goes on differently gets a fork behind the last of its rounds', async () => {
    const thread = await looked()
    const one = [...first, ...seen, user('One.')]
    const two = [...first, ...seen, user('Two.')]
    await thread.sync(one, { format })
    expect(await thread.sync(two, { format })).toMatchObject({ matched: 2, isForked: true })
    expect((await thread.view({ format })).messages).toEqual([...all, user('Two.')])
  })

  it('[GX11] beside a call of the client, the result that it never saw stays with the message, in forks too', async () => {
    const thread = await open()
    await thread.sync(first, { format })
    const mixed = [
      calling('Both.', ['x1', 'expand_message'], ['c1', 'read']),
      result('x1', 'It is 7.'),
    ]
    const visible = calling('Both.', ['c1', 'read'])
    await thread.append(mixed, { format, resentAs: [visible] })
    for (const text of ['A map.', 'Another map.']) {
      await thread.sync([...first, visible, result('c1', text), user('So?')], { format })
      const { messages } = await thread.view({ format })
      expect(messages).toEqual([...first, ...mixed, result('c1', text), user('So?')])
    }
  })

  it('[GX11] another process and a snapshot know it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'oriel-resent-'))
    const stores = [0, 1].map(() => sqliteStore(join(folder, 'a.db')))
    try {
      const thread = await looked({ store: stores[0], snapshotEvery: 2 } as ThreadOptions)
      await thread.set('expand', { tool: 'x' })
      await thread.settled()
      const other = await open({ store: stores[1] } as ThreadOptions)
      expect(other.setting('expand')).toEqual({ tool: 'x' })
      expect(other.isEmpty).toBe(false)
      const next = await other.sync([...first, ...seen, user('Thanks.')], { format })
      expect(next).toMatchObject({ matched: 2, appended: 1, isForked: false })
      const fork = await other.fork(1)
      expect(fork.setting('expand')).toEqual({ tool: 'x' })
    } finally {
      for (const store of stores) await store.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('[GX11] refuses more than one message for them, and names that are none', async () => {
    const thread = await open()
    await expect(
      thread.append(round, { format, resentAs: first.concat(first) }),
    ).rejects.toMatchObject({
      ...{ code: 'invalid-option', path: 'resentAs' },
    })
    await expect(thread.set('a b', 1)).rejects.toMatchObject({ code: 'invalid-option' })
    expect(thread.isEmpty).toBe(true)
  })
})
