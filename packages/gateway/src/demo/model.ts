// The demo's model: a script that reads what is in view and nothing else. It looks things up with its tools, says what it found, and asks
// for originals that were shortened. The same request always gets the same answer.

import type { Part, Reply } from 'oriel/providers'
import { type Asked, isSummary, type Seen } from './asked.ts'
import { demoTools, runDemoTool } from './tools.ts'
import { dice, services } from './world.ts'

interface Call {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

/** What one model call asks for; several calls are made in parallel. */
type Step = readonly Call[]

/** The tool with which a model asks for an original. */
const expandName = 'expand_message'
/** The script calls nothing else: what a foreign tool would do is not known to it. */
const knownTools: readonly string[] = [expandName, ...demoTools.map(({ name }) => name)]

export function answer(asked: Asked): Reply {
  const parts = knownTools.some((name) => asked.tools.has(name))
    ? agentAnswer(asked)
    : plainAnswer(asked)
  if (!asked.wantsReasoning) return parts
  const calls = parts.filter(({ type }) => type === 'call').length
  const thought =
    calls > 0
      ? `The question is about ${subject(asked.question)}. I need ${calls} more look${calls === 1 ? '' : 's'}.`
      : `I have what I need about ${subject(asked.question)}.`
  return [{ type: 'reasoning', text: thought }, ...parts]
}

/** With tools: one step after the other of the plan, then the findings. */
function agentAnswer(asked: Asked): readonly Part[] {
  const plan = planFor(asked).filter((step) => step.some(({ name }) => asked.tools.has(name)))
  // What was done is read off the calls in view, not counted: a summary may stand for the first ones.
  const done = plan.findLastIndex((one) => one.some(({ name }) => asked.called.has(name)))
  const step = plan[done + 1]
  if (step === undefined)
    return asked.steps === 0 ? plainAnswer(asked) : [{ type: 'text', text: findings(asked) }]
  const calls = step
    .filter(({ name }) => asked.tools.has(name))
    .map(({ name, input }): Part => ({ type: 'call', name, arguments: JSON.stringify(input) }))
  const text = `Looking at ${step.map(({ name }) => name).join(' and ')}.`
  return [{ type: 'text', text }, ...calls]
}

/** Without tools: the model looks things up by itself and pastes what it found. */
function plainAnswer(asked: Asked): readonly Part[] {
  if (isRecall(asked.question)) return [{ type: 'text', text: recalled(asked) }]
  const [step = []] = planFor(asked)
  const pasted = step.slice(0, 1).map(({ name, input }) => {
    const result = runDemoTool(name, JSON.stringify(input))
    const found = summaryOf({ tool: name, text: result })
    return `${found}\n\n\`\`\`\n${result}\n\`\`\``
  })
  const opening = `You asked about ${subject(asked.question)}. Here is what I found.`
  return [{ type: 'text', text: [opening, ...pasted, closing(asked)].join('\n\n') }]
}

function planFor({ question, questions, earlier, tools }: Asked): readonly Step[] {
  const lower = question.toLowerCase()
  const service =
    services.find((name) => lower.includes(name)) ?? services[questions % services.length]
  const lost =
    isRecall(question) && tools.has(expandName) ? placeholderId(earlier, question) : undefined
  if (lost !== undefined)
    return [[{ name: expandName, input: { id: lost, reason: 'asked again' } }]]
  if (isRecall(question) && !tools.has(expandName)) return []
  const log: Call = { name: 'read_log', input: { service } }
  const table: Call = { name: 'query_table', input: { table: 'shipments' } }
  const files: Call = { name: 'list_files', input: { path: `services/${service}` } }
  const file: Call = { name: 'read_file', input: { path: `services/${service}/src/ledger.ts` } }
  const search: Call = { name: 'search_docs', input: { query: subject(question) } }
  const check: Call = { name: 'run_check', input: { service } }
  if (/\blogs?\b|error|fail|trace/.test(lower)) return [[log], [check, search]]
  if (/table|rows?\b|shipment|customer|price/.test(lower)) return [[table]]
  if (/files?\b|folder|code|source/.test(lower)) return [[files], [file]]
  if (/search|docs?\b|wiki|find/.test(lower)) return [[search, files]]
  if (/check|test/.test(lower)) return [[check], [log]]
  const plans: readonly [readonly Step[], ...(readonly Step[])[]] = [
    [[log], [search]],
    [[table, files]],
    [[search], [file, check]],
  ]
  return dice(question).pick(plans)
}

/** What a person asks about something that was there before. */
function isRecall(question: string): boolean {
  return /\b(again|earlier|before|recall|remember|remind)\b/i.test(question)
}

/** The newest thing in view that was shortened and can be had back; one that the question names comes first. */
function placeholderId(earlier: readonly string[], question: string): string | undefined {
  // What a summary names is only the first of many things that it stands for.
  const places = earlier.filter((text) => !isSummary(text))
  const found = places.flatMap((text) => {
    const match = /(?:expand|if needed:) (\w{3,24})\b[^\]\n]{0,40}\]/.exec(text)
    return match?.[1] === undefined ? [] : [{ id: match[1], text: text.toLowerCase() }]
  })
  const topics = question.toLowerCase().match(/log|table|file|search|check/g) ?? []
  const named = found.find(({ text }) => topics.some((topic) => text.includes(topic)))
  return (named ?? found[0])?.id
}

function findings(asked: Asked): string {
  const found = asked.results.map((result) => `- ${summaryOf(result)}`)
  return [`About ${subject(asked.question)}:`, ...found, '', closing(asked)].join('\n')
}

/** What a result says, in a sentence: its size and the things that are likely to be asked for again. */
function summaryOf({ tool, text }: Seen): string {
  const lines = text.split('\n').length
  const errors = text.match(/ERROR|FAIL/g)?.length ?? 0
  const ids = marks(text)
  const size = `${tool} gave ${lines} line${lines === 1 ? '' : 's'}`
  const bad = errors > 0 ? `, ${errors} of them failures` : ''
  const named = ids.length > 0 ? `; the first ids in it are ${ids.join(', ')}` : ''
  return `${size}${bad}${named}.`
}

/** From what is in view alone: that is what a model has. */
function recalled({ earlier, question }: Asked): string {
  const ids = [...new Set(earlier.flatMap(marks))].slice(0, 4)
  return ids.length === 0
    ? `I have nothing in view about ${subject(question)}. Ask about a log, a table, files or the docs.`
    : `From what is in view: ${ids.join(', ')}.`
}

function marks(text: string): readonly string[] {
  const found =
    text.match(/\b(?:tr-[0-9a-f]{8}|SH-\d{5}|DOC-\d{4}|OPS-\d{3}|C-[0-9a-f]{6})\b/g) ?? []
  return [...new Set(found)].slice(0, 3)
}

function closing({ questions }: Asked): string {
  const service = services[(questions + 1) % services.length]
  return `Next you could ask for the ${service} log, the shipments table, or what I found before.`
}

function subject(question: string): string {
  const line = question.trim().split('\n')[0] ?? ''
  return line === '' ? 'this' : `"${[...line].slice(0, 60).join('')}"`
}
