import { describe, expect, it } from 'vitest'
import { describeRecorded } from '../../../../../scripts/recorded.ts'
import { resolveCounter } from '../../counters.ts'
import { project } from '../../project.ts'
import { OrielError } from '../log/errors.ts'
import { estimate } from './estimate.ts'
import { estimateMargin } from './margin.ts'

const exact = resolveCounter('o200k')

/** Texts whose estimate is too low, by kind. */
const low = {
  Polish:
    'Zażółć gęślą jaźń. Użytkownik zgłosił, że podczas przesyłania większych załączników połączenie zostaje przerwane, a następnie wyświetla się nieczytelny komunikat o błędzie. ',
  Ukrainian:
    'Користувач повідомив, що під час завантаження великих вкладень зʼєднання розривається, після чого зʼявляється незрозуміле повідомлення про помилку. ',
} as const

/** Tokens of messages as the provider counts them. */
function exactTokens(messages: readonly unknown[]): number {
  return project(messages, {}, { tokens: 'o200k' }).tokens.before
}

describe('the margin of a budget', () => {
  it.each(Object.entries(low))(
    '[RC7] covers what the estimate is too low by: %s',
    (_name, text) => {
      const long = text.repeat(20)
      const most = estimate.count(long) * (1 + estimateMargin(long))
      expect(most).toBeGreaterThanOrEqual(exact.count(long))
    },
  )

  it('[RC7] is larger where the estimate is less sure, and does not depend on a word in another script', () => {
    expect(estimateMargin('The quick brown fox. '.repeat(50))).toBe(0.06)
    expect(estimateMargin(`${'The quick brown fox. '.repeat(8)}Łódź`)).toBe(0.06 + 0.14)
    expect(estimateMargin('')).toBe(0.06)
    expect(estimateMargin('Ошибка соединения. '.repeat(50))).toBe(0.12)
  })

  it('[RC7] is kept free by a view of the default counter, and by none that counts exactly', () => {
    const text = low.Polish
    const messages = Array.from({ length: 40 }, (_, turn) => [
      { role: 'user', content: `${turn}: ${text.repeat(3)}` },
      { role: 'assistant', content: `${turn}: ${text.repeat(3)}` },
    ]).flat()
    const asked = [...messages, { role: 'user', content: 'I co teraz?' }]
    for (const budget of [500, 1000, 2000, 4000]) {
      const view = project(asked, {}, { budget })
      expect(exactTokens(view.messages)).toBeLessThanOrEqual(budget)
      const counted = project(asked, {}, { budget, tokens: 'o200k' })
      expect(counted.tokens.after).toBeLessThanOrEqual(budget)
      expect(counted.tokens.after).toBeGreaterThanOrEqual(exactTokens(view.messages))
    }
  })
})

describeRecorded('views of recorded conversations', ({ files }) => {
  const recorded = files.flatMap((file) => file.conversations())

  it.each([4000, 16_000])(
    '[RC7] fit a budget of %i counted exactly',
    (budget) => {
      let fitted = 0
      for (const { id, messages } of recorded) {
        // Views of short conversations are the conversations.
        if (project(messages).tokens.before <= budget * 0.9) continue
        try {
          const view = project<unknown>(messages, {}, { budget })
          expect(exactTokens(view.messages), id).toBeLessThanOrEqual(budget)
          fitted += 1
        } catch (error) {
          if (!OrielError.is(error, 'cannot-project')) throw error
        }
      }
      if (budget === 4000) expect(fitted).toBeGreaterThan(0)
    },
    240_000,
  )
})
