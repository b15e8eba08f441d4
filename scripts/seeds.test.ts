import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkSeeds } from './seeds.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'oriel-seeds-'))
  write('SPEC.md', ['- **P1** One.', '- **P2** Two.'])
  write('packages/oriel/src/rules/window.ts', ['// The window.'])
  write('packages/oriel/src/rules/window.test.ts', [
    `it('${bracketed('P1')} keeps the last turns', () => {})`,
    "// it('was shown once', () => {})",
    "it.skip('is never run', () => {})",
    "  expect(text).toBe('is only expected')",
  ])
  write('packages/gateway/test/window.test.ts', [`it('${bracketed('P2')} holds', () => {})`])
})

afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

describe('docs/seeds.md', () => {
  it('names sources, rules and tests that exist', () => {
    const { rows, problems } = checkSeeds(join(import.meta.dirname, '..'))
    expect(problems).toEqual([])
    expect(rows).toBeGreaterThan(200)
  })
})

describe('checkSeeds', () => {
  it('is content with rules, titles, several files and links', () => {
    expect(
      problemsOf(
        '| keeps | `rules/window.ts`, `SPEC.md` | `[P1]`, "keeps the last" in `rules/window.test.ts`; `[P2]` |',
        '| holds | `rules/window.ts` | `[P1]`, `[P2]` in `rules/window.test.ts`, `gateway/test/window.test.ts` |',
      ),
    ).toEqual([])
  })

  it.each([
    [
      'a source that is not there',
      'a | `rules/gone.ts` | `[P1]`',
      'there is no file rules/gone.ts.',
    ],
    ['a folder', 'a | `rules` | `[P1]`', 'there is no file rules.'],
    ['no source', 'a | somewhere | `[P1]`', 'no source is named.'],
    ['no test', 'a | `rules/window.ts` | the guides', 'no test is named.'],
    [
      'a test file that is not there',
      'a | `rules/window.ts` | `[P1]` in `rules/gone.test.ts`',
      'there is no test file rules/gone.test.ts.',
    ],
    [
      'a source as a test file',
      'a | `rules/window.ts` | `[P1]` in `rules/window.ts`',
      'there is no test file rules/window.ts.',
    ],
    [
      'a rule of another file',
      'a | `rules/window.ts` | `[P2]` in `rules/window.test.ts`',
      'no test in rules/window.test.ts starts with [P2].',
    ],
    [
      'a title that no test has',
      'a | `rules/window.ts` | "keeps the first" in `rules/window.test.ts`',
      'no test in rules/window.test.ts is called "keeps the first".',
    ],
    [
      'a title in a comment',
      'a | `rules/window.ts` | "was shown once" in `rules/window.test.ts`',
      'no test in rules/window.test.ts is called "was shown once".',
    ],
    [
      'a test that is skipped',
      'a | `rules/window.ts` | "is never run" in `rules/window.test.ts`',
      'no test in rules/window.test.ts is called "is never run".',
    ],
    [
      'words that are no title',
      'a | `rules/window.ts` | "is only expected" in `rules/window.test.ts`',
      'no test in rules/window.test.ts is called "is only expected".',
    ],
    [
      'a title without a file',
      'a | `rules/window.ts` | `[P1]`, "keeps the last"',
      '"keeps the last" names no test file.',
    ],
    ['a cell too many', 'a | `rules/window.ts` | `[P1]` | more', 'the row has 4 cells.'],
  ])('finds %s', (_, row, problem) => {
    expect(problemsOf(`| ${row} |`)).toEqual([`docs/seeds.md:3: ${problem}`])
  })

  it('finds a rule that SPEC.md does not have, in any cell', () => {
    expect(problemsOf('| as `[X9]` says | `rules/window.ts` | `[P1]` |')).toEqual([
      'docs/seeds.md:3: [X9] is not in SPEC.md.',
    ])
  })

  it('wants a reason for a difference, and a test only where one is named', () => {
    const table = (row: string): readonly string[] =>
      check('| theirs | ours | why | shown by |', '|---|---|---|---|', row)
    expect(table('| all | some | cost | |')).toEqual([])
    expect(table('| all | some | | `[P1]` |')).toEqual([
      'docs/seeds.md:3: the difference has no reason.',
    ])
    expect(table('| all | some | cost | "gone" in `rules/window.test.ts` |')).toEqual([
      'docs/seeds.md:3: no test in rules/window.test.ts is called "gone".',
    ])
  })

  it('refuses a table of another kind, and a document without one', () => {
    expect(check('| idea | where |', '|---|---|', '| a | b |')).toEqual([
      'docs/seeds.md:3: the columns are "idea, where", not "statement, where, shown by" or "theirs, ours, why, shown by".',
    ])
    expect(check('Nothing yet.')).toEqual(['docs/seeds.md: there is no table in it.'])
  })
})

function problemsOf(...rows: readonly string[]): readonly string[] {
  return check('| statement | where | shown by |', '|---|---|---|', ...rows)
}

function check(...lines: readonly string[]): readonly string[] {
  write('docs/seeds.md', lines)
  return checkSeeds(root).problems
}

function write(file: string, lines: readonly string[]): void {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), `${lines.join('\n')}\n`)
}

/** Built here, because an id at the start of a test's name would count as one of ours. */
function bracketed(id: string): string {
  return `[${id}]`
}
