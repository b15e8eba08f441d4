// One note that stands for messages which were folded away: what they were, and how to get them back.

import { textOf } from './block.ts'
import { head } from './clip.ts'
import type { MessageEntry } from './entry.ts'
import { isCall } from './exchange.ts'

/** How many of the folded user messages are quoted, newest first. */
const quotedMessages = 3
const quotedLength = 120
const namedTools = 6

/** Collects folded messages one by one; `text` is short whatever their number. */
export class Digest {
  readonly #counts = new Map<string, number>()
  readonly #tools = new Map<string, number>()
  #quotes: string[] = []
  #ids: string[] = []
  #total = 0

  get size(): number {
    return this.#total
  }

  add(entry: MessageEntry): void {
    this.#total += 1
    this.#counts.set(entry.role, (this.#counts.get(entry.role) ?? 0) + 1)
    for (const block of entry.blocks) {
      if (isCall(block)) this.#tools.set(block.name, (this.#tools.get(block.name) ?? 0) + 1)
    }
    if (entry.role === 'user') {
      const quote = head(textOf(entry.blocks).replaceAll(/\s+/g, ' ').trim(), quotedLength)
      if (quote !== '') this.#quotes = [...this.#quotes, quote].slice(-quotedMessages)
    }
    this.#ids = [this.#ids[0] ?? entry.id, entry.id]
  }

  /** The note; `brief` leaves out everything but the count. */
  text(brief: boolean): string {
    const [first, last] = this.#ids
    const range = first === last ? `expand ${first}` : `expand ${first} to ${last}`
    const what = `${this.#total} earlier message${this.#total === 1 ? '' : 's'} left out`
    if (brief) return `[${what}; ${range}]`
    const roles = ['user', 'assistant', 'tool']
      .flatMap((role) => (this.#counts.has(role) ? [`${this.#counts.get(role)} ${role}`] : []))
      .join(', ')
    const parts = [`${what} (${roles})`]
    if (this.#tools.size > 0) {
      const tools = [...this.#tools.entries()].sort((a, b) => b[1] - a[1]).slice(0, namedTools)
      parts.push(
        `tools used: ${tools.map(([name, times]) => `${head(name, 40)} x${times}`).join(', ')}`,
      )
    }
    for (const quote of this.#quotes) parts.push(`a user message began: ${JSON.stringify(quote)}`)
    return `[${[...parts, range].join('; ')}]`
  }
}
