// The real opencode with and without `@oriel/opencode`. `npm run plugins:opencode`, after `npm run build:code` in the root and
// `npm install` in src/record/agents.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { installed } from '../record/agents/agent.ts'
import { type PluggedAgent, report, run, work } from './scripted.ts'

const program = installed('opencode-linux-x64/bin/opencode')
const plugin = resolve(import.meta.dirname, '../../../plugins/opencode/dist/index.js')

const opencode: PluggedAgent = {
  name: 'opencode',
  prepare({ home, url }, isManaged) {
    const folder = join(home, '.config', 'opencode')
    mkdirSync(folder, { recursive: true })
    const model = { name: 'Local', tool_call: true, limit: { context: 400_000, output: 4000 } }
    const local = {
      npm: '@ai-sdk/openai-compatible',
      name: 'Local',
      options: { baseURL: url, apiKey: 'dummy' },
      models: { 'local-model': model },
    }
    const settings = {
      ...{ autoupdate: false, share: 'disabled', permission: 'allow', provider: { local } },
      ...(isManaged ? { plugin: [pathToFileURL(plugin).href] } : {}),
    }
    writeFileSync(join(folder, 'opencode.json'), JSON.stringify(settings))
  },
  command: (prompt, turn) => [
    ...[program, 'run', '--model', 'local/local-model'],
    ...(turn > 0 ? ['--continue'] : []),
    prompt,
  ],
  env: {
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  },
  shell: (command) => ({ name: 'bash', arguments: { command, description: 'Look' } }),
}

const plain = await work(opencode, false)
let compaction = ''
const managed = await work(opencode, true, async (place, model) => {
  const asked = model.others + model.bodies.length
  compaction = await compact(place)
  if (model.others + model.bodies.length !== asked) throw new Error('Compaction asked the model.')
})
report(plain, managed, compaction)

/** Compacts the session through opencode's own server, and says what it took and what became of it. */
async function compact(place: Parameters<typeof run>[1]): Promise<string> {
  const script = join(import.meta.dirname, 'opencode-compact.ts')
  return run([process.execPath, script, program], place, opencode.env)
}
