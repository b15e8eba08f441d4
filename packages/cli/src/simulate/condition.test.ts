import { describe, expect, it } from 'vitest'
import { failureOf, type Metric, metrics, readCondition } from './condition.ts'

const measured = Object.fromEntries(Object.keys(metrics).map((name) => [name, 1])) as Record<
  Metric,
  number
>

const failure = (text: string, numbers: Partial<Record<Metric, number>>) =>
  failureOf(readCondition(text), { ...measured, ...numbers })

describe('readCondition', () => {
  it('[W8] fails where a number that it names could not be judged', () => {
    const failed = failureOf(readCondition('recall<0.99'), { ...measured, recall: undefined })
    expect(failed).toBe('recall cannot be judged: no call used a value that was said before')
    const passes = failureOf(readCondition('cost>2'), { ...measured, recall: undefined })
    expect(passes).toBeUndefined()
  })

  it('[W8] fails where any of its parts holds, and says what was found', () => {
    const text = 'cost>0.8 or recall<0.99'
    expect(failure(text, { cost: 0.9, recall: 1 })).toBe('cost is 0.9 (> 0.8)')
    expect(failure(text, { cost: 0.5, recall: 0.98 })).toBe('recall is 0.98 (< 0.99)')
    expect(failure(text, { cost: 0.8, recall: 0.99 })).toBeUndefined()
  })

  it('[W8] binds and closer than or, and reads percent', () => {
    const text = 'invalid>0 or cost>50% and recall<=0.9'
    expect(failure(text, { invalid: 0, cost: 0.6, recall: 0.95 })).toBeUndefined()
    expect(failure(text, { invalid: 0, cost: 0.6, recall: 0.9 })).toBe(
      'cost is 0.6 (> 0.5) and recall is 0.9 (<= 0.9)',
    )
    expect(failure(text, { invalid: 1, cost: 0, recall: 1 })).toBe('invalid is 1 (> 0)')
  })

  it.each(['', 'cost', 'cost=1', 'price>1', 'cost>x', 'cost>1 or', 'constructor>1'])(
    '[W8] refuses %j and names what is known',
    (text) => {
      expect(() => readCondition(text)).toThrow('--fail-if: ')
      expect(() => readCondition(text)).toThrow('recall')
    },
  )
})
