// Orders of the thread list that need every thread's numbers: by cost, savings or length.

import { refuse } from '../http/errors.ts'
import { readNumber } from './parameters.ts'
import type { ThreadSummary } from './summary.ts'

const weights = {
  cost: ({ cost }: ThreadSummary): number => cost?.dollars ?? 0,
  saved: ({ cost }: ThreadSummary): number =>
    cost === undefined ? 0 : cost.withoutOriel - cost.dollars,
  size: ({ tokens }: ThreadSummary): number => tokens.log,
} as const

export type ThreadOrder = keyof typeof weights

/** Undefined for the order of time. */
export function readOrder(value: string | null): ThreadOrder | undefined {
  if (value === null || value === 'recent') return undefined
  if (Object.hasOwn(weights, value)) return value as ThreadOrder
  throw refuse(400, 'invalid-input', 'sort must be one of recent, cost, saved, size.')
}

/** A page of threads, the largest first, from a position on. */
export function orderedPage<Found extends { readonly summary: ThreadSummary }>(
  all: readonly Found[],
  order: ThreadOrder,
  { limit, after }: { readonly limit: number; readonly after: string | null },
): { readonly threads: readonly Found[]; readonly cursor?: string } {
  const weight = weights[order]
  const sorted = all.toSorted((a, b) => weight(b.summary) - weight(a.summary))
  const from = after === null ? 0 : readNumber(after, 'after')
  const end = from + limit
  const threads = sorted.slice(from, end)
  return end < sorted.length ? { threads, cursor: String(end) } : { threads }
}
