// SPEC check: every rule has a test that names it, and every named rule exists. `node
// scripts/spec.ts` prints mismatches and exits with 1. The top of SPEC.md describes the syntax.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface SpecResult {
  readonly rules: number
  /** Tests that name at least one rule. */
  readonly tests: number
  /** One sentence each, with file and line. Empty if there are none. */
  readonly problems: readonly string[]
}

/** Reads SPEC.md and the tests under `root`. Throws only if SPEC.md cannot be read. */
export function checkSpec(root: string): SpecResult {
  const { rules, problems } = readRules(readFileSync(join(root, 'SPEC.md'), 'utf8'))
  const tests = testFiles(root).flatMap((file) =>
    readTests(readFileSync(join(root, file), 'utf8')).map((test) => ({ ...test, file })),
  )
  const shown = new Set(tests.flatMap((test) => test.ids))
  const untested = [...rules]
    .filter(([id]) => !shown.has(id))
    .map(([id, line]) => `SPEC.md:${line}: no test starts with [${id}].`)
  const unknown = tests.flatMap(({ file, line, ids }) =>
    ids
      .filter((id) => !rules.has(id))
      .map((id) => `${file}:${line}: the test names [${id}], which is not in SPEC.md.`),
  )
  return {
    rules: rules.size,
    tests: tests.length,
    problems: [...problems, ...untested, ...unknown],
  }
}

interface Rules {
  /** Line number by rule id. */
  readonly rules: ReadonlyMap<string, number>
  readonly problems: readonly string[]
}

const ruleLine = /^- \*\*([A-Z]{1,3}\d+)\*\* \S/
/**
 * A list item that starts with an id in any other form. Four spaces of indent make it an example.
 */
const almostRuleLine = /^ {0,3}(?:[-*+]|\d+\.)\s+[*_`[]{0,3}[A-Z]{1,3}\d+\b/

export function readRules(text: string): Rules {
  const rules = new Map<string, number>()
  const problems: string[] = []
  text.split('\n').forEach((content, index) => {
    const line = index + 1
    const id = ruleLine.exec(content)?.[1]
    if (id === undefined) {
      if (almostRuleLine.test(content)) {
        problems.push(`SPEC.md:${line}: write a rule as "- **P3** What holds.".`)
      }
    } else if (rules.has(id)) {
      problems.push(`SPEC.md:${line}: ${id} is already the rule of line ${rules.get(id)}.`)
    } else rules.set(id, line)
  })
  if (rules.size === 0) problems.push('SPEC.md: there is no rule in it.')
  return { rules, problems }
}

/** The files that vitest.config.ts includes. */
export function testFiles(root: string): string[] {
  const patterns = [
    'packages/*/{src,test}/**/*.test.ts',
    'packages/plugins/*/src/**/*.test.ts',
    '{examples,scripts}/**/*.test.ts',
  ]
  return globSync(patterns, { cwd: root, exclude: ['**/node_modules/**'] }).sort()
}

interface NamedTest {
  readonly line: number
  readonly ids: readonly string[]
}

/**
 * Matches `it('[P3] ...`, `describe("[P3] ...` and `it.each(rows)('[P3] ...`; not `it.skip` and
 * `it.todo`.
 */
const namedTest =
  /(?:\b(?:it|test|describe)(?:\.(?!skip\b|todo\b)\w+)*|[)`])\s*\(\s*['"`]((?:\[[A-Z]{1,3}\d+\]\s*)+)/g

export function readTests(text: string): NamedTest[] {
  // Blank the lines instead of removing them, to keep line numbers.
  const code = text.replace(/^[ \t]*(?:\/\/|\*|\/\*).*$/gm, '')
  return [...code.matchAll(namedTest)].map((match) => ({
    line: code.slice(0, match.index).split('\n').length,
    ids: [...(match[1] as string).matchAll(/[A-Z]+\d+/g)].map(([id]) => id),
  }))
}

if (import.meta.main) {
  const { rules, tests, problems } = checkSpec(join(import.meta.dirname, '..'))
  for (const problem of problems) console.error(problem)
  console.log(`${rules} rules, ${tests} tests that name one, ${problems.length} problems`)
  if (problems.length > 0) process.exitCode = 1
}
