// Coding agents with and without the gateway: two tasks against a scripted upstream, expecting the
// same answers with fewer tokens. `npm run gateway:agents [part of a name] [--json] [--lines 120]`,
// after `npm install` in src/record/agents and `npm ci` in the root.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createGateway, serveGateway } from '../../../gateway/src/index.ts'
import { type Action, reply } from '../../../gateway/test/upstream/action.ts'
import {
  type Asked,
  startUpstream,
  type Upstream,
} from '../../../gateway/test/upstream/upstream.ts'
import type { Agent, Mode, Rooms } from '../record/agents/agent.ts'
import { openRooms, removeRooms, runCommand } from '../record/agents/agent.ts'
import { claudeCode } from '../record/agents/claude-code.ts'
import { codex } from '../record/agents/codex.ts'
import { continueCli } from '../record/agents/continue.ts'
import { opencode } from '../record/agents/opencode.ts'
import { pi } from '../record/agents/pi.ts'
import { qwenCode } from '../record/agents/qwen-code.ts'
import { lastResult } from './last-result.ts'

/** Model calls with tools in each task, before it is answered. */
const stepsPerTask = 20

/** As `simulate` has them: what is read from the cache, and what is written to it. */
const prices = { read: 0.1, write: 1.25 }

const tasks: readonly { readonly prompt: string; readonly mode: Mode }[] = [
  { prompt: 'Look through the parts of the ledger and name the last code.', mode: 'new' },
  { prompt: 'Go on with the other parts and name the last code.', mode: 'continue' },
]

interface Outcome {
  /** The agent's output at the end of each task. */
  readonly printed: readonly string[]
  /** The model's last answer in each task, made from the newest result that it saw. */
  readonly answers: readonly string[]
  readonly requests: number
  readonly tokens: number
  /** Of the input, with a cache that has what any earlier request began with. */
  readonly cost: number
  /** Of each request: its tokens, and those that an earlier one began with. */
  readonly steps: readonly string[]
  /** The rules that its requests violated. */
  readonly breaches: readonly string[]
}

const given = process.argv.slice(2)
const linesAt = given.indexOf('--lines')
/** Lines of each file: 300 are about 12 KB. */
const linesPerPart = linesAt === -1 ? 300 : Number(given[linesAt + 1])
const wanted =
  given.find((one, index) => !one.startsWith('--') && given[index - 1] !== '--lines') ?? ''
// Codex with its free-text tool is left out: the upstream does not support such calls.
const agents = [...pi, ...codex.slice(0, 1), claudeCode, qwenCode, ...opencode, continueCli]

for (const agent of agents.filter(({ name }) => name.startsWith(wanted))) {
  try {
    report(agent, await work(agent, false), await work(agent, true))
  } catch (error) {
    process.exitCode = 1
    console.error(`${agent.name}: ${error instanceof Error ? error.stack : String(error)}`)
  }
}

async function work(agent: Agent, isManaged: boolean): Promise<Outcome> {
  const answers: string[] = []
  const upstream = await startUpstream({
    answer: scripted(agent, answers),
    binding: 'text',
    isRefusing: false,
  })
  const gateway = createGateway({ upstreams: [{ name: 'scripted', baseUrl: upstream.url }] })
  const server = await serveGateway(gateway, { port: 0, host: '127.0.0.1' })
  const rooms = openRooms(isManaged ? server.url : upstream.url)
  try {
    writeParts(rooms)
    agent.prepare(rooms)
    const printed: string[] = []
    for (const { prompt, mode } of tasks) {
      printed.push((await runCommand(agent.command(prompt, mode, rooms), rooms)).trim())
    }
    return { printed, answers, ...measured(agent, upstream) }
  } finally {
    await server.close()
    await gateway.close()
    await upstream.close()
    removeRooms()
  }
}

/** Only the task itself: titles and other side calls are not deterministic. */
function measured(agent: Agent, upstream: Upstream): Omit<Outcome, 'printed' | 'answers'> {
  const main = upstream.requests.filter((asked) => agent.route(asked) === 'main')
  return {
    requests: main.length,
    tokens: main.reduce((sum, { tokens }) => sum + tokens, 0),
    cost: main.reduce(
      (sum, { tokens, cached }) => sum + prices.read * cached + prices.write * (tokens - cached),
      0,
    ),
    steps: main.map(({ tokens, cached }) => `${tokens}, ${cached} cached`),
    breaches: [
      ...new Set(upstream.requests.flatMap(({ breaches }) => breaches.map(({ rule }) => rule))),
    ],
  }
}

/** Prints the ledger part by part; the answer is the code at the end of the newest visible part. */
function scripted(agent: Agent, answers: string[]): (asked: Asked) => Action {
  let step = 0
  return (asked) => {
    if (agent.route(asked) !== 'main') return reply({ text: 'Ledger' })
    step += 1
    if (step % (stepsPerTask + 1) !== 0) {
      const call = agent.calls.shell(`cat part-${step}.txt`)
      return reply({
        reasoning: `Part ${step} is next.`,
        calls: [[call.name, call.arguments]],
      })
    }
    const code = /code ([0-9a-f]{8})/.exec(lastResult(asked.format, asked.body))?.[1]
    const text = `The last code is ${code ?? 'out of view'}.`
    answers.push(text)
    return reply({ text })
  }
}

function writeParts({ project }: Rooms): void {
  for (let part = 1; part <= tasks.length * (stepsPerTask + 1); part++) {
    const lines = Array.from(
      { length: linesPerPart },
      (_, index) =>
        `${part}.${index} booking ${(part * 7919 + index * 104_729) % 99_991} for account ${index % 17}`,
    )
    const code = ((part * 2_654_435_761) % 0xffffffff).toString(16).padStart(8, '0').slice(0, 8)
    writeFileSync(join(project, `part-${part}.txt`), `${lines.join('\n')}\ncode ${code}\n`)
  }
}

function report(agent: Agent, direct: Outcome, managed: Outcome): void {
  const isSame =
    JSON.stringify(direct.answers) === JSON.stringify(managed.answers) &&
    JSON.stringify(direct.printed) === JSON.stringify(managed.printed) &&
    direct.answers.length === tasks.length
  // Ignore violations that the agent makes without the gateway.
  const own = new Set(direct.breaches)
  const breaches = managed.breaches.filter((breach) => !own.has(breach))
  const isValid = breaches.length === 0
  if (!isSame || !isValid || managed.tokens >= direct.tokens) process.exitCode = 1
  if (process.argv.includes('--json')) {
    console.log(
      JSON.stringify({
        agent: agent.name,
        client: agent.client,
        format: agent.format,
        isSame,
        direct,
        managed,
      }),
    )
    return
  }
  const less = Math.round(100 * (1 - managed.tokens / direct.tokens))
  console.log(
    `${agent.name} (${agent.format}): ${isSame ? 'same answers' : 'OTHER ANSWERS'}, ${managed.requests} requests, ${direct.tokens} -> ${managed.tokens} tokens (${less} % less), input cost ${(managed.cost / direct.cost).toFixed(3)}, ${breaches.length} violations`,
  )
  if (!isSame)
    console.log(
      JSON.stringify(
        { direct: [direct.answers, direct.printed], managed: [managed.answers, managed.printed] },
        undefined,
        1,
      ),
    )
  if (!isValid) console.log(`  broken rules: ${breaches.join(', ')}`)
}
