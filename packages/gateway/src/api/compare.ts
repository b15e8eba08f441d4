// Comparison of policies on one thread: each replays its messages from the first one on, and is judged by what it sends, costs and keeps.
// Stores nothing.

import {
  type Entry,
  type Form,
  type Json,
  memoryStore,
  openThread,
  type Policy,
  type WireFormat,
} from 'oriel'
import { RequestFacts, threadNumbers, viewBlocks } from 'oriel/inspect'
import {
  type CreateManager,
  type Judgement,
  judgeAll,
  lookupPrices,
  study,
  threadManager,
} from 'oriel/simulate'
import { draftOf, isSaid } from './what-if.ts'

export interface CompareOptions {
  /** The first is the base of `different`'s counterpart, the last the one to try. */
  readonly policies: readonly Policy[]
  readonly format: WireFormat
}

/** What a policy would have done. */
export interface PolicyOutcome {
  /** Tokens and messages of the next request. */
  readonly tokens: number
  readonly messages: number
  /** Blocks of the log by the form in which it shows them. */
  readonly forms: Readonly<Record<Form, number>>
  /** Standing instructions of the log, and those that the next request has word for word. */
  readonly rules: { readonly stated: number; readonly kept: number }
  /** All steps together; absent for a thread that is too long to be replayed step by step. */
  readonly replay?: {
    readonly steps: number
    readonly input: number
    /** Input that repeats the request before, and is read from the cache. */
    readonly cached: number
    /** Absent for a model without a known price. */
    readonly dollars?: number
    readonly breaks: number
    readonly folds: number
    /** Values that calls used later: in the request, behind an id that it prints, or gone. */
    readonly facts: { readonly needed: number; readonly visible: number; readonly lost: number }
  }
}

/** A block that the last policy shows otherwise than the one before it. */
export interface DifferentBlock {
  readonly seq: number
  readonly index: number
  readonly role: string
  readonly before: Form
  readonly form: Form
  readonly rule?: string
  readonly reason?: string
  readonly text: string
}

export interface Comparison {
  readonly outcomes: readonly PolicyOutcome[]
  /** How many blocks differ, and the first of them. */
  readonly different: { readonly count: number; readonly blocks: readonly DifferentBlock[] }
}

/** Longer threads are compared at their end only. */
const maxReplayed = 2000
/** Messages appended per batch for those. */
const batchSize = 500
const maxDifferent = 200
const differentChars = 300
const threadId = 'simulation'

export async function compare(
  entries: readonly Entry[],
  { policies, format }: CompareOptions,
  onProgress: (share: number) => void,
): Promise<Comparison> {
  const said = entries.filter((entry) => entry.type === 'message').filter(isSaid)
  const facts = new RequestFacts()
  for (const entry of entries) facts.take(entry)
  const { model, frame } = facts.options
  const around = { format, ...(model === undefined ? {} : { model }), ...(frame && { frame }) }
  const whole = await endOf({ policy: {}, drafts: said.map(draftOf), around })
  const directives = whole.view.directives.map(({ text }) => text)
  const isByStep = said.length <= maxReplayed
  const studied = isByStep
    ? study([{ id: threadId, format, messages: whole.view.messages, ...(frame && { frame }) }])
    : []
  const [recording] = studied
  const prices = lookupPrices(model === undefined ? {} : { model })
  const total = policies.length * Math.max(1, recording?.recording.answers.length ?? 1)
  let done = 0
  const ends: (Ended & { readonly judged: Judgement | undefined })[] = []
  for (const policy of policies) {
    if (recording === undefined) {
      ends.push({
        ...(await endOf({ policy, drafts: said.map(draftOf), around })),
        judged: undefined,
      })
      done += 1
      onProgress(done / total)
      continue
    }
    const store = memoryStore()
    const options = {
      policy,
      format,
      ...(model === undefined ? {} : { model }),
      ...measuredIn(entries),
      thread: { store, prices },
    }
    const create = reporting(threadManager(options), () => {
      done += 1
      onProgress(done / total)
    })
    const [judged] = await judgeAll(studied, create, { prices })
    const { recorded, answers } = recording.recording
    const drafts = recorded.slice(answers.at(-1) ?? 0).map(({ draft }) => draft)
    ends.push({ ...(await endOf({ policy, drafts, around, store })), judged })
  }
  return {
    outcomes: ends.map(({ judged, ...end }) => outcomeOf(end, directives, { judged, prices })),
    different: differenceOf(ends.at(-2) ?? whole, ends.at(-1) ?? whole),
  }
}

/** How the provider counted what was sent, against the thread's own counter: limits hold by it, and so must those of a replay. */
function measuredIn(entries: readonly Entry[]): { readonly measured?: number } {
  const { sent, usage } = threadNumbers(entries)
  const input = usage.uncached + usage.cacheRead + usage.cacheWrite
  return sent.view === 0 || input === 0 ? {} : { measured: input / sent.view }
}

/** Tells of every request. */
function reporting(create: CreateManager, onView: () => void): CreateManager {
  return async (recording) => {
    const manager = await create(recording)
    return {
      ...manager,
      append: (messages) => manager.append(messages),
      view: async () => {
        const sent = await manager.view()
        onView()
        return sent
      },
    }
  }
}

interface Ended {
  readonly view: Awaited<ReturnType<typeof viewOf>>
  readonly blocks: ReturnType<typeof viewBlocks>
  readonly folds: number
}

interface EndOptions {
  readonly policy: Policy
  readonly drafts: readonly object[]
  readonly around: Parameters<typeof viewOf>[1]
  /** Where the thread is. @default it begins now */
  readonly store?: ReturnType<typeof memoryStore>
}

/** The thread with these messages at its end, and its next request. */
async function endOf({
  policy,
  drafts,
  around,
  store = memoryStore(),
}: EndOptions): Promise<Ended> {
  const thread = await openThread({ id: threadId, store, policy, snapshotEvery: 0 })
  for (let from = 0; from < drafts.length; from += batchSize) {
    await thread.append(drafts.slice(from, from + batchSize))
  }
  const view = await viewOf(thread, around)
  const log = await thread.log()
  const { trace, messages } = view
  const blocks = viewBlocks(log, { trace, format: around.format, messages })
  const isFold = (entry: Entry): boolean =>
    entry.type === 'edit' && 'ranges' in entry.target && entry.text !== undefined
  return { view, blocks, folds: log.filter(isFold).length }
}

function viewOf(
  thread: Awaited<ReturnType<typeof openThread>>,
  around: { readonly format: WireFormat; readonly model?: string; readonly frame?: object },
) {
  return thread.view({ ...around, dryRun: true })
}

function outcomeOf(
  { view, blocks, folds }: Ended,
  directives: readonly string[],
  {
    judged,
    prices,
  }: { readonly judged: Judgement | undefined; readonly prices: ReturnType<typeof lookupPrices> },
): PolicyOutcome {
  const forms = { full: 0, clipped: 0, summarized: 0, omitted: 0, dropped: 0 }
  for (const { form } of blocks) forms[form] += 1
  const shown = textsIn([view.messages as Json, view.system ?? null]).join('\n')
  return {
    tokens: view.tokens.after,
    messages: view.messages.length,
    forms,
    rules: {
      stated: directives.length,
      kept: directives.filter((text) => shown.includes(text)).length,
    },
    ...(judged === undefined ? {} : { replay: replayOf(judged, folds, prices) }),
  }
}

function replayOf(
  { steps, arguments: used, text }: Judgement,
  folds: number,
  { inputDollars }: ReturnType<typeof lookupPrices>,
): NonNullable<PolicyOutcome['replay']> {
  const sum = (of: (step: Judgement['steps'][number]) => number): number =>
    Math.round(steps.reduce((total, step) => total + of(step), 0))
  const cost = sum((step) => step.cost)
  return {
    steps: steps.length,
    input: sum(({ tokens }) => tokens),
    cached: sum(({ cached }) => cached),
    ...(inputDollars === undefined ? {} : { dollars: (cost * inputDollars) / 1_000_000 }),
    breaks: steps.filter(({ broken }) => broken !== undefined).length,
    folds,
    facts: {
      needed: used.needed + text.needed,
      visible: used.visible + text.visible,
      lost: used.lost + text.lost,
    },
  }
}

/** All texts in a value, escapes undone. */
function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap((inner) => textsIn(inner as Json))
}

function differenceOf(own: Ended, other: Ended): Comparison['different'] {
  const before = new Map(own.blocks.map((block, at) => [at, block]))
  const blocks = other.blocks.flatMap((block, at): readonly DifferentBlock[] => {
    const mine = before.get(at)
    if (mine?.form === block.form && mine.text === block.text) return []
    const { seq, index, role, form, rule, reason, text } = block
    return [
      {
        ...{ seq, index, role, before: mine?.form ?? 'full', form },
        ...(rule === undefined ? {} : { rule }),
        ...(reason === undefined ? {} : { reason }),
        text: text.slice(0, differentChars),
      },
    ]
  })
  return { count: blocks.length, blocks: blocks.slice(0, maxDifferent) }
}
