// pi, a coding agent that speaks all three formats.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { WireFormat } from '../reply.ts'
import type { Agent } from './agent.ts'
import { installed } from './agent.ts'

const apis: readonly {
  readonly api: string
  readonly format: WireFormat
  readonly path: string
}[] = [
  { api: 'openai-completions', format: 'openai-chat', path: '/v1' },
  { api: 'openai-responses', format: 'openai-responses', path: '/v1' },
  { api: 'anthropic-messages', format: 'anthropic', path: '' },
]

export const pi: readonly Agent[] = apis.map(({ api, format, path }) => ({
  name: `pi-${format}`,
  client: '@mariozechner/pi-coding-agent',
  format,
  frameChars: 80,
  description: `pi in print mode on ${api}: a task with tools and one failed request, continued, rewound and continued in another way, and a new session with the same words. System prompt, tool descriptions and long outputs are trimmed.`,
  calls: {
    read: (file) => ({ name: 'read', arguments: `{ "path": "${file}", "limit": 50.0 }` }),
    shell: (command) => ({ name: 'bash', arguments: JSON.stringify({ command }, undefined, 1) }),
  },
  prepare({ home, url }) {
    const folder = join(home, '.pi', 'agent')
    mkdirSync(folder, { recursive: true })
    const model = { id: 'local-model', reasoning: true, contextWindow: 200_000, maxTokens: 4000 }
    const local = { baseUrl: `${url}${path}`, api, apiKey: 'dummy', models: [model] }
    writeFileSync(join(folder, 'models.json'), JSON.stringify({ providers: { local } }))
    const settings = { retry: { enabled: true, maxRetries: 2, baseDelayMs: 10 } }
    writeFileSync(join(folder, 'settings.json'), JSON.stringify(settings))
  },
  command: (prompt, mode) => ({
    file: process.execPath,
    args: [
      installed('@mariozechner/pi-coding-agent/dist/cli.js'),
      ...['-p', '--offline', '--model', 'local/local-model:medium'],
      ...(mode === 'continue' ? ['--continue'] : []),
      prompt,
    ],
    env: { PI_OFFLINE: '1' },
  }),
  route: () => 'main',
}))
