// The real DeepSeek Harness with and without `@oriel/dsh`: 40 tool calls in one turn against a scripted model, in a window so small that
// it must be compacted. `npm run plugins:dsh <folder>`, after `npm run build:code` in the root; the folder has `@deepseek-ai/dsh` installed
// (0.1.0-rc.8; with `--legacy-peer-deps` its peers must be named too).

import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type PluggedAgent, work } from './scripted.ts'

const folder = process.argv[2] ?? '.'
const program = resolve(folder, 'node_modules/@deepseek-ai/dsh/lib/bin.js')
const plugin = resolve(import.meta.dirname, '../../../plugins/dsh/dist/index.js')
const contextWindow = 48_000

const dsh: PluggedAgent = {
  name: 'dsh',
  prompts: ['Read the parts. Never touch main.'],
  prepare({ home, url }, isManaged) {
    const settings = join(home, '.dsh')
    mkdirSync(settings, { recursive: true })
    const window = `- id: llm-deepseek\n  config:\n    baseURL: ${url}\n    defaultContextWindow: ${contextWindow}\n    models: []\n`
    const own = `- insert:\n    - id: oriel\n      name: '${plugin}'\n`
    writeFileSync(join(settings, 'cordis.patch.yml'), isManaged ? window + own : window)
  },
  command: (prompt) => [process.execPath, program, '--profile', 'headless', prompt],
  env: { DEEPSEEK_API_KEY: 'dummy' },
  shell: (command) => ({ name: 'bash', arguments: { command, description: 'Look' } }),
}

const plain = await work(dsh, false)
const managed = await work(dsh, true)
console.log(JSON.stringify({ plain, managed }, null, 2))
const isSame =
  JSON.stringify([plain.answers, plain.printed]) ===
  JSON.stringify([managed.answers, managed.printed])
console.log(
  `${isSame ? 'same answers' : 'OTHER ANSWERS'}, input cost with a cache ${(managed.cost / plain.cost).toFixed(3)}, ${managed.violations} violations, summaries by the model ${plain.compactions} and ${managed.compactions}`,
)
if (!isSame || managed.violations > 0 || managed.compactions > 0) process.exitCode = 1
