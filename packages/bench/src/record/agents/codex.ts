// Codex in exec mode, on responses: with function tools, and with the free-text tool of its current models.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ScriptedCall } from '../reply.ts'
import type { Agent } from './agent.ts'
import { installed } from './agent.ts'

const kinds: readonly {
  readonly name: string
  readonly model: string
  readonly note: string
  shell(command: string): ScriptedCall
}[] = [
  {
    name: 'codex',
    model: 'local-model',
    note: 'with function tools',
    shell: (command) => ({
      name: 'exec_command',
      arguments: JSON.stringify({ yield_time_ms: 10_000, cmd: command }, undefined, 1),
    }),
  },
  {
    name: 'codex-custom-tool',
    model: 'gpt-5.6-terra',
    note: 'with the free-text tool and the tools inside the input that it uses for current models',
    shell: (command) => ({
      name: 'exec',
      arguments: `text(await tools.exec_command({ cmd: ${JSON.stringify(command)} }))\n`,
      isCustom: true,
    }),
  },
]

export const codex: readonly Agent[] = kinds.map(({ name, model, note, shell }) => ({
  name,
  client: '@openai/codex',
  format: 'openai-responses',
  description: `Codex in exec mode ${note}: a task with tools and one failed request, continued, rewound and continued in another way, and a new session with the same words. Instructions, tool descriptions and long outputs are trimmed.`,
  frameChars: 80,
  calls: { read: (file) => shell(`cat ${file}`), shell },
  prepare({ home, url }) {
    const folder = join(home, '.codex')
    mkdirSync(folder, { recursive: true })
    const lines = [
      `model = "${model}"`,
      'model_provider = "local"',
      'approval_policy = "never"',
      'sandbox_mode = "danger-full-access"',
      '[model_providers.local]',
      'name = "Local"',
      `base_url = "${url}/v1"`,
      'env_key = "LOCAL_KEY"',
      'wire_api = "responses"',
      'request_max_retries = 2',
      'stream_max_retries = 2',
    ]
    writeFileSync(join(folder, 'config.toml'), `${lines.join('\n')}\n`)
  },
  command: (prompt, mode) => ({
    file: process.execPath,
    args: [
      installed('@openai/codex/bin/codex.js'),
      ...['exec', '--skip-git-repo-check'],
      ...(mode === 'continue' ? ['resume', '--last'] : []),
      prompt,
    ],
    env: { LOCAL_KEY: 'dummy' },
  }),
  route: () => 'main',
}))
