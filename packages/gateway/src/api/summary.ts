// Thread summaries: key figures per thread, cached and updated incrementally from new log entries.

import {
  type Counter,
  countBlock,
  type Entry,
  type ErrorCode,
  lookupPrices,
  type MessageEntry,
  overheadOf,
  resolveCounter,
  type Store,
  type ThreadInfo,
  type ThreadKey,
  type Usage,
} from 'oriel'
import { isObject } from '../call/rewrite.ts'
import { damageOf } from '../threads/damage.ts'
import { readCooperatively } from './cooperative-read.ts'

export interface ThreadSummary {
  readonly id: string
  /** The start of the first user message. */
  readonly title: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly bytes: number
  readonly entries: number
  readonly messages: number
  readonly turns: number
  readonly steps: number
  readonly tokens: { readonly log: number; readonly view: number }
  readonly usage: Usage
  /** Absent if the price of a model is unknown. */
  readonly cost?: { readonly dollars: number }
  readonly model?: string
  readonly forkedFrom?: { readonly thread: string; readonly at: number }
  /** Set if the log is damaged; the figures cover the readable part before it. */
  readonly damage?: ErrorCode
  /** For admin callers. */
  readonly tenant?: string
}

interface Gathered {
  version: number
  counter: Counter
  title: string
  messages: number
  turns: number
  steps: number
  logTokens: number
  viewTokens: number
  usage: Usage
  dollars: number
  isPriced: boolean
  model?: string
  forkedFrom?: { thread: string; at: number }
}

const maxTitle = 120
const maxKept = 5000

export class Summaries {
  readonly #store: Store
  readonly #kept = new Map<string, Gathered>()

  constructor(store: Store) {
    this.#store = store
  }

  async of(key: ThreadKey, info: ThreadInfo): Promise<ThreadSummary> {
    const id = `${key.tenant}\0${key.thread}`
    const known = this.#kept.get(id)
    const gathered = known !== undefined && known.version <= info.version ? known : fresh()
    const damage = gathered.version < info.version ? await this.#gather(key, gathered) : undefined
    this.#kept.delete(id)
    this.#kept.set(id, gathered)
    if (this.#kept.size > maxKept) this.#kept.delete(this.#kept.keys().next().value ?? '')
    const summary = toSummary(info, gathered)
    return damage === undefined ? summary : { ...summary, damage }
  }

  /** Evicts an erased thread. */
  forget({ tenant, thread }: ThreadKey): void {
    this.#kept.delete(`${tenant}\0${thread}`)
  }

  /** Reads new entries. Returns an error code if the log could not be read to its end. */
  async #gather(key: ThreadKey, gathered: Gathered): Promise<ErrorCode | undefined> {
    try {
      const entries = this.#store.read(key, { from: gathered.version + 1 })
      for await (const entry of readCooperatively(entries, undefined)) {
        if (entry.seq === gathered.version + 1) take(gathered, entry)
      }
      return undefined
    } catch (error) {
      const damage = damageOf(error)
      if (damage === undefined) throw error
      return damage
    }
  }
}

function fresh(): Gathered {
  return {
    version: 0,
    counter: resolveCounter('estimate'),
    title: '',
    messages: 0,
    turns: 0,
    steps: 0,
    logTokens: 0,
    viewTokens: 0,
    usage: { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0 },
    dollars: 0,
    isPriced: false,
  }
}

function take(gathered: Gathered, entry: Entry): void {
  gathered.version = entry.seq
  switch (entry.type) {
    case 'message':
      takeMessage(gathered, entry)
      break
    case 'request':
      if (entry.model !== undefined) gathered.model = entry.model
      if (typeof entry.details?.tokens === 'number') gathered.viewTokens = entry.details.tokens
      break
    case 'usage':
      takeUsage(gathered, entry.sample as unknown as Usage)
      break
    case 'setting':
      if (entry.name === 'forked-from' && isObject(entry.value)) {
        const { thread, at } = entry.value
        gathered.forkedFrom = { thread: String(thread), at: Number(at) || 0 }
      }
      break
  }
}

function takeUsage(gathered: Gathered, usage: Usage): void {
  gathered.usage = sum(gathered.usage, usage)
  const dollars = dollarsOf(usage, gathered.model)
  if (dollars === undefined) return
  gathered.dollars += dollars
  gathered.isPriced = true
}

function takeMessage(gathered: Gathered, entry: MessageEntry): void {
  if (entry.kind === 'interrupted') return
  gathered.messages += 1
  gathered.turns = Math.max(gathered.turns, entry.turn)
  if (entry.role === 'assistant') gathered.steps += 1
  gathered.logTokens += tokensOf(gathered.counter, entry)
  if (gathered.title === '' && entry.origin === 'user') {
    gathered.title = titleOf(entry)
  }
}

/** Tokens of a message in full form. */
export function tokensOf(counter: Counter, { role, blocks }: MessageEntry): number {
  return blocks.reduce((total, block) => total + countBlock(counter, block), overheadOf(role))
}

/** Tokens of all messages in full form, as in a view without edits. */
export function logTokens(entries: readonly Entry[]): number {
  const counter = resolveCounter('estimate')
  return entries.reduce(
    (total, entry) => total + (entry.type === 'message' ? tokensOf(counter, entry) : 0),
    0,
  )
}

function titleOf({ blocks }: MessageEntry): string {
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(' ')
  return [...text.replace(/\s+/g, ' ').trim()].slice(0, maxTitle).join('')
}

function sum(a: Usage, b: Usage): Usage {
  return {
    uncached: a.uncached + (b.uncached || 0),
    cacheRead: a.cacheRead + (b.cacheRead || 0),
    cacheWrite: a.cacheWrite + (b.cacheWrite || 0),
    output: a.output + (b.output || 0),
  }
}

function toSummary(info: ThreadInfo, gathered: Gathered): ThreadSummary {
  const { title, messages, turns, steps, usage, model, forkedFrom } = gathered
  return {
    id: info.thread,
    title,
    createdAt: info.createdAt,
    updatedAt: info.updatedAt,
    bytes: info.bytes,
    entries: info.version,
    messages,
    turns,
    steps,
    tokens: { log: gathered.logTokens, view: gathered.viewTokens },
    usage,
    ...(gathered.isPriced ? { cost: { dollars: gathered.dollars } } : {}),
    ...(model === undefined ? {} : { model }),
    ...(forkedFrom === undefined ? {} : { forkedFrom }),
  }
}

/** Cost of one call by catalogue prices; undefined for unknown models. */
export function dollarsOf(usage: Usage, model: string | undefined): number | undefined {
  if (model === undefined) return undefined
  const { inputDollars, outputDollars, read, write } = lookupPrices({ model })
  if (inputDollars === undefined || outputDollars === undefined) return undefined
  const { uncached, cacheRead, cacheWrite, output } = usage
  const input = uncached + cacheRead * read + cacheWrite * write
  return (input * inputDollars + output * outputDollars) / 1_000_000
}
