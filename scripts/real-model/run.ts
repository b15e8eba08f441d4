// Tries Oriel with a real model: each task with and without it, judged by its answer, with the provider's own usage.

import type OpenAI from 'openai'
import { lookupPrices, memoryStore, openThread, type PolicyInput } from 'oriel'
import { managed } from 'oriel/openai'
import { createTasks, system, type Task } from './tasks.ts'

export interface RunOptions {
  readonly client: OpenAI
  readonly model: string
  /** @default 'recommended' */
  readonly policy?: PolicyInput
  /** How often each task is tried, each time with other files. @default 3 */
  readonly runs?: number
  /** Model calls for one turn, at most. @default 40 */
  readonly maxSteps?: number
  /** Called after each conversation: a run that fails later has these. */
  readonly onOutcome?: (outcome: Outcome) => void
  readonly onProgress?: (line: string) => void
}

export interface Outcome {
  readonly task: string
  readonly way: 'everything' | 'oriel'
  readonly run: number
  readonly isSolved: boolean
  readonly steps: number
  readonly inputTokens: number
  readonly cachedTokens: number
  readonly outputTokens: number
  /** Of the largest request. */
  readonly largestTokens: number
  /** By the catalogue's prices; absent for a model that it does not know. */
  readonly dollars?: number
}

const ways = ['everything', 'oriel'] as const

/** Every task in both ways, alternating. */
export async function tryTasks(options: RunOptions): Promise<readonly Outcome[]> {
  const { runs = 3, onOutcome = () => {}, onProgress = () => {} } = options
  const outcomes: Outcome[] = []
  for (let run = 0; run < runs; run++) {
    for (const task of createTasks(1 + run * 10)) {
      for (const way of run % 2 === 0 ? ways : ways.toReversed()) {
        const outcome = await tryTask(task, way, { ...options, run })
        outcomes.push(outcome)
        onOutcome(outcome)
        onProgress(lineOf(outcome))
      }
    }
  }
  return outcomes
}

const tools: OpenAI.ChatCompletionFunctionTool[] = [
  {
    type: 'function',
    function: {
      name: 'read_file',
      description: 'Reads a file.',
      parameters: {
        type: 'object',
        properties: { path: { type: 'string' } },
        required: ['path'],
        additionalProperties: false,
      },
    },
  },
]

async function tryTask(
  task: Task,
  way: Outcome['way'],
  { client, model, policy = 'recommended', maxSteps = 40, run }: RunOptions & { run: number },
): Promise<Outcome> {
  const thread = await openThread({ store: memoryStore(), policy })
  const asked = way === 'oriel' ? managed(client, { thread }) : client
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'system', content: system }]
  const answers: string[] = []
  const used = { steps: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0, largestTokens: 0 }
  for (const turn of task.turns) {
    messages.push({ role: 'user', content: turn })
    for (let step = 0; step < maxSteps; step++) {
      const { choices, usage } = await asked.chat.completions.create({ model, messages, tools })
      used.steps += 1
      used.inputTokens += usage?.prompt_tokens ?? 0
      used.cachedTokens += usage?.prompt_tokens_details?.cached_tokens ?? 0
      used.outputTokens += usage?.completion_tokens ?? 0
      used.largestTokens = Math.max(used.largestTokens, usage?.prompt_tokens ?? 0)
      const message = choices[0]?.message
      if (message === undefined) throw new Error('The model gave no answer.')
      messages.push(message)
      const calls = message.tool_calls ?? []
      if (calls.length === 0) break
      messages.push(...calls.map((call) => resultOf(task, call)))
    }
    const last = messages.at(-1)
    answers.push(last?.role === 'assistant' && typeof last.content === 'string' ? last.content : '')
  }
  const isSolved = task.isSolved(answers)
  const dollars = costOf(model, used)
  return {
    ...{ task: task.name, way, run, isSolved, ...used },
    ...(dollars === undefined ? {} : { dollars }),
  }
}

function resultOf(
  { files }: Task,
  call: OpenAI.ChatCompletionMessageToolCall,
): OpenAI.ChatCompletionToolMessageParam {
  const path = call.type === 'function' ? pathIn(call.function.arguments) : ''
  const content = files.get(path) ?? `No file is called ${path}.`
  return { role: 'tool', tool_call_id: call.id, content }
}

function pathIn(text: string): string {
  try {
    return String((JSON.parse(text) as { path?: unknown }).path)
  } catch {
    return ''
  }
}

function costOf(
  model: string,
  used: Pick<Outcome, 'inputTokens' | 'cachedTokens' | 'outputTokens'>,
): number | undefined {
  const { inputDollars, outputDollars = 0, read } = lookupPrices({ model })
  if (inputDollars === undefined) return undefined
  const input = used.inputTokens - used.cachedTokens + used.cachedTokens * read
  return (input * inputDollars + used.outputTokens * outputDollars) / 1e6
}

function lineOf({ task, way, isSolved, steps, inputTokens, dollars }: Outcome): string {
  const cost = dollars === undefined ? '' : `, $${dollars.toFixed(4)}`
  return `${task}, ${way}: ${isSolved ? 'solved' : 'not solved'}, ${steps} steps, ${inputTokens} input tokens${cost}`
}

/** A table of both ways, in Markdown. */
export function report(outcomes: readonly Outcome[]): string {
  const rows = [...new Set(outcomes.map(({ task }) => task)), 'all'].flatMap((task) =>
    ways.map((way) => {
      const own = outcomes.filter((one) => one.way === way && (task === 'all' || one.task === task))
      const sum = (of: (one: Outcome) => number): number =>
        own.reduce((total, one) => total + of(one), 0)
      const input = sum(({ inputTokens }) => inputTokens)
      const cached = sum(({ cachedTokens }) => cachedTokens)
      const hasPrice = own.every(({ dollars }) => dollars !== undefined)
      const cells = [
        task,
        way === 'oriel' ? 'with Oriel' : 'everything is sent',
        `${own.filter(({ isSolved }) => isSolved).length} of ${own.length}`,
        String(sum(({ steps }) => steps)),
        String(input),
        input === 0 ? '-' : `${Math.round((100 * cached) / input)} %`,
        String(Math.max(0, ...own.map(({ largestTokens }) => largestTokens))),
        hasPrice ? `$${sum(({ dollars = 0 }) => dollars).toFixed(4)}` : '-',
      ]
      return `| ${cells.join(' | ')} |`
    }),
  )
  return `| task | | solved | model calls | input tokens | cached | largest request | cost |
|---|---|---|---:|---:|---:|---:|---:|
${rows.join('\n')}
`
}
