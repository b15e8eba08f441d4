// Runs all benchmarks, each in its own process, so that none affects the next, and writes their sections of docs/numbers.md: `npm run bench`.

import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'

/** In the order of their cost; `load` measures the gateway as it is built. */
const names = [
  'counters',
  'validity',
  'fidelity',
  'rules',
  'steps',
  'stores',
  'postgres',
  'session',
  'studio',
  'load/load',
]
const root = join(import.meta.dirname, '../../..')
const given = process.argv.slice(2)
const isJson = given.includes('--json')
// Numbers for machines are for comparing runs; the others are published.
const options = isJson ? given : ['--write', ...given]

const results: unknown[] = []
for (const name of names) {
  process.stderr.write(`${name} ...\n`)
  if (name === 'load/load') execFileSync('npm', ['run', '--silent', 'build:code'], { cwd: root })
  const output = await run(name)
  if (isJson) results.push(JSON.parse(output))
}
if (isJson) process.stdout.write(`${JSON.stringify(results, undefined, 2)}\n`)

/** Runs one benchmark. Prints its tables as they appear and returns its JSON. */
function run(name: string): Promise<string> {
  const file = join(import.meta.dirname, `${name}.ts`)
  const child = spawn(process.execPath, [file, ...options], {
    stdio: ['ignore', isJson ? 'pipe' : 'inherit', 'inherit'],
  })
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(output)
      else reject(new Error(`The benchmark ${name} failed with code ${code}.`))
    })
  })
}
