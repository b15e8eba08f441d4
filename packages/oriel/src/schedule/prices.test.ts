import { describe, expect, it } from 'vitest'
import { lookupPrices, priceProviders } from './prices.ts'

const minute = 60_000

describe('lookupPrices', () => {
  it('[W1] takes shares, window and dollars from the catalogue, and the life of the cache from our table', () => {
    expect(lookupPrices({ model: 'claude-sonnet-4-6' })).toEqual({
      provider: 'anthropic',
      model: 'claude-sonnet-4-6',
      read: 0.1,
      write: 1.25,
      ttlMs: 5 * minute,
      coldMs: 5 * minute,
      minimumTokens: 1024,
      contextWindow: 1_000_000,
      inputDollars: 3,
      outputDollars: 15,
      asOf: '2026-09-23',
    })
    expect(lookupPrices({ provider: 'openai', model: 'gpt-4o' })).toMatchObject({
      read: 0.5,
      write: 1,
      contextWindow: 128_000,
    })
  })

  it('[W1] knows that a long life of the cache has its own price', () => {
    expect(lookupPrices({ model: 'claude-opus-5', life: 'long' })).toMatchObject({
      write: 2,
      ttlMs: 60 * minute,
    })
    expect(lookupPrices({ provider: 'anthropic', life: 'long' }).write).toBe(2)
  })

  it('[W1] counts the base price where there are tiers, and the price for writing since GPT-5.6', () => {
    expect(lookupPrices({ model: 'gpt-5.6-terra' })).toMatchObject({
      read: 0.1,
      write: 1.25,
      inputDollars: 2,
      ttlMs: 30 * minute,
    })
  })

  it('[W1] overrides what the catalogue does not know of a model', () => {
    expect(lookupPrices({ model: 'gemini-2.5-pro' }).contextWindow).toBe(1_048_576)
    expect(lookupPrices({ model: 'claude-haiku-4-5' }).minimumTokens).toBe(4096)
  })

  it('[W1] answers for a model that nobody knows with what holds for its provider', () => {
    const unknown = lookupPrices({ provider: 'openai', model: 'house-model-7' })
    expect(unknown).toEqual(lookupPrices({ provider: 'openai' }))
    expect(unknown).not.toHaveProperty('inputDollars')
    expect(lookupPrices({ provider: 'nobody', model: 'x' })).toMatchObject({
      provider: 'nobody',
      read: 0.1,
      write: 1.25,
    })
  })

  it('[W1] asks for the prices of a moment, never of now', () => {
    const model = 'deepseek-v4-flash'
    const spring = lookupPrices({ model, at: Date.parse('2026-05-01T12:00:00Z') })
    const autumn = lookupPrices({ model, at: Date.parse('2026-09-01T12:00:00Z') })
    expect(spring.inputDollars).toBe(0.14)
    expect(autumn.inputDollars).toBe(0.22)
    expect(lookupPrices({ model })).toEqual(autumn)
  })

  it('[W1] reads cheaper than it writes, and knows a life, for every provider', () => {
    for (const provider of priceProviders) {
      const { read, write, ttlMs, coldMs } = lookupPrices({ provider })
      expect(read).toBeLessThan(write)
      expect(ttlMs).toBeLessThanOrEqual(coldMs)
    }
  })
})
