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

  it('[AG2] originals are found after any number of compactions, by the model and by a person, also after a restart', async () => {
    const env = { ORIEL_STORE: join(folder, 'compacted.db') }
    const format = 'openai-chat'
    const part = (index: number): readonly object[] => [
      { role: 'user', content: `Look at part ${index}.` },
      { role: 'assistant', content: `The code of part ${index} is 471${index}.` },
    ]
    const threads = new AgentThreads({ agent: 'mine', env })
    await threads.request('s', part(1), { format })
    await threads.request('s', [{ role: 'user', content: 'Summary A.' }, ...part(2)], { format })
    await threads.sync('s', [{ role: 'user', content: 'Summary B.' }, ...part(3)], format)
    const ask = async (own: AgentThreads): Promise<void> => {
      for (const code of ['4711', '4712', '4713']) {
        const call = { name: 'search_conversation', input: { query: code } }
        const found = await own.lookUp('s', call)
        expect(found).toContain(`is ${code}.`)
        expect(await own.command('s', `search ${code}`)).toContain(`is ${code}.`)
        const passage = found.split(/^(?=\d+\. )/m).find((one) => one.includes(`is ${code}.`))
        const id = /^\d+\. (e[\w@]+), assistant/.exec(passage ?? '')?.[1] ?? ''
        expect(await own.command('s', `expand ${id}`)).toContain(code)
      }
      const missing = { name: 'search_conversation', input: { query: 'xyzzy' } }
      expect(await own.lookUp('s', missing)).toMatch(/^Nothing was found/)
    }
    await ask(threads)
    await threads.close()
    const again = new AgentThreads({ agent: 'mine', env })
    await ask(again)
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

  it('[AG3] a summary of little is little, and summaries that follow one another do not grow for ever', async () => {
    const steps = (round: number): readonly object[] => [
      { role: 'user', content: `Round ${round}: never touch branch-${round}.` },
      ...Array.from({ length: 12 }, (_, index): readonly object[] => {
        const id = `c${round}-${index}`
        const own = { name: 'bash', arguments: JSON.stringify({ command: `cat part-${id}.txt` }) }
        const lines = Array.from(
          { length: 80 },
          (_, line) => `${id}.${line} booking ${line * 7919}`,
        )
        return [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id, type: 'function', function: own }],
          },
          { role: 'tool', tool_call_id: id, content: lines.join('\n') },
        ]
      }).flat(),
    ]
    const format = 'openai-chat'
    const little = steps(0).slice(0, 5)
    expect((await checkpointText(little, { format })).length).toBeLessThan(
      JSON.stringify(little).length / 3,
    )
    const sizes: number[] = []
    let previous: string | undefined
    for (let round = 1; round <= 8; round++) {
      previous = await checkpointText(steps(round), { format, previous })
      sizes.push(previous.length)
    }
    expect(sizes.at(-1)).toBeLessThan(30_000)
    for (let round = 1; round <= 8; round++) expect(previous).toContain(`branch-${round}.`)
    // What was done last is there.
    expect(previous).toContain('part-c8-')
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
