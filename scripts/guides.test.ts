// Runs the code of the guides: each block that begins with ```ts run is a module of its own, and must not throw.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const guides = fileURLToPath(new URL('../docs/guides/', import.meta.url))
// Inside the workspace, so that the names of packages are found from there.
const scratch = fileURLToPath(new URL('../node_modules/.cache/oriel-guides/', import.meta.url))

interface Block {
  readonly guide: string
  readonly line: number
  readonly code: string
}

const blocks = readdirSync(guides)
  .filter((file) => file.endsWith('.md'))
  .flatMap((file) => blocksIn(file, readFileSync(join(guides, file), 'utf8')))

beforeAll(() => {
  mkdirSync(scratch, { recursive: true })
})

afterAll(() => {
  rmSync(scratch, { recursive: true, force: true })
})

describe('the code of the guides', () => {
  it('is found', () => {
    expect(blocks.length).toBeGreaterThan(0)
  })

  it.each(blocks)('$guide, line $line', async ({ guide, line, code }) => {
    const file = join(scratch, `${guide.replace('.md', '')}-${line}.ts`)
    writeFileSync(file, code)
    await import(/* @vite-ignore */ file)
  })
})

function blocksIn(guide: string, text: string): readonly Block[] {
  return [...text.matchAll(/^```ts run\n(.*?)^```$/gms)].map((match) => ({
    guide,
    line: text.slice(0, match.index).split('\n').length,
    code: match[1] as string,
  }))
}
