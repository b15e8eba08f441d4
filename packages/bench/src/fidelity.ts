// What forgetting costs with a prompt cache, and what the model can still see of what it will need: `npm run bench:fidelity`.

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
import { chatTokens, remembered } from './tokens.ts'

const counter = remembered(resolveCounter('estimate'))
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

const settings = readSettings()
const corpus = readCorpus()
const studied = study(corpus.conversations)
const results = new Map<string, readonly Judgement[]>()
const failures: string[] = []
for (const [name, create] of Object.entries(contenders)) {
  const onDone = (done: number): void => progress(`fidelity: ${name}, ${done} of ${studied.length}`)
  try {
    results.set(name, await judgeAll(studied, create, { onDone }))
  } catch (error) {
    failures.push(`${name} failed: ${error instanceof Error ? error.message : String(error)}`)
  }
}
endProgress()
const none = totalsOf(results.get('everything, unchanged') ?? [])
const optimum = studied.reduce((sum, { recording }) => sum + optimalCost(recording, { counter }), 0)
const { length } = corpus.conversations
report(
  'fidelity',
  [
    {
      title: `Cost and facts kept, ${length} conversations, ${words(none.requests)} model calls`,
      rows: [...results].map(([name, judgements]) => rowOf(name, totalsOf(judgements))),
      notes: notes(),
    },
    { title: 'By source: cost, and facts in arguments that are visible', rows: sourceRows() },
  ],
  settings,
)

function rowOf(name: string, totals: Totals): Row {
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

function sourceRows(): readonly Row[] {
  const sources = [...new Set(studied.map(({ recording }) => family(recording.source)))]
  const of = (judgements: readonly Judgement[], source: string) =>
    totalsOf(judgements.filter((one) => family(one.source) === source))
  return [...results].map(([name, judgements]) => ({
    contender: name,
    ...Object.fromEntries(
      sources.map((source) => {
        const own = of(judgements, source)
        const base = of(results.get('everything, unchanged') ?? [], source)
        const { needed, visible } = own.arguments
        const seen = needed === 0 ? '' : `, ${((100 * visible) / needed).toFixed(1)} %`
        return [source === '' ? 'all' : source, `${(own.cost / base.cost).toFixed(2)}${seen}`]
      }),
    ),
  }))
}

/** `tau-bench/gpt-4o-airline` is of the family `tau-bench`. */
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

function notes(): readonly string[] {
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
