// The numbers of a thread (messages, turns, steps, tokens, usage, cost), folded from its log entry by entry.

import type { Entry, MessageEntry, RequestEntry, SettingEntry, Usage } from '../core/log/entry.ts'
import { settings } from '../core/log/settings.ts'
import { type Counter, countBlock, overheadOf } from '../core/tokens/counter.ts'
import { resolveCounter } from '../counters.ts'
import { dollarsOf } from './cost.ts'

export interface ThreadNumbers {
  /** The first words of the user, at most 120 characters. */
  readonly title: string
  readonly messages: number
  readonly turns: number
  readonly steps: number
  readonly tokens: {
    /** All messages in full form, counted by the thread's own counter. */
    readonly log: number
    /** The newest request. */
    readonly view: number
  }
  readonly usage: Usage
  /** Absent where the price of no model is known. */
  readonly cost?: { readonly dollars: number }
  readonly model?: string
  readonly forkedFrom?: { readonly thread: string; readonly at: number }
}

const maxTitle = 120

/** Folds a log. Give it the entries in order, once each; read the numbers at any time. */
export class ThreadNumbersFold {
  #counter: Counter = resolveCounter('estimate')
  #version = 0
  #title = ''
  #messages = 0
  #turns = 0
  #steps = 0
  #logTokens = 0
  #viewTokens = 0
  #usage: Usage = { uncached: 0, cacheRead: 0, cacheWrite: 0, output: 0 }
  #dollars: number | undefined
  #model: string | undefined
  #forkedFrom: ThreadNumbers['forkedFrom']

  /** The seq of the newest entry. */
  get version(): number {
    return this.#version
  }

  /** Tokens of all messages so far, in full form. */
  get logTokens(): number {
    return this.#logTokens
  }

  take(entry: Entry): void {
    this.#version = entry.seq
    switch (entry.type) {
      case 'message':
        this.#takeMessage(entry)
        break
      case 'request':
        this.#takeRequest(entry)
        break
      case 'usage':
        this.#takeUsage(entry.sample)
        break
      case 'setting':
        this.#takeSetting(entry)
        break
    }
  }

  numbers(): ThreadNumbers {
    return {
      title: this.#title,
      messages: this.#messages,
      turns: this.#turns,
      steps: this.#steps,
      tokens: { log: this.#logTokens, view: this.#viewTokens },
      usage: this.#usage,
      ...(this.#dollars === undefined ? {} : { cost: { dollars: this.#dollars } }),
      ...(this.#model === undefined ? {} : { model: this.#model }),
      ...(this.#forkedFrom === undefined ? {} : { forkedFrom: this.#forkedFrom }),
    }
  }

  #takeMessage(entry: MessageEntry): void {
    // Not a message: the record that an answer broke off.
    if (entry.kind === 'interrupted') return
    const { role, origin, blocks, turn } = entry
    this.#messages += 1
    this.#turns = Math.max(this.#turns, turn)
    if (role === 'assistant') this.#steps += 1
    this.#logTokens += blocks.reduce(
      (total, block) => total + countBlock(this.#counter, block),
      overheadOf(role),
    )
    if (this.#title === '' && origin === 'user') this.#title = titleOf(entry)
  }

  #takeRequest({ model, details }: RequestEntry): void {
    if (model !== undefined) this.#model = model
    this.#viewTokens = details?.tokens ?? this.#viewTokens
  }

  #takeUsage(usage: Usage): void {
    const before = this.#usage
    this.#usage = {
      uncached: before.uncached + (usage.uncached || 0),
      cacheRead: before.cacheRead + (usage.cacheRead || 0),
      cacheWrite: before.cacheWrite + (usage.cacheWrite || 0),
      output: before.output + (usage.output || 0),
    }
    const dollars = dollarsOf(usage, this.#model)
    if (dollars !== undefined) this.#dollars = (this.#dollars ?? 0) + dollars
  }

  #takeSetting(entry: SettingEntry): void {
    if (settings.header.find(entry)?.tokens === 'o200k') this.#counter = resolveCounter('o200k')
    const from = settings.forkedFrom.find(entry)
    if (from !== undefined) this.#forkedFrom = { thread: from.thread, at: from.seq }
  }
}

/** The numbers of a whole log. */
export function threadNumbers(entries: Iterable<Entry>): ThreadNumbers {
  const fold = new ThreadNumbersFold()
  for (const entry of entries) fold.take(entry)
  return fold.numbers()
}

function titleOf({ blocks }: MessageEntry): string {
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(' ')
  return [...text.replace(/\s+/g, ' ').trim()].slice(0, maxTitle).join('')
}
