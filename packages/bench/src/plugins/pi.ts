// The real pi with and without `@oriel/pi`. `npm run plugins:pi [path of pi's cli.js]`, after `npm run build:code` in the root and
// `npm install` in src/record/agents.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { summaryOf } from '../../../plugins/pi/src/index.ts'
import { installed } from '../record/agents/agent.ts'
import { computingMs, loopOf, type PluggedAgent, report, work } from './scripted.ts'

const program = process.argv[2] ?? installed('@mariozechner/pi-coding-agent/dist/cli.js')
const extension = resolve(import.meta.dirname, '../../../plugins/pi/dist/index.js')

const pi: PluggedAgent = {
  name: 'pi',
  prepare({ home, url }) {
    const folder = join(home, '.pi', 'agent')
    mkdirSync(folder, { recursive: true })
    const model = { id: 'local-model', contextWindow: 400_000, maxTokens: 4000 }
    const local = { baseUrl: url, api: 'openai-completions', apiKey: 'dummy', models: [model] }
    writeFileSync(join(folder, 'models.json'), JSON.stringify({ providers: { local } }))
    writeFileSync(join(folder, 'settings.json'), '{}')
  },
  command: (prompt, turn, isManaged) => [
    ...[process.execPath, program, '-p', '--offline', '--model', 'local/local-model'],
    ...(isManaged ? ['-e', extension] : []),
    ...(turn > 0 ? ['--continue'] : []),
    prompt,
  ],
  env: { PI_OFFLINE: '1' },
  shell: (command) => ({ name: 'bash', arguments: { command } }),
}

const plain = await work(pi, false)
const managed = await work(pi, true)
const messagesToSummarize = [
  { role: 'user', content: 'Read the parts.' },
  ...loopOf((index, text) => [
    {
      role: 'assistant',
      content: [
        { type: 'toolCall', id: `c${index}`, name: 'bash', arguments: { command: `cat ${index}` } },
      ],
    },
    {
      role: 'toolResult',
      toolCallId: `c${index}`,
      toolName: 'bash',
      isError: false,
      content: [{ type: 'text', text }],
    },
  ]),
]
const preparation = { firstKeptEntryId: 'x', tokensBefore: 1, messagesToSummarize }
const ms = await computingMs(() => summaryOf(preparation))
report(plain, managed, `compaction of 81 messages ${ms.toFixed(0)} ms of computing`)
