// Speed and accuracy of token counters: `npm run bench:counters`.

import { type ChatMessage, readCorpus } from './conversations.ts'
import { quantile, race } from './harness.ts'
import { resolveCounter } from './oriel.ts'
import {
  count,
  endProgress,
  figure,
  percent,
  progress,
  type Row,
  ratio,
  readSettings,
  report,
  words,
} from './report.ts'

type Kind = 'system' | 'user' | 'assistant' | 'arguments' | 'tool'

interface Text {
  readonly kind: Kind
  readonly text: string
  readonly exact: number
}

/** Minimum tokens: in shorter texts one token is a large error. */
const smallestTokens = 50
/** Characters of the timed sample: enough for stable times and many rounds. */
const sampleLength = 1_000_000

const exact = resolveCounter('o200k')
const guesses: Readonly<Record<string, (text: string) => number>> = {
  estimate: (text) => resolveCounter('estimate').count(text),
  'chars/4': (text) => Math.ceil(text.length / 4),
}

const settings = readSettings()
const corpus = readCorpus()
progress('counters: counting exactly')
const texts = corpus.conversations.flatMap(({ messages }) => messages.flatMap(textsByKind))
const speeds = await speedRows()
endProgress()
report(
  'counters',
  [
    {
      title: 'Speed',
      rows: speeds,
      notes: [
        `On ${words(sampleLength)} characters of ${corpus.name}, message by message, in CPU time.`,
        'o200k is gpt-tokenizer behind our guard against endless runs; it remembers words that it has seen.',
      ],
    },
    ...Object.entries(guesses).map(([name, guess]) => ({
      title: `Error of ${name} against o200k`,
      rows: errorRows(guess),
      notes:
        name === 'estimate'
          ? [
              `All texts of ${corpus.name}. "All in all" compares the sums: below 0 is too few. The others are over texts of at least ${smallestTokens} tokens.`,
              '"Far too low": texts that have at least 20 % more tokens than counted; they are what makes a request too long.',
            ]
          : [],
    })),
  ],
  settings,
)

function textsByKind(message: ChatMessage): readonly Text[] {
  const calls = (message.tool_calls ?? []).map(({ function: { arguments: text } }) => text)
  const own = message.content === null ? [] : [message.content]
  return [
    ...own.map((text) => ({ kind: message.role, text })),
    ...calls.map((text) => ({ kind: 'arguments' as const, text })),
  ].map((one) => ({ ...one, exact: exact.count(one.text) }))
}

async function speedRows(): Promise<readonly Row[]> {
  const sample = sampleOf()
  const characters = sample.reduce((sum, text) => sum + text.length, 0)
  const counters = { ...guesses, o200k: (text: string) => exact.count(text) }
  const timings = await race(
    Object.entries(counters).map(([name, countText]) => ({
      name,
      run: () => sample.reduce((sum, text) => sum + countText(text), 0),
    })),
    { clock: 'cpu', onRound: (done, of) => progress(`counters: round ${done} of ${of}`) },
  )
  const slowest = timings.find(({ name }) => name === 'o200k')?.medianMs ?? Number.NaN
  return timings.map(({ name, medianMs }) => ({
    counter: name,
    'ms for 1 M characters': figure((medianMs / characters) * 1_000_000),
    'times as fast as o200k': ratio(slowest / medianMs),
  }))
}

/** Every nth text, so that all sources are included. */
function sampleOf(): readonly string[] {
  const total = texts.reduce((sum, { text }) => sum + text.length, 0)
  const every = Math.max(1, Math.floor(total / sampleLength))
  return texts.filter((_, index) => index % every === 0).map(({ text }) => text)
}

function errorRows(guess: (text: string) => number): readonly Row[] {
  const kinds = [...new Set(texts.map(({ kind }) => kind))]
  return [
    errorRow('all', texts, guess),
    ...kinds.map((kind) =>
      errorRow(
        kind,
        texts.filter((one) => one.kind === kind),
        guess,
      ),
    ),
  ]
}

function errorRow(name: string, own: readonly Text[], guess: (text: string) => number): Row {
  const exactSum = own.reduce((sum, one) => sum + one.exact, 0)
  const guessedSum = own.reduce((sum, one) => sum + guess(one.text), 0)
  const large = own.filter((one) => one.exact >= smallestTokens)
  const errors = large.map((one) => guess(one.text) / one.exact - 1)
  const sizes = errors.map(Math.abs)
  return {
    texts: name,
    tokens: count(exactSum),
    'all in all': percent(guessedSum / exactSum - 1),
    'median error': percent(quantile(sizes, 0.5)),
    '95 % are within': percent(quantile(sizes, 0.95)),
    'far too low': percent(errors.filter((error) => error < 1 / 1.2 - 1).length / errors.length),
  }
}
