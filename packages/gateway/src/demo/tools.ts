// The demo agent's tools: what they are called, what they take, and what they answer.

import type { JsonObject } from 'oriel'
import { dice, filesOf, logOf, rowsOf, searchFor, services, sourceOf } from './world.ts'

export interface DemoTool {
  readonly name: string
  readonly description: string
  /** JSON schema of the arguments. */
  readonly parameters: JsonObject
}

interface Runnable extends DemoTool {
  run(input: Readonly<Record<string, unknown>>): string
}

const text = (description: string): JsonObject => ({ type: 'string', description })

const tools: readonly Runnable[] = [
  {
    name: 'search_docs',
    description: 'Searches the company wiki.',
    parameters: schema({ query: text('Words to look for.') }),
    run: ({ query }) => searchFor(word(query, 'manifest')),
  },
  {
    name: 'list_files',
    description: 'Lists a folder of the code and everything below it.',
    parameters: schema({ path: text('The folder, for example services/billing.') }),
    run: ({ path }) => filesOf(word(path, 'services/dispatch')),
  },
  {
    name: 'read_file',
    description: 'Reads a source file.',
    parameters: schema({ path: text('The file, for example services/billing/src/ledger.ts.') }),
    run: ({ path }) => sourceOf(word(path, 'services/dispatch/src/queue.ts')),
  },
  {
    name: 'read_log',
    description: 'Reads the newest lines of a service log.',
    parameters: schema({ service: { type: 'string', enum: [...services] } }),
    run: ({ service }) => logOf(word(service, 'dispatch'), 120),
  },
  {
    name: 'query_table',
    description: 'Reads rows of a table.',
    parameters: schema({ table: text('The table, for example shipments.') }),
    run: ({ table }) => rowsOf(word(table, 'shipments'), 40),
  },
  {
    name: 'run_check',
    description: 'Runs a check of a service and prints what it found.',
    parameters: schema({ service: { type: 'string', enum: [...services] } }),
    run: ({ service }) => check(word(service, 'dispatch')),
  },
]

/** Name, description and schema of each tool; wrap them as your client wants them. */
export const demoTools: readonly DemoTool[] = tools.map(({ name, description, parameters }) => ({
  name,
  description,
  parameters,
}))

/** Runs a tool. The same arguments always give the same text; what cannot be run is said in the text, for the model to read. */
export function runDemoTool(name: string, argumentsText: string): string {
  const tool = tools.find((candidate) => candidate.name === name)
  if (tool === undefined) {
    return `Error: no tool is called ${name.slice(0, 60)}; there are ${tools.map((one) => one.name).join(', ')}.`
  }
  const input = parse(argumentsText)
  if (input === undefined) return `Error: the arguments of ${name} are no JSON object.`
  return tool.run(input)
}

function check(service: string): string {
  const { roll, hex } = dice(`check ${service}`)
  const lines = Array.from({ length: 48 }, (_, index) => {
    const isBad = roll(12) === 0
    return `${isBad ? 'FAIL' : 'ok  '} ${service}/${hex(4)} case ${index + 1} (${roll(400)} ms)${isBad ? `\n      expected ${roll(90)}, got ${roll(90)}, see ticket OPS-${100 + roll(900)}` : ''}`
  })
  const failed = lines.filter((line) => line.startsWith('FAIL')).length
  return `${lines.join('\n')}\n${lines.length - failed} passed, ${failed} failed`
}

function schema(properties: JsonObject): JsonObject {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  }
}

function word(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value.slice(0, 120) : otherwise
}

function parse(argumentsText: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(argumentsText)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
