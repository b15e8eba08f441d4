// Tells the host what happened: events for its listener, lines for people.

import type { EditEntry, MessageEntry } from '../core/entry.ts'
import {
  type EventFields,
  type EventType,
  type Listener,
  notify,
  type ThreadEvent,
} from './events.ts'
import type { Journal } from './journal.ts'
import { happeningsOf, pruningLine } from './lifecycle.ts'

export interface ReporterOptions {
  readonly on?: Listener | undefined
  readonly log?: ((line: string) => void) | undefined
  readonly verbose: boolean
}

export class Reporter {
  readonly #options: ReporterOptions

  constructor(options: ReporterOptions) {
    this.#options = options
  }

  emit({ state, key }: Journal, type: EventType, fields: EventFields): void {
    const { turn, step } = state
    const event: ThreadEvent = { type, thread: key.thread, turn, step, ...fields }
    notify(this.#options.on, event, (line) => this.#options.log?.(line))
  }

  /** A line for people who asked for them. */
  say(line: string): void {
    if (this.#options.verbose) this.#options.log?.(line)
  }

  /** Messages that were appended. */
  added(journal: Journal, entries: readonly MessageEntry[]): void {
    for (const { id, seq, role } of entries) {
      const index = journal.state.item(seq)?.index ?? 0
      this.emit(journal, 'message-added', { id, index, message: `A ${role} message was added.` })
    }
  }

  /** Edits that a view applied together; `before` is how many messages were visible. */
  applied(journal: Journal, edits: readonly EditEntry[], before: number): void {
    const [first] = edits
    if (first === undefined) return
    const { state } = journal
    for (const { type, ...fields } of happeningsOf(state, edits)) this.emit(journal, type, fields)
    const tokensSaved = edits.reduce((sum, edit) => sum + edit.tokensBefore - edit.tokensAfter, 0)
    const message = `${edits.length} edits were applied.`
    this.emit(journal, 'epoch-applied', { id: first.epoch, message, tokensSaved })
    const after = state.visible.length
    const line = pruningLine(state, edits)
    if (line !== undefined) this.say(line)
    if (after < before) this.say(`[History] Trimmed messages from ${before} to ${after}`)
  }
}
