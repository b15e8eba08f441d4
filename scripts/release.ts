// Publishes the packages with provenance: `npm run release` on a CI machine, `npm run release -- --dry-run` anywhere. Both check that versions,
// lock file and changelog agree, pack the tarballs and list their files. The dry run publishes nothing and prints the commands instead.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..')

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly license?: string
  readonly repository?: unknown
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies?: Readonly<Record<string, string>>
}

/** Everything that must agree before a release. */
export interface Sources {
  /** Manifests of all workspaces. */
  readonly manifests: readonly Manifest[]
  readonly changelog: string
  /** Versions in the lock file, by package. */
  readonly locked: Readonly<Record<string, string | undefined>>
}

/** What `npm pack --json` says of one tarball. */
export interface Tarball {
  readonly name: string
  readonly version: string
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

/** The packages that are published, each behind those that it depends on. */
export function inOrder(manifests: readonly Manifest[]): readonly Manifest[] {
  const waiting = manifests.filter(({ private: isPrivate }) => isPrivate !== true)
  const ordered: Manifest[] = []
  while (waiting.length > 0) {
    const next = waiting.findIndex(({ dependencies = {} }) =>
      waiting.every(({ name }) => dependencies[name] === undefined),
    )
    if (next === -1) throw new Error('The packages depend on each other in a circle.')
    ordered.push(...waiting.splice(next, 1))
  }
  return ordered
}

/** What does not agree. Such a release would be broken. */
export function problemsOf({ manifests, changelog, locked }: Sources): readonly string[] {
  const [{ name: first, version } = { name: '', version: '' }] = inOrder(manifests)
  const names = new Set(manifests.map(({ name }) => name))
  const notes = notesOf(changelog, version)
  return [
    ...manifests.flatMap((manifest) => [
      ...(manifest.version === version
        ? []
        : [`${manifest.name} has version ${manifest.version}, ${first} has ${version}.`]),
      ...(locked[manifest.name] === manifest.version
        ? []
        : [`package-lock.json has another version of ${manifest.name}: run npm install.`]),
      ...Object.entries(manifest.dependencies ?? {})
        .filter(([name, wanted]) => names.has(name) && wanted !== version)
        .map(([name, wanted]) => `${manifest.name} wants ${name} ${wanted}, not ${version}.`),
      ...(manifest.license === undefined ? [`${manifest.name} names no licence.`] : []),
    ]),
    ...(notes === undefined ? [`CHANGELOG.md has no section for ${version}.`] : []),
    ...(notes !== undefined && !notes.includes('\n### Upgrading\n')
      ? [`CHANGELOG.md says under ${version} nothing about upgrading: add "### Upgrading".`]
      : []),
  ]
}

/** What a dry run may lack, and a release may not. */
export function openPointsOf({ manifests, changelog }: Sources): readonly string[] {
  const published = inOrder(manifests)
  const version = published[0]?.version ?? ''
  const nameless = published.filter(({ repository }) => repository === undefined)
  return [
    ...(new RegExp(`^## ${escaped(version)} \\(\\d{4}-\\d\\d-\\d\\d\\)$`, 'm').test(changelog)
      ? []
      : [`Put the date into CHANGELOG.md: "## ${version} (YYYY-MM-DD)".`]),
    ...(nameless.length === 0
      ? []
      : [
          `Add "repository" to package.json of ${nameless.map(({ name }) => name).join(', ')}: provenance is verified against it.`,
        ]),
  ]
}

/** Files that a package loads by their path. */
const loadedFiles: Readonly<Record<string, readonly string[]>> = {
  '@oriel/gateway': ['dist/studio/index.html', 'agents/demo.json'],
  '@oriel/claude-code': ['.claude-plugin/plugin.json', 'hooks/hooks.json'],
  '@oriel/openclaw': ['openclaw.plugin.json'],
}

/** What is missing in a tarball, and what does not belong there. */
export function tarballProblems({ name, files }: Tarball, manifest: Manifest): readonly string[] {
  const packed = new Set(files.map(({ path }) => path))
  const wanted = [
    ...['package.json', 'LICENSE', 'README.md'],
    ...targetsOf(manifest),
    ...(loadedFiles[name] ?? []),
  ]
  return [
    ...wanted
      .filter((path) => !packed.has(path))
      .map((path) => `${name}: ${path} is not in the tarball. Run npm run build?`),
    ...[...packed]
      .filter((path) => /(\.test\.|\.tsbuildinfo$|(^|\/)(node_modules\/|test\/|\.env))/.test(path))
      .map((path) => `${name}: ${path} does not belong into the tarball.`),
  ]
}

/** The command that publishes a tarball. Provenance links it to the commit and the CI run that built it. */
export function publishCommand(tarball: string): readonly string[] {
  return ['npm', 'publish', tarball, '--provenance', '--access', 'public']
}

/** Files that exports and commands point to. */
function targetsOf({ exports = {}, bin = {} }: Manifest): readonly string[] {
  const targets = Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [target] : Object.values(target),
  )
  return [...targets, ...Object.values(bin)].map((path) => path.replace(/^\.\//, ''))
}

/** The changelog's section of a version. */
function notesOf(changelog: string, version: string): string | undefined {
  return changelog
    .split(/^(?=## )/m)
    .find((section) => new RegExp(`^## ${escaped(version)}( |$)`, 'm').test(section))
}

function escaped(text: string): string {
  return text.replaceAll('.', '\\.')
}

function readSources(): Sources & { readonly folders: ReadonlyMap<string, string> } {
  const json = (file: string): unknown => JSON.parse(readFileSync(join(root, file), 'utf8'))
  const { workspaces } = json('package.json') as { workspaces: readonly string[] }
  const { packages } = json('package-lock.json') as {
    packages: Readonly<Record<string, { readonly version?: string }>>
  }
  const read = workspaces.map((folder) => ({
    folder,
    manifest: json(`${folder}/package.json`) as Manifest,
  }))
  return {
    manifests: read.map(({ manifest }) => manifest),
    changelog: readFileSync(join(root, 'CHANGELOG.md'), 'utf8'),
    locked: Object.fromEntries(
      read.map(({ folder, manifest }) => [manifest.name, packages[folder]?.version]),
    ),
    folders: new Map(read.map(({ folder, manifest }) => [manifest.name, folder])),
  }
}

function run(program: 'npm' | 'git', ...words: readonly string[]): string {
  return execFileSync(program, words, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  })
}

function pack(names: readonly string[], folder: string): readonly Tarball[] {
  const chosen = names.flatMap((name) => ['--workspace', name])
  const output: unknown = JSON.parse(
    run('npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', folder, ...chosen),
  )
  // npm 11 answers a list, later versions an object by name.
  return Object.values(output as object) as Tarball[]
}

function release(isDryRun: boolean, folder: string): number {
  const sources = readSources()
  const published = inOrder(sources.manifests)
  const openPoints = openPointsOf(sources)
  const problems = [...problemsOf(sources), ...(isDryRun ? [] : openPoints)]
  if (!isDryRun) {
    if (run('git', 'status', '--porcelain').trim() !== '')
      problems.push('There are changes that are not committed.')
    run('npm', 'run', '--silent', 'build')
  }
  const names = published.map(({ name }) => name)
  const tarballs = pack(names, folder)
  for (const manifest of published) {
    const tarball = tarballs.find(({ name }) => name === manifest.name)
    if (tarball === undefined) problems.push(`${manifest.name} was not packed.`)
    else {
      problems.push(...tarballProblems(tarball, manifest))
      print(describe(tarball))
    }
  }
  for (const problem of problems) print(`problem  ${problem}`)
  if (problems.length > 0) return 1
  for (const point of isDryRun ? openPoints : []) print(`to do    ${point}`)
  for (const name of names) {
    const { filename = '' } = tarballs.find((one) => one.name === name) ?? {}
    const [program = '', ...words] = publishCommand(join(folder, filename))
    if (isDryRun) print(`would    ${publishCommand(filename).join(' ')}`)
    else execFileSync(program, words, { cwd: root, stdio: 'inherit' })
  }
  return 0
}

/** A tarball's size and its files, counted by folder. */
function describe({ name, version, size, unpackedSize, files }: Tarball): string {
  const counts = new Map<string, number>()
  for (const { path } of files) {
    const place = path.includes('/') ? `${path.split('/')[0]}/` : path
    counts.set(place, (counts.get(place) ?? 0) + 1)
  }
  const listed = [...counts].map(([place, count]) =>
    place.endsWith('/') ? `${place} ${count}` : place,
  )
  const kilobytes = (bytes: number): string => `${Math.ceil(bytes / 1000)} KB`
  return `packed   ${name} ${version}, ${kilobytes(size)}, ${kilobytes(unpackedSize)} unpacked: ${listed.join(', ')}`
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } })
  const folder = mkdtempSync(join(tmpdir(), 'oriel-release-'))
  try {
    process.exitCode = release(values['dry-run'], folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
