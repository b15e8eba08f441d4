// Qwen Code in headless mode, on chat completions.

import { messagesOf } from '../script.ts'
import type { Agent } from './agent.ts'
import { installed, projectFolder, toolNames } from './agent.ts'

export const qwenCode: Agent = {
  name: 'qwen-code',
  client: '@qwen-code/qwen-code',
  format: 'openai-chat',
  description:
    'Qwen Code in headless mode: a task with tools, one failed request and a sub-agent, continued, rewound and continued in another way, and a new session with the same words. System prompt, tool descriptions and long outputs are trimmed.',
  frameChars: 80,
  calls: {
    read: (file) => ({
      name: 'read_file',
      arguments: `{ "file_path": "${projectFolder}/${file}", "limit": 50.0 }`,
    }),
    shell: (command) => ({
      name: 'run_shell_command',
      arguments: JSON.stringify(
        { command, is_background: false, description: 'Look' },
        undefined,
        1,
      ),
    }),
    delegate: (prompt) => ({
      name: 'agent',
      arguments: JSON.stringify({
        subagent_type: 'general-purpose',
        description: 'Quote',
        prompt,
        run_in_background: false,
      }),
    }),
  },
  prepare() {
    // Everything is in the command line.
  },
  command: (prompt, mode, { url }) => ({
    file: process.execPath,
    args: [
      installed('@qwen-code/qwen-code/cli-entry.js'),
      ...['--auth-type', 'openai', '--openai-api-key', 'dummy', '--openai-base-url', `${url}/v1`],
      ...['-m', 'local-model', '--approval-mode', 'yolo'],
      ...(mode === 'continue' ? ['--continue'] : []),
      ...['-p', prompt],
    ],
  }),
  route(asked) {
    const opening = JSON.stringify(messagesOf(asked.body).slice(0, 2))
    if (opening.includes('SUBTASK')) return 'sub'
    // After a turn it extracts memories: the whole conversation again, with another frame.
    return toolNames(asked).includes('agent') ? 'main' : 'side'
  },
}
