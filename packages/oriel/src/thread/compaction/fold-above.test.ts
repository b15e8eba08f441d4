import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../thread.ts'

/** How long a conversation gets before it is folded, and how much of it stays. */
const firstFold = async (compaction: object) => {
  const thread = await openThread({
    store: memoryStore(),
    policy: { preset: 'recommended', compaction },
  })
  await thread.append({ role: 'user', content: 'Read all files.' })
  for (let step = 0; step < 400; step++) {
    const callId = `c${step}`
    const content = `line ${step} of a file with some words in it\n`.repeat(40)
    await thread.append([
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId, name: 'read', arguments: '{}' }],
      },
      { role: 'tool', content: [{ type: 'tool-result', callId, content }] },
    ])
    const view = await thread.view({ model: 'gpt-4o' })
    const [edit] = (await thread.log()).filter((entry) => entry.type === 'edit')
    if (edit !== undefined) return { before: view.tokens.before, after: view.tokens.after, edit }
  }
  throw new Error('never folded')
}

describe('compaction.foldAbove', () => {
  it('[EC6] keeps the default from folding below it, up to the window of the model', async () => {
    const usual = await firstFold({})
    expect(usual.before).toBeLessThan(30_000)
    const later = await firstFold({ foldAbove: 60_000 })
    expect(later.before).toBeGreaterThan(60_000)
    expect(later.before).toBeLessThan(65_000)
    expect(later.after).toBeGreaterThan(usual.after)
    const never = await firstFold({ foldAbove: 10_000_000 })
    expect(never.before).toBeGreaterThan(100_000)
    expect(never.before).toBeLessThan(128_000)
  })

  it('[EC6] names the numbers in the reason of a fold', async () => {
    const { edit } = await firstFold({ foldAbove: 40_000 })
    expect(edit.reason).toMatch(
      /^4\d{4} tokens reached the limit of 4\d{4}; folding \d+ messages \(\d+ tokens\) (?:saves about \$[\d.]+ over the next 10 steps|pays back after about \d+ steps)$/,
    )
  })

  it('[EC8] has names: savings folds earlier and keeps less, keep-more later and keeps more', async () => {
    const [least, usual, most] = await Promise.all(
      (['savings', 'balanced', 'keep-more'] as const).map((eagerness) => firstFold({ eagerness })),
    )
    expect(usual).toMatchObject({ before: (await firstFold({})).before })
    expect(least?.before).toBeLessThan(usual?.before ?? 0)
    expect(most?.before).toBeGreaterThan(usual?.before ?? 0)
    expect(least?.after).toBeLessThan(usual?.after ?? 0)
    expect(most?.after).toBeGreaterThan(usual?.after ?? 0)
  })
})
