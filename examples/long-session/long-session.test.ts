import { readFileSync } from 'node:fs'
import { memoryStore, validate } from 'oriel'
import { describe, expect, it } from 'vitest'
import { byHand, callModel, openLong } from './compaction.ts'
import { boundedOutput, placeholders, summaries } from './tool-results.ts'

const output = Array.from({ length: 4000 }, (_, n) =>
  n === 2500 ? 'src/a.ts(7,3): error TS2345: wrong type' : `compiled file ${n}`,
).join('\n')
const words = 'some words to fill it '.repeat(600)
const turn = (n: number) => [
  { role: 'user', content: `question ${n} ${words}` },
  { role: 'assistant', content: `answer ${n} ${words}` },
]
const summary = [
  ...['## Goal', 'Answer.', '## Constraints & Preferences', '(none)', '## Progress', 'Done: much.'],
  ...['## Key Decisions', '(none)', '## Next Steps', 'Go on.', '## Critical Context', 'ORD-1'],
].join('\n')

describe('the guide to tool output and tool results', () => {
  it('shows bounded output, a placeholder, and the original by search and by lines', async () => {
    const [omitted, clipped, found, tool, answer] = await boundedOutput(memoryStore(), output)
    expect(omitted).toMatch(/^\[Omitted: build result, \d+ characters, .*; expand e\w+\]$/)
    expect(clipped).toMatch(
      /^compiled file 0\n[\s\S]*compiled file 3999\n\n\[tool output truncated:/,
    )
    expect(clipped?.length).toBeLessThanOrEqual(8000)
    expect(found).toBe('2500: src/a.ts(7,3): error TS2345: wrong type')
    expect(tool).toBe('expand_message')
    expect(answer).toBe('compiled file 0\ncompiled file 1')
  })

  it('shows summaries by a model, in one call', async () => {
    let calls = 0
    const outputs = [1, 2, 3, 4].map((n) => `report ${n} ${words}`)
    const shown = await summaries(memoryStore(), outputs, async ({ text }) => {
      calls += 1
      const numbers = [...text.matchAll(/report (\d) /g)].map(([, n]) => n)
      return numbers.map((n, index) => `=== ${index + 1} ===\nReport ${n} is fine.`).join('\n')
    })
    expect(shown[0]).toMatch(
      /^\[Tool output summary\]\nTool: fetch\nStatus: ok\nReport 1 is fine\./,
    )
    expect(shown.slice(2)).toEqual(outputs.slice(2))
    expect(calls).toBe(1)
  })

  it('shows placeholders without a thread', () => {
    const history = Array.from({ length: 9 }, (_, n) => [
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: `c${n}`, type: 'function', function: { name: 'look', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: `c${n}`, content: words },
    ]).flat()
    const sent = placeholders([{ role: 'user', content: 'go' }, ...history])
    expect(sent.filter(({ content }) => content === '[Omitted]')).toHaveLength(5)
    expect(validate('openai-chat', sent)).toEqual([])
  })
})

describe('the guide to compaction', () => {
  it('makes checkpoints, recovers once, and compacts by hand', async () => {
    const lines: string[] = []
    const complete = async () => ({ text: summary, stop: 'stop' })
    const thread = await openLong(memoryStore(), complete, (line) => lines.push(line))
    for (let n = 0; n < 30; n++) await thread.append(turn(n))
    const { messages } = await thread.view<{ content: string }>()
    expect(messages[1]?.content).toContain('## Critical Context\nORD-1')
    expect(lines[0]).toMatch(/^turn-end: \d+ to \d+ messages, \d+ to \d+ tokens$/)

    const sizes: number[] = []
    await thread.append([{ role: 'user', content: 'go on' }])
    const answer = await callModel(thread, async (sent) => {
      sizes.push(JSON.stringify(sent).length)
      if (sizes.length === 1)
        throw { status: 400, message: 'prompt is too long: 9 tokens > 8 maximum' }
      return 'ok'
    })
    expect(answer).toBe('ok')
    expect(sizes[1]).toBeLessThan(sizes[0] as number)

    for (let n = 30; n < 40; n++) await thread.append(turn(n))
    expect(await byHand(thread)).toBeGreaterThan(0)
  })
})

describe('the guides', () => {
  it.each(['tool-results', 'compaction'])('show only code of %s.ts, which runs here', (name) => {
    const guide = readFileSync(new URL(`../../docs/guides/${name}.md`, import.meta.url), 'utf8')
    const code = readFileSync(new URL(`./${name}.ts`, import.meta.url), 'utf8')
    const bare = (text: string) => text.replaceAll(/\s+/g, ' ').trim()
    const blocks = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block]) => block as string)
    expect(blocks.length).toBeGreaterThan(0)
    for (const block of blocks) expect(bare(code)).toContain(bare(block))
  })
})
