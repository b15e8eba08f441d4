// Full check before a commit: `npm run check`; types, lint and unit tests only: `npm run
// check:quick`. Prints one line per step, followed by the output of a failing step. The last line
// is `N passed, M failed`: the numbers of tests, plus one failure for each other failing step.

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const root = join(import.meta.dirname, '..')

interface Outcome {
  readonly isGood: boolean
  /** Output of the step. */
  readonly output: string
  /** A short note for the step's line. */
  readonly note?: string
  /** Printed below the step's line, even if it succeeds. */
  readonly remarks?: readonly string[]
}

interface Step {
  readonly name: string
  run(): Promise<Outcome>
}

/** The fields used of vitest's JSON report. */
export interface TestReport {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly numPendingTests: number
  readonly numTodoTests: number
  readonly testResults: readonly {
    readonly status: string
    readonly assertionResults: readonly { readonly status: string }[]
  }[]
}

export interface TestCounts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/**
 * The numbers of a test run. A file that fails outside its tests (load error, throwing hook) counts
 * as one failed test; so does a run that failed without a report, or for a reason not in the
 * report.
 */
export function countTests(report: TestReport | undefined, hasFailed: boolean): TestCounts {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 }
  const brokenFiles = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  )
  const failed = report.numFailedTests + brokenFiles.length
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && hasFailed ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

async function check(scratch: string, isQuick: boolean): Promise<void> {
  let counts = countTests(undefined, true)
  const failedSteps: string[] = []
  const tests = async (): Promise<Outcome> => {
    const outcome = await runTests(
      join(scratch, 'tests.json'),
      isQuick ? ['--project', 'unit'] : [],
    )
    counts = outcome.counts
    return outcome
  }
  const names = ['types', 'lint', 'tests', ...(isQuick ? [] : ['spec', 'seeds', 'build', 'unused'])]
  for (const name of names) {
    const step =
      name === 'tests' ? { name, run: tests } : command(name, 'npm', 'run', '--silent', name)
    if (name === 'build') removeBuilds()
    const isGood = await report(step)
    if (!isGood && name !== 'tests') failedSteps.push(name)
  }
  // Without a build there is nothing to pack.
  const isPacked = !isQuick && !failedSteps.includes('build')
  const alone = command('alone', 'node', 'scripts/alone/run.ts', scratch)
  for (const step of isPacked ? [...packageSteps(scratch), alone] : []) {
    if (!(await report(step))) failedSteps.push(step.name)
  }
  const failed = counts.failed + failedSteps.length
  process.stdout.write(`${counts.passed} passed, ${failed} failed\n`)
  if (failed > 0) process.exitCode = 1
}

/** Runs a step and prints its line. */
async function report(step: Step): Promise<boolean> {
  process.stdout.write(step.name.padEnd(24))
  const start = performance.now()
  const { isGood, output, note = '', remarks = [] } = await step.run()
  const seconds = ((performance.now() - start) / 1000).toFixed(1).padStart(6)
  process.stdout.write(`${seconds} s  ${isGood ? 'ok' : 'FAILED'}  ${note}`.trimEnd())
  process.stdout.write(isGood ? '\n' : `\n${output.trimEnd()}\n`)
  for (const remark of remarks) process.stdout.write(`  ${remark}\n`)
  return isGood
}

async function runTests(
  file: string,
  options: readonly string[],
): Promise<Outcome & { readonly counts: TestCounts }> {
  const environment = { ORIEL_TEST_REPORT: file }
  const { isGood, output } = await execute(['vitest', 'run', ...options], environment)
  const json = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as TestReport) : undefined
  const counts = countTests(json, !isGood)
  const note = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`
  const remarks = output
    .split('\n')
    .filter((line) => /^(Left out|Passed at the second try|Property tests): /.test(line))
  return { isGood: counts.failed === 0, output, note, remarks, counts }
}

/** Removes old builds, so that packages are packed from this run's build. */
function removeBuilds(): void {
  for (const folder of workspaces()) {
    rmSync(join(root, folder, 'dist'), { recursive: true, force: true })
  }
}

/** Packs each published package as npm would, and checks the result. */
function packageSteps(scratch: string): Step[] {
  return workspaces().flatMap((folder) => {
    const manifest = readJson(join(folder, 'package.json'))
    if (manifest.private === true) return []
    const name = String(manifest.name)
    const tarball = join(
      scratch,
      `${name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`,
    )
    const pack = ['npm', 'pack', '--silent', `./${folder}`, '--pack-destination', scratch]
    return [
      command(`pack ${name}`, ...pack),
      command(`publint ${name}`, 'publint', 'run', tarball, '--strict'),
      command(`attw ${name}`, 'attw', tarball, '--profile', 'esm-only'),
    ]
  })
}

function workspaces(): readonly string[] {
  return readJson('package.json').workspaces as string[]
}

function readJson(file: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(join(root, file), 'utf8')) as Record<string, unknown>
}

function command(name: string, ...words: readonly string[]): Step {
  return { name, run: () => execute(words) }
}

/** Runs a program of this workspace, with stdout and stderr merged. */
function execute(
  [program = '', ...options]: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const path = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
  return new Promise((resolve) => {
    const child = spawn(program, options, {
      cwd: root,
      env: { ...process.env, ...environment, PATH: path },
      stdio: ['ignore', 'pipe', 'pipe'],
      // On Windows, npm programs are command files that need a shell.
      shell: process.platform === 'win32',
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    child.on('error', (error) => resolve({ isGood: false, output: `${program}: ${error.message}` }))
    child.on('close', (code) => resolve({ isGood: code === 0, output }))
  })
}

if (import.meta.main) {
  const scratch = mkdtempSync(join(tmpdir(), 'oriel-check-'))
  try {
    await check(scratch, process.argv.includes('--quick'))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}
