// What one more step costs when everything may expire, at 2,000 and at 100,000 messages.

import { describe, expect, it } from 'vitest'
import type { Policy } from '../src/policy/schema.ts'
import { workOfOneStep } from './thread-model/work.ts'

const policy: Policy = {
  retention: {},
  expiry: {
    tools: { '*': { after: 2, mode: 'compact', length: 100 } },
    kinds: { '*': { after: 2, mode: 'remove' } },
    duplicates: {},
    relevance: {},
  },
}

describe('work per step with lifetimes', () => {
  it('[T7] is the same at 100,000 messages as at 2,000', { timeout: 120_000 }, async () => {
    const short = await workOfOneStep(2000, policy)
    const long = await workOfOneStep(100_000, policy)
    expect(long.seen).toBeLessThanOrEqual(short.seen)
    expect(long.visits).toBeLessThanOrEqual(short.visits)
    expect(long.read).toBeLessThanOrEqual(short.read)
  })
})
