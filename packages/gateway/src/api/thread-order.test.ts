import { expect, it } from 'vitest'
import type { ThreadSummary } from './summary.ts'
import { orderedPage, readOrder } from './thread-order.ts'

const thread = (id: string, dollars: number | undefined, log: number) => ({
  summary: {
    id,
    tokens: { log, view: 0 },
    ...(dollars === undefined ? {} : { cost: { dollars, withoutOriel: 10, unpricedCalls: 0 } }),
  } as ThreadSummary,
})
const all = [thread('a', 1, 5), thread('b', undefined, 9), thread('c', 3, 7), thread('d', 2, 1)]

function idsOf(order: 'cost' | 'saved' | 'size'): readonly string[] {
  const ids: string[] = []
  let after: string | null = null
  do {
    const page: ReturnType<typeof orderedPage<(typeof all)[number]>> = orderedPage(all, order, {
      limit: 3,
      after,
    })
    ids.push(...page.threads.map(({ summary }) => summary.id))
    after = page.cursor ?? null
  } while (after !== null)
  return ids
}

it('[ST4] the largest threads come first, page by page, whatever was used last', () => {
  expect(idsOf('cost')).toEqual(['c', 'd', 'a', 'b'])
  expect(idsOf('saved')).toEqual(['a', 'd', 'c', 'b'])
  expect(idsOf('size')).toEqual(['b', 'c', 'a', 'd'])
  expect(readOrder('recent')).toBeUndefined()
  expect(() => readOrder('toString')).toThrow('sort must be one of')
})
