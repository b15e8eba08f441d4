// The README's claims: its two commands, its first screen, and figures that docs/numbers.md has under the same command.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { presets } from 'oriel'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const readme = read('README.md')
const glossary = read('docs/glossary.md')
const manifest = JSON.parse(read('packages/bench/package.json')) as {
  readonly scripts: Readonly<Record<string, string>>
}

/** Names of rows in docs/numbers.md that the README gives another name. */
const rowNames: Readonly<Record<string, string>> = {
  'send everything': 'everything, unchanged',
  'keep the last 4 tool results, every step': 'keep 4 results, every step',
  'Oriel `recommended`': '`recommended`',
}

/** Cells of the table rows in a Markdown text, without heads and rules. */
function rowsOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .filter((line) => /^\| *[^ |-]/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

/** The text below a heading of level 2. */
function section(text: string, heading: string): string {
  const [, below = ''] = text.split(`\n## ${heading}\n`)
  return below.split('\n## ')[0] as string
}

const measured = section(read('docs/numbers.md'), 'Cost with a prompt cache, and facts kept')
const savings = rowsOf(section(readme, 'What it saves'))

/** Whether a cell, rounded to the digits of the figure, is the figure. */
function rounds(cell: string, figure: string): boolean {
  const digits = /\.(\d+)/.exec(figure)?.[1]?.length ?? 0
  return Number.parseFloat(cell).toFixed(digits) === Number.parseFloat(figure).toFixed(digits)
}

describe('README', () => {
  it('has its two commands, purpose, users and savings on the first screen', () => {
    const screen = readme.split('\n').slice(0, 45).join('\n')
    for (const part of [
      'Context management for LLM agents',
      'npm ci && npm start ',
      'npm ci && npm run check ',
      'Try it in one minute',
      '| you have | use |',
      'docs/glossary.md)',
      'docs/glossary.md#which-preset',
      '## What it saves',
    ])
      expect(screen).toContain(part)
  })

  it('has savings to compare', () => {
    expect(savings.length).toBeGreaterThan(3)
  })

  it.each(savings)('%s: cost %s, facts %s as in docs/numbers.md', (name, cost, facts, command) => {
    const row = rowsOf(measured).find(([cell]) => cell === (rowNames[name as string] ?? name))
    expect(row?.some((cell) => rounds(cell, cost as string))).toBe(true)
    expect(row?.some((cell) => cell.endsWith('%') && rounds(cell, facts as string))).toBe(true)
    expect(measured.replaceAll(/\s+/g, ' ')).toContain((command as string).replaceAll('`', ''))
  })

  it('names only bench commands that exist', () => {
    const named = [...readme.matchAll(/npm run (bench:\w+)/g)].map(([, script = '']) => script)
    expect(named.filter((script) => manifest.scripts[script] === undefined)).toEqual([])
  })
})

describe('the glossary', () => {
  it('says for every preset when to choose it', () => {
    const rows = rowsOf(section(glossary, 'Which preset?')).slice(1)
    expect(rows.map(([name]) => name?.replaceAll('`', '')).sort()).toEqual(
      Object.keys(presets).sort(),
    )
    expect(rows.filter((cells) => cells.length !== 4 || cells.includes(''))).toEqual([])
  })
})
