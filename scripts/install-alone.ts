// Installation test: installs each published package's tarball in an empty project with only the
// framework it needs, then runs the type checker and the example there. `node
// scripts/install-alone.ts [tarballs]`, after a build.

import { execFile } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)

interface Subject {
  readonly name: string
  /** Packages installed beside the tarballs, in the versions tested by this workspace. */
  readonly needs: readonly string[]
  readonly tarballs: readonly (
    | 'oriel'
    | 'oriel-cli'
    | `oriel-${'claude-code' | 'opencode' | 'pi'}`
  )[]
  /** Files of the example to copy, or inline texts. */
  readonly copied?: string
  readonly written?: Readonly<Record<string, string>>
  /** The file to run, and its expected output. */
  readonly main: string
  readonly args?: readonly string[]
  readonly prints: RegExp
}

const versions = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  .devDependencies as Record<string, string>
const at = (name: string): string => `${name}@${versions[name]}`
const zod = (
  JSON.parse(readFileSync(join(root, 'packages/oriel/package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
).dependencies.zod

const subjects: readonly Subject[] = [
  {
    name: 'oriel',
    needs: [],
    tarballs: ['oriel'],
    written: {
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
    name: 'oriel/ai-sdk, AI SDK 7',
    needs: [at('ai'), `zod@${zod}`],
    tarballs: ['oriel'],
    copied: 'support-agent',
    main: 'agent.ts',
    prints: /R-17/,
  },
  {
    name: 'oriel/ai-sdk, AI SDK 6',
    needs: [`ai@${(versions['ai-6'] as string).replace('npm:ai@', '')}`, `zod@${zod}`],
    tarballs: ['oriel'],
    written: {
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
    needs: [at('langchain'), at('@langchain/core'), `zod@${zod}`],
    tarballs: ['oriel'],
    copied: 'coding-agent',
    main: 'agent.ts',
    prints: /linker fails/,
  },
  {
    name: 'oriel/openai',
    needs: [at('openai')],
    tarballs: ['oriel'],
    copied: 'openai-loop',
    main: 'loop.ts',
    prints: /Sunny in Rome/,
  },
  {
    name: 'oriel/anthropic',
    needs: [at('@anthropic-ai/sdk')],
    tarballs: ['oriel'],
    written: {
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
    tarballs: ['oriel', 'oriel-cli'],
    written: {
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
    tarballs: ['oriel'],
    written: {
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
    tarballs: ['oriel', 'oriel-opencode'],
    written: {
      'main.ts': `import { Oriel } from '@oriel/opencode'
process.env.ORIEL_STORE = 'agents.db'
process.env.ORIEL_NODE = process.execPath
const client = { session: { prompt: async () => undefined }, tui: { showToast: async () => undefined } }
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
    tarballs: ['oriel', 'oriel-claude-code'],
    written: {
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
    tarballs: ['oriel', 'oriel-pi'],
    written: {
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
]

async function check(subject: Subject, tarballs: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-alone-'))
  try {
    writeProject(folder, subject)
    const files = subject.tarballs.map((name) => {
      const found = readdirSync(tarballs).find((file) => new RegExp(`^${name}-\\d`).test(file))
      if (found === undefined) throw new Error(`no tarball of ${name} in ${tarballs}`)
      return join(tarballs, found)
    })
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--silent']
    const types = `@types/node@${versions['@types/node']}`
    await run('npm', ['install', ...quiet, ...files, ...subject.needs, types], { cwd: folder })
    await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { cwd: folder })
    const { stdout } = await run(process.execPath, [subject.main, ...(subject.args ?? [])], {
      cwd: folder,
      timeout: 60_000,
    })
    if (!subject.prints.test(stdout)) throw new Error(`it printed ${stdout.slice(0, 500)}`)
    return 'ok'
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function writeProject(folder: string, { copied, written = {} }: Subject): void {
  const settings = {
    compilerOptions: {
      ...{ target: 'es2024', module: 'nodenext', strict: true, noEmit: true, types: ['node'] },
      ...{ allowImportingTsExtensions: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
    },
    include: ['*.ts'],
  }
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
  for (const [name, text] of Object.entries(written)) writeFileSync(join(folder, name), text)
  if (copied === undefined) return
  const source = join(root, 'examples', copied)
  for (const file of readdirSync(source).filter((name) => !name.includes('.test.'))) {
    copyFileSync(join(source, file), join(folder, basename(file)))
  }
}

/** Concurrent installations. */
const atOnce = 2

async function main(): Promise<void> {
  const own = mkdtempSync(join(tmpdir(), 'oriel-tarballs-'))
  const tarballs = process.argv[2] ?? own
  if (tarballs === own) {
    mkdirSync(own, { recursive: true })
    const plugins = ['claude-code', 'opencode', 'pi'].map((name) => `./packages/plugins/${name}`)
    const folders = ['./packages/oriel', './packages/cli', ...plugins]
    await run('npm', ['pack', '--silent', ...folders, '--pack-destination', own], { cwd: root })
  }
  const waiting = [...subjects]
  const worker = async (): Promise<void> => {
    for (let subject = waiting.shift(); subject !== undefined; subject = waiting.shift()) {
      const start = performance.now()
      const outcome = await check(subject, tarballs).catch((error: unknown) => {
        process.exitCode = 1
        const { message, stdout = '' } = error as Error & { stdout?: string }
        return `FAILED\n${message}\n${stdout}`
      })
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      process.stdout.write(`${subject.name.padEnd(26)}${seconds.padStart(6)} s  ${outcome}\n`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  rmSync(own, { recursive: true, force: true })
}

await main()
