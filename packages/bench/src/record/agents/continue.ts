// The Continue command line in print mode, on chat completions.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Agent } from './agent.ts'
import { installed, toolNames } from './agent.ts'

export const continueCli: Agent = {
  name: 'continue',
  client: '@continuedev/cli',
  format: 'openai-chat',
  description:
    'The Continue command line in print mode: a task with tools and one failed request, continued, rewound and continued in another way, and a new session with the same words. System prompt, tool descriptions and long outputs are trimmed.',
  frameChars: 80,
  calls: {
    read: (file) => ({ name: 'Read', arguments: `{ "filepath": "${file}" }` }),
    shell: (command) => ({ name: 'Bash', arguments: JSON.stringify({ command }, undefined, 1) }),
  },
  prepare({ home, url }) {
    mkdirSync(join(home, '.continue'), { recursive: true })
    const lines = [
      'name: local',
      'version: 1.0.0',
      'schema: v1',
      'models:',
      '  - name: local',
      '    provider: openai',
      '    model: local-model',
      `    apiBase: ${url}/v1`,
      '    apiKey: dummy',
      '    roles: [chat]',
      '    capabilities: [tool_use]',
    ]
    writeFileSync(join(home, '.continue', 'config.yaml'), `${lines.join('\n')}\n`)
  },
  command: (prompt, mode, { home }) => ({
    file: process.execPath,
    args: [
      installed('@continuedev/cli/dist/cn.js'),
      ...['-p', '--auto', '--config', join(home, '.continue', 'config.yaml')],
      ...(mode === 'continue' ? ['--resume'] : []),
      prompt,
    ],
    env: { CONTINUE_TELEMETRY_ENABLED: '0', CONTINUE_ALLOW_ANONYMOUS_TELEMETRY: '0' },
  }),
  route: (asked) => (toolNames(asked).length === 0 ? 'side' : 'main'),
}
