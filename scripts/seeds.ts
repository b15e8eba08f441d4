// Check of docs/seeds.md: every row names sources that exist and tests that exist. `node
// scripts/seeds.ts` prints what is wrong and exits with 1. The top of docs/seeds.md describes the
// syntax.

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readRules, readTests, testFiles } from './spec.ts'

const document = 'docs/seeds.md'

export interface SeedsResult {
  readonly rows: number
  /** One sentence each, with the line of the row. Empty if there are none. */
  readonly problems: readonly string[]
}

/** Reads docs/seeds.md, SPEC.md and the tests under `root`. */
export function checkSeeds(root: string): SeedsResult {
  const sources = readSources(root)
  const rows = readRows(readFileSync(join(root, document), 'utf8'))
  const problems = rows.flatMap((row) =>
    problemsOf(row, sources).map((problem) => `${document}:${row.line}: ${problem}`),
  )
  const isEmpty = rows.length === 0
  return {
    rows: rows.length,
    problems: isEmpty ? [`${document}: there is no table in it.`] : problems,
  }
}

/** Column names of the two kinds of tables: what holds here, and what is deliberately different. */
const kept = 'statement, where, shown by'
const different = 'theirs, ours, why, shown by'

interface Row {
  readonly line: number
  /** Names of the columns, joined by a comma. */
  readonly columns: string
  readonly cells: readonly string[]
}

function readRows(text: string): readonly Row[] {
  const rows: Row[] = []
  let columns: string | undefined
  text.split('\n').forEach((content, index) => {
    if (!content.startsWith('|')) {
      columns = undefined
      return
    }
    const cells = content
      .replace(/^\||\|\s*$/g, '')
      .split('|')
      .map((cell) => cell.trim())
    if (columns === undefined) columns = cells.join(', ')
    else if (!cells.every((cell) => /^-+$/.test(cell)))
      rows.push({ line: index + 1, columns, cells })
  })
  return rows
}

interface Sources {
  /** Whether there is a file of this name. */
  has(path: string): boolean
  readonly rules: ReadonlyMap<string, number>
  /** Tests by the path of their file. */
  readonly tests: ReadonlyMap<string, TestFile>
}

interface TestFile {
  /** Ids of SPEC.md that its tests start with. */
  readonly ids: ReadonlySet<string>
  /** Whether the title of a test, or a row of its table, has these words. */
  hasTitle(words: string): boolean
}

function readSources(root: string): Sources {
  return {
    has: (path) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true,
    rules: readRules(readFileSync(join(root, 'SPEC.md'), 'utf8')).rules,
    tests: new Map(
      testFiles(root).map((file) => [file, readTestFile(readFileSync(join(root, file), 'utf8'))]),
    ),
  }
}

/** How a line with a title begins: a test, the end of its table, or a row of the table. */
const titleLine = /^\s*(?:(?:it|test|describe)\b(?!\.(?:skip|todo)\b)|[\])'"`[{]|(?:title|name):)/

function readTestFile(text: string): TestFile {
  const lines = text.split('\n').filter((line) => titleLine.test(line))
  return {
    ids: new Set(readTests(text).flatMap(({ ids }) => ids)),
    hasTitle: (words) => lines.some((line) => line.includes(words)),
  }
}

/** Where a path of the document may begin, so that the tables stay readable. */
const folders = ['packages/oriel/src', 'packages/oriel', 'packages', '.']

function find(path: string, has: (path: string) => boolean): string | undefined {
  return folders.map((folder) => join(folder, path)).find(has)
}

function problemsOf({ columns, cells }: Row, sources: Sources): readonly string[] {
  if (columns !== kept && columns !== different) {
    return [`the columns are "${columns}", not "${kept}" or "${different}".`]
  }
  if (cells.length !== columns.split(', ').length) return [`the row has ${cells.length} cells.`]
  const shownBy = cells.at(-1) as string
  const problems = [...unknownRules(cells.join(' '), sources), ...wrongTests(shownBy, sources)]
  if (columns === different) {
    return cells[2] === '' ? [...problems, 'the difference has no reason.'] : problems
  }
  return [...problems, ...wrongPaths(cells[1] as string, sources), ...nothingShown(shownBy)]
}

const titles = /"([^"]+)"/g
const codes = /`([^`]+)`/g
const ruleId = /^\[[A-Z]{1,3}\d+\]$/

/** Ids of rules, written as `[P3]`. */
function rulesIn(text: string): readonly string[] {
  return captured(text, codes)
    .filter((code) => ruleId.test(code))
    .map((code) => code.slice(1, -1))
}

function pathsIn(text: string): readonly string[] {
  return captured(text, codes).filter((code) => !ruleId.test(code))
}

function unknownRules(text: string, { rules }: Sources): readonly string[] {
  return [...new Set(rulesIn(text))]
    .filter((id) => !rules.has(id))
    .map((id) => `[${id}] is not in SPEC.md.`)
}

function wrongPaths(cell: string, { has }: Sources): readonly string[] {
  const paths = pathsIn(cell)
  if (paths.length === 0) return ['no source is named.']
  return paths
    .filter((path) => find(path, has) === undefined)
    .map((path) => `there is no file ${path}.`)
}

function nothingShown(cell: string): readonly string[] {
  const isShown = rulesIn(cell).length + captured(cell, titles).length > 0
  return isShown ? [] : ['no test is named.']
}

/** Groups are divided by semicolons; each has rules, titles in quotes, and the files they are in. */
function wrongTests(cell: string, sources: Sources): readonly string[] {
  return cell.split(';').flatMap((group) => wrongGroup(group, sources))
}

function wrongGroup(group: string, { has, tests }: Sources): readonly string[] {
  const files = pathsIn(group)
  const found = files.map((file) => tests.get(find(file, has) ?? file))
  const missing = files.filter((_, index) => found[index] === undefined)
  if (missing.length > 0) return missing.map((file) => `there is no test file ${file}.`)
  const named = found.filter((file) => file !== undefined)
  const among = named.length > 0 ? named : [...tests.values()]
  const place = named.length > 0 ? files.join(', ') : 'any test file'
  const ids = rulesIn(group)
    .filter((id) => !among.some((file) => file.ids.has(id)))
    .map((id) => `no test in ${place} starts with [${id}].`)
  const words = captured(group, titles)
  if (words.length > 0 && named.length === 0) return [...ids, `"${words[0]}" names no test file.`]
  const unknown = words
    .filter((title) => !named.some((file) => file.hasTitle(title)))
    .map((title) => `no test in ${place} is called "${title}".`)
  return [...ids, ...unknown]
}

function captured(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, part]) => part as string)
}

if (import.meta.main) {
  const { rows, problems } = checkSeeds(join(import.meta.dirname, '..'))
  for (const problem of problems) console.error(problem)
  console.log(`${rows} rows, ${problems.length} problems`)
  if (problems.length > 0) process.exitCode = 1
}
