// Measures the token estimate against exact o200k and prints docs/numbers-estimate.md.
// npx node scripts/measure-estimate.ts > docs/numbers-estimate.md

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolveCounter } from '../packages/oriel/src/counters.ts'
import { makeSamples } from './estimate-samples.ts'

const estimate = resolveCounter('estimate')
const exact = resolveCounter('o200k')
const dataFolder = new URL('../../shared/data/', import.meta.url)

/** Minimum length for the error of single texts: in short ones half a token is a lot. */
const minChars = 200

interface Measured {
  readonly chars: number
  readonly exact: number
  readonly estimate: number
}

interface Recorded extends Measured {
  readonly file: string
  readonly role: string
  readonly isHeldOut: boolean
}

printPage()

function printPage(): void {
  console.log(`# How good the token estimate is

Describes \`packages/oriel/src/core/tokens/estimate.ts\`. \`tokens: 'estimate'\` counts without a tokenizer; here it is measured
against \`tokens: 'o200k'\`, which is exact. Written by

    npx node scripts/measure-estimate.ts > docs/numbers-estimate.md

"Error" is the estimate's total against the exact total. "p95 of texts" is the error, above or below, that 95 of 100
texts of more than ${minChars} characters stay within.
`)
  printRecorded(readRecorded())
  printSamples()
  printSpeed()
}

function printRecorded(recorded: readonly Recorded[]): void {
  console.log('## Recorded agent conversations\n')
  if (recorded.length === 0) {
    console.log('Not measured: the recorded conversations are not on this machine.\n')
    return
  }
  console.log(`The prices of words were fitted on every second conversation of each file; "held out" are the others. (pi-mono is one
single conversation, so all of it was used.)
`)
  const byFile = Map.groupBy(recorded, (text) => text.file)
  printTable(
    ['file', 'fitted: exact', 'error', 'p95 of texts', 'held out: exact', 'error', 'p95 of texts'],
    [...byFile, ['all', recorded] as const].map(([file, texts]) => [
      file,
      ...columns(texts.filter((text) => !text.isHeldOut)),
      ...columns(texts.filter((text) => text.isHeldOut)),
    ]),
  )
  const byRole = Map.groupBy(recorded, (text) => text.role)
  printTable(
    ['part of a conversation', 'texts', 'exact', 'error', 'p95 of texts'],
    [...byRole].map(([role, texts]) => [role, String(texts.length), ...columns(texts)]),
  )
  console.log(`The furthest off of the ${recorded.length} texts is ${percent(worstError(recorded))}: a text that repeats a few words is as wrong
as these words are. Without a vocabulary nothing tells \`/admin\` (one token) from \`/nddata\` (three).
`)
}

function printSamples(): void {
  console.log(`## Kinds of text

Written or generated for this page (\`scripts/estimate-samples.ts\`, \`scripts/estimate-prose.ts\`). The prices of other scripts were
set with these passages in view and with the translated messages and manuals of a Debian system, which cost up to a tenth
more. Chinese, Japanese and Korean differ most from text to text: news is cheap, novels are expensive. Languages in Latin letters
that are far from English, such as Polish, come out low. The last column is for comparison.
`)
  printTable(
    ['category', 'characters', 'exact', 'estimate', 'error', 'error of chars / 4'],
    [...makeSamples()].map(([category, texts]) => {
      const total = sum(texts.map(measure))
      const quarter = total.chars / 4
      return [
        category,
        String(total.chars),
        String(total.exact),
        String(total.estimate),
        percent(total.estimate / total.exact - 1),
        percent(quarter / total.exact - 1),
      ]
    }),
  )
}

function printSpeed(): void {
  const categories = ['English', 'TypeScript', 'Python', 'markdown', 'JSON, pretty', 'log']
  const samples = makeSamples()
  const text = categories
    .flatMap((category) => samples.get(category) ?? [])
    .join('\n')
    .repeat(50)
  const [fast, slow] = [estimate, exact].map((counter) => {
    const rounds = [1, 2, 3, 4, 5].map(() => processorSeconds(() => counter.count(text)))
    return (text.length / Math.min(...rounds) / 1e6).toFixed(1)
  })
  console.log(`## Speed

On the machine that wrote this page, in English, code and JSON, best of five: the estimate reads ${fast} million characters in a
second of processor time, the exact counter ${slow}.`)
}

/** CPU time, which other load on the machine does not affect. */
function processorSeconds(work: () => void): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1e6
}

function readRecorded(): Recorded[] {
  if (!existsSync(dataFolder)) return []
  const files = readdirSync(dataFolder).filter((file) => file.endsWith('.jsonl'))
  return files.flatMap((file) => {
    const lines = readFileSync(new URL(file, dataFolder), 'utf8').split('\n')
    return lines.filter(Boolean).flatMap((line, index) =>
      textsOf(JSON.parse(line)).map(({ role, text }) => ({
        file: file.replace(/^dev\.|\.jsonl$/g, ''),
        role,
        isHeldOut: index % 2 === 1,
        ...measure(text),
      })),
    )
  })
}

interface ChatMessage {
  readonly role: string
  readonly content?: string | readonly { readonly text?: string }[] | null
  readonly tool_calls?: readonly { readonly function: { readonly arguments: string } }[]
}

function textsOf(conversation: {
  messages: readonly ChatMessage[]
}): { role: string; text: string }[] {
  return conversation.messages.flatMap(({ role, content, tool_calls: calls = [] }) => {
    const parts = typeof content === 'string' ? [content] : (content ?? []).map((part) => part.text)
    const texts = parts.filter((text) => text !== undefined && text !== '') as string[]
    const name = role === 'tool' ? 'tool results' : role
    return [
      ...texts.map((text) => ({ role: name, text })),
      ...calls.map((call) => ({ role: 'tool-call arguments', text: call.function.arguments })),
    ]
  })
}

function measure(text: string): Measured {
  return { chars: text.length, exact: exact.count(text), estimate: estimate.count(text) }
}

function sum(texts: readonly Measured[]): Measured {
  return texts.reduce(
    (total, text) => ({
      chars: total.chars + text.chars,
      exact: total.exact + text.exact,
      estimate: total.estimate + text.estimate,
    }),
    { chars: 0, exact: 0, estimate: 0 },
  )
}

function worstError(texts: readonly Measured[]): number {
  const errors = texts
    .filter((text) => text.chars > minChars)
    .map((text) => text.estimate / text.exact - 1)
  return errors.reduce((worst, error) => (Math.abs(error) > Math.abs(worst) ? error : worst), 0)
}

/** Exact tokens, error of the total, p95 error of single texts. */
function columns(texts: readonly Measured[]): string[] {
  if (texts.length === 0) return ['', '', '']
  const total = sum(texts)
  const errors = texts
    .filter((text) => text.chars > minChars)
    .map((text) => Math.abs(text.estimate / text.exact - 1))
    .sort((first, second) => first - second)
  const p95 = errors[Math.floor(errors.length * 0.95)]
  return [
    String(total.exact),
    percent(total.estimate / total.exact - 1),
    p95 === undefined ? '' : `${(100 * p95).toFixed(1)} %`,
  ]
}

function percent(share: number): string {
  const text = (100 * share).toFixed(1)
  return `${share > 0 ? '+' : ''}${text} %`
}

function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  console.log(line(header))
  console.log(`|${header.map((_, index) => (index === 0 ? '---|' : '---:|')).join('')}`)
  for (const row of rows) console.log(line(row))
  console.log()
}
