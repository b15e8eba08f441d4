import { describe, expect, it } from 'vitest'
import { lintPolicy } from './lint.ts'
import { presets } from './presets.ts'
import type { PolicyInput } from './schema.ts'

const paths = (policy: PolicyInput): readonly string[] => lintPolicy(policy).map(({ path }) => path)

describe('the linter of policies', () => {
  it.each(Object.keys(presets))('[DA8] has nothing to say about the preset %s', (name) => {
    expect(lintPolicy(name as keyof typeof presets)).toEqual([])
  })

  it("[DA8] gives the issues of document 004's Validate, in its order", () => {
    expect(lintPolicy({ history: { maxMessages: 20, keepRecentMessages: 20 } })).toEqual([
      {
        path: 'history.keepRecentMessages',
        message: '20 should be less than maxMessages (20).',
      },
      {
        path: 'history.keepRecentMessages',
        message: '20 is more than 50% of maxMessages (20).',
      },
    ])
    expect(lintPolicy({ history: { maxMessages: 20, keepRecentMessages: 15 } })).toMatchObject([
      { message: expect.stringContaining('more than 50%') },
    ])
    expect(paths({ history: { maxMessages: 20 }, toolResults: { max: 30 } })).toEqual([
      'toolResults.max',
    ])
  })

  it('[DA8] names foldAbove where no schedule reads it', () => {
    expect(paths({ compaction: { foldAbove: 50_000 } })).toEqual(['compaction.foldAbove'])
    expect(paths({ preset: 'recommended', compaction: { foldAbove: 50_000 } })).toEqual([])
  })

  it('[DA8] names settings without effect and limits that cannot hold', () => {
    expect(paths({ history: { policy: 'all', length: 5 } })).toEqual(['history.length'])
    expect(paths({ toolOutput: { maxChars: 900, largeOutputThreshold: 500 } })).toEqual([
      'toolOutput.maxChars',
    ])
    expect(paths({ toolResults: { strategy: 'keepOne', max: 4 } })).toEqual(['toolResults.max'])
    expect(paths({ compaction: { contextWindow: 4000, reserveTokens: 9000 } })).toEqual([
      'compaction.reserveTokens',
    ])
  })

  it('[DA8] says where a schedule softens a limit; a window is none of them', () => {
    const policy = { history: { length: 2 }, toolResults: { max: 4, cutoff: 0 } } as const
    expect(paths(policy)).toEqual([])
    expect(paths({ ...policy, schedule: 'cache-aware' })).toEqual(['toolResults.max'])
  })

  it('[DA8] refuses what is no policy', () => {
    expect(() => lintPolicy({ history: { length: -1 } })).toThrow(/history.length/)
  })
})
