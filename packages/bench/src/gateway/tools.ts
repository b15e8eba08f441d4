// What tool definitions cost over a loop, all of them sent or deferred: real lists of MCP servers over stdio, the gateway, and a strict
// upstream whose model searches for what it does not see. `npm run gateway:tools -- <tools.json | command of a server>... [--count 100]`

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createGateway, serveGateway } from '../../../gateway/src/index.ts'
import { type Action, reply } from '../../../gateway/test/upstream/action.ts'
import { type Asked, startUpstream } from '../../../gateway/test/upstream/upstream.ts'
import { type JsonObject, resolveCounter } from '../../../oriel/src/index.ts'

interface McpTool {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: JsonObject
  readonly parameters?: JsonObject
}

const steps = 30
/** Different tools that the loop calls, each for some steps in a row. */
const used = 8

/** The tools of a server that speaks MCP over its standard input and output. */
async function listTools(command: string): Promise<readonly McpTool[]> {
  const [program = '', ...given] = command.split(' ')
  const child = spawn(program, given, { stdio: ['pipe', 'pipe', 'ignore'] })
  const send = (message: object): unknown => child.stdin.write(`${JSON.stringify(message)}\n`)
  const params = {
    ...{ protocolVersion: '2025-06-18', capabilities: {} },
    clientInfo: { name: 'bench', version: '0' },
  }
  send({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  let text = ''
  try {
    for await (const chunk of child.stdout) {
      text += String(chunk)
      const lines = text.split('\n')
      text = lines.pop() ?? ''
      for (const line of lines.filter((one) => one.startsWith('{'))) {
        const { id, result } = JSON.parse(line) as { id?: number; result?: { tools?: McpTool[] } }
        if (id === 2) return result?.tools ?? []
        if (id !== 1) continue
        send({ jsonrpc: '2.0', method: 'notifications/initialized' })
        send({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} })
      }
    }
  } finally {
    child.kill()
  }
  return []
}

function namesIn({ body }: Asked): readonly string[] {
  return (body.tools as { function: { name: string } }[]).map((tool) => tool.function.name)
}

/** Calls the wanted tools in turn; asks for one that it does not see by the first words of its description. */
function model(wanted: readonly McpTool[]): (asked: Asked) => Action {
  let step = 0
  return (asked) => {
    const tool = wanted[Math.floor((step * wanted.length) / steps)]
    if (tool === undefined) return reply({ text: 'Done.' })
    if (!namesIn(asked).includes(tool.name)) {
      searches += 1
      const [sentence = ''] = (tool.description ?? '').split(/[.\n]/)
      // A description may say little: then the model asks by the name.
      const query = isMissed.has(tool.name) ? tool.name : sentence
      isMissed.add(tool.name)
      return reply({ calls: [['find_tool', JSON.stringify({ query })]] })
    }
    step += 1
    return reply({ calls: [[tool.name, '{}']] })
  }
}

let searches = 0
const isMissed = new Set<string>()

async function run(tools: readonly McpTool[], policy: object) {
  const every = Math.floor(tools.length / used)
  const wanted = Array.from({ length: used }, (_, at) => tools[at * every] as McpTool)
  const upstream = await startUpstream({ answer: model(wanted) })
  const upstreams = [{ name: 'test', baseUrl: upstream.url }]
  const gateway = createGateway({ upstreams, policy, env: {} } as never)
  const server = await serveGateway(gateway, { port: 0, host: '127.0.0.1' })
  const messages: object[] = [{ role: 'user', content: 'Go.' }]
  const called: string[] = []
  const list = tools.map(({ name, description = '', inputSchema, parameters = inputSchema }) => ({
    ...{ type: 'function', function: { name, description, parameters } },
  }))
  for (;;) {
    const answer = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer bench', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-bench', messages, tools: list }),
    })
    const { choices } = (await answer.json()) as {
      choices: { message: { tool_calls?: { id: string; function: { name: string } }[] } }[]
    }
    const { message } = choices[0] as (typeof choices)[0]
    messages.push(message)
    const { tool_calls: calls = [] } = message
    if (calls.length === 0 || called.length >= steps) break
    called.push(...calls.map((call) => call.function.name))
    for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: 'ok' })
  }
  await server.close()
  await gateway.close()
  await upstream.close()
  const counter = resolveCounter('o200k')
  const { requests, breaches } = upstream
  const definitions = requests.map(({ body }) => counter.count(JSON.stringify(body.tools)))
  const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)
  return {
    requests: requests.length,
    calls: called.length,
    breaches: breaches.length,
    definitionTokens: sum(definitions),
    tokens: sum(requests.map(({ tokens }) => tokens)),
    cachedTokens: sum(requests.map(({ cached }) => cached)),
  }
}

const given = process.argv.slice(2)
const at = given.indexOf('--count')
const count = at === -1 ? 100 : Number(given[at + 1])
const sources = at === -1 ? given : given.toSpliced(at, 2)
const lists: (readonly McpTool[])[] = []
for (const source of sources) {
  const isFile = source.endsWith('.json')
  lists.push(
    isFile ? (JSON.parse(readFileSync(source, 'utf8')) as McpTool[]) : await listTools(source),
  )
}
const all = lists.flat()
const tools = Array.from({ length: Math.min(count, all.length) }, (_, index) => {
  // Spread over all servers.
  return all[Math.floor((index * all.length) / Math.min(count, all.length))] as McpTool
})
const whole = await run(tools, {})
const deferred = await run(tools, { tools: 'deferred' })
const share = deferred.definitionTokens / whole.definitionTokens
console.log(JSON.stringify({ tools: tools.length, whole, deferred, searches, share }, null, 2))
