// The real pi with and without the extension of packages/plugins/pi: 40 tool steps over two turns against a scripted model on 127.0.0.1.
// `node src/plugins/pi.ts [path of pi's cli.js]`, after `npm run build:code` in the root. Ends with a code other than 0 where an answer differs, a request is invalid, or the
// input costs more than 60 %.

import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { validate } from '../../../oriel/src/providers/registry.ts'
import { summaryOf } from '../../../plugins/pi/src/index.ts'

const program =
  process.argv[2] ??
  join(
    import.meta.dirname,
    '../record/agents/node_modules/@mariozechner/pi-coding-agent/dist/cli.js',
  )
const extension = resolve(import.meta.dirname, '../../../plugins/pi/dist/index.js')
const stepsPerTurn = 20

interface Body {
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[]
}

interface Outcome {
  readonly printed: readonly string[]
  readonly answers: readonly string[]
  readonly requests: number
  readonly inputChars: number
  /** With a prefix cache that reads at a tenth of the price. */
  readonly cost: number
  readonly violations: number
}

async function work(isManaged: boolean): Promise<Outcome> {
  const home = mkdtempSync(join(tmpdir(), 'oriel-pi-'))
  const bodies: Body[] = []
  const answers: string[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += String(chunk)
    })
    request.on('end', () => {
      const body = JSON.parse(text) as Body
      bodies.push(body)
      const step = bodies.length
      const isOver = step % (stepsPerTurn + 1) === 0
      const code = /code ([0-9a-f]{8})/.exec(JSON.stringify(body.messages.at(-1)))?.[1]
      if (isOver) answers.push(`The last code is ${code ?? 'out of view'}.`)
      const command = JSON.stringify({ command: `cat part-${step}.txt` })
      const delta = isOver
        ? { content: answers.at(-1) }
        : {
            tool_calls: [
              {
                index: 0,
                id: `call_${step}`,
                type: 'function',
                function: { name: 'bash', arguments: command },
              },
            ],
          }
      const usage = { prompt_tokens: Math.round(text.length / 4), completion_tokens: 9 }
      const chunk = (choice: object, more = {}): string =>
        `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, ...choice }], ...more })}\n\n`
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunk({ delta: { role: 'assistant', ...delta }, finish_reason: null }))
      response.write(chunk({ delta: {}, finish_reason: isOver ? 'stop' : 'tool_calls' }, { usage }))
      response.end('data: [DONE]\n\n')
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  const folder = join(home, '.pi', 'agent')
  mkdirSync(folder, { recursive: true })
  const model = { id: 'local-model', contextWindow: 400_000, maxTokens: 4000 }
  const url = `http://127.0.0.1:${port}/v1`
  const local = { baseUrl: url, api: 'openai-completions', apiKey: 'dummy', models: [model] }
  writeFileSync(join(folder, 'models.json'), JSON.stringify({ providers: { local } }))
  writeFileSync(join(folder, 'settings.json'), '{}')
  for (let part = 1; part <= 2 * (stepsPerTurn + 1); part++) {
    const lines = Array.from(
      { length: 120 },
      (_, index) =>
        `${part}.${index} booking ${(part * 7919 + index * 104_729) % 99_991} for account ${index % 17}`,
    )
    const code = ((part * 2_654_435_761) % 0xffffffff).toString(16).padStart(8, '0').slice(0, 8)
    writeFileSync(join(home, `part-${part}.txt`), `${lines.join('\n')}\ncode ${code}\n`)
  }
  try {
    const printed: string[] = []
    for (const [index, prompt] of ['Read the first parts.', 'Read the others.'].entries()) {
      const args = ['-p', '--offline', '--model', 'local/local-model']
      if (isManaged) args.push('-e', extension)
      if (index > 0) args.push('--continue')
      printed.push(await run([program, ...args, prompt], home))
    }
    return {
      printed,
      answers,
      requests: bodies.length,
      inputChars: bodies.reduce((sum, body) => sum + JSON.stringify(body.messages).length, 0),
      cost: costOf(bodies),
      violations: bodies.reduce((sum, body) => sum + validate('openai-chat', body).length, 0),
    }
  } finally {
    server.close()
    server.closeAllConnections()
    rmSync(home, { recursive: true, force: true })
  }
}

/** Characters, those that the request before began with at a tenth. */
function costOf(bodies: readonly Body[]): number {
  let before: readonly string[] = []
  let cost = 0
  for (const { messages } of bodies) {
    const texts = messages.map((message) => JSON.stringify(message))
    const changed = texts.findIndex((text, index) => text !== before[index])
    texts.forEach((text, index) => {
      cost += text.length * (changed === -1 || index < changed ? 0.1 : 1)
    })
    before = texts
  }
  return Math.round(cost)
}

function run(args: readonly string[], home: string): Promise<string> {
  return new Promise((done, fail) => {
    const env = { PATH: process.env.PATH, HOME: home, PI_OFFLINE: '1', TERM: 'dumb' }
    const child = spawn(process.execPath, [...args], {
      cwd: home,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk) => {
      out += String(chunk)
    })
    child.stderr.on('data', (chunk) => {
      err += String(chunk)
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), 180_000)
    child.on('close', (code) => {
      clearTimeout(timer)
      if (code === 0) done(out.trim())
      else fail(new Error(`pi ended with ${code}: ${err.slice(-1000)}`))
    })
  })
}

const plain = await work(false)
const managed = await work(true)
const results = Array.from({ length: 40 }, (_, index) => [
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
    content: [{ type: 'text', text: `line of ${index}\n`.repeat(400) }],
  },
]).flat()
const preparation = {
  firstKeptEntryId: 'x',
  tokensBefore: 1,
  messagesToSummarize: [{ role: 'user', content: 'Read the parts.' }, ...results],
}
await summaryOf(preparation)
const started = process.cpuUsage()
const summary = await summaryOf(preparation)
const { user, system } = process.cpuUsage(started)
const compactionMs = (user + system) / 1000
const share = managed.cost / plain.cost
console.log(JSON.stringify({ plain, managed }, null, 2))
console.log(
  `characters ${(managed.inputChars / plain.inputChars).toFixed(3)}, cost with a cache ${share.toFixed(3)}, ${managed.violations} violations, compaction of 81 messages ${compactionMs.toFixed(0)} ms of computing to ${summary.length} characters`,
)
const isSame =
  JSON.stringify([plain.answers, plain.printed]) ===
  JSON.stringify([managed.answers, managed.printed])
if (!isSame || managed.violations > 0 || managed.inputChars > 0.6 * plain.inputChars)
  process.exit(1)
