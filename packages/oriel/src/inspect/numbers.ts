// The numbers of a thread (messages, turns, steps, tokens, usage, cost, savings), folded from its log entry by entry. Every page and command
// shows these and computes none of its own.

import type {
  Draft,
  Entry,
  MessageEntry,
  RequestEntry,
  Usage,
  UsageEntry,
} from '../core/log/entry.ts'
import { isObject, type JsonObject } from '../core/log/json.ts'
import { settings } from '../core/log/settings.ts'
import { type Counter, countBlock, overheadOf } from '../core/tokens/counter.ts'
import { isLasting, lastingBlock } from '../core/view/audience.ts'
import type { Frame } from '../core/view/view.ts'
import { resolveCounter } from '../counters.ts'
import { leadingOf } from '../thread/branches/leading.ts'
import { Framing } from '../thread/view/frame.ts'
import { type Composition, compositionAt } from './composition.ts'
import { dollarsOfBreak } from './cost.ts'
import { type CallCost, SavingsFold } from './savings.ts'

/** Tokens of a request: as it was sent, and with everything in full. Both include system text and tools. */
export interface RequestTokens {
  /** Everything in full: system text, tools and every message so far. */
  readonly log: number
  /** What was sent. */
  readonly view: number
}

export interface Breaks {
  readonly count: number
  /** Tokens that should have been read from the cache and were not. */
  readonly tokens: number
  /** What they cost more, where the price is known. */
  readonly dollars?: number
  readonly causes: Readonly<Record<string, number>>
}

export interface ThreadCost {
  /** What the calls cost, input and output. */
  readonly dollars: number
  /** What they would have cost with everything in full, cached as well as the provider can. */
  readonly withoutOriel: number
  /** Calls that are not in these sums, since the price of their model is not known. */
  readonly unpricedCalls: number
}

export interface ThreadNumbers {
  /** The first words of the user, at most 120 characters. */
  readonly title: string
  readonly messages: number
  readonly turns: number
  readonly steps: number
  /** Requests that were sent. */
  readonly requests: number
  /** The newest request; before the first one, what there is so far, and a view of 0. */
  readonly tokens: RequestTokens
  /** What fills the newest request. Absent before the first one, and in logs of earlier versions. */
  readonly context?: Composition
  /** All requests together. */
  readonly sent: RequestTokens
  readonly usage: Usage
  /** Absent where the price of no model is known. */
  readonly cost?: ThreadCost
  /** Edits that were applied, also those undone since. */
  readonly edits: number
  /** Checkpoints that were made. */
  readonly folds: number
  readonly breaks: Breaks
  /** Requests that were made smaller because the provider refused their length. */
  readonly recoveries: number
  /** Calls with which the model looked originals up again. */
  readonly expansions: number
  readonly model?: string
  /** The agent of the newest request, where the host named it (`view({ agentName })`). */
  readonly agent?: string
  readonly forkedFrom?: { readonly thread: string; readonly at: number }
}

/** What the calls of one day add up to. */
export interface DayNumbers {
  readonly calls: number
  readonly dollars: number
  readonly withoutOriel: number
  readonly input: number
  readonly cacheRead: number
  readonly sent: number
  readonly full: number
}

/** What a fold found in one entry. */
export interface FoldedEntry {
  /** Of a request. */
  readonly tokens?: RequestTokens
  /** Of a usage sample whose price is known. */
  readonly cost?: CallCost
}

const maxTitle = 120
/** Requests that wait for their usage. */
const maxWaiting = 64
const dayMs = 86_400_000
const nothing: FoldedEntry = {}

/** Folds a log. Give it the entries in order, once each; read the numbers at any time. */
export class ThreadNumbersFold {
  #counter: Counter = resolveCounter('estimate')
  #version = 0
  #title = ''
  #messages = 0
  #turns = 0
  #steps = 0
  #requests = 0
  #messageTokens = 0
  #tokens: RequestTokens | undefined
  #sent: RequestTokens = { log: 0, view: 0 }
  #usage: Usage = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0 }
  #cost: { dollars: number; withoutOriel: number } | undefined
  #unpriced = 0
  #edits = 0
  #folds = 0
  #recoveries = 0
  #expansions = 0
  #breaks = { count: 0, tokens: 0, dollars: undefined as number | undefined }
  readonly #causes = new Map<string, number>()
  readonly #savings = new SavingsFold()
  readonly #waiting = new Map<string, { entry: RequestEntry; tokens: RequestTokens }>()
  readonly #days = new Map<number, DayNumbers>()
  /** Tokens around the messages, by the hash of the frame. */
  readonly #around = new Map<string, number>()
  readonly #frames = new Map<string, JsonObject>()
  readonly #settings = new Map<string, unknown>()
  #newest: Pick<RequestEntry, 'details' | 'format' | 'model'> | undefined
  #window: number | undefined
  #model: string | undefined
  #agent: string | undefined
  #forkedFrom: ThreadNumbers['forkedFrom']

  /** The seq of the newest entry. */
  get version(): number {
    return this.#version
  }

  /** Calls that are in no sum of dollars, since the price of their model is not known. */
  get unpricedCalls(): number {
    return this.#unpriced
  }

  /** What each day's calls add up to, by the day's number since 1970 (UTC). */
  get days(): ReadonlyMap<number, DayNumbers> {
    return this.#days
  }

  /** `tokens` are those of a message's blocks, where somebody has counted them. */
  take(entry: Entry, tokens?: readonly number[]): FoldedEntry {
    this.#version = entry.seq
    switch (entry.type) {
      case 'message':
        this.#takeMessage(entry, tokens)
        return nothing
      case 'edit':
        this.#edits += 1
        if ('ranges' in entry.target && entry.text !== undefined) this.#folds += 1
        return nothing
      case 'request':
        return this.#takeRequest(entry)
      case 'usage':
        return this.#takeUsage(entry)
      case 'setting':
        this.#takeSetting(entry)
        return nothing
      default:
        return nothing
    }
  }

  numbers(): ThreadNumbers {
    const { dollars, ...breaks } = this.#breaks
    const causes = Object.fromEntries(this.#causes)
    const context = this.#newest && compositionAt(this.#newest, this.#window)
    return {
      title: this.#title,
      messages: this.#messages,
      turns: this.#turns,
      steps: this.#steps,
      requests: this.#requests,
      tokens: this.#tokens ?? { log: this.#messageTokens, view: 0 },
      ...(context === undefined ? {} : { context }),
      sent: this.#sent,
      usage: this.#usage,
      ...(this.#cost === undefined
        ? {}
        : { cost: { ...this.#cost, unpricedCalls: this.#unpriced } }),
      edits: this.#edits,
      folds: this.#folds,
      breaks: { ...breaks, ...(dollars === undefined ? {} : { dollars }), causes },
      recoveries: this.#recoveries,
      expansions: this.#expansions,
      ...(this.#model === undefined ? {} : { model: this.#model }),
      ...(this.#agent === undefined ? {} : { agent: this.#agent }),
      ...(this.#forkedFrom === undefined ? {} : { forkedFrom: this.#forkedFrom }),
    }
  }

  #takeMessage(entry: MessageEntry, counted: readonly number[] | undefined): void {
    // Not a message: the record that an answer broke off.
    if (entry.kind === 'interrupted') return
    const { role, origin, blocks, turn } = entry
    this.#messages += 1
    this.#turns = Math.max(this.#turns, turn)
    if (role === 'assistant') this.#steps += 1
    if (isLasting(entry)) this.#messageTokens += overheadOf(role)
    for (const [at, block] of blocks.entries()) {
      if (block.type === 'tool-call' && isLookup(block.name)) this.#expansions += 1
      const shown = counted === undefined ? lastingBlock(entry, block) : undefined
      const tokens = shown === undefined ? (counted?.[at] ?? 0) : countBlock(this.#counter, shown)
      this.#messageTokens += tokens
    }
    if (this.#title === '' && origin === 'user') this.#title = titleOf(entry)
  }

  #takeRequest(entry: RequestEntry): FoldedEntry {
    const { model, details = {}, frameHash, view } = entry
    if (model !== undefined) this.#model = model
    if (details.agent !== undefined) this.#agent = details.agent
    this.#requests += 1
    this.#newest = entry
    if (details.isRecovery === true) this.#recoveries += 1
    const log = this.#messageTokens + this.#aroundOf(frameHash)
    const tokens = { log, view: details.tokens ?? log }
    this.#tokens = tokens
    this.#sent = { log: this.#sent.log + tokens.log, view: this.#sent.view + tokens.view }
    this.#addDay(entry.at, { sent: tokens.view, full: tokens.log })
    this.#waiting.delete(view)
    this.#waiting.set(view, { entry, tokens })
    if (this.#waiting.size > maxWaiting) {
      this.#waiting.delete(this.#waiting.keys().next().value as string)
    }
    return { tokens }
  }

  #takeUsage({ sample, view, broken, at }: UsageEntry): FoldedEntry {
    const before = this.#usage
    const usage: Usage = {
      uncached: sample.uncached || 0,
      cacheRead: sample.cacheRead || 0,
      cacheWrite: sample.cacheWrite || 0,
      output: sample.output || 0,
    }
    this.#usage = {
      uncached: before.uncached + usage.uncached,
      cacheRead: before.cacheRead + usage.cacheRead,
      cacheWrite: before.cacheWrite + usage.cacheWrite,
      output: before.output + usage.output,
    }
    const request = this.#waiting.get(view)
    const model = request?.entry.model ?? this.#model
    const lane = `${request?.entry.format ?? ''} ${model ?? ''}`
    const tokens = request?.tokens ?? { log: 0, view: 0 }
    const cost = this.#savings.take({ model, lane, usage, tokens, broken })
    const { dollars = 0, withoutOriel = 0 } = cost ?? {}
    const input = usage.uncached + usage.cacheRead + usage.cacheWrite
    this.#addDay(at, { calls: 1, dollars, withoutOriel, input, cacheRead: usage.cacheRead })
    if (cost === undefined) this.#unpriced += 1
    else {
      const sum = this.#cost ?? { dollars: 0, withoutOriel: 0 }
      this.#cost = {
        dollars: sum.dollars + cost.dollars,
        withoutOriel: sum.withoutOriel + cost.withoutOriel,
      }
    }
    if (broken !== undefined) {
      this.#breaks.count += 1
      this.#breaks.tokens += broken.lost
      const more = dollarsOfBreak(broken.lost, model)
      if (more !== undefined) this.#breaks.dollars = (this.#breaks.dollars ?? 0) + more
      this.#causes.set(broken.cause, (this.#causes.get(broken.cause) ?? 0) + 1)
    }
    return cost === undefined ? nothing : { cost }
  }

  #addDay(at: number, added: Partial<DayNumbers>): void {
    const day = Math.floor(at / dayMs)
    const before = this.#days.get(day) ?? noCalls
    this.#days.set(day, addDays(before, { ...noCalls, ...added }))
  }

  /** Tokens of system text and tools, as the view counts them. */
  #aroundOf(hash: string): number {
    const known = this.#around.get(hash)
    if (known !== undefined) return known
    const setting = <T>({ name }: { readonly name: string }): T | undefined =>
      this.#settings.get(name) as T | undefined
    const leading = leadingOf({ setting } as Parameters<typeof leadingOf>[0])
    const pluginSystem = setting<readonly never[]>(settings.pluginSystem) ?? []
    const frame = this.#frames.get(settings.frame.at(hash).name) as Frame | undefined
    const tokens = new Framing({ frame, leading, pluginSystem }).tokens(this.#counter)
    this.#around.set(hash, tokens)
    return tokens
  }

  #takeSetting(entry: Extract<Entry, { type: 'setting' }>): void {
    if (settings.header.find(entry)?.tokens === 'o200k') this.#counter = resolveCounter('o200k')
    const from = settings.forkedFrom.find(entry)
    if (from !== undefined) this.#forkedFrom = { thread: from.thread, at: from.seq }
    const frame = settings.frame.find(entry)
    if (frame !== undefined) this.#frames.set(entry.name, frame.value)
    const policy = settings.policy.find(entry)
    if (policy !== undefined) this.#window = windowOfPolicy(policy)
    const leading: readonly Draft[] | undefined = settings.leading.find(entry)
    if (leading !== undefined) this.#settings.set(entry.name, leading)
    const system = settings.pluginSystem.find(entry)
    if (system !== undefined) this.#settings.set(entry.name, system)
  }
}

const noCalls: DayNumbers = {
  calls: 0,
  dollars: 0,
  withoutOriel: 0,
  input: 0,
  cacheRead: 0,
  sent: 0,
  full: 0,
}

/** The numbers of two days together. */
export function addDays(a: DayNumbers, b: DayNumbers): DayNumbers {
  return {
    calls: a.calls + b.calls,
    dollars: a.dollars + b.dollars,
    withoutOriel: a.withoutOriel + b.withoutOriel,
    input: a.input + b.input,
    cacheRead: a.cacheRead + b.cacheRead,
    sent: a.sent + b.sent,
    full: a.full + b.full,
  }
}

/** The numbers of a whole log. */
export function threadNumbers(entries: Iterable<Entry>): ThreadNumbers {
  const fold = new ThreadNumbersFold()
  for (const entry of entries) fold.take(entry)
  return fold.numbers()
}

/** Whether a call asks for originals. */
function isLookup(name: string): boolean {
  return name === 'expand_message' || name === 'search_conversation'
}

/** The window that a logged policy names. */
export function windowOfPolicy({ compaction }: JsonObject): number | undefined {
  const window = isObject(compaction) ? compaction.contextWindow : undefined
  return typeof window === 'number' ? window : undefined
}

function titleOf({ blocks }: MessageEntry): string {
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(' ')
  return [...text.replace(/\s+/g, ' ').trim()].slice(0, maxTitle).join('')
}
