import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as fc from 'fast-check'
import { openThread, sqliteStore } from 'oriel'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Oriel } from './index.ts'
import { fromAiSdk, type OpencodeMessage, toAiSdk } from './messages.ts'

// The real opencode runs in packages/bench (`npm run plugins:opencode`); this is its interface alone, with the real process beside it.
const folder = mkdtempSync(join(tmpdir(), 'oriel-opencode-'))
const sources = pathToFileURL(join(import.meta.dirname, '../../../../scripts/sources.ts')).href
const before = { ...process.env }
afterAll(() => rmSync(folder, { recursive: true }))
beforeEach(() => {
  process.env.ORIEL_STORE = join(folder, 'agents.db')
  process.env.ORIEL_NODE = process.execPath
  process.env.NODE_OPTIONS = `--import=${sources}`
})
afterEach(() => {
  process.env = { ...before }
})

const sessionID = 'ses_1'
let made = 0
const user = (text: string, more: object = {}): OpencodeMessage => {
  const id = `msg_${made++}`
  const info = { id, sessionID, role: 'user', model: { modelID: 'm' } }
  return { info, parts: [{ id: `p_${id}`, messageID: id, type: 'text', text, ...more }] }
}
const answer = (...parts: OpencodeMessage['parts']): OpencodeMessage => {
  const id = `msg_${made++}`
  return { info: { id, sessionID, role: 'assistant', modelID: 'm' }, parts }
}
const call = (callID: string, state: object = {}): OpencodeMessage =>
  answer(
    { type: 'step-start' },
    { type: 'text', text: `Reading ${callID}.` },
    {
      type: 'tool',
      tool: 'bash',
      callID,
      state: {
        status: 'completed',
        input: { command: `cat ${callID}` },
        output: `text of ${callID}\n`.repeat(400),
        time: { start: 1, end: 2 },
        ...state,
      },
    },
    { type: 'step-finish' },
  )
const session = (count: number): OpencodeMessage[] => [
  user('Read all. Never touch main.'),
  ...Array.from({ length: count }, (_, index) => call(`c${index}`)),
]

async function loaded() {
  const told: string[] = []
  const posted: string[] = []
  const hooks = await Oriel({
    client: {
      session: {
        prompt: async ({ body }) => {
          posted.push(...body.parts.map(({ text }) => text))
        },
      },
      tui: {
        showToast: async ({ body }) => {
          told.push(body.message)
        },
      },
    },
  })
  const show = async (messages: readonly OpencodeMessage[]): Promise<OpencodeMessage[]> => {
    const list = [...messages]
    await hooks['experimental.chat.messages.transform']({}, { messages: list })
    return list
  }
  return { hooks, told, posted, show }
}

describe("opencode's messages", () => {
  it('[OC1] come back as the very objects where they are shown whole', () => {
    const text = fc.string({ minLength: 1 })
    const image = { type: 'file', mime: 'image/png', url: 'data:image/png;base64,AAAA' }
    const state = fc.constantFrom<object>(
      {},
      { status: 'error', error: 'no' },
      { status: 'running' },
      { attachments: [image] },
    )
    const message = fc.oneof(
      text.map((one) => user(one)),
      text.map((one) => answer({ type: 'text', text: one })),
      fc.constant(image).map((file) => ({ ...user('See.'), parts: [file] })),
      fc.tuple(fc.nat({ max: 9 }), state).map(([id, own]) => call(`c${id}`, own)),
    )
    fc.assert(
      fc.property(fc.array(message), (messages) => {
        const back = fromAiSdk(messages.flatMap(toAiSdk), messages)
        expect(back).toEqual(messages)
        expect(back.every((one) => messages.includes(one))).toBe(true)
      }),
    )
  })

  it('[OC1] show a result that opencode would clear, and nothing of what is for people only', () => {
    const cleared = call('c1', { time: { start: 1, end: 2, compacted: 3 } })
    const failed = { ...call('c2'), info: { ...call('c2').info, error: { name: 'APIError' } } }
    const messages = [user('Go.'), user('/oriel', { ignored: true }), cleared, failed]
    const [, shown, ...rest] = fromAiSdk(messages.flatMap(toAiSdk), messages)
    expect(rest).toEqual([])
    expect(shown?.parts[2]?.state?.time).toEqual({ start: 1, end: 2 })
    expect(shown?.parts[2]?.state?.output).toBe(cleared.parts[2]?.state?.output)
  })
})

describe('the plugin', () => {
  it('[OC1] shows the view, keeps calls with their results, and opencode keeps its messages', async () => {
    const { hooks, posted, told, show } = await loaded()
    const messages = session(40)
    const copy = structuredClone(messages)
    let shown: readonly OpencodeMessage[] = []
    await hooks['experimental.chat.system.transform']({ sessionID }, { system: ['Be brief.'] })
    for (let count = 1; count <= messages.length; count++) {
      shown = await show(messages.slice(0, count))
      const input = Math.round(JSON.stringify(shown).length / 4)
      const tokens = { input, output: 1, reasoning: 0, cache: { read: 0, write: 0 } }
      const info = { role: 'assistant', sessionID, time: { completed: 1 }, tokens }
      await hooks.event({ event: { type: 'message.updated', properties: { info } } })
    }
    expect(told).toEqual([])
    expect(messages).toEqual(copy)
    expect(JSON.stringify(shown).length).toBeLessThan(0.6 * JSON.stringify(messages).length)
    expect(shown.at(-1)).toBe(messages.at(-1))
    expect(shown[0]).toBe(messages[0])
    for (const { parts } of shown) {
      for (const { type, state } of parts) if (type === 'tool') expect(state?.output).not.toBe('')
    }
    const tool = hooks.tool.search_conversation
    expect(await tool?.execute({ query: 'text of c3' }, { sessionID })).toContain('text of c3')
    expect(Object.keys(hooks.tool.expand_message?.args ?? {})).toContain('lines')

    const command = { command: 'oriel', sessionID, arguments: '' }
    await expect(hooks['command.execute.before'](command, {})).rejects.toThrow('answered')
    expect(posted.at(-1)).toMatch(/^Thread opencode-ses_1: [\d,]+ tokens, m\n {2}system +\d/)
    await hooks['command.execute.before']({ ...command, command: 'other' }, {})
    await hooks.dispose()
    const store = sqliteStore({ path: join(folder, 'agents.db') })
    const log = await (await openThread({ id: 'opencode-ses_1', store })).log()
    expect(log.filter(({ type }) => type === 'request')).toHaveLength(41)
    expect(log.filter(({ type }) => type === 'usage').length).toBeGreaterThan(30)
    await store.close()
  })

  it('[OC2] compacts without a model: requests, rules and commands are in the summary', async () => {
    const { hooks, show } = await loaded()
    const config: Parameters<typeof hooks.config>[0] = {}
    await hooks.config(config)
    expect(config.agent?.compaction?.model).toBe('oriel/checkpoint')
    const output: { context: string[]; prompt?: string } = { context: [] }
    await hooks['experimental.session.compacting']({ sessionID }, output)
    const messages = session(20)
    expect(await show(messages)).toEqual(messages)
    const { oriel } = config.provider as {
      oriel: { options: { fetch: typeof globalThis.fetch } }
    }
    const { fetch } = oriel.options
    const asked = async (content: string) =>
      fetch('http://oriel.invalid', { body: JSON.stringify({ messages: [{ content }] }) })
    const text = await (await asked(`${output.prompt}\n\nThe conversation`)).text()
    expect(text).toContain('Never touch main.')
    expect(text).toContain('cat c18')
    expect(text.length).toBeLessThan(0.3 * JSON.stringify(messages).length)
    expect((await asked('Hello')).status).toBe(400)

    const own = { agent: { compaction: { model: 'mine/best' } } }
    await hooks.config(own)
    expect(own.agent.compaction.model).toBe('mine/best')
    await hooks.dispose()
  })

  it('[OC3] sends the messages as they are when Oriel fails, and says so once', async () => {
    process.env.ORIEL_NODE = join(folder, 'no-node')
    const { hooks, told, show } = await loaded()
    const messages = session(2)
    expect(await show(messages)).toEqual(messages)
    expect(await show(messages)).toEqual(messages)
    expect(told).toHaveLength(1)
    expect(told[0]).toMatch(/Set ORIEL_NODE .* sent as they are/)
    expect(hooks.tool).toEqual({})
    const config: Parameters<typeof hooks.config>[0] = {}
    await hooks.config(config)
    expect(config.agent).toBeUndefined()
    await hooks.dispose()
  })
})
