import { calcPrice, type Provider, waitForUpdate } from '@pydantic/genai-prices'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CatalogueModel, findInCatalogue } from './catalogue.ts'
import { contextWindowOf } from './context-window.ts'
import { lookupPrices } from './prices.ts'

const providers = (await waitForUpdate()) as readonly Provider[]
const names = providers.flatMap(({ models }) => models.map(({ id }) => id))

/** What the package itself says. */
function reference(
  model: string,
  provider: string | undefined,
  at: Date,
): CatalogueModel | undefined {
  const options = { timestamp: at, ...(provider === undefined ? {} : { providerId: provider }) }
  const found = calcPrice({ input_tokens: 1 }, model, options)
  if (found === null) return undefined
  const price = (key: string): number | undefined => {
    const own = found.model_price[key]
    return typeof own === 'object' ? own.base : own
  }
  return {
    provider: found.provider.id,
    model: found.model.id,
    contextWindow: found.model.context_window,
    input: price('input_mtok'),
    output: price('output_mtok'),
    read: price('cache_read_mtok'),
    write: price('cache_write_mtok'),
    longWrite: price('cache_write_1h_mtok'),
  }
}

const noon = new Date('2026-09-23T12:00:00Z')

describe('the catalogue', () => {
  it('[W1] says of every model what its source says, with and without its provider', () => {
    for (const { id: provider, models } of providers) {
      for (const { id: model } of models) {
        for (const named of [provider, undefined]) {
          const found = findInCatalogue({ model, provider: named, at: noon })
          expect(found, `${named} ${model}`).toEqual(reference(model, named, noon))
        }
      }
    }
  })

  it('[W1] says of any name, provider and moment what its source says', () => {
    const model = fc
      .tuple(
        fc.constantFrom('', '', 'openai/', 'us.anthropic.', ' ', 'ft:', 'models/'),
        fc.oneof(fc.constantFrom(...names), fc.string()),
        fc.constantFrom('', '', '-20260131', '-20260231', '-latest', '@20250514', '-v1:0', ' '),
        fc.boolean(),
      )
      .map(([before, name, after, isLoud]) => {
        const whole = `${before}${name}${after}`
        return isLoud ? whole.toUpperCase() : whole
      })
    const provider = fc.oneof(
      fc.constant(undefined),
      fc.constantFrom(...providers.map(({ id }) => id), 'litellm', 'LiteLLM', 'bedrock', 'x', ''),
    )
    const at = fc.date({
      min: new Date('2023-01-01T00:00:00Z'),
      max: new Date('2027-01-01T00:00:00Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(model, provider, at, (name, named, moment) => {
        const found = findInCatalogue({ model: name, provider: named, at: moment })
        expect(found).toEqual(reference(name, named, moment))
        expect(contextWindowOf(name)).toBe(lookupPrices({ model: name }).contextWindow)
      }),
      { numRuns: 1000 },
    )
  })

  it('[W1] knows the window of every model by its name alone, as the prices do', () => {
    const asked = [...names, 'gemini-3-later', 'gemini-2.5-unknown', 'gpt-4o-20240806', 'nobody']
    for (const model of asked) {
      expect(contextWindowOf(model), model).toBe(lookupPrices({ model }).contextWindow)
    }
  })
})
