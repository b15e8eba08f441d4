import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openThread, sqliteStore, validate } from 'oriel'
import { afterAll, describe, expect, it } from 'vitest'
import { register } from '../hooks/oriel.ts'
import { answerTo, type ClaudeRow } from './requests.ts'

// The real Claude Code runs in packages/bench (`npm run plugins:claude-code`); this is its interface alone.
const folder = mkdtempSync(join(tmpdir(), 'oriel-claude-code-'))
const env = { ORIEL_STORE: join(folder, 'agents.db') }
afterAll(() => rmSync(folder, { recursive: true }))

const text = (id: string): string => `text of ${id}\n`.repeat(400)
const rows = (count: number): ClaudeRow[] => [
  { role: 'user', text: 'Read all. Never touch main.', toolUses: [] },
  ...Array.from({ length: count }, (_, index) => `c${index}`).flatMap((id): ClaudeRow[] => [
    {
      role: 'assistant',
      text: '',
      toolUses: [{ tool_use_id: id, tool: 'Bash', input: { command: `cat ${id}` } }],
    },
    { role: 'user', text: '', toolUses: [], toolResults: [{ tool_use_id: id, text: text(id) }] },
  ]),
]
const messages = (list: readonly ClaudeRow[]) =>
  list.map(({ role, text: said, toolUses = [], toolResults = [] }) => ({
    role,
    content: [
      ...(said === '' ? [] : [{ type: 'text', text: said }]),
      ...toolUses.map(({ tool_use_id: id, tool: name, input }) => ({
        type: 'tool_use',
        id,
        name,
        input,
      })),
      ...toolResults.map(({ tool_use_id, text: content }) => ({
        type: 'tool_result',
        tool_use_id,
        content,
      })),
    ],
  }))

type Hook = ($: unknown, e: unknown, next: (e: unknown) => Promise<unknown>) => Promise<unknown>

/** The hooks module with a host whose Node process is this one. */
function loaded(session: string, conversation: () => readonly ClaudeRow[]) {
  const hooks = new Map<string, Hook>()
  register(((event: string, ...rest: unknown[]) => {
    const { tool = '' } = rest.length > 1 ? (rest[0] as { tool?: string }) : {}
    hooks.set(event + tool, rest.at(-1) as Hook)
  }) as never)
  const registered: string[] = []
  const logged: string[] = []
  let isBroken = false
  const host = {
    plugin: { root: '/plugin' },
    env: { get: async () => undefined },
    session: { id: async () => session, messages: async () => messages(conversation()) },
    tool: { register: async ({ name }: { name: string }) => registered.push(name) },
    command: { register: async ({ name }: { name: string }) => registered.push(name) },
    ui: { log: (line: string) => logged.push(line) },
    process: {
      run: async (_argv: unknown, { stdin }: { stdin: string }) =>
        isBroken
          ? { exitCode: 1, stdout: '', stderr: 'No disk.' }
          : { exitCode: 0, stdout: await answerTo(JSON.parse(stdin), env), stderr: '' },
    },
  }
  const fire = (name: string, e: object): Promise<unknown> =>
    (hooks.get(name) as Hook)(host, e, async () => 'core')
  return { fire, registered, logged, fail: () => (isBroken = true) }
}

describe('the plugin of Claude Code', () => {
  it('[CC1] keeps every turn, and finds originals after a compaction', async () => {
    let now = rows(20)
    const { fire, registered, logged } = loaded('s1', () => now)
    expect(await fire('session.start', {})).toBe('core')
    expect(registered).toEqual(['expand_message', 'search_conversation', 'oriel'])
    expect(await fire('turn.complete', {})).toBe('core')
    expect(await fire('command.run', { args: '' })).toMatchObject({
      text: expect.stringMatching(/^Thread claude-code-s1: [\d,]+ tokens\n {2}system +0/),
    })
    const { messages: after } = (await fire('session.compact', {
      trigger: 'manual',
      messages: now,
    })) as { messages: ClaudeRow[] }
    now = after
    await fire('turn.complete', {})
    const tool = 'tool.callmcp__oriel__search_conversation'
    const found = (await fire(tool, { tool, query: 'text of c2' })) as { result: string }
    expect(found.result).toContain('text of c2')
    const id = /^1\. (e\w+)/m.exec(found.result)?.[1]
    const expand = 'tool.callmcp__oriel__expand_message'
    expect(await fire(expand, { tool: expand, id })).not.toMatchObject({
      result: expect.stringMatching(/^Not expanded/),
    })
    expect(logged).toEqual([])
    const store = sqliteStore({ path: env.ORIEL_STORE })
    const log = await (await openThread({ id: 'claude-code-s1', store })).log()
    expect(log.filter(({ type }) => type === 'message')).toHaveLength(41)
    expect(log.filter(({ type }) => type === 'edit')).toHaveLength(0)
    await store.close()
  })

  it('[CC2] compacts without a model, with calls and results together', async () => {
    const list = rows(30).map((row, index) => ({ ...row, handle: `h${index}` }))
    const { fire, logged, fail } = loaded('s2', () => list)
    const e = { trigger: 'auto', messages: list }
    const { messages: after } = (await fire('session.compact', e)) as { messages: ClaudeRow[] }
    expect(after[0]?.text).toContain('Never touch main.')
    expect(after[0]?.text).toContain('cat c18')
    expect(after.at(-1)?.toolResults).toEqual(list.at(-1)?.toolResults)
    expect(JSON.stringify(after).length).toBeLessThan(0.5 * JSON.stringify(list).length)
    expect(after.some((row) => 'handle' in row)).toBe(false)
    const tools = [{ name: 'Bash', input_schema: { type: 'object' } }]
    const body = { model: 'm', max_tokens: 1, tools, messages: messages(after) }
    expect(validate('anthropic', body)).toEqual([])
    expect(await fire('session.compact', { ...e, agentId: 'a' })).toBe('core')
    expect(await fire('session.compact', { ...e, trigger: 'precompute' })).toHaveProperty('skip')
    fail()
    expect(await fire('session.compact', e)).toBe('core')
    expect(logged).toEqual(["Oriel: No disk. Claude Code's own compaction runs instead."])
  })

  it('[CC2] names its module, and its tools as Claude Code names them', () => {
    const read = (name: string) => readFileSync(join(import.meta.dirname, '..', name), 'utf8')
    expect(JSON.parse(read('hooks/hooks.json')).modules).toEqual(['./oriel.ts'])
    const { name } = JSON.parse(read('.claude-plugin/plugin.json'))
    expect(read('hooks/oriel.ts')).toContain(`mcp__${name}__expand_message`)
  })
})
