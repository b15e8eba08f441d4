// Validity of the reduced requests for providers, and whether they fit: `npm run bench:validity`.

import { trimMessages } from '@langchain/core/messages'
import { pruneMessages } from 'ai'
import { countTokensApproximately } from 'langchain'
import { type ChatMessage, type Conversation, readCorpus } from './conversations.ts'
import { mean } from './harness.ts'
import { Judge, type Judgement } from './judge.ts'
import { type JsonObject, OrielError, project } from './oriel.ts'
import { fromAiSdk, toAiSdk } from './peers/ai-sdk.ts'
import { createCounter, fromLangchain, toLangchain } from './peers/langchain.ts'
import {
  count,
  endProgress,
  percent,
  progress,
  type Row,
  readSettings,
  report,
  type Table,
  words,
} from './report.ts'
import { chatTokens, memoizedCounter } from './tokens.ts'

const budgets = [4000, 8000, 16_000, 32_000]
/** Model calls that are looked at in each conversation, spread evenly, the last one included. */
const requestsPerConversation = 6
const sliceLength = 20

/**
 * A contender's request for OpenAI, and for Anthropic if it supports that format; undefined if it
 * cannot build one.
 */
type View = { readonly chat: readonly ChatMessage[]; readonly anthropic?: JsonObject } | undefined
type Contender = (messages: readonly ChatMessage[], budget: number) => View | Promise<View>

const counter = memoizedCounter()
const judge = new Judge(counter)
const contenders: Readonly<Record<string, Contender>> = {
  'everything, unchanged': (chat) => ({ chat }),
  'last 20 messages': lastMessages,
  'trimMessages, chars/4': (messages, budget) =>
    trim(messages, { maxTokens: budget, tokenCounter: countTokensApproximately }),
  'trimMessages, exact': (messages, budget) =>
    trim(messages, { maxTokens: budget, tokenCounter: exactCounter(messages) }),
  'trimMessages, exact, startOn human': (messages, budget) =>
    trim(messages, { maxTokens: budget, tokenCounter: exactCounter(messages), startOn: 'human' }),
  'pruneMessages, last 2 messages': (messages) => prune(messages, 'before-last-2-messages'),
  'pruneMessages, last 20 messages': (messages) => prune(messages, 'before-last-20-messages'),
  'project, estimate': (messages, budget) => fit(messages, budget, 'estimate'),
  'project, exact': (messages, budget) => fit(messages, budget, counter),
}

const settings = readSettings()
const corpus = readCorpus()
const requests = corpus.conversations.flatMap(requestsOf)
const tables: Table[] = []
for (const budget of budgets) {
  const rows: Row[] = []
  for (const [name, contender] of Object.entries(contenders)) {
    rows.push(await rowOf(name, contender, budget))
  }
  const title = `${words(requests.length)} requests, budget ${words(budget)} tokens`
  tables.push({ title, rows, ...(budget === budgets.at(-1) ? { notes: notes() } : {}) })
}
endProgress()
report('validity', tables, settings)

async function rowOf(name: string, contender: Contender, budget: number): Promise<Row> {
  const judgements: Judgement[] = []
  let refused = 0
  for (const [index, messages] of requests.entries()) {
    const view = await contender(messages, budget)
    if (view === undefined) refused += 1
    else judgements.push(judge.judge({ ...view, messages, budget }))
    progress(`validity: ${budget} tokens, ${name}, ${index} of ${requests.length} requests`)
  }
  const share = (test: (one: Judgement) => boolean) =>
    percent(judgements.filter(test).length / requests.length)
  return {
    contender: name,
    'valid and fits': share((one) => one.isOpenai && one.fits),
    'invalid, OpenAI': share((one) => !one.isOpenai),
    'invalid, Anthropic': share((one) => !one.isAnthropic),
    'over budget': share((one) => !one.fits),
    refused: percent(refused / requests.length),
    'mean tokens': count(mean(judgements.map((one) => one.tokens))),
    // A refused request keeps nothing.
    'text kept in full': percent(
      judgements.reduce((sum, one) => sum + one.keptShare, 0) / requests.length,
    ),
    'newest user message': share((one) => one.hasNewestUser),
  }
}

/** The prefixes of a conversation with which the model was called. */
function requestsOf({ messages }: Conversation): readonly (readonly ChatMessage[])[] {
  // A greeting before any user message was not a model call.
  const first = messages.findIndex(({ role }) => role !== 'system')
  const ends = messages.flatMap((message, index) =>
    message.role === 'assistant' && index > first ? [index] : [],
  )
  const wanted = Math.min(requestsPerConversation, ends.length)
  return Array.from({ length: wanted }, (_, index) => {
    const end = ends[Math.ceil(((index + 1) * ends.length) / wanted) - 1] as number
    return messages.slice(0, end)
  })
}

function fit(
  messages: readonly ChatMessage[],
  budget: number,
  tokens: 'estimate' | typeof counter,
): View {
  try {
    const { messages: chat } = project(messages, undefined, { budget, tokens })
    const own = project(messages, undefined, { budget, tokens, to: 'anthropic' })
    // Asked for another format, the messages are no longer of the type that came in.
    const body = { messages: own.messages as unknown as readonly JsonObject[] }
    return { chat, anthropic: own.system === undefined ? body : { ...body, system: own.system } }
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return undefined
    throw error
  }
}

async function trim(
  messages: readonly ChatMessage[],
  options: Omit<Parameters<typeof trimMessages>[1], 'strategy' | 'includeSystem'>,
): Promise<View> {
  const kept = await trimMessages(toLangchain(messages), {
    ...options,
    strategy: 'last',
    includeSystem: true,
  })
  return { chat: fromLangchain(kept, messages) }
}

function exactCounter(messages: readonly ChatMessage[]) {
  return createCounter((index) => chatTokens(counter, messages[index] as ChatMessage))
}

function prune(
  messages: readonly ChatMessage[],
  toolCalls: `before-last-${number}-messages`,
): View {
  const pruned = pruneMessages({ messages: toAiSdk(messages), reasoning: 'all', toolCalls })
  return { chat: fromAiSdk(pruned) }
}

/** The slice that most loops begin with: the system message, and the newest messages. */
function lastMessages(messages: readonly ChatMessage[]): View {
  const system = messages.filter(({ role }) => role === 'system')
  const others = messages.filter(({ role }) => role !== 'system')
  return { chat: [...system, ...others.slice(-sliceLength)] }
}

function notes(): readonly string[] {
  return [
    `From ${corpus.conversations.length} ${corpus.name}; up to ${requestsPerConversation} model calls of each, spread evenly.`,
    "Valid by the library's own `validate`: what the providers document and are known to refuse. No provider was called.",
    'Anthropic: project was asked for that format; what the others keep was rewritten by one simple converter (judge.ts).',
    'Tokens are o200k with one rule for all (tokens.ts). "exact" contenders were given that counter, chars/4 is LangChain\'s own.',
    'Refused: project throws `cannot-project`, since what must stay (system, newest user message) is over the budget.',
    'Text kept in full: share of the tokens of all texts so far that are in the view unchanged, mean over all requests.',
    'pruneMessages and the slice know no budget, so "over budget" only says what they leave to their user.',
  ]
}
