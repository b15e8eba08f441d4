// Recorded conversations of agents under history windows and budgets, in every format.

import { expect, it } from 'vitest'
import { describeRecorded, type RecordedMessage as Message } from '../../../scripts/recorded.ts'
import { OrielError } from '../src/core/log/errors.ts'
import { callTokens, messageTokens } from '../src/core/tokens/counter.ts'
import { resolveCounter, type TokensOption } from '../src/counters.ts'
import type { HistoryPolicy } from '../src/policy/schema.ts'
import { type Projection, project } from '../src/project.ts'
import type { FormatName } from '../src/providers/format.ts'
import { formatNames, validate } from '../src/providers/registry.ts'
import { exactText, frozen } from '../src/testing/compare.ts'

const histories: readonly HistoryPolicy[] = [
  { policy: 'lastN', length: 1 },
  { policy: 'lastN', length: 3 },
  { policy: 'lastN', length: 20 },
  { policy: 'none' },
  { policy: 'all' },
  { policy: 'all', maxMessages: 10 },
  { policy: 'all', maxMessages: 50 },
]
const budgets = [4000, 8000, 16_000, 32_000]
/** Longer conversations see each budget in one format, another for each budget, to save time. */
const longLength = 100

describeRecorded('recorded conversations', ({ files }) => {
  const recorded = files.flatMap((file) => file.conversations()).map((one) => frozen(one))

  it('[I14] come back as they were where they are valid', () => {
    const valid = recorded.filter(
      ({ messages }) => validate('openai-chat', { messages }).length === 0,
    )
    expect(valid.length).toBeGreaterThan(0)
    for (const { id, messages } of valid) {
      const result = project(messages)
      expect(exactText(result.messages), id).toBe(exactText(messages))
      expect(result.trace, id).toEqual([])
    }
  })

  it('[I2] are valid in every format after every history setting', () => {
    recorded.forEach(({ id, messages }, position) => {
      histories.forEach((history, turn) => {
        const to = formatNames[(position + turn) % formatNames.length] as FormatName
        expect(violations(to, project<unknown>(messages, { history }, { to })), id).toEqual([])
      })
    })
  })

  it.each(budgets)('[I2] [I6] are valid in every format and fit a budget of %i', (budget) => {
    recorded.forEach(({ id, messages }, position) => {
      const turns =
        messages.length > longLength
          ? [(position + budgets.indexOf(budget)) % formatNames.length]
          : [0, 1, 2]
      for (const turn of turns) {
        const to = formatNames[turn] as FormatName
        const history = histories[(position + turn + budgets.indexOf(budget)) % histories.length]
        const policy = history === undefined ? {} : { history }
        const result = attempt(messages, { to, budget, policy })
        if (result === undefined) {
          expect(leastTokens(messages, 'estimate'), id).toBeGreaterThan(budget)
        } else {
          expect(violations(to, result), id).toEqual([])
          expect(result.tokens.after, id).toBeLessThanOrEqual(budget)
        }
      }
    })
  })

  it.each(budgets)('[I6] fit a budget of %i in exact tokens', (budget) => {
    const some = recorded.filter((_, position) => position % 12 === 0)
    for (const { id, messages } of some) {
      const result = attempt(messages, { to: 'openai-chat', budget, policy: {}, tokens: 'o200k' })
      if (result === undefined) expect(leastTokens(messages, 'o200k'), id).toBeGreaterThan(budget)
      else expect(result.tokens.after, id).toBeLessThanOrEqual(budget)
    }
  })
})

function attempt(
  messages: readonly Message[],
  {
    policy,
    ...options
  }: {
    readonly to: FormatName
    readonly budget: number
    readonly policy: { readonly history?: HistoryPolicy }
    readonly tokens?: TokensOption
  },
): Projection<unknown> | undefined {
  try {
    return project<unknown>(messages, policy, options)
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return undefined
    throw error
  }
}

function violations(to: FormatName, { messages, system }: Projection<unknown>): readonly unknown[] {
  const input = { messages, ...(to === 'openai-responses' ? { input: messages } : {}) }
  return validate(to, system === undefined ? input : { ...input, system })
}

/** What a placeholder, and a text clipped to its shortest form, may take at most. */
const placeholderTokens = 100
const clippedTokens = 150

/**
 * The least that any view must hold, computed from nothing but the messages: system texts, the newest user message, and the
 * newest exchange with its results and words in their smallest forms.
 */
function leastTokens(messages: readonly Message[], tokens: TokensOption): number {
  const counter = resolveCounter(tokens)
  const whole = (message: Message): number => messageTokens + counter.count(message.content ?? '')
  const system = messages.filter(({ role }) => role === 'system')
  const newestUser = messages.findLast(({ role }) => role === 'user')
  const newest = messages.findLast(({ role }) => role === 'assistant')
  const must = [...system, ...(newestUser === undefined ? [] : [newestUser])]
  const calls = newest?.tool_calls ?? []
  const calling = calls.reduce((sum, { id, function: { name, arguments: text } }) => {
    const result = messages.findLast((message) => message.tool_call_id === id)?.content ?? ''
    const call = callTokens + counter.count(name) + counter.count(text)
    const answer = callTokens + Math.min(placeholderTokens, counter.count(result))
    return sum + call + messageTokens + answer
  }, 0)
  const said = Math.min(clippedTokens, counter.count(newest?.content ?? ''))
  const exchange = calls.length === 0 ? 0 : messageTokens + said + calling
  return must.reduce((sum, message) => sum + whole(message), exchange)
}
