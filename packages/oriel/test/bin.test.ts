// The `oriel` command as its users start it: a package in a node_modules folder, run by Node.

import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import manifest from '../package.json' with { type: 'json' }

const packageFolder = join(import.meta.dirname, '..')
/** Prints the words it was started with and ends with a code that nothing else here uses. */
const echo = 'console.log(JSON.stringify(process.argv.slice(2))); process.exit(7)'
const npmWords = ['exec', '--yes', '--loglevel=silent', `--package=@oriel/cli@${manifest.version}`]
const request = [...npmWords, '--', 'oriel-cli']

let root: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'oriel-bin-'))
  for (const name of ['bin', 'package.json']) {
    cpSync(join(packageFolder, name), join(root, 'node_modules/oriel', name), { recursive: true })
  }
})

afterEach(() => {
  rmSync(root, { recursive: true, force: true })
})

describe('oriel', () => {
  it('hands its arguments to an installed @oriel/cli and ends with its code', () => {
    installCli(
      'export const main = async (argv) => { console.log(argv.slice(2).join("|")); return 3 }',
    )
    expect(run(['inspect', 'my file.jsonl', '--json'])).toEqual({
      status: 3,
      stdout: 'inspect|my file.jsonl|--json\n',
      stderr: '',
    })
  })

  it('shows the failure of an installed @oriel/cli instead of fetching another one', () => {
    installCli("import 'a-package-that-is-missing'")
    const { status, stdout, stderr } = run([], { npm_execpath: write('npm-cli.js', echo) })
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain('a-package-that-is-missing')
  })

  it('asks the npm that started it for its own version of @oriel/cli', () => {
    const npm = write('npm-cli.js', echo)
    expect(run(['inspect', 'my file.jsonl'], { npm_execpath: npm })).toEqual({
      status: 7,
      stdout: `${JSON.stringify([...request, 'inspect', 'my file.jsonl'])}\n`,
      stderr: '',
    })
  })

  it.skipIf(process.platform === 'win32')('asks the npm of the path when no npm started it', () => {
    const npm = write('programs/npm', `#!${process.execPath}\n${echo}`)
    chmodSync(npm, 0o755)
    const environment = { PATH: dirname(npm), npm_execpath: '/opt/yarn/yarn.js' }
    expect(run(['doctor'], environment)).toEqual({
      status: 7,
      stdout: `${JSON.stringify([...request, 'doctor'])}\n`,
      stderr: '',
    })
  })

  it.skipIf(process.platform === 'win32')('says what to install when there is no npm', () => {
    const { status, stderr } = run([], { PATH: root })
    expect(status).toBe(1)
    expect(stderr).toContain('Install it: npm install @oriel/cli')
  })

  it('says what to install, in one sentence, when npm cannot fetch the command', () => {
    const npm = write('npm-cli.js', 'process.exit(1)')
    expect(run(['serve'], { npm_execpath: npm })).toEqual({
      status: 1,
      stdout: '',
      stderr: `oriel: the command is in the package @oriel/cli, which npm could not fetch. Install it: npm install @oriel/cli@${manifest.version}\n`,
    })
  })

  it('says nothing of npm when the command that it fetched ends with 1', () => {
    const npm = write('npm-cli.js', "process.exit(process.argv.includes('--offline') ? 0 : 1)")
    expect(run(['inspect', '--strict'], { npm_execpath: npm })).toMatchObject({
      status: 1,
      stderr: '',
    })
  })

  it.each(['18.20.8', '20.20.2', '22.12.0'])('refuses Node %s with one sentence', (version) => {
    installCli('export const main = async () => 0')
    expect(run([], {}, ['--import', pretendVersion(version)])).toEqual({
      status: 1,
      stdout: '',
      stderr: `The command oriel needs Node 22.13 or newer; this is Node ${version}.\n`,
    })
  })

  it.each(['22.13.0', '24.0.0', '100.1.0'])('accepts Node %s', (version) => {
    installCli('export const main = async () => 0')
    expect(run([], {}, ['--import', pretendVersion(version)])).toMatchObject({
      status: 0,
      stderr: '',
    })
  })
})

function installCli(source: string): void {
  const exports = { '.': './index.js', './package.json': './package.json' }
  const cli = { name: '@oriel/cli', version: manifest.version, type: 'module', exports }
  write('node_modules/@oriel/cli/package.json', JSON.stringify(cli))
  write('node_modules/@oriel/cli/index.js', source)
}

function write(name: string, text: string): string {
  const file = join(root, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

/** A module that makes Node claim another version. */
function pretendVersion(version: string): string {
  const source = `Object.defineProperty(process, 'versions', { value: { node: '${version}' } })`
  return `data:text/javascript,${encodeURIComponent(source)}`
}

function run(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  nodeOptions: readonly string[] = [],
): { status: number | null; stdout: string; stderr: string } {
  const { npm_execpath: _, ...inherited } = process.env
  const bin = join(root, 'node_modules/oriel/bin/oriel.js')
  const { status, stdout, stderr } = spawnSync(process.execPath, [...nodeOptions, bin, ...words], {
    cwd: root,
    encoding: 'utf8',
    env: { ...inherited, ...environment },
  })
  return { status, stdout, stderr }
}
