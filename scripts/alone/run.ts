// Tries the packages as a new user would, from the tarballs alone: `npm run alone`, after a build. Each package and framework gets an empty
// project outside of the repository, then the code of README and the guides runs there by copy and paste, in TypeScript and JavaScript.
// Options: [folder of tarballs] [--only <part of a name>] [--npm: install by npm instead of unpacking; takes minutes].

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { type Block, documentedBlocks } from './blocks.ts'
import { createProject, packAll, root } from './packed.ts'
import { type Subject, subjects } from './subjects.ts'

const run = promisify(execFile)
const compiler = join(root, 'node_modules/.bin/tsc')
/** As strict as a user's project may be. */
const strict = { target: 'es2022', lib: ['es2022'], skipLibCheck: false }

interface Source {
  readonly tarballs: string
  readonly byNpm: boolean
}

/** Throws for errors in the project's files and in our declarations; those of other packages are not ours to mend. */
async function compile(folder: string): Promise<void> {
  const words = ['-p', folder, '--pretty', 'false']
  const output = await run(compiler, words, { cwd: folder, maxBuffer: 1 << 26 }).then(
    () => '',
    (error: { readonly stdout?: string }) => error.stdout ?? String(error),
  )
  const own = output
    .split('\n')
    .filter(
      (line) => /^(?:node_modules\/(?:oriel|@oriel)\/|[^\s/]+\()/.test(line) || /^error/.test(line),
    )
  if (own.length > 0) throw new Error(own.join('\n'))
}

async function trySubject(subject: Subject, source: Source): Promise<void> {
  const settings = { ...strict, ...subject.settings }
  const folder = await createProject({ ...subject, ...source, settings })
  try {
    await compile(folder)
    const words = [subject.main, ...(subject.args ?? [])]
    const { stdout } = await run(process.execPath, words, { cwd: folder, timeout: 120_000 })
    if (!subject.prints.test(stdout)) throw new Error(`It printed ${stdout.slice(0, 500)}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Packages that blocks of the documents import. */
const documented = [
  ...['ai', 'zod', 'openai', '@anthropic-ai/sdk', 'langchain', '@langchain/core'],
  ...['@langchain/langgraph', '@langchain/langgraph-checkpoint', '@langchain/openai'],
  ...['@openai/agents-core', '@mastra/core', '@libsql/client', 'gpt-tokenizer', 'pg'],
  ...[
    '@opentelemetry/api',
    '@opentelemetry/core',
    '@opentelemetry/sdk-trace',
    'fast-check',
    'vitest',
  ],
]

/** Imports modules one after the other and prints which of them threw. */
const runner = `for (const name of process.argv.slice(2)) {
  try {
    await import(name)
  } catch (error) {
    process.exitCode = 1
    console.log(name + ': ' + error.stack)
  }
}
process.exit()
`

/** Compiles the marked blocks strictly, then runs them as TypeScript and as JavaScript beside a gateway with its demo. */
async function tryBlocks(source: Source): Promise<void> {
  const blocks = documentedBlocks().filter(({ kind }) => kind !== undefined)
  const packages = ['oriel', '@oriel/gateway', '@oriel/cli']
  // Our declarations are checked above; with those of all frameworks it would take a minute.
  const settings = { ...strict, skipLibCheck: true }
  const folder = await createProject({ ...source, packages, needs: documented, settings })
  const gateway = await startGateway(folder)
  try {
    const adapted = (block: Block): string =>
      `${block.code.replaceAll('127.0.0.1:4141', gateway.host)}\nexport {}\n`
    for (const block of blocks) writeFileSync(join(folder, `${block.name}.ts`), adapted(block))
    await compile(folder)
    const runnable = blocks.filter(({ kind }) => kind === 'run')
    for (const block of runnable) {
      writeFileSync(join(folder, `${block.name}.mjs`), stripTypeScriptTypes(adapted(block)))
    }
    writeFileSync(join(folder, 'run.mjs'), runner)
    const env = {
      ...process.env,
      OPENAI_API_KEY: 'demo',
      OPENAI_BASE_URL: `http://${gateway.host}/v1`,
    }
    for (const extension of ['ts', 'mjs']) {
      const words = ['run.mjs', ...runnable.map(({ name }) => `./${name}.${extension}`)]
      await run(process.execPath, words, { cwd: folder, env, timeout: 120_000 })
    }
  } finally {
    gateway.child.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Gateway {
  readonly child: ChildProcess
  /** Name and port. */
  readonly host: string
}

/** Starts the published command with its demo, on a free port. */
async function startGateway(folder: string): Promise<Gateway> {
  const command = join(folder, 'node_modules/@oriel/cli/bin/oriel-cli.js')
  const child = spawn(process.execPath, [command, 'serve', '--port', '0', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  for await (const chunk of child.stdout) {
    output += String(chunk)
    const host = /http:\/\/(127\.0\.0\.1:\d+)/.exec(output)?.[1]
    if (host !== undefined) return { child, host }
  }
  throw new Error(`oriel serve ended: ${output}`)
}

/** Concurrent projects. */
const atOnce = 2

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { only: { type: 'string' }, npm: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const own = mkdtempSync(join(tmpdir(), 'oriel-tarballs-'))
  const source: Source = { tarballs: positionals[0] ?? own, byNpm: values.npm }
  try {
    if (source.tarballs === own) await packAll(own)
    const all = [
      { name: 'README and guides', attempt: () => tryBlocks(source) },
      ...subjects.map((subject) => ({
        name: subject.name,
        attempt: () => trySubject(subject, source),
      })),
    ]
    const waiting = all.filter(
      ({ name }) => values.only === undefined || name.includes(values.only),
    )
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const start = performance.now()
        const outcome = await next.attempt().then(() => 'ok', explain)
        const seconds = ((performance.now() - start) / 1000).toFixed(1)
        process.stdout.write(`${next.name.padEnd(26)}${seconds.padStart(6)} s  ${outcome}\n`)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, worker))
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}

function explain(error: unknown): string {
  process.exitCode = 1
  const { message, stdout = '' } = error as Error & { readonly stdout?: string }
  return `FAILED\n${message}\n${stdout}`
}

await main()
