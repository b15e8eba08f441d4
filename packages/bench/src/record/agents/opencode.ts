// opencode, headless, with the three AI SDK providers it brings along.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messagesOf } from '../script.ts'
import type { Agent } from './agent.ts'
import { installed, projectFolder, toolNames } from './agent.ts'

const providers = [
  { format: 'openai-chat', npm: '@ai-sdk/openai-compatible' },
  { format: 'openai-responses', npm: '@ai-sdk/openai' },
  { format: 'anthropic', npm: '@ai-sdk/anthropic' },
] as const

export const opencode: readonly Agent[] = providers.map(({ format, npm }) => ({
  name: `opencode-${format}`,
  client: 'opencode-ai',
  format,
  description: `opencode with its bundled ${npm} provider: a task with tools, one failed request, a sub-agent and a title, continued, rewound and continued in another way, and a new session with the same words. System prompt, tool descriptions and long outputs are trimmed.`,
  frameChars: 80,
  calls: {
    read: (file) => ({
      name: 'read',
      arguments: `{ "filePath": "${projectFolder}/${file}", "limit": 50.0 }`,
    }),
    shell: (command) => ({
      name: 'bash',
      arguments: JSON.stringify({ command, description: 'Look' }, undefined, 1),
    }),
    delegate: (prompt) => ({
      name: 'task',
      arguments: JSON.stringify({ subagent_type: 'general', description: 'Quote', prompt }),
    }),
  },
  prepare({ home, url }) {
    const folder = join(home, '.config', 'opencode')
    mkdirSync(folder, { recursive: true })
    const options = { baseURL: `${url}/v1`, apiKey: 'dummy' }
    const model = {
      name: 'Local',
      reasoning: true,
      tool_call: true,
      limit: { context: 200_000, output: 4000 },
    }
    const settings = {
      autoupdate: false,
      share: 'disabled',
      permission: 'allow',
      provider: { local: { npm, name: 'Local', options, models: { 'local-model': model } } },
    }
    writeFileSync(join(folder, 'opencode.json'), JSON.stringify(settings))
  },
  command: (prompt, mode) => ({
    file: installed('opencode-linux-x64/bin/opencode'),
    args: [
      ...['run', '--model', 'local/local-model'],
      ...(mode === 'continue' ? ['--continue'] : []),
      prompt,
    ],
    env: {
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    },
  }),
  route(asked) {
    if (toolNames(asked).length === 0) return 'side'
    return JSON.stringify(messagesOf(asked.body).slice(0, 3)).includes('SUBTASK') ? 'sub' : 'main'
  },
}))
