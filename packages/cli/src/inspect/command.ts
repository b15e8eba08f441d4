// `oriel inspect`: reads transcripts, analyses each conversation and prints a report.

import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Counter, OrielError, resolveCounter } from 'oriel'
import { type Recording, simulate } from 'oriel/simulate'
import { exactMegabytes } from '../defaults.ts'
import { createProgress, type Progress } from '../progress.ts'
import { renderReport } from '../render/report.ts'
import { recordingOf } from '../simulate/recordings.ts'
import { readPrices } from '../simulate/settings.ts'
import { colorsFor, type Terminal, widthOf } from '../terminal.ts'
import type { Conversation } from '../transcript/conversation.ts'
import { expandFolders } from '../transcript/folders.ts'
import { readTranscripts } from '../transcript/read.ts'
import { toJson } from './json.ts'
import { type ConversationReport, type InspectReport, inspectConversation } from './report.ts'
import { standardTrials, type Trial } from './savings.ts'
import type { InspectSettings } from './settings.ts'
import { SummarySum } from './summary.ts'

const sample = new URL('../../samples/coding-agent.json', import.meta.url)

/** Resolves to the exit code. Throws OrielError if there is nothing to inspect. */
export async function inspect(
  files: readonly string[],
  settings: InspectSettings,
  terminal: Terminal,
): Promise<number> {
  const isSample = files.length === 0
  const sources = isSample ? [fileURLToPath(sample)] : expandFolders(files)
  const bytes = sources.reduce((sum, file) => sum + sizeOf(file), 0)
  const counter = chooseCounter(settings, bytes)
  const progress = createProgress(terminal, bytes)
  let found: Findings
  try {
    found = await readAll(sources, { settings, terminal, progress, counter: counter.counter })
  } finally {
    progress.stop()
  }
  const report: InspectReport = {
    files: isSample ? [] : files,
    isSample,
    notes: found.notes,
    counter: { name: counter.counter.name, remark: counter.remark },
    summary: found.sum.summary(),
    detail: found.detail,
    trialCount: found.trialCount,
    costs: await costsOf(found.recordings),
  }
  const { stdout, env } = terminal
  const { top, showContent, isJson, isStrict } = settings
  stdout.write(
    isJson
      ? toJson(report, { top, showContent })
      : renderReport(report, {
          colors: colorsFor(stdout, env),
          width: widthOf(stdout),
          top,
          showContent,
        }),
  )
  return isStrict && report.summary.breaks.length > 0 ? 1 : 0
}

interface Findings {
  readonly sum: SummarySum
  readonly detail: ConversationReport
  readonly notes: readonly string[]
  readonly trialCount: number
  readonly recordings: readonly Recording[]
}

/** More messages than this take too long to replay for every preset. */
const mostReplayed = 1000

/** What a run costs under each preset, by the same replay as `oriel simulate`. */
async function costsOf(recordings: readonly Recording[]): Promise<ReadonlyMap<string, number>> {
  const messages = recordings.reduce((sum, one) => sum + one.messages.length, 0)
  if (messages === 0 || messages > mostReplayed) return new Map()
  const policies = standardTrials().flatMap(({ name, policy }) =>
    typeof policy === 'string' ? [{ name, policy }] : [],
  )
  const { outcomes } = await simulate(recordings, { policies, prices: readPrices(), workers: 0 })
  return new Map(outcomes.map(({ name, costRatio }) => [name, costRatio]))
}

interface Surroundings {
  readonly settings: InspectSettings
  readonly terminal: Terminal
  readonly progress: Progress
  readonly counter: Counter
}

async function readAll(files: readonly string[], around: Surroundings): Promise<Findings> {
  const { settings, terminal, progress, counter } = around
  const standard = standardTrials(settings.budget)
  const trials = [...standard, ...chosenTrial(settings)]
  const sum = new SummarySum(trials)
  const notes: string[] = []
  const recordings: Recording[] = []
  let detail: ConversationReport | undefined
  let problem: OrielError | undefined
  let count = 0
  const conversations = readTranscripts(files, {
    format: settings.format,
    stdin: terminal.stdin,
    onNote: (note) => notes.push(files.length === 1 ? note.text : `${note.file}: ${note.text}`),
    onBytes: (bytes) => progress.read(bytes),
  })
  for await (const conversation of chosen(conversations, settings.conversation)) {
    count += 1
    try {
      const onWork = (): void => progress.work(1 / (trials.length + 2))
      const report = inspectConversation(conversation, { counter, trials, onWork })
      sum.add(report)
      const recording = recordingOf(conversation)
      if (recording !== undefined) recordings.push({ ...recording, id: String(count) })
      if (detail === undefined || report.anatomy.tokens > detail.anatomy.tokens) detail = report
    } catch (error) {
      if (!isUnreadable(error)) throw error
      problem = error
      notes.push(`conversation #${conversation.number} was left out: ${error.message}`)
    }
    progress.work(1)
  }
  if (detail !== undefined) return { sum, detail, notes, recordings, trialCount: standard.length }
  if (problem !== undefined) throw problem
  throw new OrielError(
    'invalid-option',
    `--conversation: none has the id or number ${String(settings.conversation)}; leave the option out to see which there are.`,
    { details: { count } },
  )
}

function chosenTrial({ policy, budget }: InspectSettings): readonly Trial[] {
  if (policy === undefined) return []
  const limit = budget === undefined ? '' : ` in ${budget.toLocaleString('en-US')} tokens`
  const name = `${policy.name}${limit}`
  return [{ name, policy: policy.policy, ...(budget === undefined ? {} : { budget }) }]
}

/** All conversations, or the one with that id, else the one with that number. */
async function* chosen(
  conversations: AsyncIterable<Conversation>,
  wanted: string | number | undefined,
): AsyncGenerator<Conversation> {
  if (wanted === undefined) {
    yield* conversations
    return
  }
  let numbered: Conversation | undefined
  for await (const conversation of conversations) {
    if (conversation.id === String(wanted)) {
      yield conversation
      return
    }
    if (String(conversation.number) === String(wanted)) numbered = conversation
  }
  if (numbered !== undefined) yield numbered
}

function isUnreadable(error: unknown): error is OrielError {
  return (['invalid-input', 'not-json', 'too-deep', 'too-large'] as const).some((code) =>
    OrielError.is(error, code),
  )
}

function chooseCounter(
  { tokens }: InspectSettings,
  bytes: number,
): { readonly counter: Counter; readonly remark: string } {
  if (tokens !== undefined) return { counter: resolveCounter(tokens), remark: '' }
  if (bytes <= exactMegabytes * 1024 * 1024) return { counter: resolveCounter('o200k'), remark: '' }
  const remark = `, as there are more than ${exactMegabytes} MB; exact: --tokens o200k`
  return { counter: resolveCounter('estimate'), remark }
}

function sizeOf(file: string): number {
  if (file === '-') return 0
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
