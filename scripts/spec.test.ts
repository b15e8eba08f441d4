import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkSpec } from './spec.ts'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'oriel-spec-'))
})

afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

describe('checkSpec', () => {
  it('is content when every rule has a test and every test a rule', () => {
    write('SPEC.md', ['# Rules', '- **P1** One.', '## Providers', '- **A12** Two.'])
    write('packages/oriel/src/core/view.test.ts', [named('it', 'P1'), named('it', 'P1')])
    write('packages/oriel/test/providers.test.ts', [named('describe', 'A12')])
    expect(checkSpec(root)).toEqual({ rules: 2, tests: 3, problems: [] })
  })

  it('names a rule without a test, with its line', () => {
    write('SPEC.md', ['- **P1** One.', '', '- **P2** Two.'])
    write('scripts/some.test.ts', [named('it', 'P1')])
    expect(checkSpec(root).problems).toEqual(['SPEC.md:3: no test starts with [P2].'])
  })

  it('names a test of an unknown rule, with its file and line', () => {
    write('SPEC.md', ['- **P1** One.'])
    write('scripts/some.test.ts', [named('it', 'P1'), '', '  // Why.', named('test', 'P9')])
    expect(checkSpec(root).problems).toEqual([
      'scripts/some.test.ts:4: the test names [P9], which is not in SPEC.md.',
    ])
  })

  it('reads every way of naming a test', () => {
    write(
      'SPEC.md',
      ['P1', 'P2', 'P3', 'P4', 'P5', 'P6'].map((id) => `- **${id}** Holds.`),
    )
    write('scripts/some.test.ts', [
      named('it.only', 'P1'),
      named('test.each([1, 2])', 'P2'),
      named('it.skipIf(noData)', 'P3'),
      named('it', 'P4] [P5'),
      `it(\n  "${bracketed('P6')} in double quotes",`,
    ])
    expect(checkSpec(root)).toEqual({ rules: 6, tests: 5, problems: [] })
  })

  it.each([
    ['skipped', named('it.skip', 'P1')],
    ['still to be written', named('test.todo', 'P1')],
    ['commented out', `// ${named('it', 'P1')}`],
    ['mentioned later in the name', `it('about ${bracketed('P1')}', () => {})`],
    ['part of another text', `expect(text).toBe('none'); const a = '${bracketed('P1')}'`],
  ])('does not count a rule that is %s', (_, line) => {
    write('SPEC.md', ['- **P1** One.'])
    write('scripts/some.test.ts', [line])
    expect(checkSpec(root).problems).toEqual(['SPEC.md:1: no test starts with [P1].'])
  })

  it.each(['- P1. One.', '* **P1** One.', '  - **P1** One.', '- **P1**: One.', '1. P1 One.'])(
    'refuses %j, which looks like a rule',
    (line) => {
      write('SPEC.md', ['- **P2** Two.', line])
      write('scripts/some.test.ts', [named('it', 'P2')])
      expect(checkSpec(root).problems).toEqual([
        'SPEC.md:2: write a rule as "- **P3** What holds.".',
      ])
    },
  )

  it('refuses an id that is used twice', () => {
    write('SPEC.md', ['- **P1** One.', '- **P1** Another.'])
    write('scripts/some.test.ts', [named('it', 'P1')])
    expect(checkSpec(root).problems).toEqual(['SPEC.md:2: P1 is already the rule of line 1.'])
  })

  it('refuses a SPEC.md without rules, also when it shows an example', () => {
    write('SPEC.md', ['Write them so:', '', '    - **P3** What holds.'])
    expect(checkSpec(root)).toEqual({
      rules: 0,
      tests: 0,
      problems: ['SPEC.md: there is no rule in it.'],
    })
  })

  it('looks only where vitest looks', () => {
    write('SPEC.md', ['- **P1** One.'])
    write('packages/oriel/src/view.test.ts', [named('it', 'P1')])
    write('packages/oriel/src/node_modules/other/other.test.ts', [named('it', 'X1')])
    write('packages/oriel/dist/view.test.ts', [named('it', 'X2')])
    write('packages/oriel/src/view.ts', [named('it', 'X3')])
    expect(checkSpec(root).problems).toEqual([])
  })
})

describe('node scripts/spec.ts', () => {
  it('exits with 1 and prints the problems', () => {
    write('SPEC.md', ['- **P1** One.'])
    expect(run()).toMatchObject({
      status: 1,
      stderr: 'SPEC.md:1: no test starts with [P1].\n',
      stdout: '1 rules, 0 tests that name one, 1 problems\n',
    })
  })

  it('exits with 0 when there are none', () => {
    write('SPEC.md', ['- **P1** One.'])
    write('scripts/some.test.ts', [named('it', 'P1')])
    expect(run()).toMatchObject({ status: 0, stderr: '' })
  })
})

function write(file: string, lines: readonly string[]): void {
  mkdirSync(dirname(join(root, file)), { recursive: true })
  writeFileSync(join(root, file), `${lines.join('\n')}\n`)
}

/** A test of a fixture. Built here, because an id written out in this file would count as one of ours. */
function named(call: string, id: string): string {
  return `${call}('${bracketed(id)} does what it says', () => {})`
}

function bracketed(id: string): string {
  return `[${id}]`
}

function run(): { status: number | null; stdout: string; stderr: string } {
  const script = join(root, 'scripts/spec.ts')
  cpSync(join(import.meta.dirname, 'spec.ts'), script)
  return spawnSync(process.execPath, [script], { encoding: 'utf8' })
}
