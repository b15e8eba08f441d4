// Property soak test: repeats the property tests with a new seed each time, and stops at the first
// failure with the shrunk case. `npm run soak:properties -- --minutes 30`, or `--seeds 200`. Each
// seed runs twice as many cases as the check (override with ORIEL_RUNS). Other arguments are the
// test files to run instead of all with properties.

import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..')

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string' }, seeds: { type: 'string' } },
})
const minutes = positive('minutes', values.minutes ?? (values.seeds === undefined ? '30' : '1e6'))
const seeds = positive('seeds', values.seeds ?? '1e9')
const files = positionals.length > 0 ? positionals : propertyTests()

const start = performance.now()
let count = 0
while (count < seeds && elapsedMinutes() < minutes) {
  const seed = randomInt(2 ** 31)
  const { isGood, output } = await runTests(seed)
  count += 1
  if (!isGood) {
    process.stdout.write(output)
    process.stdout.write(`\nSeed ${count} failed. To repeat it:\n`)
    process.stdout.write(`ORIEL_SEED=${seed} npx vitest run ${files.join(' ')}\n`)
    process.stdout.write(`${count - 1} passed, 1 failed\n`)
    process.exit(1)
  }
  const last = output.trimEnd().split('\n').at(-1)
  process.stdout.write(`seed ${count}: ${seed}: ${last}, ${elapsedMinutes().toFixed(1)} min\n`)
}
process.stdout.write(`${count} seeds in ${elapsedMinutes().toFixed(1)} minutes\n`)
process.stdout.write(`${count} passed, 0 failed\n`)

function positive(name: string, text: string): number {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0, got '${text}'.`)
  return value
}

/** The library's tests with random cases, including the suites for formats and stores. */
function propertyTests(): readonly string[] {
  const all = globSync(['packages/oriel/test/*.test.ts', 'packages/oriel/src/**/*.test.ts'], {
    cwd: root,
  })
  const isProperty = (file: string): boolean =>
    /fast-check|describeFormat/.test(readFileSync(join(root, file), 'utf8'))
  return all.filter(isProperty).sort()
}

function elapsedMinutes(): number {
  return (performance.now() - start) / 60_000
}

function runTests(seed: number): Promise<{ readonly isGood: boolean; readonly output: string }> {
  const words = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...files]
  return new Promise((resolve) => {
    const child = spawn(process.execPath, words, {
      cwd: root,
      env: { ORIEL_RUNS: '2', ...process.env, ORIEL_SEED: String(seed), NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    child.on('close', (code) => resolve({ isGood: code === 0, output }))
  })
}
