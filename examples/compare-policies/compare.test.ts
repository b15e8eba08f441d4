import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Recording } from 'oriel/simulate'
import { describe, expect, it } from 'vitest'
import { compare } from './compare.ts'

const root = join(import.meta.dirname, '../..')

function sample(): Recording {
  const file = join(root, 'packages/cli/samples/coding-agent.json')
  const { messages } = JSON.parse(readFileSync(file, 'utf8')) as { messages: unknown[] }
  return { id: 'sample', messages }
}

describe('compare', () => {
  it('ranks policies by what they would have cost on a recorded conversation', async () => {
    const rows = await compare([sample()])
    expect(rows.map(({ name }) => name).toSorted()).toEqual([
      'keep 4 results',
      'keep 4, cache-aware',
      'none',
      'recommended',
    ])
    const of = (name: string) => rows.find((row) => row.name === name)
    expect(of('none')?.recall).toBe(1)
    // Clearing at every step breaks the cache at every step: more expensive than doing nothing.
    expect(of('keep 4 results')?.dollars).toBeGreaterThan(of('none')?.dollars ?? 0)
    expect(of('keep 4, cache-aware')?.dollars).toBeLessThan(of('keep 4 results')?.dollars ?? 0)
  })

  it('is what the guide shows', () => {
    const guide = readFileSync(join(root, 'docs/guides/simulate.md'), 'utf8')
    const [, shown = ''] = /```ts\n(const \{ none[\s\S]*?)```/.exec(guide) ?? []
    const source = readFileSync(join(import.meta.dirname, 'compare.ts'), 'utf8')
    const plain = (text: string) => text.replaceAll(/,?\s+/g, ' ').trim()
    expect(plain(shown).length).toBeGreaterThan(100)
    expect(plain(source)).toContain(plain(shown))
  })
})
