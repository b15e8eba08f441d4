// The `oriel-cli` command, with a stand-in for what the build makes.

import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'oriel-cli-bin-'))
  for (const name of ['bin', 'package.json']) {
    cpSync(join(import.meta.dirname, '..', name), join(root, name), { recursive: true })
  }
  mkdirSync(join(root, 'dist'))
})

afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

describe('oriel-cli', () => {
  it('passes its arguments to main and ends with the code it returns', () => {
    build('export const main = async (argv) => { console.log(argv.slice(2).join("|")); return 3 }')
    expect(run(['inspect', 'my file.jsonl'])).toEqual({
      status: 3,
      stdout: 'inspect|my file.jsonl\n',
      stderr: '',
    })
  })

  it('prints everything before it ends, also to a pipe', () => {
    build(
      'export const main = async () => { process.stdout.write("x".repeat(1_000_000)); return 0 }',
    )
    expect(run([]).stdout).toHaveLength(1_000_000)
  })

  it.each(['18.20.8', '20.20.2', '22.12.0'])('refuses Node %s with one sentence', (version) => {
    build('export const main = async () => 0')
    expect(run([], version)).toEqual({
      status: 1,
      stdout: '',
      stderr: `The command oriel needs Node 22.13 or newer; this is Node ${version}.\n`,
    })
  })

  it.each(['22.13.0', '24.0.0'])('accepts Node %s', (version) => {
    build('export const main = async () => 0')
    expect(run([], version)).toEqual({ status: 0, stdout: '', stderr: '' })
  })
})

function build(source: string): void {
  writeFileSync(join(root, 'dist/index.js'), source)
}

/** Runs the command, on a Node that claims to be `version` if one is given. */
function run(
  words: readonly string[],
  version = process.versions.node,
): { status: number | null; stdout: string; stderr: string } {
  const source = `Object.defineProperty(process, 'versions', { value: { node: '${version}' } })`
  const pretend = ['--import', `data:text/javascript,${encodeURIComponent(source)}`]
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...pretend, join(root, 'bin/oriel-cli.js'), ...words],
    { encoding: 'utf8' },
  )
  return { status, stdout, stderr }
}
