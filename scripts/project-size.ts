// Sizes of `oriel/project` in a page, whole and without parts that could be left out: `node scripts/project-size.ts`.

import { readFileSync } from 'node:fs'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'

const source = new URL('../packages/oriel/src/', import.meta.url).pathname

/** Leaves modules empty, so that what remains has the size without them. It does not run. */
function without(patterns: readonly RegExp[]): Plugin {
  return {
    name: 'without',
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const name = path.replace(source, '')
        if (!patterns.some((pattern) => pattern.test(name))) return undefined
        const exported = readFileSync(path, 'utf8').matchAll(
          /^export (?:const|function|class) (\w+)/gm,
        )
        const lines = [...exported].map(([, own]) => `export const ${own} = globalThis.left`)
        return { contents: [...lines, 'export {}'].join('\n'), loader: 'js' }
      }),
  }
}

const languages = /^core\/text\/directive-(cues|forms)/
const formats = /^providers\/(anthropic|gemini|langchain|ai-sdk|openai-responses)\//
const windows = /^schedule\/window-data/
const rows: readonly (readonly [what: string, patterns: readonly RegExp[]])[] = [
  ['whole', []],
  ['without the words of standing instructions, 13 languages', [languages]],
  ['with one format instead of six', [formats]],
  ['without the context windows of models', [windows]],
  ['without all three', [languages, formats, windows]],
]

/** Minified bytes by folder. */
const folders = new Map<string, number>()

for (const [what, patterns] of rows) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: "export { project } from './browser.ts'", resolveDir: source, loader: 'ts' },
    ...{ bundle: true, minify: true, write: false, charset: 'utf8', logLevel: 'silent' },
    ...{ platform: 'neutral', format: 'esm', metafile: true, plugins: [without(patterns)] },
    absWorkingDir: source,
  })
  const bytes = outputFiles[0]?.contents ?? new Uint8Array()
  const kilobytes = (size: number): string => (size / 1000).toFixed(1).padStart(7)
  const sizes = [
    bytes.length,
    gzipSync(bytes, { level: 9 }).length,
    brotliCompressSync(bytes).length,
  ]
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs))
  for (const [path, { bytesInOutput }] of patterns.length === 0 ? inputs : []) {
    const folder = path.includes('/')
      ? path.split('/').slice(0, 2).join('/')
      : 'project.ts and its steps'
    const name = folder.endsWith('.ts') && folder.includes('/') ? folder.split('/')[0] : folder
    folders.set(String(name), (folders.get(String(name)) ?? 0) + bytesInOutput)
  }
  process.stdout.write(`${what.padEnd(60)}${sizes.map(kilobytes).join('')}\n`)
}

process.stdout.write('\nWhere the minified bytes are:\n')
for (const [name, size] of [...folders].sort(([, a], [, b]) => b - a)) {
  process.stdout.write(`${name.padEnd(60)}${(size / 1000).toFixed(1).padStart(7)}\n`)
}
