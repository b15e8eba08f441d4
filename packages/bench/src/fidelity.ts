// Cost with a prompt cache, and visibility of needed facts: `npm run bench:fidelity`.

import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { trimMessages } from '@langchain/core/messages'
import { pruneMessages } from 'ai'
import { type ChatMessage, readCorpus } from './conversations.ts'
import { cutResults, keepResults, lastMessages, rewriting, trimTo } from './naive.ts'
import {
  type CreateManager,
  type Judgement,
  judgeAll,
  optimalCost,
  resolveCounter,
  study,
  type Totals,
  threadManager,
  totalsOf,
  unmanaged,
} from './oriel.ts'
import { fromAiSdk, toAiSdk } from './peers/ai-sdk.ts'
import { contextChef } from './peers/context-chef.ts'
import { createCounter, fromLangchain, toLangchain } from './peers/langchain.ts'
import { clearToolUses, summarize } from './peers/langchain-agents.ts'
import { tokenLimiter, toolCallFilter } from './peers/mastra.ts'
import { scatter } from './plot.ts'
import {
  count,
  endProgress,
  figure,
  percent,
  progress,
  type Row,
  readSettings,
  report,
  words,
} from './report.ts'
import { chatTokens, memoize } from './tokens.ts'

const plots = join(import.meta.dirname, '../../../docs/plots')
const counter = memoize(resolveCounter('estimate'))
const tokens = (message: ChatMessage): number => chatTokens(counter, message)
const { count: countText } = counter
const keep = (newest: number, batch: number) => keepResults({ newest, batch, count: countText })
const trim = (over: number, to: number) => trimTo({ over, to, tokens })
const oriel = (policy: Parameters<typeof threadManager>[0]) => threadManager(policy)

const contenders: Readonly<Record<string, CreateManager>> = {
  'everything, unchanged': unmanaged,
  'last 20 messages': lastMessages(20),
  'keep 4 results, every step': keep(4, 0),
  'keep 4 results, batches of 2,000 tokens': keep(4, 2000),
  'keep 10 results, batches of 2,000 tokens': keep(10, 2000),
  'cut results at 2,000 characters': cutResults(2000),
  'trim to 16k, every step': trim(16_000, 16_000),
  'trim 16k to 8k, task pinned': trim(16_000, 8000),
  'trim 24k to 12k, task pinned': trim(24_000, 12_000),
  'LangChain trimMessages, 32k': rewriting(trimmed),
  'LangChain ClearToolUsesEdit, defaults': clearToolUses(),
  'LangChain ClearToolUsesEdit, 16k, keep 4': clearToolUses({
    trigger: { tokens: 16_000 },
    keep: { messages: 4 },
  }),
  'LangChain summarization, 24k, keep 20': summarize({ trigger: 24_000, keep: 20 }),
  'AI SDK pruneMessages, last 2': rewriting(() => pruned('before-last-2-messages')),
  'AI SDK pruneMessages, last 20': rewriting(() => pruned('before-last-20-messages')),
  'Mastra TokenLimiter, 24k': tokenLimiter(24_000),
  'Mastra TokenLimiter, 24k, contiguous': tokenLimiter(24_000, 'contiguous'),
  'Mastra ToolCallFilter, newest 4': toolCallFilter(4),
  'context-chef summarize, 24k': contextChef(24_000, tokens),
  'Oriel placeholders': oriel({ policy: 'placeholders' }),
  'Oriel compaction': oriel({ policy: 'compaction' }),
  'Oriel keep 4 results, cache-aware': oriel({
    policy: {
      toolResults: { strategy: 'keepRecent', max: 4, placeholder: 'plain', cutoff: 0 },
      schedule: 'cache-aware',
    },
  }),
  'Oriel recommended': oriel({ policy: 'recommended' }),
}

const corpus = readCorpus()
const studied = study(corpus.conversations)
const baseline = 'everything, unchanged'

if (isMainThread) await main()
else await judgeSome(workerData as readonly string[])

/** A contender's judgements, or why there are none. */
interface Found {
  readonly name: string
  readonly judgements: readonly Judgement[]
  readonly failure?: string
}

async function main(): Promise<void> {
  const settings = readSettings()
  const results = await judgeOnAllCores()
  const none = totalsOf(results.get(baseline)?.judgements ?? [])
  const optimum = studied.reduce(
    (sum, { recording }) => sum + optimalCost(recording, { counter }),
    0,
  )
  const failures = [...results.values()].flatMap(({ name, failure }) =>
    failure === undefined ? [] : [`${name} failed: ${failure}`],
  )
  const judged = [...results.values()].filter(({ failure }) => failure === undefined)
  const totals = judged.map(({ name, judgements }) => ({ name, totals: totalsOf(judgements) }))
  const { length } = corpus.conversations
  const tables = [
    {
      title: `Cost and facts kept, ${length} conversations, ${words(none.requests)} model calls`,
      rows: totals.map((one) => rowOf(one.name, one.totals, { none, optimum })),
      notes: notes(failures),
    },
    { title: 'By source: cost, and facts in arguments that are visible', rows: sourceRows(judged) },
  ]
  if (!settings.write) {
    report('fidelity', tables, settings)
    return
  }
  const points = totals.map(({ name, totals: own }) => ({
    name,
    x: own.cost / none.cost,
    y: own.arguments.visible / own.arguments.needed,
    isOurs: name.startsWith('Oriel'),
  }))
  const plot = scatter(points, {
    title: 'What is still visible, and what it costs',
    xLabel: 'cost of the input with a prompt cache, relative to sending everything',
    yLabel: 'needed facts that are visible',
  })
  mkdirSync(plots, { recursive: true })
  writeFileSync(join(plots, 'cost-fidelity.svg'), plot)
  report('fidelity', tables, settings, '![Cost and visible facts](plots/cost-fidelity.svg)\n\n')
}

/** Distributes contenders over one worker per core. */
async function judgeOnAllCores(): Promise<ReadonlyMap<string, Found>> {
  const names = Object.keys(contenders)
  const found = new Map<string, Found>()
  const threads = Math.min(availableParallelism(), names.length)
  await Promise.all(
    Array.from({ length: threads }, (_, thread) => {
      const own = names.filter((_name, index) => index % threads === thread)
      const worker = new Worker(import.meta.filename, { workerData: own, execArgv: [] })
      worker.on('message', (one: Found) => {
        found.set(one.name, one)
        progress(`fidelity: ${found.size} of ${names.length} contenders, ${one.name}`)
      })
      return new Promise<void>((resolve, reject) => {
        worker.on('error', reject)
        worker.on('exit', () => resolve())
      })
    }),
  )
  endProgress()
  return new Map(
    names.flatMap((name) => (found.has(name) ? [[name, found.get(name) as Found]] : [])),
  )
}

async function judgeSome(names: readonly string[]): Promise<void> {
  for (const name of names) {
    let found: Found
    try {
      const judgements = await judgeAll(studied, contenders[name] as CreateManager)
      found = { name, judgements }
    } catch (error) {
      const failure = error instanceof Error ? error.message : String(error)
      found = { name, judgements: [], failure }
    }
    parentPort?.postMessage(found)
  }
}

function rowOf(
  name: string,
  totals: Totals,
  { none, optimum }: { readonly none: Totals; readonly optimum: number },
): Row {
  const { needed, visible, anchored, recoverable } = totals.arguments
  return {
    contender: name,
    cost: figure(totals.cost / none.cost),
    'of optimum': figure(totals.cost / optimum),
    tokens: figure(totals.tokens / none.tokens),
    visible: percent(visible / needed),
    anchored: percent(anchored / needed),
    'or recoverable': percent((visible + recoverable) / needed),
    'in text': percent(totals.text.visible / totals.text.needed),
    'calls complete': percent(totals.completeCalls),
    'user text': percent(totals.userText),
    invalid: percent((totals.invalid + totals.refused) / totals.requests),
    'mean tokens': count(totals.meanTokens),
    peak: count(totals.peakTokens),
  }
}

function sourceRows(judged: readonly Found[]): readonly Row[] {
  const sources = [...new Set(studied.map(({ recording }) => family(recording.source)))]
  const of = (judgements: readonly Judgement[], source: string) =>
    totalsOf(judgements.filter((one) => family(one.source) === source))
  const all = judged.find(({ name }) => name === baseline)?.judgements ?? []
  return judged.map(({ name, judgements }) => ({
    contender: name,
    ...Object.fromEntries(
      sources.map((source) => {
        const own = of(judgements, source)
        const base = of(all, source)
        const { needed, visible } = own.arguments
        const seen = needed === 0 ? '' : `, ${((100 * visible) / needed).toFixed(1)} %`
        return [source === '' ? 'all' : source, `${(own.cost / base.cost).toFixed(2)}${seen}`]
      }),
    ),
  }))
}

/** `tau-bench/gpt-4o-airline` belongs to the family `tau-bench`. */
function family(source: string): string {
  return source.split('/')[0] ?? ''
}

function trimmed() {
  const known = createCounter((index) => counted[index] as number)
  let counted: number[] = []
  return async (messages: readonly ChatMessage[]) => {
    counted = messages.map(tokens)
    const kept = await trimMessages(toLangchain(messages), {
      maxTokens: 32_000,
      tokenCounter: known,
      strategy: 'last',
      includeSystem: true,
    })
    return fromLangchain(kept, messages)
  }
}

function pruned(toolCalls: `before-last-${number}-messages`) {
  return (messages: readonly ChatMessage[]) =>
    fromAiSdk(pruneMessages({ messages: toAiSdk(messages), reasoning: 'all', toolCalls }))
}

function notes(failures: readonly string[]): readonly string[] {
  return [
    `${corpus.name}, replayed: a request before each recorded answer. Recorded agents do not react to what is missing.`,
    'Cost: input only, reading 0.1, writing 1.25, the longest common prefix with the request before is cached, always live; relative to sending everything.',
    'Of optimum: against the best schedule, with the future known, of clearing old results oldest first, the last four untouched; others may be below 1.',
    'Visible: facts in tool-call arguments that an earlier result or user message had brought; anchored: with words that stood beside them; recoverable: behind an id that the request prints.',
    'Invalid: by the rules of OpenAI chat, or not made at all. The recordings themselves have broken exchanges: "everything, unchanged" shows how many.',
    'Contenders that summarize get one stand-in for the model, which keeps the beginning of each line (naive.ts): a real model may keep more or less.',
    'Tokens by the estimate of the library, for all.',
    ...failures,
  ]
}
