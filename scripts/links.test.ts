// Every link of the documents leads somewhere: to a file that exists, and to a heading that is in it.

import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const documents = [
  ...globSync('*.md', { cwd: root }),
  ...globSync('docs/**/*.md', { cwd: root }),
  ...globSync('{examples,packages/*}/README.md', { cwd: root }),
]

interface Link {
  readonly file: string
  readonly anchor: string
}

/** Links to files of the repository, as they are written in a document. */
function linksIn(document: string): readonly Link[] {
  const text = withoutCode(readFileSync(join(root, document), 'utf8'))
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, address = '']) => address)
    .filter((address) => !/^[a-z]+:/.test(address))
    .map((address) => {
      const [path = '', anchor = ''] = address.split('#')
      return { file: path === '' ? document : join(dirname(document), path), anchor }
    })
}

/** Headings as GitHub names them in addresses. */
function anchorsOf(document: string): readonly string[] {
  const text = withoutCode(readFileSync(join(root, document), 'utf8'))
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '')
}

function isBroken({ file, anchor }: Link): boolean {
  if (!existsSync(join(root, file))) return true
  return anchor !== '' && !anchorsOf(file).includes(anchor)
}

describe('links', () => {
  it.each(documents)('of %s lead somewhere', (document) => {
    expect(linksIn(document).filter(isBroken)).toEqual([])
  })

  it('lead to every guide from the README', () => {
    const linked = new Set(linksIn('README.md').map(({ file }) => file))
    expect(
      globSync('docs/guides/*.md', { cwd: root }).filter((guide) => !linked.has(guide)),
    ).toEqual([])
  })
})
