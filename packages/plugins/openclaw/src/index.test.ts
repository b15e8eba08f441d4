import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PiMessage } from '@oriel/pi/messages'
import { openThread, sqliteStore } from 'oriel'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import oriel, { type ContextEngine, type OpenclawApi } from './index.ts'

// The real OpenClaw runs in packages/bench (`npm run plugins:openclaw`); this is its interface alone.
const folder = mkdtempSync(join(tmpdir(), 'oriel-openclaw-'))
afterAll(() => rmSync(folder, { recursive: true }))
let stores = 0
beforeEach(() => {
  process.env.ORIEL_STORE = join(folder, `${stores++}.db`)
})

const turn = (number: number, count = 20): readonly PiMessage[] => [
  { role: 'user', content: `Read all of ${number}. Never touch main.`, timestamp: 0 },
  ...Array.from({ length: count }, (_, index): readonly PiMessage[] => {
    const id = `c${number}-${index}`
    return [
      {
        role: 'assistant',
        content: [{ type: 'toolCall', id, name: 'exec', arguments: { command: `cat ${id}` } }],
        timestamp: 1,
      },
      {
        role: 'toolResult',
        toolCallId: id,
        toolName: 'exec',
        content: [{ type: 'text', text: `code of ${id} is ${number}${index}4711\n`.repeat(200) }],
        isError: false,
        timestamp: 2,
      },
    ]
  }).flat(),
  { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], timestamp: 3 },
]

function loaded() {
  const told: string[] = []
  const tools = new Map<string, Parameters<OpenclawApi['registerTool']>[0]>()
  let make: (() => ContextEngine) | undefined
  let command: Parameters<OpenclawApi['registerCommand']>[0] | undefined
  oriel({
    logger: { warn: (text) => told.push(text) },
    registerContextEngine: (_id, own) => {
      make = own
    },
    registerTool: (tool, { name }) => tools.set(name, tool),
    registerCommand: (own) => {
      command = own
    },
  })
  const ask = async (name: string, input: object): Promise<string> => {
    const result = await tools.get(name)?.({ sessionId: 's1' })?.execute('x', input)
    return result?.content[0]?.text ?? ''
  }
  return {
    ...{ told, tools, ask },
    engine: () => make?.() as ContextEngine,
    command: async (args: string) => (await command?.handler({ sessionId: 's1', args }))?.text,
  }
}

const sizeOf = (messages: readonly PiMessage[]): number => JSON.stringify(messages).length

describe('the context engine of OpenClaw', () => {
  it('[OW1] shows the view of what came before the turn, takes in accepted turns once, and finds originals', async () => {
    const plugin = loaded()
    const engine = plugin.engine()
    const first = turn(1)
    const session = { sessionId: 's1', tokenBudget: 100_000, model: 'm' }
    expect((await engine.assemble({ ...session, messages: [] })).messages).toEqual([])
    const commit = { sessionId: 's1', advancementKey: 'a', messages: first }
    expect(await engine.commitTurn(commit)).toEqual({ status: 'committed' })
    expect(await engine.commitTurn(commit)).toEqual({ status: 'duplicate' })
    const shown = await engine.assemble({ ...session, messages: first })
    expect(sizeOf(shown.messages)).toBeLessThan(0.5 * sizeOf(first))
    expect(shown.messages.at(-1)).toBe(first.at(-1))
    expect(shown.estimatedTokens).toBeGreaterThan(0)
    // A step of the running turn: the same view, so that the prefix stays cached.
    expect((await engine.assemble({ ...session, messages: first })).messages).toEqual(
      shown.messages,
    )
    await engine.dispose()
    expect(await plugin.ask('search_conversation', { query: '134711' })).toContain('134711')
    expect(await plugin.command('')).toMatch(/^Thread openclaw-s1: /)
    const store = sqliteStore({ path: process.env.ORIEL_STORE ?? '' })
    const thread = await openThread({ tenant: 'local', id: 'openclaw-s1', store })
    const types = (await thread.log()).map(({ type }) => type)
    expect(types.filter((type) => type === 'message')).toHaveLength(first.length)
    await store.close()
    expect(plugin.told).toEqual([])
  })

  it('[OW2] compaction asks no model and shows in the next request', async () => {
    const plugin = loaded()
    const engine = plugin.engine()
    // Below what the policy folds by itself.
    const messages = [...turn(1, 2), ...turn(2, 2)]
    const before = await engine.assemble({ sessionId: 's1', messages })
    const { ok, compacted, result } = await engine.compact({ sessionId: 's1' })
    expect([ok, compacted]).toEqual([true, true])
    expect(result?.tokensAfter).toBeLessThan(result?.tokensBefore ?? 0)
    const after = await engine.assemble({ sessionId: 's1', messages })
    expect(sizeOf(after.messages)).toBeLessThan(sizeOf(before.messages))
    expect(JSON.stringify(after.messages)).toContain('Never touch main.')
    await engine.dispose()
  })

  it('[OW3] where Oriel fails the messages are sent as they are, and the log says so once', async () => {
    process.env.ORIEL_STORE = '/dev/null/agents.db'
    const plugin = loaded()
    const engine = plugin.engine()
    const messages = turn(1)
    expect((await engine.assemble({ sessionId: 's1', messages })).messages).toEqual(messages)
    const commit = { sessionId: 's1', advancementKey: 'a', messages }
    expect(await engine.commitTurn(commit)).toEqual({ status: 'committed' })
    expect(await engine.compact({ sessionId: 's1' })).toMatchObject({ ok: false, compacted: false })
    expect(plugin.told).toEqual([expect.stringContaining('sent as they are')])
    expect(plugin.tools.get('expand_message')?.({})).toBe(null)
    await engine.dispose()
  })
})
