// Makes the published JavaScript: one bundle per entry of a package, with shared chunks, so that `import 'oriel'` reads a few files instead of
// hundreds. `npm run build:code` runs it after the compiler, which makes the declarations. Dependencies stay imports.

import {
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { parseSync } from 'oxc-parser'

const root = join(import.meta.dirname, '..')

/** Modules that are started by their address: worker threads and child processes. */
const startedModules: Readonly<Record<string, readonly string[]>> = {
  oriel: ['stores/sqlite/worker', 'simulate/worker'],
  '@oriel/gateway': ['api/replay-worker'],
  '@oriel/cli': ['serve/large-call-worker'],
  '@oriel/opencode': ['main'],
}

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
}

/** Names of a package's entries below `src` and `dist`, without extension. */
export function entriesOf({ name, exports }: Manifest): readonly string[] {
  const exported = Object.values(exports).flatMap((target) =>
    typeof target === 'string' ? [] : [target.default?.replace(/^\.\/dist\/(.*)\.js$/, '$1') ?? ''],
  )
  return [...new Set([...exported, ...(startedModules[name] ?? [])])]
}

/** Stands for the address of a module until the place of its code is known. */
const mark = /__addressOf\("([^"]+)"\)/g

/** Bundled code is in another folder than its module was, so `import.meta.url` becomes the address that the module would have. */
function addresses(source: string): Plugin {
  return {
    name: 'addresses',
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        if (!text.includes('import.meta.url')) return undefined
        const module = relative(source, path).replaceAll('\\', '/').replace(/\.ts$/, '.js')
        return {
          contents: text.replaceAll('import.meta.url', `__addressOf("${module}")`),
          loader: 'ts',
        }
      }),
  }
}

/**
 * Puts the addresses in. Spelled so that bundlers of users see no file to include; where they leave
 * `import.meta.url` empty, as in CommonJS, the address is undefined.
 */
export function withAddresses(text: string, file: string): string {
  return text.replaceAll(mark, (_, module: string) => {
    const path = posix.relative(posix.dirname(file), module)
    const address = path.startsWith('.') ? path : `./${path}`
    return `((own) => own && new globalThis.URL(${JSON.stringify(address)}, own).href)(import.meta.url)`
  })
}

/**
 * Marks what a variable starts with as free of side effects, as `sideEffects: false` in the manifest says of every module. A chunk holds many
 * modules: without the marks, a bundler would keep all that one of them computes when it is loaded.
 */
export function shakeable(text: string, file: string): string {
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  let marked = ''
  let end = 0
  for (const statement of program.body) {
    if (statement.type !== 'VariableDeclaration') continue
    for (const { init } of statement.declarations) {
      const isMarked = init !== null && text.slice(0, init.start).endsWith('/* @__PURE__ */ ')
      if (init === null || isMarked || !computes(init)) continue
      marked += `${text.slice(end, init.start)}/* @__PURE__ */ (() => (${text.slice(init.start, init.end)}))()`
      end = init.end
    }
  }
  return marked + text.slice(end)
}

/** Whether evaluating a node may call something, as far as a bundler can tell. */
function computes(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(computes)
  if (typeof node !== 'object' || node === null) return false
  const { type } = node as { readonly type?: string }
  if (type === undefined || /Function|Class/.test(type)) return false
  if (/^(?:Call|New|Member|TaggedTemplate|Chain)Expression$|^Spread/.test(type)) return true
  return Object.values(node).some(computes)
}

/** What is published of a package's `dist`, by path in it. */
export async function bundle(folder: string): Promise<ReadonlyMap<string, string>> {
  const manifest = readManifest(folder)
  const source = join(folder, 'src')
  const out = join(folder, 'dist')
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: entriesOf(manifest).map((entry) => join(source, `${entry}.ts`)),
    outbase: source,
    outdir: out,
    chunkNames: 'chunks/[hash]',
    write: false,
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'es2024' },
    ...{ packages: 'external', charset: 'utf8', sourcemap: 'linked', logLevel: 'warning' },
    plugins: [addresses(source)],
  })
  const files = outputFiles.map(({ path, text }): [string, string] => {
    const name = relative(out, path).replaceAll('\\', '/')
    return [name, name.endsWith('.js') ? finish(text, name) : asWritten(text)]
  })
  return new Map(files)
}

function finish(text: string, file: string): string {
  // Chunks have no side effects: one that nothing is taken from need not be read.
  const needed = text.replaceAll(/^import "\.[^"]*";\n/gm, '')
  return shakeable(withAddresses(needed, file), file)
}

/** A source map shows the sources as they were written. */
function asWritten(map: string): string {
  return map.replaceAll(/__addressOf\(\\"[^"]+\\"\)/g, 'import.meta.url')
}

/** New files first, old ones last: a program that runs from here keeps what it has yet to load. */
function write(files: ReadonlyMap<string, string>, out: string): void {
  for (const [name, text] of files) {
    mkdirSync(dirname(join(out, name)), { recursive: true })
    writeFileSync(join(out, name), text)
  }
  for (const name of globSync('**/*.{js,js.map}', { cwd: out })) {
    if (name.startsWith('studio') || files.has(name.replaceAll('\\', '/'))) continue
    const path = join(out, name)
    rmSync(path)
    if (readdirSync(dirname(path)).length === 0) rmdirSync(dirname(path))
  }
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

if (import.meta.main) {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    workspaces: readonly string[]
  }
  const folders = workspaces.map((folder) => join(root, folder))
  const published = folders.filter((folder) => readManifest(folder).private !== true)
  await Promise.all(
    published.map(async (folder) => write(await bundle(folder), join(folder, 'dist'))),
  )
}
