// Code of README and the guides that runs as it is copied: blocks that begin with ```ts run are modules of their own and must not throw,
// blocks that begin with ```ts check need something outside of this machine and are only compiled.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

export interface Block {
  /** README.md, or the name of a guide. */
  readonly file: string
  readonly line: number
  readonly language: string
  readonly kind: 'run' | 'check' | undefined
  readonly code: string
  /** A name for a file. */
  readonly name: string
}

/** Every block of README and the guides. */
export function documentedBlocks(): readonly Block[] {
  const guides = readdirSync(join(root, 'docs/guides')).filter((name) => name.endsWith('.md'))
  return [
    ...blocksIn('README.md', readFileSync(join(root, 'README.md'), 'utf8')),
    ...guides.flatMap((name) =>
      blocksIn(name, readFileSync(join(root, 'docs/guides', name), 'utf8')),
    ),
  ]
}

function blocksIn(file: string, text: string): readonly Block[] {
  return [...text.matchAll(/^```(\w*)(?: (run|check))?[^\n]*\n(.*?)^```$/gms)].map((match) => {
    const [, language = '', kind, code = ''] = match
    const line = text.slice(0, match.index).split('\n').length
    const name = `${file.replace('.md', '')}-${line}`
    return { file, line, language, kind: kind as Block['kind'], code, name }
  })
}
