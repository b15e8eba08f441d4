// Programs that bundle the whole library for Node, run in a folder without node_modules.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { build, transformSync } from 'esbuild'
import { rollup } from 'rollup'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import webpack from 'webpack'

const source = join(import.meta.dirname, '../src')
const program = `
import { isContextLengthError, lookupPrices, memoryStore, openThread, project, sqliteStore } from '${source}/index.ts'
async function main() {
  const messages = [{ role: 'user', content: 'hello' }]
  const out = [project(messages, 'recommended', { model: 'gpt-4o' }).messages.length, lookupPrices({ model: 'gpt-4o' }).contextWindow]
  for (const store of [memoryStore(), sqliteStore({ path: process.argv[2], writes: 'worker' }), sqliteStore(process.argv[2])]) {
    const thread = await openThread({ id: 'a', store, policy: 'recommended' })
    await thread.append([...messages, { role: 'assistant', content: 'x'.repeat(300_000) }])
    const view = await thread.view({ model: 'gpt-4o' })
    out.push(view.messages.length, (await thread.search('hello')).length)
    await store.close()
  }
  console.log(JSON.stringify([...out, isContextLengthError(new Error('no'))]))
}
main().catch((error) => console.log(error.code + ': ' + error.message))
`
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oriel-bundled-'))
  writeFileSync(join(folder, 'main.ts'), program)
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function run(file: string, node = process.execPath): string {
  const options = { encoding: 'utf8', cwd: folder } as const
  return execFileSync(node, [join(folder, file), join(folder, 'log.db')], options).trim()
}

/** What the program prints unbundled, from the sources, in a folder of its own. */
const unbundled = ((): unknown => {
  const own = mkdtempSync(join(tmpdir(), 'oriel-unbundled-'))
  try {
    writeFileSync(join(own, 'main.ts'), program)
    const words = [join(own, 'main.ts'), join(own, 'log.db')]
    return JSON.parse(execFileSync(process.execPath, words, { encoding: 'utf8' }))
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
})()

const withEsbuild = async (format: 'esm' | 'cjs', file: string): Promise<void> => {
  await build({
    entryPoints: [join(folder, 'main.ts')],
    outfile: join(folder, file),
    ...{ bundle: true, platform: 'node', format, external: ['pg'], logLevel: 'silent' },
  })
}

describe('the library in a bundle for Node', () => {
  it('[PK4] is compared with a program that reached its end', () => {
    // Views of one message more than `project` has, of every store.
    expect(unbundled).toMatchObject([1, 128_000, 2, 1, 2, 1, 4, expect.any(Number), false])
  })

  it.each([
    ['esm', 'main.mjs'],
    ['cjs', 'main.cjs'],
  ] as const)('[PK4] by esbuild as %s does everything', async (format, file) => {
    await withEsbuild(format, file)
    expect(JSON.parse(run(file))).toEqual(unbundled)
  })

  it('[PK4] by Rollup does everything', async () => {
    const typescript = {
      name: 'typescript',
      transform: (code: string, id: string) =>
        id.endsWith('.ts') ? { code: transformSync(code, { loader: 'ts' }).code, map: null } : null,
    }
    const made = await rollup({
      input: join(folder, 'main.ts'),
      external: ['pg', /^node:/],
      plugins: [nodeResolve({ preferBuiltins: true }), typescript],
      onLog: () => undefined,
    })
    await made.write({ file: join(folder, 'main.mjs'), format: 'es', inlineDynamicImports: true })
    expect(JSON.parse(run('main.mjs'))).toEqual(unbundled)
  })

  it('[PK4] by webpack does everything', async () => {
    // From the one file that esbuild makes of it: webpack reads no TypeScript by itself.
    await withEsbuild('esm', 'given.mjs')
    const compiler = webpack({
      mode: 'production',
      target: 'node',
      context: folder,
      entry: join(folder, 'given.mjs'),
      output: { path: folder, filename: 'main.cjs' },
      externals: { pg: 'commonjs pg' },
      optimization: { minimize: false },
    })
    await new Promise<void>((resolve, reject) => {
      compiler?.run((error, stats) => {
        if (error != null || stats?.hasErrors() === true) reject(error ?? stats?.toString())
        else resolve()
      })
    })
    expect(JSON.parse(run('main.cjs'))).toEqual(unbundled)
  })

  const node20 = '/usr/bin/node'
  const isThere = ((): boolean => {
    try {
      return /^v20\./.test(execFileSync(node20, ['--version'], { encoding: 'utf8' }))
    } catch {
      return false
    }
  })()

  it.skipIf(!isThere)('[PK5] imports in Node 20 and says what SQLite needs', async () => {
    await withEsbuild('esm', 'main.mjs')
    expect(run('main.mjs', node20)).toMatch(
      /^not-installed: sqliteStore needs Node 22\.13 or newer/,
    )
  })
})
