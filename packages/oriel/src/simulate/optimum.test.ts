import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CacheMeter, type CachePrices } from './cost.ts'
import { optimalCost } from './optimum.ts'
import { piecesOf } from './pieces.ts'
import { openRecording } from './recording.ts'

const characters = { name: 'characters', count: (text: string) => text.length }

/** A conversation with one result of each length. */
function conversation(lengths: readonly number[]) {
  const messages = lengths.flatMap((length, index) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: `c${index}`, content: 'x'.repeat(length) },
  ])
  return [{ role: 'user', content: 'go' }, ...messages, { role: 'assistant', content: 'done' }]
}

/** Every schedule, tried: how many results are cleared before each call, never fewer than before. */
function bruteForce(messages: readonly object[], keep: number, prices: CachePrices): number {
  const { recorded, answers } = openRecording({ id: 'a', messages })
  let best = Infinity
  const cost = (cleared: readonly number[]): number => {
    const meter = new CacheMeter(characters, prices)
    return cleared.reduce((sum, count, call) => {
      let results = 0
      const view = recorded.slice(0, answers[call]).map(({ role, foreign, texts }) => {
        const isCleared = role === 'tool' && results++ < count && (texts[0]?.length ?? 0) > 9
        return isCleared ? { ...(foreign[0] as object), content: '[Omitted]' } : foreign[0]
      })
      return sum + meter.send(piecesOf(view)).cost
    }, 0)
  }
  const extend = (cleared: readonly number[]): void => {
    if (cleared.length === answers.length) {
      best = Math.min(best, cost(cleared))
      return
    }
    const end = answers[cleared.length] as number
    const results = recorded.slice(0, end).filter(({ role }) => role === 'tool').length
    const from = cleared.at(-1) ?? 0
    for (let count = from; count <= Math.max(from, results - keep); count++)
      extend([...cleared, count])
  }
  extend([])
  return best
}

describe('optimalCost', () => {
  it('[W5] is the least of all schedules that clear results oldest first', () => {
    const lengths = fc.array(fc.nat({ max: 400 }), { minLength: 1, maxLength: 6 })
    const prices = fc.constantFrom<CachePrices>(
      {},
      { read: 0.5, write: 1 },
      { read: 0.02, write: 1, minimumTokens: 100 },
    )
    fc.assert(
      fc.property(lengths, fc.integer({ min: 0, max: 2 }), prices, (sizes, keep, price) => {
        const messages = conversation(sizes)
        const recording = openRecording({ id: 'a', messages })
        const found = optimalCost(recording, { counter: characters, keep, prices: price })
        expect(found).toBeCloseTo(bruteForce(messages, keep, price), 6)
      }),
      { numRuns: 60 },
    )
  })

  it('[W5] counts results of Anthropic and Responses alike', () => {
    const long = 'x'.repeat(2000)
    const anthropic = Array.from({ length: 40 }, (_, n) => [
      { role: 'assistant', content: [{ type: 'tool_use', id: `c${n}`, name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: `c${n}`, content: long },
          { type: 'text', text: 'go on' },
        ],
      },
    ]).flat()
    const responses = Array.from({ length: 40 }, (_, n) => [
      { type: 'function_call', call_id: `c${n}`, name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: `c${n}`, output: long },
    ]).flat()
    for (const [format, messages] of [
      ['anthropic', anthropic],
      ['openai-responses', responses],
    ] as const) {
      const open = { role: 'user', content: 'go' }
      const recording = openRecording({ id: 'a', format, messages: [open, ...messages] })
      const options = { counter: characters, placeholderTokens: 9 }
      const none = optimalCost(recording, { ...options, keep: 99 })
      expect(optimalCost(recording, options)).toBeLessThan(none)
    }
  })
})
