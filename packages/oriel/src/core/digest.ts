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
  readonly #tools = new Map<string, { readonly count: number; readonly seq: number }>()
  #quotes: { readonly text: string; readonly seq: number }[] = []
  #first = ''
  #last = ''
  #total = 0

  /** Goes on from what `data` of an earlier digest holds, without what comes from messages that models may no longer read. */
  static from(data: JsonObject | undefined, isWithdrawn: IsWithdrawn = () => false): Digest {
    const digest = new Digest()
    if (data === undefined) return digest
    digest.#total = Number(data.total ?? 0)
    digest.#first = String(data.first ?? '')
    digest.#last = String(data.last ?? '')
    for (const [role, count] of rowsOf(data.counts)) digest.#counts.set(String(role), Number(count))
    for (const [tool, count, from] of rowsOf(data.tools)) {
      const seq = seqIn(from)
      if (!isWithdrawn(seq)) digest.#tools.set(String(tool), { count: Number(count), seq })
    }
    for (const [text, from] of rowsOf(data.quotes)) {
      const seq = seqIn(from)
      if (!isWithdrawn(seq)) digest.#quotes.push({ text: String(text), seq })
    }
    return digest
  }

  data(): JsonObject {
    return {
      total: this.#total,
      first: this.#first,
      last: this.#last,
      counts: [...this.#counts],
      tools: [...this.#tools].map(([name, { count, seq }]) => [name, count, seq]),
      quotes: this.#quotes.map(({ text, seq }) => [text, seq]),
    }
  }

  get size(): number {
    return this.#total
  }

  /** Takes in a message as a model may read it. */
  add(entry: MessageEntry): void {
    const { blocks, seq } = entry
    this.#total += 1
    this.#counts.set(entry.role, (this.#counts.get(entry.role) ?? 0) + 1)
    for (const block of blocks) {
      if (!isCall(block)) continue
      const name = head(block.name, 40)
      const known = this.#tools.get(name)
      if (known !== undefined || this.#tools.size < countedTools) {
        this.#tools.set(name, { count: (known?.count ?? 0) + 1, seq })
      }
    }
    if (entry.role === 'user') {
      const quote = head(textOf(blocks).replaceAll(/\s+/g, ' ').trim(), quotedLength)
      if (quote !== '') {
        this.#quotes = [...this.#quotes, { text: quote, seq }].slice(-quotedMessages)
      }
    }
    if (this.#first === '') this.#first = entry.id
    this.#last = entry.id
  }

  /** The note; `brief` leaves out everything but the count. */
  text(brief: boolean): string {
    if (this.#total === 0) return '[Earlier messages left out; none of them is for the model]'
    const [first, last] = [this.#first, this.#last]
    const range = first === last ? `expand ${first}` : `expand ${first} to ${last}`
    const what = `${this.#total} earlier message${this.#total === 1 ? '' : 's'} left out`
    if (brief) return `[${what}; ${range}]`
    const roles = ['user', 'assistant', 'tool']
      .flatMap((role) => (this.#counts.has(role) ? [`${this.#counts.get(role)} ${role}`] : []))
      .join(', ')
    const parts = [`${what} (${roles})`]
    if (this.#tools.size > 0) {
      const tools = [...this.#tools.entries()]
        .sort(([, a], [, b]) => b.count - a.count)
        .slice(0, namedTools)
      parts.push(`tools used: ${tools.map(([name, { count }]) => `${name} x${count}`).join(', ')}`)
    }
    for (const { text } of this.#quotes) {
      parts.push(`a user message began: ${JSON.stringify(text)}`)
    }
    return `[${[...parts, range].join('; ')}]`
  }
}

/** Whether models may no longer read the message at `seq`; asked with 0 where it is not known which message it was. */
export type IsWithdrawn = (seq: number) => boolean

/** Rows of kept data. A bare text is a row without its source: that is how it was kept before sources were. */
export function rowsOf(value: unknown): readonly (readonly unknown[])[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((row): (readonly unknown[])[] =>
    Array.isArray(row) ? [row] : typeof row === 'string' ? [[row]] : [],
  )
}

/** The message that a row comes from; 0 where that was not kept. */
export function seqIn(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
