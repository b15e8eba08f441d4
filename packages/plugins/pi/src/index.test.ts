import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { openThread, sqliteStore } from 'oriel'
import { afterAll, describe, expect, it } from 'vitest'
import oriel, { type PiApi, type PiContext, summaryOf } from './index.ts'
import { fromAiSdk, type PiMessage, toAiSdk } from './messages.ts'

// The real pi runs in packages/bench (`npm run plugins:pi`); this is its interface alone.
const folder = mkdtempSync(join(tmpdir(), 'oriel-pi-'))
afterAll(() => rmSync(folder, { recursive: true }))

const call = (id: string): PiMessage => ({
  role: 'assistant',
  content: [
    { type: 'thinking', thinking: 'Hm.' },
    { type: 'text', text: `Reading ${id}.` },
    { type: 'toolCall', id, name: 'bash', arguments: { command: `cat ${id}` } },
  ],
  timestamp: 1,
})
const result = (id: string, text = `text of ${id}\n`.repeat(400)): PiMessage => ({
  role: 'toolResult',
  toolCallId: id,
  toolName: 'bash',
  content: [{ type: 'text', text }],
  details: { own: id },
  isError: false,
  timestamp: 2,
})
const session = (count: number): PiMessage[] => [
  { role: 'user', content: 'Read all. Never touch main.', timestamp: 0 },
  ...Array.from({ length: count }, (_, index) => [call(`c${index}`), result(`c${index}`)]).flat(),
]

type Handler = (event: unknown, context: PiContext) => Promise<unknown>

function loaded() {
  const handlers = new Map<string, Handler>()
  const commands = new Map<string, (words: string, context: PiContext) => Promise<void>>()
  const told: string[] = []
  const tools: { name: string; execute(id: string, input: unknown): Promise<unknown> }[] = []
  process.env.ORIEL_STORE = join(folder, 'agents.db')
  oriel({
    on: (name: string, handler: Handler) => handlers.set(name, handler),
    registerCommand: (name: string, { handler }: { handler: never }) => commands.set(name, handler),
    registerTool: (tool: never) => tools.push(tool),
  } as unknown as PiApi)
  const context: PiContext = {
    model: { id: 'm' },
    sessionManager: { getSessionId: () => 's1' },
    ui: { notify: (text) => told.push(text) },
    getSystemPrompt: () => 'Be brief.',
  }
  const fire = (name: string, event: unknown) => handlers.get(name)?.(event, context)
  return { fire, commands, told, tools, context }
}

describe("pi's messages", () => {
  it('[PI1] come back as the very objects where they are shown whole', () => {
    const text = fc.string({ minLength: 1 })
    const message = fc.oneof(
      fc.record({ role: fc.constant('user'), content: text }),
      fc.record({ role: fc.constant('compactionSummary'), summary: text }),
      fc.record({ role: fc.constant('bashExecution'), command: text, output: text }),
      fc.nat({ max: 9 }).map((id) => call(`c${id}`)),
      fc.nat({ max: 9 }).map((id) => result(`c${id}`)),
    )
    fc.assert(
      fc.property(fc.array(message as fc.Arbitrary<PiMessage>), (messages) => {
        const back = fromAiSdk(messages.map(toAiSdk), messages)
        expect(back).toEqual(messages)
      }),
    )
  })
})

describe('the extension', () => {
  it('[PI1] shows the view, keeps calls with their results, and pi keeps its messages', async () => {
    const { fire, commands, told, tools, context } = loaded()
    const messages = session(40)
    const before = structuredClone(messages)
    let shown: readonly PiMessage[] = []
    for (let count = 1; count <= messages.length; count += 2) {
      const answer = (await fire('context', { messages: messages.slice(0, count) })) as {
        messages: PiMessage[]
      }
      shown = answer.messages
      const input = Math.round(JSON.stringify(shown).length / 4)
      const usage = { input, output: 2, cacheRead: 0, cacheWrite: 0 }
      await fire('message_end', { message: { ...(messages[count] ?? call('end')), usage } })
    }
    expect(messages).toEqual(before)
    expect(JSON.stringify(shown).length).toBeLessThan(0.6 * JSON.stringify(messages).length)
    const ids = (role: string): unknown[] =>
      shown
        .filter((message) => message.role === role)
        .flatMap(({ toolCallId, content }) =>
          role === 'toolResult'
            ? [toolCallId]
            : (content as readonly { type: string; id?: string }[]).flatMap(({ type, id }) =>
                type === 'toolCall' ? [id] : [],
              ),
        )
    expect(ids('assistant')).toEqual(ids('toolResult'))
    expect(shown.at(-1)).toBe(messages.at(-1))
    await commands.get('oriel')?.('', context)
    expect(told.at(-1)).toMatch(/^Thread pi-s1: [\d,]+ tokens, m\n {2}system +\d/)
    expect(told.at(-1)).toMatch(/\n[\d,]+ tokens are kept out of it\./)
    expect(tools[0]?.name).toBe('expand_message')
    await fire('session_shutdown', {})
    const store = sqliteStore({ path: join(folder, 'agents.db') })
    const log = await (await openThread({ id: 'pi-s1', tenant: 'local', store })).log()
    expect(log.filter(({ type }) => type === 'request')).toHaveLength(41)
    expect(log.filter(({ type }) => type === 'usage').length).toBeGreaterThan(30)
    await store.close()
  })

  it('[PI2] compacts without a model: requests, rules and commands are in the summary', async () => {
    const { fire } = loaded()
    const preparation = {
      firstKeptEntryId: 'k',
      tokensBefore: 9,
      messagesToSummarize: session(20),
      previousSummary: 'Before that.',
    }
    const answer = (await fire('session_before_compact', { preparation })) as {
      compaction: { summary: string; firstKeptEntryId: string }
    }
    const { summary, firstKeptEntryId } = answer.compaction
    expect(firstKeptEntryId).toBe('k')
    expect(summary).toMatch(/^Before that\./)
    expect(summary).toContain('Never touch main.')
    expect(summary).toContain('cat c18')
    expect(summary.length).toBeLessThan(0.3 * JSON.stringify(session(20)).length)
    expect(await summaryOf(preparation)).toBe(summary)
  })

  it('[PI3] sends the messages as they are when Oriel fails, and says so once', async () => {
    const { fire, told } = loaded()
    process.env.ORIEL_POLICY = 'no-such-preset'
    const broken = loaded()
    delete process.env.ORIEL_POLICY
    expect(await broken.fire('context', { messages: session(1) })).toBeUndefined()
    expect(await broken.fire('context', { messages: session(1) })).toBeUndefined()
    expect(broken.told).toHaveLength(1)
    expect(broken.told[0]).toContain('sent as they are')
    await broken.fire('session_shutdown', {})
    await fire('session_shutdown', {})
    expect(told).toEqual([])
  })
})
