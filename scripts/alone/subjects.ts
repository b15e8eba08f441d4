// Programs that a user could write, one for each package and framework. Each runs in an empty project with only what it needs.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './packed.ts'

export interface Subject {
  readonly name: string
  /** Packages beside ours, in the versions of this workspace; any other peer is absent. */
  readonly needs: readonly string[]
  readonly packages: readonly string[]
  readonly files: Readonly<Record<string, string>>
  /** Compiler options beside the usual ones. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** The file to run, and its expected output. */
  readonly main: string
  readonly args?: readonly string[]
  readonly prints: RegExp
}

/** Files of an example, or of another folder, without its tests. */
function example(name: string, within = 'examples'): Readonly<Record<string, string>> {
  const folder = join(root, within, name)
  const files = readdirSync(folder).filter((file) => !file.includes('.test.'))
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]))
}

/** What a strict project leaves out unless it asks: declarations may need it no more than they may forbid it. */
const loose = { exactOptionalPropertyTypes: false }

/** A thread with a store that has a worker. Run where no package is installed. */
const bundledProgram = `import { openThread, project, sqliteStore } from 'oriel'
const store = sqliteStore({ path: process.argv[2], writes: 'worker' })
const messages = [{ role: 'user', content: 'hello' }]
openThread({ store, policy: 'recommended' })
  .then(async (thread) => {
    await thread.append(messages)
    const view = await thread.view({ model: 'gpt-4o' })
    console.log(view.messages.length, project(messages, 'recommended').messages.length)
    await store.close()
  })
`
const bundlers = `import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { build } from 'esbuild'
import { rollup } from 'rollup'
import webpack from 'webpack'
const out = mkdtempSync(join(tmpdir(), 'oriel-bundled-'))
const run = (name, file) => console.log(name, execFileSync(process.execPath, [join(out, file), join(out, name + '.db')]).toString().trim())
await build({ entryPoints: ['program.mjs'], outfile: join(out, 'a.mjs'), bundle: true, platform: 'node', format: 'esm', external: ['pg'] })
run('esbuild', 'a.mjs')
const made = await rollup({ input: 'program.mjs', external: ['pg', /^node:/], plugins: [nodeResolve({ preferBuiltins: true })], onLog: () => {} })
await made.write({ file: join(out, 'b.mjs'), format: 'es', inlineDynamicImports: true })
run('rollup', 'b.mjs')
const compiler = webpack({ mode: 'production', target: 'node', entry: './program.mjs', output: { path: out, filename: 'c.cjs' }, externals: { pg: 'commonjs pg' }, optimization: { minimize: false } })
await new Promise((resolve, reject) => compiler.run((error, stats) => (error || stats.hasErrors() ? reject(error ?? new Error(stats.toString())) : resolve())))
run('webpack', 'c.cjs')
`

export const subjects: readonly Subject[] = [
  {
    name: 'oriel',
    needs: [],
    packages: ['oriel'],
    files: {
      'main.ts': `import { memoryStore, openThread, project } from 'oriel'
const messages = [{ role: 'user', content: 'one' }, { role: 'assistant', content: 'two' }, { role: 'user', content: 'three' }]
const thread = await openThread({ store: memoryStore(), policy: { history: { length: 1 } } })
await thread.append(messages)
const view = await thread.view()
console.log(project(messages, { history: { length: 1 } }).messages.length, view.messages.length)
`,
    },
    main: 'main.ts',
    prints: /^1 1$/m,
  },
  {
    name: 'oriel, strict, es2022',
    needs: [],
    packages: ['oriel'],
    files: {
      'main.ts': `import { openThread, type Policy, project as whole, validate } from 'oriel'
import { importCompactConfig } from 'oriel/compat'
import { memoryStore } from 'oriel/memory'
import { postgresStore } from 'oriel/postgres'
import { OrielError, project } from 'oriel/project'
import { sqliteStore } from 'oriel/sqlite'
const policy: Policy = { history: { length: 1 } }
const messages = [{ role: 'user', content: 'one' }, { role: 'assistant', content: 'two' }, { role: 'user', content: 'three' }]
const thread = await openThread({ store: memoryStore(), policy })
await thread.append(messages)
const { messages: shown } = await thread.view({ model: 'gpt-4o' })
const stores = [sqliteStore, postgresStore].map((create) => typeof create)
console.log(project(messages, policy).messages.length, whole(messages, policy).messages.length, shown.length, ...stores)
console.log(validate('openai-chat', { messages }).length)
try {
  importCompactConfig({ MaxTokens: -1 })
} catch (error) {
  if (OrielError.is(error)) console.log(error.message)
}
`,
    },
    settings: loose,
    main: 'main.ts',
    prints: /^1 1 1 function function\n0\nconfig.MaxTokens is -1: must be at least 0\.$/m,
  },
  {
    name: 'oriel, CommonJS',
    needs: [],
    packages: ['oriel'],
    files: {
      'main.cjs': `const { memoryStore, openThread } = require('oriel')
const { project } = require('oriel/project')
const messages = [{ role: 'user', content: 'one' }]
openThread({ store: memoryStore() }).then(async (thread) => {
  await thread.append(messages)
  console.log(project(messages).messages.length, (await thread.view()).messages.length)
})
`,
      'main.ts': 'export {}\n',
    },
    main: 'main.cjs',
    prints: /^1 1$/m,
  },
  {
    name: 'oriel, bundled',
    needs: ['esbuild', 'webpack', 'rollup', '@rollup/plugin-node-resolve'],
    packages: ['oriel'],
    files: { 'program.mjs': bundledProgram, 'main.mjs': bundlers, 'main.ts': 'export {}\n' },
    main: 'main.mjs',
    prints: /^esbuild 1 1\nrollup 1 1\nwebpack 1 1$/m,
  },
  {
    name: 'oriel, its type tests',
    needs: ['openai', '@anthropic-ai/sdk', '@google/genai'],
    packages: ['oriel'],
    files: { ...example('typing', 'packages/oriel/test'), 'main.ts': "console.log('compiled')\n" },
    main: 'main.ts',
    prints: /^compiled$/m,
  },
  {
    name: 'oriel/ai-sdk, AI SDK 7',
    needs: ['ai', 'zod'],
    packages: ['oriel'],
    files: example('support-agent'),
    settings: { lib: ['es2023'] },
    main: 'agent.ts',
    prints: /R-17/,
  },
  {
    name: 'oriel/ai-sdk, AI SDK 6',
    needs: ['ai-6', 'zod'],
    packages: ['oriel'],
    files: {
      'main.ts': `import { generateText, stepCountIs, type Tool } from 'ai'
import { MockLanguageModelV3 } from 'ai/test'
import { memoryStore, openThread } from 'oriel'
import { expandTool, withOriel } from 'oriel/ai-sdk'
const thread = await openThread({ store: memoryStore() })
const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => ({
    content: [{ type: 'text', text: \`\${prompt.length} shown\` }],
    finishReason: { unified: 'stop', raw: undefined },
    usage: { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } },
    warnings: [],
  }),
})
const tools: Record<string, Tool> = { expand_message: expandTool(thread) }
for (const prompt of ['one', 'two']) {
  const { text } = await generateText({ model: withOriel(model, { thread }), prompt, tools, stopWhen: stepCountIs(2) })
  console.log(text)
}
`,
    },
    main: 'main.ts',
    prints: /1 shown\n3 shown/,
  },
  {
    name: 'oriel/langchain',
    needs: ['langchain', '@langchain/core', 'zod'],
    packages: ['oriel'],
    files: example('coding-agent'),
    main: 'agent.ts',
    prints: /linker fails/,
  },
  {
    name: 'oriel/openai',
    needs: ['openai'],
    packages: ['oriel'],
    files: example('openai-loop'),
    main: 'loop.ts',
    prints: /Sunny in Rome/,
  },
  {
    name: 'oriel/anthropic',
    needs: ['@anthropic-ai/sdk'],
    packages: ['oriel'],
    files: {
      'main.ts': `import Anthropic from '@anthropic-ai/sdk'
import { memoryStore, openThread } from 'oriel'
import { managed } from 'oriel/anthropic'
const seen: number[] = []
const fetch = async (_: unknown, init?: { body?: unknown }): Promise<Response> => {
  seen.push((JSON.parse(String(init?.body)) as { messages: [] }).messages.length)
  const content = [{ type: 'text', text: 'yes' }]
  const usage = { input_tokens: 1, output_tokens: 1 }
  return Response.json({ id: 'm', type: 'message', role: 'assistant', model: 'x', content, stop_reason: 'end_turn', stop_sequence: null, usage })
}
const client: Anthropic = managed(new Anthropic({ apiKey: 'none', fetch: fetch as typeof globalThis.fetch }), {
  thread: await openThread({ store: memoryStore() }),
})
for (const content of ['one', 'two']) {
  await client.messages.create({ model: 'x', max_tokens: 10, messages: [{ role: 'user', content }] })
}
console.log(seen.join(' '))
`,
    },
    main: 'main.ts',
    prints: /^1 3$/m,
  },
  {
    name: '@oriel/cli',
    needs: [],
    packages: ['@oriel/cli'],
    files: {
      'main.ts': `import * as command from '@oriel/cli'\nexport type Command = typeof command\n`,
      'chat.json': '[{"role":"user","content":"Hello."},{"role":"assistant","content":"Hi."}]',
    },
    main: 'node_modules/@oriel/cli/bin/oriel-cli.js',
    args: ['inspect', 'chat.json'],
    prints: /tokens/,
  },
  {
    name: 'oriel/agents',
    needs: [],
    packages: ['oriel'],
    files: {
      'main.ts': `import { AgentThreads, agentTools, checkpointText } from 'oriel/agents'
const threads = new AgentThreads({ agent: 'mine', env: { ORIEL_STORE: 'agents.db' } })
const messages = [{ role: 'user', content: 'Never touch main.' }]
const view = await threads.request('s', messages, { format: 'openai-chat' })
const summary = await checkpointText(messages, { format: 'openai-chat' })
console.log(view.messages.length, agentTools.length, summary.includes('Never touch main.'))
await threads.close()
`,
    },
    main: 'main.ts',
    prints: /^1 2 true$/m,
  },
  {
    name: '@oriel/opencode',
    needs: [],
    packages: ['@oriel/opencode'],
    files: {
      'main.ts': `import { Oriel } from '@oriel/opencode'
process.env.ORIEL_STORE = 'agents.db'
process.env.ORIEL_NODE = process.execPath
const client = { app: { log: async () => undefined }, session: { prompt: async () => undefined }, tui: { showToast: async () => undefined } }
const hooks = await Oriel({ client })
console.log(Object.keys(hooks.tool).join(' '))
await hooks.dispose()
`,
    },
    main: 'main.ts',
    prints: /^expand_message search_conversation$/m,
  },
  {
    name: '@oriel/claude-code',
    needs: [],
    packages: ['@oriel/claude-code'],
    files: {
      'main.ts': `import { execFileSync } from 'node:child_process'
const program = 'node_modules/@oriel/claude-code/dist/main.js'
const input = JSON.stringify({ session: 's', method: 'hello' })
console.log(JSON.parse(execFileSync(process.execPath, [program], { input }).toString()).tools.length)
`,
    },
    main: 'main.ts',
    prints: /^2$/m,
  },
  {
    name: '@oriel/pi',
    needs: [],
    packages: ['@oriel/pi'],
    files: {
      'main.ts': `import oriel, { type PiApi } from '@oriel/pi'
const seen: string[] = []
const pi = { on: (name: string) => seen.push(name), registerCommand: () => undefined, registerTool: ({ name }: { name: string }) => seen.push(name) }
oriel(pi as unknown as PiApi)
console.log(seen.length)
`,
    },
    main: 'main.ts',
    prints: /^6$/m,
  },
  ...[
    {
      name: 'oriel, subpaths without peers',
      needs: [],
      paths: [
        'compat',
        'inspect',
        'memory',
        'postgres',
        'project',
        'providers',
        'simulate',
        'sqlite',
        'stores',
      ],
    },
    {
      name: 'oriel/langgraph',
      needs: ['@langchain/langgraph-checkpoint', '@langchain/core'],
      paths: ['langgraph'],
    },
    { name: 'oriel/mastra', needs: ['@mastra/core'], paths: ['mastra'] },
    { name: 'oriel/o200k', needs: ['gpt-tokenizer'], paths: ['o200k'] },
    { name: 'oriel/openai-agents', needs: ['@openai/agents-core'], paths: ['openai-agents'] },
    { name: 'oriel/testing', needs: ['fast-check', 'vitest'], paths: ['testing'] },
    { name: '@oriel/dsh', needs: [], paths: [] },
    { name: '@oriel/openclaw', needs: [], paths: [] },
  ].map(({ name, needs, paths }) => ({
    ...{ name, needs, settings: loose },
    ...(name.startsWith('@')
      ? { packages: [name], ...importing([name]) }
      : { packages: ['oriel'], ...importing(paths.map((path) => `oriel/${path}`)) }),
  })),
]

/** A program that imports modules and counts them. */
function importing(modules: readonly string[]): Pick<Subject, 'files' | 'main' | 'prints'> {
  const imports = modules.map((name, index) => `import * as one${index} from '${name}'`)
  const list = modules.map((_, index) => `one${index}`).join(', ')
  const main = `${imports.join('\n')}\nconsole.log([${list}].filter((one) => Object.keys(one).length > 0).length)\n`
  return {
    files: { 'main.ts': main },
    main: 'main.ts',
    prints: new RegExp(`^${modules.length}$`, 'm'),
  }
}
