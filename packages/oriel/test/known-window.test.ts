// A known window is a limit that every request obeys, with no budget given, under every policy but none.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../src/core/log/json.ts'
import { presets } from '../src/policy/presets.ts'
import type { PresetName } from '../src/policy/schema.ts'
import { project } from '../src/project.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import { openThread } from '../src/thread/thread.ts'
import { scaledRuns } from './scaled-runs.ts'

/** In the catalogue, with its window. */
const models = [
  { model: 'gpt-4', most: 8192 },
  { model: 'gpt-3.5-turbo', most: 16_385 },
] as const

/** Rounds of calls with their results: many at once, or one after the other; results of any size. */
const rounds = fc.array(
  fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1, maxLength: 12 }),
  {
    minLength: 1,
    maxLength: 6,
  },
)

function conversation(sizes: readonly (readonly number[])[]): readonly Json[][] {
  let made = 0
  return sizes.map((parallel) => {
    const calls = parallel.map((words) => ({ id: `c${made++}`, words }))
    const text = (words: number): string =>
      Array.from({ length: words }, (_, at) => (at * 7919 + words).toString(36)).join(' ')
    return [
      {
        role: 'assistant',
        content: null,
        tool_calls: calls.map(({ id }) => {
          return { id, type: 'function', function: { name: 'read', arguments: '{}' } }
        }),
      },
      ...calls.map(({ id, words }) => ({ role: 'tool', tool_call_id: id, content: text(words) })),
    ]
  })
}

describe.each(Object.keys(presets) as PresetName[])('preset %s', (policy) => {
  it.each(models)(
    '[RC10] every view of a thread fits the window of $model',
    async ({ model, most }) => {
      await fc.assert(
        fc.asyncProperty(rounds, async (sizes) => {
          const thread = await openThread({ id: 't', store: memoryStore(), policy })
          await thread.append([{ role: 'user', content: 'Read it all.' }])
          for (const round of conversation(sizes)) {
            await thread.append(round, { format: 'openai-chat' })
            const view = await thread.view({ model })
            expect(view.tokens.after).toBeLessThanOrEqual(most)
            const { exact, body } = await thread.requestAt(thread.step)
            expect([exact, body.messages]).toEqual([true, view.messages])
          }
        }),
        { numRuns: scaledRuns(2) },
      )
    },
  )

  it.each(models)('[RC10] what project answers fits the window of $model', ({ model, most }) => {
    fc.assert(
      fc.property(rounds, (sizes) => {
        const history = [{ role: 'user', content: 'Read it all.' }, ...conversation(sizes).flat()]
        expect(project(history, policy, { model }).tokens.after).toBeLessThanOrEqual(most)
      }),
      { numRuns: scaledRuns(2) },
    )
  })
})

it('[RC10] without a policy a view is the log, however long', () => {
  const history = [
    { role: 'user', content: 'Read it all.' },
    ...conversation([[4000, 4000]]).flat(),
  ]
  expect(project(history, {}, { model: 'gpt-4' }).messages).toEqual(history)
})

it('[RC10] what nothing can make fit is shown as it is', () => {
  const history = [{ role: 'user', content: 'word '.repeat(9000) }]
  expect(project(history, 'recommended', { model: 'gpt-4' }).messages).toEqual(history)
})
