// Claude Code in print mode.

import { messagesOf } from '../script.ts'
import type { Agent } from './agent.ts'
import { installed, toolNames } from './agent.ts'

export const claudeCode: Agent = {
  name: 'claude-code',
  client: '@anthropic-ai/claude-code',
  format: 'anthropic',
  description:
    'Claude Code in print mode: a task with tools, one failed request and a sub-agent, continued, rewound and continued in another way, and a new session with the same words. System prompt, tool descriptions and long outputs are trimmed.',
  frameChars: 80,
  editedMessages: 2,
  calls: {
    read: (file) => ({
      name: 'Read',
      arguments: `{ "file_path": "${file}", "limit": 50.0 }`,
    }),
    shell: (command) => ({
      name: 'Bash',
      arguments: JSON.stringify({ command, description: 'Look' }, undefined, 1),
    }),
    delegate: (prompt) => ({
      name: 'Agent',
      arguments: JSON.stringify({
        subagent_type: 'general-purpose',
        description: 'Quote',
        prompt,
        run_in_background: false,
      }),
    }),
  },
  prepare() {
    // Everything is in the command line and the environment.
  },
  command: (prompt, mode, { url }) => ({
    file: installed('@anthropic-ai/claude-code-linux-x64/claude'),
    args: [
      ...['-p', '--model', 'claude-opus-5'],
      ...['--allowed-tools', 'Bash,Read,Agent,Task'],
      ...(mode === 'continue' ? ['--continue'] : []),
      '--',
      prompt,
    ],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: 'dummy',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
    },
  }),
  route(asked) {
    const opening = JSON.stringify(messagesOf(asked.body)[0])
    if (opening.includes('SUBTASK')) return 'sub'
    return toolNames(asked).includes('Agent') ? 'main' : 'side'
  },
}
