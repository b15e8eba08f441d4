// The guides of the commands name every option, and every number that `--fail-if` knows.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { metrics } from '../src/simulate/condition.ts'
import { oriel } from './keeping.ts'

const guide = (name: string): string =>
  readFileSync(new URL(`../../../docs/guides/${name}.md`, import.meta.url), 'utf8')

describe('the guide', () => {
  it.each(['inspect', 'simulate'])('of %s names every option', async (command) => {
    const { stdout } = await oriel(['help', command])
    const options = [...stdout.matchAll(/^ {2}(--[\w-]+)/gm)].map(([, name = '']) => name)
    expect(options.length).toBeGreaterThan(5)
    expect(options.filter((name) => !guide(command).includes(`\`${name}`))).toEqual([])
  })

  it('of simulate names every number of a condition', () => {
    const missing = Object.keys(metrics).filter(
      (name) => !guide('simulate').includes(`\`${name}\``),
    )
    expect(missing).toEqual([])
  })
})
