// `oriel search` and `oriel context` as their users run them.

import { createGateway, serveGateway } from '@oriel/gateway'
import { memoryStore, openThread } from 'oriel'
import { describe, expect, it } from 'vitest'
import { oriel, temporaryFolder, withStore } from '../../test/keeping.ts'

const folder = temporaryFolder()

async function fillStore(): Promise<void> {
  await withStore(folder.file('oriel.db'), async (store) => {
    const thread = await openThread({
      id: 'trip-1',
      store,
      policy: { compaction: { contextWindow: 8000 } },
    })
    await thread.append([
      { role: 'user', content: 'My invoice number is INV-4711.' },
      { role: 'assistant', content: 'Noted.' },
      { role: 'user', content: 'And the weather?' },
    ])
    const tools = [{ type: 'function', function: { name: 'look', description: 'x'.repeat(400) } }]
    await thread.view({ format: 'openai-chat', frame: { system: 'You are helpful.', tools } })
    const other = await openThread({ id: 'trip-2', tenant: 'rival', store })
    await other.append([{ role: 'user', content: 'The invoice \u001b[31mof rival.' }])
  })
}

describe('oriel search', () => {
  it('[CS1] shows the best messages of all threads with their passages', async () => {
    await fillStore()
    const { code, stdout } = await oriel(['search', 'invoice', 'INV-4711', '--data', folder.path])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^thread trip-1, user, e\w+, entry \d+, .*\n {2}My invoice number is INV-4711\./,
    )
    expect(stdout).toContain('thread trip-2 of tenant rival')
    expect(stdout).not.toContain('\u001b')
    const own = await oriel([
      'search',
      'invoice',
      '--tenant',
      'rival',
      '--json',
      '--data',
      folder.path,
    ])
    expect(JSON.parse(own.stdout)).toMatchObject({
      results: [{ thread: 'trip-2', tenant: 'rival' }],
    })
    const one = await oriel(['search', 'invoice', '--thread', 'trip-1', '--data', folder.path])
    expect(one.stdout).toContain('1 message\n')
  })

  it('[CS1] shows of a long passage the part with the words', async () => {
    const filler = 'Nothing of note was seen. '.repeat(20)
    const content = `An invoice. ${filler}The invoice of the harbour is INV-4711. ${filler}`
    await withStore(folder.file('oriel.db'), async (store) => {
      const thread = await openThread({ id: 'long', store })
      await thread.append([{ role: 'user', content }])
    })
    const { stdout } = await oriel(['search', 'invoice harbour', '--data', folder.path])
    expect(stdout).toContain('The invoice of the harbour is INV-4711.')
    expect(stdout).toMatch(/\n {2}\.\.\. [^\n]+ \.\.\.\n\n1 message\n$/)
    expect(stdout.length).toBeLessThan(600)
  })

  it('[CS1] says so where there is nothing', async () => {
    await fillStore()
    const none = await oriel(['search', 'zanzibar', '--data', folder.path])
    expect(none).toMatchObject({ code: 1, stdout: 'nothing found\n' })
    expect(await oriel(['search', '--data', folder.path])).toMatchObject({ code: 2 })
    expect(await oriel(['search', 'x', '--data', `${folder.path}/absent`])).toMatchObject({
      code: 2,
    })
    expect(await oriel(['search', 'x', '--limit', '0', '--data', folder.path])).toMatchObject({
      code: 2,
    })
  })
})

describe('oriel context', () => {
  it('[CS2] shows what fills the window, by category, and what is free', async () => {
    await fillStore()
    const { code, stdout } = await oriel(['context', 'trip-1', '--json', '--data', folder.path])
    expect(code).toBe(0)
    const { tokens, used, window, free } = JSON.parse(stdout)
    expect(tokens).toMatchObject({ summary: 0, directives: 0, results: 0 })
    for (const name of ['system', 'tools', 'user', 'assistant'])
      expect(tokens[name]).toBeGreaterThan(0)
    const sum = Object.values(tokens as Record<string, number>).reduce((all, one) => all + one, 0)
    expect({ used, window, free }).toEqual({ used: sum, window: 8000, free: 8000 - sum })
    const text = await oriel(['context', 'trip-1', '--data', folder.path])
    expect(text.stdout).toMatch(
      /^oriel context {2}thread trip-1: \d+ of 8,000 tokens\n\n {2}system {6}/,
    )
    expect(await oriel(['context', 'absent', '--data', folder.path])).toMatchObject({ code: 2 })
  })
})

describe('with --url', () => {
  it('[CS3] both commands ask a gateway that runs, and say so where there is none', async () => {
    const store = memoryStore()
    const thread = await openThread({ id: 'trip-9', tenant: 'mine', store })
    await thread.append({ role: 'user', content: 'My invoice number is INV-4711.' })
    const key = 'key-of-mine-0123456789'
    const gateway = createGateway({ store, keys: [{ name: 'mine', key, tenant: 'mine' }] })
    const server = await serveGateway(gateway, { port: 0 })
    try {
      const asking = ['--url', server.url, '--key', key]
      const found = await oriel(['search', 'invoice', ...asking])
      expect(found).toMatchObject({ code: 0 })
      expect(found.stdout).toMatch(/^thread trip-9, user, e\w+, .*\n {2}My invoice number/)
      const context = await oriel(['context', 'trip-9', '--json', ...asking])
      expect(JSON.parse(context.stdout)).toMatchObject({ tokens: { assistant: 0 } })
      const absent = await oriel(['context', 'absent', ...asking])
      expect(absent.code).toBe(2)
      expect(absent.stderr).toContain('the gateway answered 404')
    } finally {
      await server.close()
    }
    const none = await oriel(['search', 'invoice', '--url', 'http://127.0.0.1:9'])
    expect(none).toMatchObject({ code: 2 })
    expect(none.stderr).toContain('no gateway answers')
    const both = await oriel(['search', 'x', '--url', 'http://127.0.0.1:9', '--data', folder.path])
    expect(both.code).toBe(2)
  })
})
