import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../thread.ts'
import { type Calibrations, learn } from './calibration.ts'

const words = (count: number) => 'some words to fill it '.repeat(count)
const callOf = (id: string) => ({
  id,
  type: 'function',
  function: { name: 'read', arguments: '{}' },
})

describe('estimates that learn from usage', () => {
  const open = async (store = memoryStore()) => {
    const thread = await openThread({ id: 't', store, snapshotEvery: 3 })
    const talk = async (ratio: number, model = 'm') => {
      await thread.append([{ role: 'user', content: words(100) }])
      const view = await thread.view({ model })
      await thread.usage({ prompt_tokens: Math.round(view.tokens.after * ratio) }, view.id)
      await thread.append([{ role: 'assistant', content: words(20) }])
      return view
    }
    return { thread, talk }
  }

  it('[U2] the factor follows what is measured, and the error is reported', async () => {
    const { thread, talk } = await open()
    expect(thread.accuracy).toEqual({ factor: 1, samples: 0 })
    for (let n = 0; n < 12; n++) await talk(1.4)
    const { factor, samples, error } = thread.accuracy
    expect(factor).toBeGreaterThan(1.35)
    expect(factor).toBeLessThanOrEqual(1.4)
    expect(samples).toBe(12)
    expect(error?.p95).toBeGreaterThanOrEqual(error?.mean ?? 1)
    expect(error?.p95).toBeLessThan(0.3)
  })

  it.each([1, 10, 1000])(
    '[U1] a provider that always reports %d tokens turns off no limit',
    async (constant) => {
      const policy = { compaction: { contextWindow: 8000, reserveTokens: 1000 } }
      const thread = await openThread({ id: 't', store: memoryStore(), policy })
      for (let n = 0; n < 60; n++) {
        await thread.append([{ role: 'user', content: words(100) }])
        const view = await thread.view({ model: 'm' })
        expect(view.tokens.after).toBeLessThanOrEqual(8000)
        await thread.usage({ prompt_tokens: constant }, view.id)
        await thread.append([{ role: 'assistant', content: words(20) }])
      }
      expect(thread.accuracy.factor).toBeGreaterThanOrEqual(0.5)
    },
  )

  it('[U1] a request that was reduced for a budget says nothing about the next one, and explains a cache break', async () => {
    const policy = { compaction: { auto: false, contextWindow: 6000, reserveTokens: 1000 } }
    const thread = await openThread({ id: 't', store: memoryStore(), policy })
    const read = async (id: string, length: number) => {
      await thread.append(
        [
          { role: 'assistant', content: null, tool_calls: [callOf(id)] },
          { role: 'tool', tool_call_id: id, content: words(length) },
        ],
        { format: 'openai-chat' },
      )
      const view = await thread.view({ model: 'm' })
      const { after } = view.tokens
      await thread.usage(
        { prompt_tokens: after, prompt_tokens_details: { cached_tokens: 100 } },
        view.id,
      )
      return after
    }
    await thread.append([{ role: 'user', content: 'Read them.' }])
    for (let n = 0; n < 12; n++) expect(await read(`c${n}`, 150)).toBeLessThanOrEqual(5000)
    const usage = (await thread.log()).filter((entry) => entry.type === 'usage')
    const breaks = usage.flatMap(({ broken }) => broken ?? [])
    expect(breaks.map(({ cause }) => cause)).toContain('edit')
    const isReduced = (await thread.log()).flatMap((entry) =>
      entry.type === 'request' ? [entry.details?.unkeptFrom !== undefined] : [],
    )
    expect(isReduced.lastIndexOf(false)).toBeLessThan(isReduced.indexOf(true))
    const [first] = breaks.filter(({ cause }) => cause === 'edit')
    expect(thread.explain(first?.first ?? '')).toBeDefined()
  })

  it('[U2] what came after the newest view is weighed by it, and so is everything where nothing was measured', async () => {
    const { thread, talk } = await open()
    for (let n = 0; n < 12; n++) await talk(1.4)
    const view = await talk(1.4)
    const measured = Math.round(view.tokens.after * 1.4)
    await thread.append([{ role: 'user', content: words(100) }])
    const plain = (await thread.view({ dryRun: true })).tokens.after
    expect(thread.estimate() / plain).toBeGreaterThan(1.35)
    expect(thread.estimate()).toBeGreaterThan(measured)
    await thread.view({ model: 'm' })
    expect(thread.estimate() / plain).toBeGreaterThan(1.35)
    expect(thread.estimate() / plain).toBeLessThan(1.42)
  })

  it('[U2] each model has its own, and it survives a restart', async () => {
    const store = memoryStore()
    const { thread, talk } = await open(store)
    for (let n = 0; n < 8; n++) await talk(1.5, 'dear')
    for (let n = 0; n < 8; n++) await talk(0.8, 'cheap')
    expect(thread.accuracy.factor).toBeLessThan(0.9)
    await thread.settled()
    const again = await openThread({ id: 't', store })
    expect(again.accuracy).toEqual(thread.accuracy)
    expect(again.estimate()).toBe(thread.estimate())
    await again.append([{ role: 'user', content: 'x' }])
    await again.view({ model: 'dear' })
    expect(again.accuracy.factor).toBeGreaterThan(1.3)
  })

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    '[U2] a model may be called %s',
    async (model) => {
      const store = memoryStore()
      const thread = await openThread({ id: 't', store, snapshotEvery: 1 })
      await thread.append({ role: 'user', content: 'some words to count '.repeat(100) })
      for (let n = 0; n < 3; n++) {
        const { id } = await thread.view({ model })
        await thread.append({ role: 'assistant', content: `answer ${n}` })
        await thread.usage({ prompt_tokens: 900, completion_tokens: 5 }, id)
        expect(thread.accuracy.factor).toBeGreaterThan(0)
      }
      await thread.settled()
      const again = await openThread({ id: 't', store })
      expect(again.accuracy).toEqual(thread.accuracy)
      expect((await again.view({ model })).messages).toHaveLength(4)
    },
  )

  it('[U2] no sample leads far astray', () => {
    const sample = fc.record({
      model: fc.constantFrom('a', 'b'),
      estimated: fc.integer({ min: 0, max: 1_000_000 }),
      measured: fc.integer({ min: 0, max: 10_000_000 }),
    })
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 80 }), (samples) => {
        const learned = samples.reduce<Calibrations>((known, one) => learn(known, one), {})
        for (const { factor, errors } of Object.values(learned)) {
          expect(factor).toBeGreaterThanOrEqual(0.5)
          expect(factor).toBeLessThanOrEqual(2.5)
          expect(errors.length).toBeLessThanOrEqual(50)
        }
      }),
    )
  })

  it('[U2] pictures count by rule, never by their length; the frame counts', async () => {
    const thread = await openThread({ id: 't', store: memoryStore() })
    const picture = { type: 'image', mediaType: 'image/png', data: 'A'.repeat(400_000) } as const
    await thread.append([{ role: 'user', content: [{ type: 'text', text: 'see' }, picture] }])
    expect(thread.estimate()).toBeLessThan(1300)
    expect(thread.estimate()).toBeGreaterThan(1100)
    const before = thread.estimate()
    await thread.view({ frame: { system: words(100) } })
    expect(thread.estimate()).toBeGreaterThan(before + 300)
  })

  it('[U2] a message that no model sees counts for nothing', async () => {
    const said = [
      { role: 'user', content: 'visible' },
      { role: 'assistant', content: 'ok' },
    ] as const
    const hidden = { now: false, later: false }
    const open = await openThread({ id: 't', store: memoryStore() })
    await open.append([said[0], { role: 'user', content: words(400), audience: hidden }, said[1]])
    const without = await openThread({ id: 'u', store: memoryStore() })
    await without.append(said)
    expect(open.estimate()).toBe(without.estimate())
    expect((await open.view()).tokens.after).toBe(open.estimate())
  })
})
