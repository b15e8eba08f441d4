// Code that a guide shows from an example is the example's own, between its `// [name]` marks; the example's test runs it.

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const root = new URL('..', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const guides = readdirSync(new URL('docs/guides', root)).filter((name) => name.endsWith('.md'))
const quoted = guides.flatMap((guide) =>
  [
    ...read(`docs/guides/${guide}`).matchAll(
      /<!-- from ([\w./-]+)#(\w+) -->\n```ts\n([\s\S]*?)```/g,
    ),
  ].map(([, path = '', part = '', code = '']) => ({ guide, path, part, code })),
)

/** The lines between a part's marks, without their common indentation. */
function partOf(path: string, part: string): string {
  const text = read(path)
  const lines = text
    .slice(text.indexOf(`// [${part}]`), text.indexOf(`// [/${part}]`))
    .split('\n')
    .slice(1, -1)
  const indent = Math.min(...lines.filter((line) => line !== '').map((line) => line.search(/\S/)))
  return `${lines.map((line) => line.slice(indent)).join('\n')}\n`
}

describe('guides', () => {
  it('quote examples', () => {
    expect(quoted.length).toBeGreaterThan(3)
  })

  it.each(quoted)('$guide shows $path#$part as it is', ({ path, part, code }) => {
    expect(code).toBe(partOf(path, part))
  })
})
