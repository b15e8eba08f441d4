// The packages as a user gets them: packed, unpacked, and put into the node_modules of an empty project.

import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const root = join(import.meta.dirname, '../..')

const folders: Readonly<Record<string, string>> = {
  oriel: 'packages/oriel',
  '@oriel/gateway': 'packages/gateway',
  '@oriel/cli': 'packages/cli',
  '@oriel/claude-code': 'packages/plugins/claude-code',
  '@oriel/dsh': 'packages/plugins/dsh',
  '@oriel/openclaw': 'packages/plugins/openclaw',
  '@oriel/opencode': 'packages/plugins/opencode',
  '@oriel/pi': 'packages/plugins/pi',
}

/** Packs every package that is published into a folder. */
export async function packAll(into: string): Promise<void> {
  mkdirSync(into, { recursive: true })
  const packed = Object.values(folders).map((folder) => `./${folder}`)
  const quiet = ['--silent', '--ignore-scripts', '--pack-destination', into]
  await run('npm', ['pack', ...quiet, ...packed], { cwd: root })
}

/** The tarball of a package in a folder. */
function tarballOf(name: string, tarballs: string): string {
  const start = new RegExp(`^${name.replace('@', '').replace('/', '-')}-\\d`)
  const found = readdirSync(tarballs).find((file) => start.test(file))
  if (found === undefined) throw new Error(`There is no tarball of ${name} in ${tarballs}.`)
  return join(tarballs, found)
}

export interface ProjectOptions {
  readonly tarballs: string
  /** Names of our packages; those that they depend on come with them. */
  readonly packages: readonly string[]
  /** Other packages that the project has. A peer that is not named is not there. */
  readonly needs: readonly string[]
  readonly files?: Readonly<Record<string, string>>
  /** Compiler options beside the usual ones. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** Installs by npm instead of unpacking; takes many times as long. @default false */
  readonly byNpm?: boolean
}

/** An empty project outside of the repository, with packages installed. */
export async function createProject(options: ProjectOptions): Promise<string> {
  const { tarballs, packages, needs, files = {}, settings, byNpm = false } = options
  const folder = mkdtempSync(join(tmpdir(), 'oriel-alone-'))
  const compiler = {
    ...{ target: 'es2024', module: 'nodenext', strict: true, noEmit: true, types: ['node'] },
    ...{ allowImportingTsExtensions: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
    ...settings,
  }
  const all: Readonly<Record<string, string>> = {
    'package.json': '{ "private": true, "type": "module" }',
    'tsconfig.json': JSON.stringify({ compilerOptions: compiler, include: ['*.ts'] }),
    ...files,
  }
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text)
  if (byNpm) {
    const own = [...closureOf(packages)].map((name) => tarballOf(name, tarballs))
    const others = [...needs, '@types/node'].map((name) => `${name}@${versionOf(name)}`)
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--silent']
    await run('npm', ['install', ...quiet, ...own, ...others], { cwd: folder })
    return folder
  }
  for (const name of closureOf(packages)) await unpack(name, folder, tarballs)
  for (const name of [...needs, '@types/node']) link(name, folder)
  return folder
}

/** Our packages with those of ours that they depend on. */
function closureOf(names: readonly string[]): ReadonlySet<string> {
  const all = new Set<string>()
  for (const name of names) {
    const own = Object.keys(manifestOf(name).dependencies ?? {}).filter((one) => one in folders)
    for (const one of [...closureOf(own), name]) all.add(one)
  }
  return all
}

interface Manifest {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
}

function manifestOf(name: string): Manifest {
  const folder = folders[name] ?? `node_modules/${name}`
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest
}

function versionOf(name: string): string {
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly devDependencies: Readonly<Record<string, string>>
  }
  return devDependencies[name]?.replace(/^npm:.*@/, '') ?? manifestOf(name).version
}

/** Unpacks a package, with what it depends on beside it, as npm would place it. */
async function unpack(name: string, folder: string, tarballs: string): Promise<void> {
  const into = join(folder, 'node_modules', name)
  mkdirSync(into, { recursive: true })
  const file = tarballOf(name, tarballs)
  await run('tar', ['-xzf', file, '-C', into, '--strip-components=1'])
  const { dependencies = {} } = manifestOf(name)
  for (const dependency of Object.keys(dependencies)) {
    if (!(dependency in folders)) link(dependency, folder, join(root, folders[name] ?? ''))
  }
}

/** Links a package of this workspace: what it depends on is found from its own place, what oriel sees is only what the project has. */
function link(name: string, folder: string, from = root): void {
  const place = join(folder, 'node_modules', name === 'ai-6' ? 'ai' : name)
  if (existsSync(place)) return
  const found = [from, root]
    .map((one) => join(one, 'node_modules', name))
    .find((one) => existsSync(one))
  if (found === undefined) throw new Error(`${name} is not installed here; run npm ci.`)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(found, place, 'junction')
}
