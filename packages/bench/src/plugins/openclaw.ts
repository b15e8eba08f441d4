// The real OpenClaw with and without `@oriel/openclaw`. `npm run plugins:openclaw <folder>`, after `npm run build:code` in the root; the
// folder has `openclaw` installed (2026.9.6, by Node 24.16 or newer).

import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type PluggedAgent, report, work } from './scripted.ts'

const folder = process.argv[2] ?? '.'
const program = resolve(folder, 'node_modules/openclaw/openclaw.mjs')
const plugin = resolve(import.meta.dirname, '../../../plugins/openclaw')

const openclaw: PluggedAgent = {
  name: 'openclaw',
  prepare({ home, project, url }, isManaged) {
    mkdirSync(join(home, '.openclaw'), { recursive: true })
    const model = { id: 'local-model', name: 'Local', contextWindow: 400_000, maxTokens: 4000 }
    const local = { baseUrl: url, apiKey: 'dummy', api: 'openai-completions', models: [model] }
    const settings = {
      models: { providers: { local } },
      agents: { defaults: { model: 'local/local-model', workspace: project } },
      ...(isManaged
        ? { plugins: { load: { paths: [plugin] }, slots: { contextEngine: 'oriel' } } }
        : {}),
    }
    writeFileSync(join(home, '.openclaw/openclaw.json'), JSON.stringify(settings))
  },
  command: (prompt) => [
    ...[process.execPath, program, 'agent', '--local', '--session-id', 'bench'],
    ...['--message', prompt],
  ],
  env: {},
  shell: (command) => ({ name: 'exec', arguments: { command } }),
}

const plain = await work(openclaw, false)
report(plain, await work(openclaw, true), 'compaction not asked for')
