// One note that stands for messages which were folded away: what they were, and how to get them back.

import { textOf } from './block.ts'
import { head } from './clip.ts'
import type { MessageEntry } from './entry.ts'
import { isCall } from './exchange.ts'
import type { JsonObject } from './json.ts'

/** How many of the folded user messages are quoted, the newest ones. */
const quotedMessages = 3
const quotedLength = 120
const namedTools = 6
/** Tools that are counted at all: a digest must stay small whatever a conversation does. */
const countedTools = 64

/** Collects folded messages one by one; `text` is short whatever their number. */
export class Digest {
  readonly #counts = new Map<string, number>()
  readonly #tools = new Map<string, number>()
  #quotes: string[] = []
  #first = ''
  #last = ''
  #total = 0

  /** Goes on from what `data` of an earlier digest holds. */
  static from(data: JsonObject | undefined): Digest {
    const digest = new Digest()
    if (data === undefined) return digest
    digest.#total = Number(data.total ?? 0)
    digest.#first = String(data.first ?? '')
    digest.#last = String(data.last ?? '')
    for (const [role, count] of pairsOf(data.counts)) digest.#counts.set(role, count)
    for (const [tool, count] of pairsOf(data.tools)) digest.#tools.set(tool, count)
    if (Array.isArray(data.quotes)) digest.#quotes = data.quotes.map(String)
    return digest
  }

  data(): JsonObject {
    return {
      total: this.#total,
      first: this.#first,
      last: this.#last,
      counts: [...this.#counts],
      tools: [...this.#tools],
      quotes: this.#quotes,
    }
  }

  get size(): number {
    return this.#total
  }

  /** What no model sees is not told to one here. */
  add(entry: MessageEntry): void {
    if (entry.audience?.later === false) return
    const blocks = entry.blocks.filter(({ audience }) => audience?.later !== false)
    this.#total += 1
    this.#counts.set(entry.role, (this.#counts.get(entry.role) ?? 0) + 1)
    for (const block of blocks) {
      if (!isCall(block)) continue
      const count = this.#tools.get(block.name)
      if (count !== undefined || this.#tools.size < countedTools) {
        this.#tools.set(head(block.name, 40), (count ?? 0) + 1)
      }
    }
    if (entry.role === 'user') {
      const quote = head(textOf(blocks).replaceAll(/\s+/g, ' ').trim(), quotedLength)
      if (quote !== '') this.#quotes = [...this.#quotes, quote].slice(-quotedMessages)
    }
    if (this.#first === '') this.#first = entry.id
    this.#last = entry.id
  }

  /** The note; `brief` leaves out everything but the count. */
  text(brief: boolean): string {
    const [first, last] = [this.#first, this.#last]
    const range = first === last ? `expand ${first}` : `expand ${first} to ${last}`
    const what = `${this.#total} earlier message${this.#total === 1 ? '' : 's'} left out`
    if (brief) return `[${what}; ${range}]`
    const roles = ['user', 'assistant', 'tool']
      .flatMap((role) => (this.#counts.has(role) ? [`${this.#counts.get(role)} ${role}`] : []))
      .join(', ')
    const parts = [`${what} (${roles})`]
    if (this.#tools.size > 0) {
      const tools = [...this.#tools.entries()].sort((a, b) => b[1] - a[1]).slice(0, namedTools)
      parts.push(`tools used: ${tools.map(([name, times]) => `${name} x${times}`).join(', ')}`)
    }
    for (const quote of this.#quotes) parts.push(`a user message began: ${JSON.stringify(quote)}`)
    return `[${[...parts, range].join('; ')}]`
  }
}

function pairsOf(value: unknown): readonly (readonly [string, number])[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((pair) =>
    Array.isArray(pair) ? [[String(pair[0]), Number(pair[1])] as const] : [],
  )
}
