// The library as bundlers make it: `oriel/project` for pages, everything else for Node without a node_modules folder.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createContext, Script } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, describe, expect, it } from 'vitest'
import { project } from '../src/browser.ts'

const source = join(import.meta.dirname, '../src')
const folder = mkdtempSync(join(tmpdir(), 'oriel-bundles-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Bundle {
  readonly text: string
  /** What it imports at run time. */
  readonly imports: readonly string[]
}

async function bundle(
  code: string,
  options: { readonly platform: 'neutral' | 'node'; readonly format: 'esm' | 'iife' | 'cjs' },
): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: source, loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    charset: 'utf8',
    logLevel: 'silent',
    ...(options.format === 'iife' ? { globalName: 'oriel' } : {}),
    ...options,
  })
  const imports = Object.values(metafile.outputs).flatMap((one) =>
    one.imports.map(({ path }) => path),
  )
  return { text: outputFiles[0]?.text ?? '', imports }
}

/** A conversation that the default policy folds, with a tool, pictures and a rule of the user. */
const conversation = [
  { role: 'system', content: 'You help.' },
  { role: 'user', content: 'From now on, answer in French.' },
  { role: 'assistant', content: 'Oui.' },
  ...Array.from({ length: 60 }, (_, n) => [
    { role: 'user', content: `Read file ${n}.` },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: `c${n}`, type: 'function', function: { name: 'read', arguments: `{"path":"${n}"}` } },
      ],
    },
    { role: 'tool', tool_call_id: `c${n}`, content: `line ${n} é\n`.repeat(200 + n) },
    { role: 'assistant', content: `Done ${n}.` },
  ]).flat(),
]

/** Calls of every format and preset, and one that fails, as one text. */
const calls = `
const out = []
for (const to of formatNames) {
  for (const policy of Object.keys(presets)) {
    const { messages, system, tokens, trace } = project(conversation, policy, { to, model: 'gpt-4o', budget: 20000 })
    out.push([to, policy, messages, system, tokens, trace.length])
  }
}
try { project(conversation, { histroy: {} }) } catch (error) { out.push([error.code, error.message]) }
try { project([{ role: 'user', content: 'x' }], {}, { tokens: 'o201k' }) } catch (error) { out.push([error.code]) }
`
const answer = async (): Promise<string> => {
  const { presets, formatNames } = await import('../src/browser.ts')
  const run = new Function(
    ...['project', 'presets', 'formatNames', 'conversation'],
    `${calls}; return JSON.stringify(out)`,
  )
  return run(project, presets, formatNames, conversation) as string
}

/** What every platform of the web has beside the language. */
const webGlobals = { TextEncoder, TextDecoder, URL, atob, btoa }

describe('oriel/project', () => {
  it('[PK1] needs no module of Node and no package', async () => {
    const { imports, text } = await bundle("export * from './browser.ts'", {
      platform: 'neutral',
      format: 'esm',
    })
    expect(imports).toEqual([])
    const named = builtinModules.filter((name) => text.includes(`"node:${name}"`))
    // Named, never imported: the exact tokenizer of programs in Node.
    expect(named).toEqual(['module'])
  })

  it('[PK1] uses nothing that came after ES2023, and no type of Node', () => {
    const tsc = join(import.meta.dirname, '../../../node_modules/.bin/tsc')
    const words = ['-p', join(import.meta.dirname, 'platform/tsconfig.json')]
    const { status, stdout } = spawnSync(tsc, words, { encoding: 'utf8' })
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
  })

  it('[PK2] stays below its size', async () => {
    const { text } = await bundle("export { project } from './browser.ts'", {
      platform: 'neutral',
      format: 'esm',
    })
    expect(gzipSync(text, { level: 9 }).length).toBeLessThan(158_000)
  })

  it('[PK1] answers the same in a realm that has only what the web has', async () => {
    const { text } = await bundle("export * from './browser.ts'", {
      platform: 'neutral',
      format: 'iife',
    })
    const context = createContext({ ...webGlobals, given: JSON.stringify(conversation) })
    const code = `${text}
const { project, presets, formatNames } = oriel
const conversation = JSON.parse(given)
${calls}
JSON.stringify(out)`
    expect(new Script(code).runInContext(context)).toBe(await answer())
  })

  /** Runtimes beside the one of the tests, tried where they are installed. */
  const runtimes = [
    { name: 'Node 20', words: ['/usr/bin/node'], version: /^v20\./ },
    { name: 'Deno', words: ['deno', 'run'], version: /^deno 2\./ },
    { name: 'Bun', words: ['bun', 'run'], version: /^1\./ },
  ].map(({ name, words: [program = '', ...words], version }) => {
    const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
    return { name, program, words, isThere: version.test(stdout ?? '') }
  })

  it.for(runtimes)('[PK1] answers the same in $name', async ({ program, words, isThere }, test) => {
    test.skip(!isThere, 'it is not installed')
    const { text } = await bundle("export * from './browser.ts'", {
      platform: 'neutral',
      format: 'esm',
    })
    writeFileSync(join(folder, 'project.mjs'), text)
    writeFileSync(
      join(folder, 'main.mjs'),
      `import { project, presets, formatNames } from './project.mjs'
const conversation = ${JSON.stringify(conversation)}
${calls}
console.log(JSON.stringify(out))`,
    )
    const printed = execFileSync(program, [...words, join(folder, 'main.mjs')], {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    })
    expect(printed.trimEnd()).toBe(await answer())
  })

  it('[PK3] says what to install where the exact tokenizer is not there', async () => {
    const { text } = await bundle("export * from './browser.ts'", {
      platform: 'neutral',
      format: 'iife',
    })
    const code = `${text}
try { oriel.project([{ role: 'user', content: 'x' }], {}, { tokens: 'o200k' }).tokens } catch (error) { error.code + ': ' + error.message }`
    const said = new Script(code).runInContext(createContext({ ...webGlobals })) as string
    expect(said).toMatch(/^not-installed: .*npm install gpt-tokenizer.*oriel\/o200k/)
  })

  it('[PK3] counts exactly with the counter of oriel/o200k, also in a page', async () => {
    const { text, imports } = await bundle(
      "export { project } from './browser.ts'; export { o200k } from './o200k.ts'",
      { platform: 'neutral', format: 'iife' },
    )
    expect(imports).toEqual([])
    const code = `${text}
JSON.stringify(oriel.project(JSON.parse(given), {}, { tokens: oriel.o200k }).tokens)`
    const given = JSON.stringify(conversation.slice(0, 20))
    const counted = new Script(code).runInContext(createContext({ ...webGlobals, given })) as string
    expect(JSON.parse(counted)).toEqual(
      project(conversation.slice(0, 20), {}, { tokens: 'o200k' }).tokens,
    )
  })
})
