// The real Claude Code with and without `@oriel/claude-code`: 40 tool calls over two turns against a scripted model, with the plugin
// `/compact` between them, which must ask no model. `npm run plugins:claude-code`, after `npm run build:code` in the root and
// `npm install` in src/record/agents.

import { resolve } from 'node:path'
import { type Action, reply } from '../../../gateway/test/upstream/action.ts'
import { type Asked, startUpstream } from '../../../gateway/test/upstream/upstream.ts'
import { lastResult } from '../gateway/last-result.ts'
import { type Command, openRooms, removeRooms, runCommand } from '../record/agents/agent.ts'
import { claudeCode } from '../record/agents/claude-code.ts'
import { stepsPerTurn, writeParts } from './scripted.ts'

const plugin = resolve(import.meta.dirname, '../../../plugins/claude-code')

function model(answers: string[]): (asked: Asked) => Action {
  let step = 0
  return (asked) => {
    if (claudeCode.route(asked) !== 'main') return reply({ text: 'Parts' })
    step += 1
    if (step % (stepsPerTurn + 1) !== 0) {
      const { name, arguments: input } = claudeCode.calls.shell(`cat part-${step}.txt`)
      return reply({ calls: [[name, input]] })
    }
    const code = /code ([0-9a-f]{8})/.exec(lastResult(asked.format, asked.body))?.[1]
    answers.push(`The last code is ${code ?? 'out of view'}.`)
    return reply({ text: answers.at(-1) ?? '' })
  }
}

async function work(isManaged: boolean) {
  const answers: string[] = []
  const upstream = await startUpstream({
    answer: model(answers),
    binding: 'text',
    isRefusing: false,
  })
  const rooms = openRooms(upstream.url)
  const command = (prompt: string, mode: 'new' | 'continue'): Command => {
    const { file, args, env } = claudeCode.command(prompt, mode, rooms)
    const own = isManaged ? ['--plugin-dir', plugin] : []
    return { file, args: [...own, ...args], ...(env === undefined ? {} : { env }) }
  }
  try {
    writeParts(rooms.project)
    const printed = [await runCommand(command('Read the first parts.', 'new'), rooms)]
    let context = ''
    let compaction = ''
    if (isManaged) {
      context = await runCommand(command('/oriel', 'continue'), rooms)
      const before = upstream.requests.length
      const started = performance.now()
      await runCommand(command('/compact', 'continue'), rooms)
      const ms = Math.round(performance.now() - started)
      compaction = `${ms} ms from start to end of the program, ${upstream.requests.length - before} model calls`
    }
    printed.push(await runCommand(command('Read the others.', 'continue'), rooms))
    const main = upstream.requests.filter((asked) => claudeCode.route(asked) === 'main')
    return {
      printed,
      answers,
      requests: main.length,
      sizes: main.map(({ tokens }) => tokens).join(' '),
      tokens: main.reduce((sum, { tokens }) => sum + tokens, 0),
      breaches: [
        ...new Set(upstream.requests.flatMap(({ breaches }) => breaches.map(({ rule }) => rule))),
      ],
      compaction,
      context,
    }
  } finally {
    await upstream.close()
    removeRooms()
  }
}

const plain = await work(false)
const managed = await work(true)
console.log(JSON.stringify({ plain, managed }, null, 2))
console.log(managed.context)
const isSame =
  JSON.stringify([plain.answers, plain.printed]) ===
  JSON.stringify([managed.answers, managed.printed])
const breaches = managed.breaches.filter((rule) => !plain.breaches.includes(rule))
console.log(
  `${isSame ? 'same answers' : 'OTHER ANSWERS'}, tokens of input ${(managed.tokens / plain.tokens).toFixed(3)}, ${breaches.length} violations, compaction ${managed.compaction}`,
)
if (!isSame || breaches.length > 0 || !managed.compaction.includes(' 0 model calls'))
  process.exitCode = 1
