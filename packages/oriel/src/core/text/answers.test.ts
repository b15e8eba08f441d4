import { describe, expect, it } from 'vitest'
import { resolveCounter } from '../../counters.ts'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../../thread/thread.ts'
import type { Block } from '../log/block.ts'
import type { EditEntry, EntryId, MessageEntry } from '../log/entry.ts'
import { Answers } from './answers.ts'
import { checkpointText, notesIn } from './checkpoint.ts'

const counter = resolveCounter('estimate')
const filler = 'Plain words that say nothing of their own, again and again. '.repeat(12)

const answer = (seq: number, text: string, more: readonly Block[] = []): MessageEntry => ({
  ...{ type: 'message', id: `e${seq}` as EntryId, seq, at: 0, turn: 1, step: seq, audience: {} },
  ...{ role: 'assistant', origin: 'assistant', blocks: [{ type: 'text', text }, ...more] },
})
const garden = `Growing tomatoes on a balcony works well.\n\n## Choosing pots\n${filler}\n1. **Watering**: ${filler}\n- **Be patient**\n`
const textFor = (answers: Answers, tokens = 2000): string =>
  answers.compose({ counter, tokens }).text

describe('outlines of answers', () => {
  it('[CN8] names an answer by its id, its first line and its headings', () => {
    const answers = new Answers()
    answers.add([answer(3, garden)])
    expect(textFor(answers).split('\n').slice(1)).toEqual([
      '- e3: Growing tomatoes on a balcony works well. Choosing pots; Watering; Be patient',
    ])
  })

  it('[CN8] leaves out short answers, code, and what is said around calls', () => {
    const answers = new Answers()
    const call: Block = { type: 'tool-call', callId: 'c', name: 'read', arguments: '{}' }
    answers.add([
      answer(1, 'Yes.'),
      answer(2, garden, [call]),
      { ...answer(3, garden), role: 'user', origin: 'user' },
      answer(4, `Look:\n\`\`\`\n# a comment\n\`\`\`\n${filler}`),
    ])
    const text = textFor(answers)
    expect(text.split('\n')).toHaveLength(2)
    expect(text).toContain('- e4: Look:')
    expect(text).not.toContain('comment')
  })

  it('[CN8] shortens all outlines before it leaves out the oldest', () => {
    const answers = new Answers()
    answers.add(Array.from({ length: 40 }, (_, seq) => answer(seq, garden)))
    let last = Infinity
    for (const tokens of [4000, 1500, 1000, 300, 100, 0]) {
      const { text, data } = answers.compose({ counter, tokens })
      const lines = text.split('\n').slice(1)
      expect(counter.count(text)).toBeLessThanOrEqual(tokens)
      expect(text.length).toBeLessThanOrEqual(last)
      if (tokens >= 1000) expect(lines).toHaveLength(40)
      else if (lines.length > 0) expect(lines.at(-1)).toContain('- e39: ')
      expect(Answers.textWithout(data, () => false)).toBe(text)
      last = text.length
    }
  })

  it('[CN8] keeps what is listed for the next checkpoint, without what is withdrawn since', () => {
    const answers = new Answers()
    answers.add([answer(1, garden), answer(2, `The secret is FERN-77.\n${filler}`)])
    const { data, text } = answers.compose({ counter, tokens: 500 })
    expect(text).toContain('FERN-77')
    const without = (seq: number): boolean => seq === 2
    expect(Answers.textWithout(data, without)).not.toContain('FERN')
    expect(textFor(new Answers(data, without))).not.toContain('FERN')
    expect(textFor(new Answers(data))).toBe(text)
  })

  it('[CN8] lists the answers that a fold leaves out of a plain chat, and none that is excluded', async () => {
    const thread = await openThread({
      ...{ id: 't', store: memoryStore() },
      policy: { compaction: { maxTokens: 6000 }, memory: {} },
    })
    for (let turn = 0; turn < 80; turn++) {
      await thread.append([
        { role: 'user', content: `Question ${turn}?` },
        { role: 'assistant', content: `Topic ${turn} is simple.\n## Part ${turn}\n${filler}` },
      ])
      await thread.view({ format: 'openai-chat' })
    }
    const edits = (await thread.log()).filter(
      (entry): entry is EditEntry => entry.type === 'edit' && entry.rule === 'compaction',
    )
    expect(edits.length).toBeGreaterThan(1)
    for (const { text, digest } of edits)
      expect(checkpointText(notesIn(digest, () => false))).toBe(text)
    const answers = (await thread.log()).filter(
      (entry) => entry.type === 'message' && entry.role === 'assistant',
    )
    const shown = async (): Promise<string> => JSON.stringify((await thread.view({})).messages)
    const hidden = answers[40]?.id ?? ''
    expect(await shown()).toContain(`- ${hidden}: Topic 40 is simple. Part 40`)
    await thread.exclude(hidden)
    expect(await shown()).not.toContain('Topic 40')
  })
})
