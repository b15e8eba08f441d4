// Records the coding agents: `npm run record:agents [part of a name]`, after `npm install` in src/record/agents (no lock file: it would
// name programs of other platforms, which a clean install then refuses). On Linux only; use `unshare -n` to shut the network out.

import { claudeCode } from './agents/claude-code.ts'
import { codex } from './agents/codex.ts'
import { continueCli } from './agents/continue.ts'
import { opencode } from './agents/opencode.ts'
import { pi } from './agents/pi.ts'
import { qwenCode } from './agents/qwen-code.ts'
import { recordAgent } from './agents/session.ts'
import { variants } from './agents/variants.ts'
import { writeFixture } from './fixture.ts'

const wanted = process.argv[2] ?? ''
const agents = [...pi, ...opencode, ...codex, claudeCode, qwenCode, continueCli, ...variants]

for (const agent of agents.filter(({ name }) => name.includes(wanted))) {
  try {
    const fixture = await recordAgent(agent)
    writeFixture(agent.name, fixture)
    console.log(`${agent.name}: ${fixture.requests.length} requests`)
  } catch (error) {
    process.exitCode = 1
    console.error(`${agent.name}: ${error instanceof Error ? error.stack : String(error)}`)
  }
}
