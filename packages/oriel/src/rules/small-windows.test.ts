// Limits of models with small windows, over the whole catalogue.

import { findProvider } from '@pydantic/genai-prices'
import { describe, expect, it } from 'vitest'
import type { Json } from '../core/log/json.ts'
import { lookupPrices } from '../schedule/prices.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'
import { limitOf, readableBy } from './compaction.ts'

/** The catalogue has no list of its providers. */
const providers = [
  ...['anthropic', 'avian', 'aws', 'azure', 'cerebras', 'cohere', 'deepseek', 'fireworks'],
  ...['github-copilot', 'google', 'groq', 'huggingface_together', 'minimax', 'mistral'],
  ...['moonshotai', 'novita', 'openai', 'openrouter', 'perplexity', 'together', 'x-ai', 'zai'],
] as const

const catalogue = providers.flatMap((providerId) =>
  (findProvider({ providerId })?.models ?? []).flatMap(({ id, context_window: window }) =>
    window === undefined ? [] : [{ id, window }],
  ),
)

describe('limits of small windows', () => {
  it('[RC3] every model of the catalogue has a limit above 0 and within its window', () => {
    expect(catalogue.length).toBeGreaterThan(600)
    expect(catalogue.filter(({ window }) => window <= 16_385).length).toBeGreaterThan(50)
    const settings = { maxTokens: 0, maxMessages: 0 }
    const wrong = catalogue.filter(({ window }) => {
      const limit = limitOf(settings, window)
      const isSensible = limit >= window * 0.75 && limit <= window
      return !isSensible || readableBy(settings, window) !== limit
    })
    expect(wrong).toEqual([])
  })

  it.each([
    ['gpt-3.5-turbo', 16_385, 12_289],
    ['gpt-4', 8192, 6144],
    ['gpt-4o', 128_000, 111_616],
  ] as const)('[RC3] %s keeps at most a quarter of its window free', (model, window, limit) => {
    const { contextWindow } = lookupPrices({ model })
    expect(contextWindow).toBe(window)
    expect(limitOf({}, contextWindow)).toBe(limit)
  })

  it('[RC3] a reserve that the settings name counts as long as it leaves room', () => {
    expect(limitOf({ contextWindow: 6000, reserveTokens: 3000 })).toBe(3000)
    expect(limitOf({ contextWindow: 4000 })).toBe(3000)
    expect(limitOf({ contextWindow: 1000, reserveTokens: 1000 })).toBe(750)
    expect(limitOf({ contextWindow: 1 })).toBe(1)
  })

  it.each(['gpt-3.5-turbo', 'gpt-4'])(
    '[RC3] under recommended, a long conversation with %s stays within the window and is folded now and then',
    async (model) => {
      const window = lookupPrices({ model }).contextWindow as number
      const thread = await openThread({ store: memoryStore(), policy: 'recommended' })
      const sizes: number[] = []
      let folds = 0
      for (let turn = 0; turn < 60; turn++) {
        await thread.append([{ role: 'user', content: `Question ${turn}. ${'word '.repeat(60)}` }])
        const view = await thread.view({ model })
        sizes.push(view.tokens.after)
        if (view.epoch.applied > 0) folds += 1
        const answer: Json = {
          role: 'assistant',
          content: `Answer ${turn}. ${'text '.repeat(300)}`,
        }
        await thread.append([answer])
      }
      expect(Math.max(...sizes)).toBeLessThanOrEqual(window)
      // Neither never nor at every turn.
      expect(folds).toBeLessThan(30)
    },
  )
})
