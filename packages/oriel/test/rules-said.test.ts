import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clipUserText, directivesIn } from '../src/core/text/directives.ts'
import { memoryStore, openThread } from '../src/index.ts'
import { project } from '../src/project.ts'
import { saidFirst, saidLater } from './fixtures/rules-said.ts'

const before = 'Yesterday we compared the numbers of both regions, and they were lower than in May.'
const after = 'The second chart showed the same by week.'

/** The share of sentences that are found whole in the middle of a message. */
function shareFound(sentences: readonly string[]): number {
  const found = sentences.filter((sentence) => {
    const texts = directivesIn(`${before} ${sentence} ${after}`).map(({ text }) => text)
    return texts.some((text) => sentence.includes(text) && text.length > sentence.length * 0.4)
  })
  return found.length / sentences.length
}

async function directivesAfter(...said: readonly string[]): Promise<readonly string[]> {
  const thread = await openThread({ store: memoryStore() })
  for (const content of said) {
    await thread.append([
      { role: 'user', content },
      { role: 'assistant', content: 'Done.' },
    ])
  }
  const { directives } = await thread.view()
  return directives.map(({ text }) => text)
}

describe('rules as people say them', () => {
  test('[DR1] nearly all are found that the finder was improved by', () => {
    expect(shareFound(saidFirst)).toBeGreaterThan(0.97)
  })

  test('[DR1] most are found that it was not improved by', () => {
    expect(shareFound(saidLater)).toBeGreaterThan(0.85)
  })

  test.each([
    ['Never use more than 80 columns.', 'Change of plan, never use more than 120 columns.'],
    ['Only use the staging cluster.', 'From now on only use the canary cluster instead.'],
    ['Usa siempre la rama dev.', 'Mejor usa siempre la rama test.'],
    ['以后都用英文回答。', '改一下,以后都用中文回答。'],
    [
      'Never push to main without asking me.',
      'Forget what I said about pushing to main, go ahead.',
    ],
    [
      'Ne modifie jamais le fichier config.yml.',
      "Oublie ce que j'ai dit sur config.yml, tu peux le modifier.",
    ],
  ])('[DR3] %s is replaced by: %s', async (older, newer) => {
    expect(await directivesAfter(older, 'What is next?', newer)).toEqual([newer])
  })

  test('[DR3] what takes back nothing that was asked for is no rule, and takes back nothing else', async () => {
    const rule = 'Never push to main without asking me.'
    expect(await directivesAfter(rule, 'Forget what I said about the colours.')).toEqual([rule])
  })
})

describe('rules inside a long message that a budget clips', () => {
  const rule = 'From now on never deploy to hamster-7 without asking me.'
  const prose = (sentences: number): string => Array(sentences).fill(before).join(' ')

  test('[RC9] stay word for word, wherever they stand', () => {
    for (const budget of [2000, 4000, 8000]) {
      for (const [front, back] of [
        [200, 200],
        [40, 400],
        [400, 40],
      ] as const) {
        const messages = [
          { role: 'user', content: 'Hello.' },
          { role: 'assistant', content: 'Hello.' },
          { role: 'user', content: `${prose(front)} ${rule} ${prose(back)}` },
          { role: 'assistant', content: 'I read it.' },
          { role: 'user', content: 'And now?' },
        ]
        const shown = JSON.stringify(project(messages, {}, { budget }).messages)
        expect(shown).toContain(rule)
      }
    }
  })

  test('[RC9] a clipped text has at most its length, and shows each rule once', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 300, max: 3000 }),
        fc.nat(80),
        fc.nat(80),
        (length, front, back) => {
          const text = `${prose(front)} ${rule} ${prose(back)}`
          const clipped = clipUserText(text, length, 'e1')
          expect(clipped.length).toBeLessThanOrEqual(
            Math.max(length, text.length > length ? 0 : text.length),
          )
          expect(clipped.split(rule).length).toBe(2)
          expect(clipped.isWellFormed()).toBe(true)
        },
      ),
    )
  })
})
