// A real agent with and without its plugin: 40 tool calls over two turns against a scripted model on 127.0.0.1, and what its input costs.
// `--script mixed` reads results of many sizes, some files again: see `mixedCommand`. `--how base-url` puts the gateway with its defaults
// between agent and model in place of the plugin; `--steps` prints what each request costs.

import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createGateway, serveGateway } from '../../../gateway/src/index.ts'
import { validate } from '../../../oriel/src/providers/registry.ts'
import { optimalCost } from '../../../oriel/src/simulate/optimum.ts'
import { openRecording } from '../../../oriel/src/simulate/recording.ts'

export const stepsPerTurn = 20
/** Lines of each file that the model reads: about 5 KB. */
const linesPerPart = 120
/** As `simulate` has them: what is read from the cache, and what is written to it. */
const prices = { read: 0.1, write: 1.25 }

export interface Body {
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[]
  readonly tools?: readonly unknown[]
}

/** Folders and the address of one run. */
export interface Place {
  readonly home: string
  readonly project: string
  readonly url: string
}

export interface PluggedAgent {
  readonly name: string
  /** What the user says, a turn each. The calls are spread over them. @default two turns */
  readonly prompts?: readonly string[]
  /** Writes the agent's settings. */
  prepare(place: Place, isManaged: boolean): void
  /** The program and its arguments for the first or the second turn. */
  command(prompt: string, turn: number, isManaged: boolean): readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The tool that runs a shell command, and its arguments. */
  shell(command: string): { readonly name: string; readonly arguments: object }
}

export interface Outcome {
  readonly printed: readonly string[]
  readonly answers: readonly string[]
  readonly requests: number
  /** Messages of each request. */
  readonly sizes: string
  readonly inputChars: number
  /** Of whole requests, and of their messages without system prompt and tools. */
  readonly cost: number
  readonly messageCost: number
  readonly violations: number
  /** Model calls beside those of the task: titles. */
  readonly others: number
  /** Summaries that the agent asked the model for. */
  readonly compactions: number
  /** What only the new content of each request costs. */
  readonly newCost: number
  /** The share of the cost that remains to whoever knows that no result is needed again: each is shown once, then `[Omitted]`. */
  readonly oracle: number
}

const isByGateway = process.argv.join(' ').includes('--how base-url')

/** Runs the agent through both turns. `after` may do more in the same home before it is removed. */
export async function work(
  agent: PluggedAgent,
  isManaged: boolean,
  after?: (place: Place, model: ScriptedModel) => Promise<void>,
): Promise<Outcome> {
  const base = mkdtempSync(join(tmpdir(), `oriel-${agent.name}-`))
  const model = new ScriptedModel(agent)
  const direct = await model.listen()
  const gateway = isManaged && isByGateway ? await gatewayTo(direct) : undefined
  const hasPlugin = isManaged && gateway === undefined
  const place = {
    home: join(base, 'home'),
    project: join(base, 'project'),
    url: gateway?.url ?? direct,
  }
  mkdirSync(place.home)
  mkdirSync(place.project)
  writeParts(place.project)
  agent.prepare(place, hasPlugin)
  try {
    const printed: string[] = []
    for (const [turn, prompt] of promptsOf(agent).entries()) {
      const command = agent.command(prompt, turn, hasPlugin)
      printed.push(withoutLog(await run(command, place, agent.env)))
    }
    const { bodies, paid, answers, others, compactions } = model
    const outcome = {
      printed,
      answers: [...answers],
      requests: bodies.length,
      inputChars: bodies.reduce((sum, { messages }) => sum + JSON.stringify(messages).length, 0),
      cost: costOf(paid, ({ tools = [], messages }) => [tools, ...messages]),
      sizes: bodies.map(({ messages }) => messages.length).join(' '),
      messageCost: costOf(paid, ({ messages }) => messages.filter(({ role }) => role !== 'system')),
      violations: bodies.reduce((sum, body) => sum + validate('openai-chat', body).length, 0),
      ...{ others, compactions },
      newCost: costOf(bodies, ({ tools = [], messages }) => [tools, ...messages], 0),
      oracle: oracleShare(bodies.at(-1)),
    }
    if (hasPlugin) await after?.(place, model)
    return outcome
  } finally {
    await gateway?.close()
    model.close()
    rmSync(base, { recursive: true, force: true })
  }
}

/** OpenClaw prints its log with ids of runs, each line behind a name in brackets. */
function withoutLog(printed: string): string {
  const lines = printed.split('\n')
  return lines.filter((line) => !line.startsWith('[')).join('\n')
}

/** A gateway as 'oriel serve --upstream' starts it. */
async function gatewayTo(model: string): Promise<{ readonly url: string; close(): Promise<void> }> {
  const upstreams = [{ name: 'scripted', baseUrl: model.replace(/\/v1$/, '') }]
  const gateway = createGateway({ upstreams })
  const server = await serveGateway(gateway, { port: 0, host: '127.0.0.1' })
  return {
    url: `${server.url}/v1`,
    async close() {
      await server.close()
      await gateway.close()
    },
  }
}

/** From the newest request, which has the whole conversation where nothing manages it. */
function oracleShare(body: Body | undefined): number {
  if (body === undefined) return 1
  const counter = { name: 'characters', count: (text: string) => text.length }
  const { messages, tools = [] } = body
  const frame = { tools: tools as never }
  const answer = { role: 'assistant', content: 'Done.' }
  const recording = openRecording({ id: 'run', messages: [...messages, answer], frame })
  const best = optimalCost(recording, { counter, keep: 1 })
  return best / optimalCost(recording, { counter, keep: Infinity })
}

/** Prints both and ends with a code other than 0 where an answer differs, a request is invalid, or the input costs more than 60 %. */
export function report(plain: Outcome, managed: Outcome, more: string): void {
  console.log(JSON.stringify({ plain, managed }, null, 2))
  const ratio = (key: 'cost' | 'messageCost' | 'inputChars'): string =>
    (managed[key] / plain[key]).toFixed(3)
  const bound = (plain.newCost / plain.cost).toFixed(3)
  console.log(
    `what is new in each request alone ${bound}; an oracle ${plain.oracle.toFixed(3)}; input cost with a cache ${ratio('cost')} (messages alone ${ratio('messageCost')}), characters of messages ${ratio('inputChars')}, ${managed.violations} violations, ${more}`,
  )
  const isSame =
    JSON.stringify([plain.answers, plain.printed]) ===
    JSON.stringify([managed.answers, managed.printed])
  if (!isSame || managed.violations > 0 || managed.cost > 0.6 * plain.cost) process.exitCode = 1
}

/** Calls the shell tool for one part after the other; answers with the code at the end of the newest one. */
export class ScriptedModel {
  readonly bodies: Body[] = []
  /** Those and the requests for summaries: what the provider is paid for. */
  readonly paid: Body[] = []
  readonly answers: string[] = []
  others = 0
  compactions = 0
  readonly #agent: PluggedAgent
  readonly #server = createServer((request, response) => void this.#answer(request, response))

  constructor(agent: PluggedAgent) {
    this.#agent = agent
  }

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done))
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}/v1`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const body = JSON.parse(text) as Body
    const isCompaction = 'x-deepseek-harness-compact' in request.headers
    const isTask = (body.tools ?? []).length > 0 && !isCompaction
    if (isTask || isCompaction) this.paid.push(body)
    if (isTask) this.bodies.push(body)
    else if (isCompaction) this.compactions += 1
    else this.others += 1
    const delta = isTask ? this.#next(body) : { content: isCompaction ? summary : 'Parts' }
    const reason = 'tool_calls' in delta ? 'tool_calls' : 'stop'
    const usage = { prompt_tokens: Math.round(text.length / 4), completion_tokens: 9 }
    const chunk = (choice: object, more = {}): string =>
      `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, ...choice }], ...more })}\n\n`
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunk({ delta: { role: 'assistant', ...delta }, finish_reason: null }))
    response.write(chunk({ delta: {}, finish_reason: reason }, { usage }))
    response.end('data: [DONE]\n\n')
  }

  #next(body: Body): object {
    const step = this.bodies.length
    if (step % (callsPerTurn(this.#agent) + 1) === 0) {
      const code = /code ([0-9a-f]{8})/.exec(JSON.stringify(body.messages.slice(-2)))?.[1]
      const content = `The last code is ${code ?? 'out of view'}.`
      this.answers.push(content)
      return { content }
    }
    const call = this.#agent.shell(isMixed ? mixedCommand(step) : `cat part-${step}.txt`)
    const own = { name: call.name, arguments: JSON.stringify(call.arguments) }
    return { tool_calls: [{ index: 0, id: `call_${step}`, type: 'function', function: own }] }
  }
}

/** What a model writes of a conversation: about 1,000 tokens. */
const summary = 'The parts list bookings by account; each ends with a code. '.repeat(70)

const isMixed = process.argv.join(' ').includes('--script mixed')

function promptsOf({
  prompts = ['Read the first parts.', 'Read the others.'],
}: PluggedAgent): readonly string[] {
  return prompts
}

function callsPerTurn(agent: PluggedAgent): number {
  return (2 * stepsPerTurn) / promptsOf(agent).length
}

/**
 * What coding agents do: a listing, a search, a part of a file, a whole file, a test that prints the same again, and every fourth step a
 * file that was read before. Results of 50 characters to 12 KB.
 */
function mixedCommand(step: number): string {
  const part = `part-${step}.txt`
  const code = `tail -n 1 ${part}`
  const work = [
    () => `ls -l && ${code}`,
    () => `grep -n 'account 7' part-*.txt | head -n 60; ${code}`,
    () => `sed -n 1,40p ${part}; ${code}`,
    () => `cat part-${step - 3}.txt; ${code}`,
    () => `cat ${part} part-${step - 1}.txt; ${code}`,
    () => `seq 1 200 | sed 's/^/ok test /'; ${code}`,
    () => `wc ${part}; ${code}`,
    () => `cat part-${step - 3}.txt; ${code}`,
  ][(step - 1) % 8]
  return work?.() ?? code
}

/** Characters at the prices of a cache that has what the request before began with. */
function costOf(
  bodies: readonly Body[],
  piecesOf: (body: Body) => readonly unknown[],
  read = prices.read,
): number {
  let before: readonly string[] = []
  let cost = 0
  const steps: string[] = []
  for (const body of bodies) {
    const first = cost
    const pieces = piecesOf(body).map((piece) => JSON.stringify(piece))
    const changed = pieces.findIndex((piece, index) => piece !== before[index])
    pieces.forEach((piece, index) => {
      const isCached = changed === -1 || index < changed
      cost += piece.length * (isCached ? read : prices.write)
    })
    before = pieces
    steps.push(`${Math.round(cost - first)}${changed === -1 ? '' : ` from ${changed}`}`)
  }
  if (process.argv.includes('--steps')) console.log(steps.join(', '))
  return Math.round(cost)
}

export function writeParts(folder: string): void {
  for (let part = 1; part <= 2 * (stepsPerTurn + 1); part++) {
    const lines = Array.from(
      { length: linesPerPart },
      (_, index) =>
        `${part}.${index} booking ${(part * 7919 + index * 104_729) % 99_991} for account ${index % 17}`,
    )
    const code = ((part * 2_654_435_761) % 0xffffffff).toString(16).padStart(8, '0').slice(0, 8)
    writeFileSync(join(folder, `part-${part}.txt`), `${lines.join('\n')}\ncode ${code}\n`)
  }
}

/** What a command printed; fails if it does, or after ten minutes. */
export function run(
  [file = '', ...args]: readonly string[],
  { home, project }: Place,
  own: Readonly<Record<string, string>>,
): Promise<string> {
  return new Promise((done, fail) => {
    // Nothing of the surrounding environment: no keys, no settings, no other home.
    const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`
    const env = { PATH: path, HOME: home, TERM: 'dumb', NO_COLOR: '1', ...own }
    const child = spawn(file, args, { cwd: project, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk) => {
      out += String(chunk)
    })
    child.stderr.on('data', (chunk) => {
      err += String(chunk)
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), 600_000)
    child.on('close', (code) => {
      clearTimeout(timer)
      if (code === 0) done(out.trim())
      else fail(new Error(`${file} ended with ${code}: ${err.slice(-1500)}`))
    })
  })
}

/** A long loop in messages of any kind, to time a compaction. */
export function loopOf<T>(step: (index: number, text: string) => readonly T[]): readonly T[] {
  return Array.from({ length: 40 }, (_, index) =>
    step(index, `line of ${index}\n`.repeat(400)),
  ).flat()
}

/** Milliseconds of computing of the second call: the first one warms up. */
export async function computingMs(work: () => Promise<unknown>): Promise<number> {
  await work()
  const started = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1000
}
