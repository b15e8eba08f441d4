// Makes docs/compatibility.md from the manifests and the sources: what Oriel needs, and the versions that its tests run with.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { providers } from '../packages/oriel/src/providers/registry.ts'
import { minServerVersion } from '../packages/oriel/src/stores/postgres/schema.ts'
import { minSqliteVersion } from '../packages/oriel/src/stores/sqlite/database.ts'

interface Manifest {
  readonly name: string
  readonly engines: { readonly node: string }
  readonly workspaces?: readonly string[]
  readonly private?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** The import of Oriel that works with each package; the others are needed by no import of their own. */
const importOf: Readonly<Record<string, string>> = {
  '@anthropic-ai/sdk': 'oriel/anthropic',
  '@langchain/core': 'oriel/langchain',
  '@langchain/langgraph-checkpoint': 'oriel/langgraph',
  '@openai/agents-core': 'oriel/openai-agents',
  ai: 'oriel/ai-sdk',
  'fast-check': 'oriel/testing',
  'gpt-tokenizer': 'oriel/o200k',
  langchain: 'oriel/langchain',
  openai: 'oriel/openai',
  pg: 'oriel/postgres',
  vitest: 'oriel/testing',
  zod: 'oriel/ai-sdk',
}

/** The whole page. */
export function compatibilityPage(): string {
  const workspace = manifestIn('.')
  const library = manifestIn('packages/oriel')
  const packages = (workspace.workspaces ?? []).map(manifestIn)
  const published = packages.filter((one) => one.private !== true)
  const tested = { ...library.devDependencies, ...workspace.devDependencies }
  const bench = manifestIn('packages/bench').dependencies ?? {}
  const agents = manifestIn('packages/bench/src/record/agents').dependencies ?? {}
  return `# Compatibility

Made by \`npm run reference\` from the manifests and the sources. "Tested with" is the version that the tests of this repository run with; no other was tried unless a row says so.

## Node

The tests run on Node ${tested.node}. What the library does without SQLite is tested on Node 20 too, where one is installed.

${table(
  ['package', 'Node'],
  published.map(({ name, engines }) => [code(name), code(engines.node)]),
)}

\`oriel/project\` needs no module of Node. It gives the same bytes in a realm that has only what the web has, and in Node 20, Deno and Bun where they are installed: \`npx vitest run packages/oriel/test/bundles.test.ts\`.

| platform | tried | what worked |
| --- | --- | --- |
| Deno 2.9.6 | 2026-11-19, from the tarball | projections, threads in memory and in SQLite (the calling thread writes) |
| Bun 1.4.4 | 2026-11-19, from the tarball | projections, threads in memory and in SQLite |
| Next.js 16.4.6 | 2026-11-18, Turbopack and webpack | \`oriel/project\` in a page, a SQLite thread in a route |

## Databases

${table(
  ['store', 'needs', 'tested with'],
  [
    [
      '`sqliteStore`',
      `Node 22.13 whose SQLite is ${minSqliteVersion} or newer`,
      `Node ${tested.node}`,
    ],
    [
      '`postgresStore`',
      `PostgreSQL ${minServerVersion / 10_000} or newer, UTF-8`,
      `PostgreSQL 15, \`pg\` ${tested.pg}`,
    ],
  ],
)}

## Provider APIs

The gateway answers these paths. Requests and answers are compared with the official SDKs of the table below; no provider was called.

${table(
  ['format', 'paths'],
  Object.entries(providers).map(([name, { request }]) => [
    code(name),
    request.paths.map(code).join(', '),
  ]),
)}

## SDKs and frameworks

All of them are optional: install what you import.

${table(
  ['package', 'import', 'accepted', 'tested with'],
  Object.entries(library.peerDependencies ?? {}).map(([name, range]) => [
    code(name),
    code(importOf[name] ?? ''),
    code(range.replaceAll('||', 'or')),
    [tested[name], ...olderOf(name, tested)].join(', '),
  ]),
)}

Clients of the gateway that the tests use beside these: ${[
    '@google/genai',
    '@langchain/openai',
    '@modelcontextprotocol/client',
  ]
    .map((name) => `\`${name}\` ${tested[name]}`)
    .join(', ')}.
\`oriel/mastra\` was run with \`@mastra/core\` ${bench['@mastra/core']} by a bench.

## Coding agents

Recorded and run against a scripted model on the same machine, by the benches of \`packages/bench\`, not by the tests.

${table(
  ['agent', 'version'],
  Object.entries(agents).map(([name, version]) => [code(name), version]),
)}
`
}

/** Older versions under a name such as \`ai-6\`, written \`npm:ai@6.0.326\`. */
function olderOf(name: string, tested: Readonly<Record<string, string>>): readonly string[] {
  const prefix = `npm:${name}@`
  return Object.values(tested)
    .filter((version) => version.startsWith(prefix))
    .map((version) => version.slice(prefix.length))
}

function manifestIn(folder: string): Manifest {
  const file = join(import.meta.dirname, '..', folder, 'package.json')
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest
}

function code(text: string): string {
  return `\`${text}\``
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}
