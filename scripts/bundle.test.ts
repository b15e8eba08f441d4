// The JavaScript that is published, as `npm run build:code` makes it.

import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { bundle, entriesOf, shakeable, withAddresses } from './bundle.ts'

const packages = join(import.meta.dirname, '../packages')
const folders = [
  ...['oriel', 'gateway', 'cli', 'plugins/claude-code', 'plugins/dsh', 'plugins/openclaw'],
  ...['plugins/opencode', 'plugins/pi'],
]
const built = new Map(
  await Promise.all(
    folders.map(async (folder) => [folder, await bundle(join(packages, folder))] as const),
  ),
)
const files = (folder: string): ReadonlyMap<string, string> => built.get(folder) ?? new Map()

/** The files of a package that are read when one is imported. */
function readWith(entry: string, all: ReadonlyMap<string, string>): ReadonlySet<string> {
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    for (const [, path = ''] of (all.get(file) ?? '').matchAll(
      /^(?:import|\}) .*from "(\.[^"]+)"/gm,
    )) {
      visit(posix.join(posix.dirname(file), path))
    }
  }
  visit(entry)
  return seen
}

/** Bytes of a program that takes one name from `oriel`. */
async function sizeOf(name: string): Promise<number> {
  const all = files('oriel')
  const { outputFiles } = await build({
    stdin: { contents: `export { ${name} } from 'oriel'` },
    ...{ bundle: true, minify: true, write: false, format: 'esm', platform: 'node' },
    ...{ packages: 'external', logLevel: 'silent' },
    plugins: [
      {
        name: 'built',
        setup: ({ onLoad, onResolve }) => {
          onResolve({ filter: /^oriel$|^\./ }, ({ path, importer }) => ({
            namespace: 'built',
            path: path === 'oriel' ? 'index.js' : posix.join(posix.dirname(importer), path),
            sideEffects: false,
          }))
          onLoad({ filter: /./, namespace: 'built' }, ({ path }) => ({
            contents: all.get(path) ?? '',
          }))
        },
      },
    ],
  })
  return outputFiles[0]?.contents.length ?? 0
}

describe('the published JavaScript', () => {
  it.each(folders)('[PK6] %s has every file that its manifest and its code name', (folder) => {
    const manifest = JSON.parse(readFileSync(join(packages, folder, 'package.json'), 'utf8'))
    const wanted = entriesOf(manifest).map((entry) => `${entry}.js`)
    for (const [name, text] of files(folder)) {
      for (const [, path = ''] of text.matchAll(/(?:from |import\()"(\.[^"]+)"/g)) {
        wanted.push(posix.join(posix.dirname(name), path))
      }
    }
    expect(wanted.filter((name) => !files(folder).has(name))).toEqual([])
  })

  it.each([
    ['oriel', 'index.js', 45],
    ['oriel', 'browser.js', 20],
    ['gateway', 'index.js', 10],
    ['cli', 'index.js', 5],
  ])('[PK6] %s reads few files when %s is imported', (folder, entry, most) => {
    expect(readWith(entry, files(folder)).size).toBeLessThanOrEqual(most)
  })

  it('[PK6] the command loads the gateway, the stores and undici only where they are used', () => {
    const loaded = [...readWith('index.js', files('cli'))].map((name) => files('cli').get(name))
    expect(/from "(?:@oriel\/gateway|oriel)"/.exec(loaded.join('\n'))).toBeNull()
    const gateway = [...readWith('index.js', files('gateway'))].map((name) =>
      files('gateway').get(name),
    )
    expect(/from "undici"/.exec(gateway.join('\n'))).toBeNull()
  })

  it('[PK6] a bundler leaves out what a program does not use', async () => {
    // An error class needs nothing else; a store needs no policies.
    expect(await sizeOf('OrielError')).toBeLessThan(2_000)
    expect(await sizeOf('memoryStore')).toBeLessThan((await sizeOf('openThread')) / 3)
  })

  it('[PK6] has source maps with the sources as they were written', () => {
    const all = files('oriel')
    for (const [name, text] of all) {
      if (name.endsWith('.js')) {
        expect(text).toContain(`//# sourceMappingURL=${posix.basename(name)}.map`)
        expect(text).not.toContain('__addressOf')
      } else {
        const { sourcesContent } = JSON.parse(text) as {
          readonly sourcesContent: readonly string[]
        }
        expect(sourcesContent.filter((one) => one.includes('__addressOf'))).toEqual([])
      }
    }
  })
})

describe('addresses', () => {
  it('[PK6] are spelled so that no bundler looks for the file', () => {
    // Turbopack resolves what `new URL` gets where it can compute it, and fails where the file is a module's of before.
    const all = folders.flatMap((folder) =>
      [...files(folder)].filter(([name]) => name.endsWith('.js')),
    )
    const found = all.filter(([, text]) =>
      /(?<![.\w])new URL\(["'`]\.[^)]*import\.meta|=> own && new URL\(/.test(text),
    )
    expect(found.map(([name]) => name)).toEqual([])
    expect(all.some(([, text]) => text.includes('new globalThis.URL("'))).toBe(true)
  })

  it('are those that the modules would have', () => {
    const text = 'const here = __addressOf("stores/sqlite/index.js")'
    const at = (file: string): string =>
      withAddresses(text, file).replace('import.meta.url', `'file:///dist/${file}'`)
    for (const file of ['index.js', 'chunks/A.js', 'stores/sqlite/index.js']) {
      expect(new Function(`${at(file)}; return here`)()).toBe('file:///dist/stores/sqlite/index.js')
    }
  })

  it('are undefined where a bundler leaves none', () => {
    const text = withAddresses('const here = __addressOf("a.js")', 'b.js')
    expect(new Function(`${text.replace('import.meta.url', 'undefined')}; return here`)()).toBe(
      undefined,
    )
  })
})

describe('what a chunk computes', () => {
  it('is marked as free of side effects, and only that', () => {
    const text = `const a = 1
const b = make(), c = () => make()
class D {}
var e = /* @__PURE__ */ new Map()
function f() { const g = make() }
`
    expect(shakeable(text, 'a.js')).toBe(
      text.replace('b = make()', 'b = /* @__PURE__ */ (() => (make()))()'),
    )
  })
})
