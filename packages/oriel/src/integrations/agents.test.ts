import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { AgentThreads, agentStorePath, checkpointText } from './agents.ts'

const folder = mkdtempSync(join(tmpdir(), 'oriel-agents-'))
afterAll(() => rmSync(folder, { recursive: true }))

const messages = [
  { role: 'user', content: 'Look. Never touch main.' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'bash', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'c', content: 'the code is 4711' },
]

describe('the threads of an agent', () => {
  it('[AG2] answers what a person types: context, search, expand, pin, and what it does not know', async () => {
    const env = { ORIEL_STORE: join(folder, 'agents.db') }
    const threads = new AgentThreads({ agent: 'mine', env })
    expect(await threads.command('s', '')).toBe('Nothing was sent to the model yet.')
    await threads.request('s', messages, { format: 'openai-chat', model: 'gpt-5' })
    expect(await threads.command('s', ' ')).toMatch(
      /^Thread mine-s: [\d,]+ of 400,000 tokens, gpt-5\n {2}system +0 .*\n {2}free .*\n0 tokens are kept out/s,
    )
    const found = await threads.command('s', 'search code 4711')
    const id = /^\d+\. (e\w+), tool/m.exec(found)?.[1] ?? ''
    expect(await threads.command('s', `expand ${id}`)).toBe('the code is 4711')
    expect(await threads.command('s', `pin ${id}`)).toBe(`${id} stays in full from now on.`)
    expect(await threads.command('s', `unpin ${id}`)).toBe(`${id} may be shortened again.`)
    expect(await threads.command('s', 'pin nothing')).toMatch(/nothing/)
    expect(await threads.command('s', 'magic')).toMatch(/^'magic' is unknown. Try: what fills/)
    await threads.remember('s', 'note', 'kept')
    await threads.close()
    const again = new AgentThreads({ agent: 'mine', env })
    expect(await again.remembered('s', 'note')).toBe('kept')
    const call = { name: 'expand_message', input: { id } }
    expect(await again.lookUp('s', call)).toBe('the code is 4711')
    await again.close()
  })

  it('[AG2] refuses options that it does not know, and policies that do not exist', async () => {
    const env = { ORIEL_STORE: join(folder, 'other.db'), ORIEL_POLICY: 'no-such-preset' }
    expect(() => new AgentThreads({ agent: 'a', env, polcy: {} } as never)).toThrow('polcy')
    const threads = new AgentThreads({ agent: 'a', env })
    await expect(threads.request('s', messages, { format: 'openai-chat' })).rejects.toThrow(
      'no-such-preset',
    )
    await threads.close()
    expect(agentStorePath({ HOME: '/h' })).toBe('/h/.oriel/agents.db')
    expect(agentStorePath({ HOME: '/h', ORIEL_HOME: '/o' })).toBe('/o/agents.db')
  })

  it('[AG3] summarizes without a model, and says the same for the same messages', async () => {
    const summary = await checkpointText(messages, { format: 'openai-chat', previous: 'Before.' })
    expect(summary).toMatch(/^Before\.\n\n/)
    expect(summary).toContain('Never touch main.')
    expect(await checkpointText(messages, { format: 'openai-chat', previous: 'Before.' })).toBe(
      summary,
    )
  })
})
