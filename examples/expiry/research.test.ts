import type { Thread } from 'oriel'
import { describe, expect, it } from 'vitest'
import { answerExpansion, openResearchThread } from './research.ts'

const step = (thread: Thread, id: string, name: string, content: string) =>
  thread.append([
    {
      role: 'assistant',
      content: [{ type: 'tool-call', callId: id, name, arguments: `{"q":"${id}"}` }],
    },
    { role: 'tool', content: [{ type: 'tool-result', callId: id, content }] },
  ])
const items = JSON.stringify(
  Array.from({ length: 50 }, (_, n) => ({
    rank: n,
    title: `Result ${n}`,
    url: `https://e.example/${n}`,
  })),
)
const shown = async (thread: Thread) => {
  const { messages } = await thread.view<{ role: string; content: string }>()
  return messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
}

describe('a research agent', () => {
  it('compacts, summarizes and removes old results, and gives them back', async () => {
    const lines: string[] = []
    const thread = await openResearchThread({
      log: (line) => lines.push(line),
      summarize: async ({ prompt }) => (prompt.startsWith('Keep ids') ? '3 rows, total 42' : 'no'),
    })
    await thread.append({ role: 'user', content: 'Find out about it.' })
    await step(thread, 'a', 'web_search', items)
    await step(thread, 'b', 'query_database', 'id,total\n'.repeat(200))
    await step(thread, 'c', 'list_files', 'src/index.ts\n'.repeat(60))
    await step(thread, 'd', 'read', 'the file itself')
    await thread.append({ role: 'assistant', content: 'I think so.' })
    const [search = '', rows = '', list = '', file] = await shown(thread)
    expect(search).toContain('of 50 items. Agent can request expansion if needed: ')
    expect(rows).toMatch(/^\[AI Summary of 1800 chars.*\]\n\n3 rows, total 42$/s)
    expect(list).toMatch(/^\[Omitted: list_files result, 780 characters/)
    expect(file).toBe('the file itself')
    expect(lines.at(-1)).toMatch(
      /^\[Turn 6\] Message pruning: 2 compacted \(saved ~\d+ tokens\), 1 removed$/,
    )

    const id = /needed: (\w+)/.exec(search)?.[1]
    const found = await answerExpansion(thread, { id, items: [40, 41] })
    expect(JSON.parse(found).map(({ rank }: { rank: number }) => rank)).toEqual([40, 41])
    await thread.expand(id ?? '', { inPlace: true, steps: 1 })
    expect((await shown(thread))[0]).toBe(items)
    await thread.append({ role: 'assistant', content: 'Now I know.' })
    expect((await shown(thread))[0]).toBe(search)
    expect(thread.tokensSaved).toBeGreaterThan(500)
  })
})
