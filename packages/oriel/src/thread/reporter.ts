// Tells the host what happened: events for its listener, lines for people.

import type { EditEntry, MessageEntry } from '../core/log/entry.ts'
import type { Policy } from '../policy/schema.ts'
import {
  type EventFields,
  type EventType,
  type Listener,
  notify,
  type ThreadEvent,
} from './events.ts'
import type { Journal } from './journal/journal.ts'
import { happeningsOf, pruningLine } from './lifecycle.ts'

export interface ReporterOptions {
  readonly on?: Listener | undefined
  readonly log?: ((line: string) => void) | undefined
  readonly verbose: boolean
  /** Whose settings hold, for lines about them. @default the thread */
  readonly agent?: string | undefined
}

export class Reporter {
  readonly #options: ReporterOptions

  constructor(options: ReporterOptions) {
    this.#options = options
  }

  emit({ state, key }: Journal, type: EventType, fields: EventFields): void {
    const { turn, step } = state
    this.#tell({ type, thread: key.thread, turn, step, ...fields })
  }

  #tell(event: ThreadEvent): void {
    notify(this.#options.on, event, (line) => this.#write(line))
  }

  /** A line for people who asked for them. */
  say(line: string): void {
    if (this.#options.verbose) this.#write(line)
  }

  /** Document 002's line: what the window is for the view that comes. */
  asked({ state, key }: Journal, { history }: Policy): void {
    if (history === undefined || !this.#options.verbose) return
    const { policy = 'lastN', length = 20 } = history
    const name = this.#options.agent ?? key.thread
    const settings = `{policy: "${policy}", length: ${length}, messageCount: ${state.messageCount}}`
    this.#write(`[History] Agent ${name} history settings: ${settings}`)
  }

  /** A log that fails stops nothing. */
  #write(line: string): void {
    try {
      this.#options.log?.(line)
    } catch {
      // Nobody is left to tell.
    }
  }

  /** Messages that were appended. */
  added(journal: Journal, entries: readonly MessageEntry[]): void {
    if (this.#options.on === undefined) return
    const { thread } = journal.key
    for (const { id, seq, role, origin, turn, step } of entries) {
      const index = journal.state.item(seq)?.index ?? 0
      const message = `A ${role} message was added.`
      const reason = `from ${origin}`
      this.#tell({ type: 'message-added', thread, turn, step, id, index, message, reason })
    }
  }

  /** Document 002's and 004's lines: what was selected of the whole conversation, and what it costs. */
  selected(
    { state }: Journal,
    { history, toolResults }: Policy,
    {
      shown,
      tokens,
      repairs,
    }: { readonly shown: number; readonly tokens: number; readonly repairs: number },
  ): void {
    if (!this.#options.verbose) return
    const { messageCount } = state
    if (history !== undefined) {
      if (shown < messageCount) {
        this.#write(`[History] Trimmed messages from ${messageCount} to ${shown}`)
      }
      this.#write(`[History] Tokens: ${state.totalTokens} in the conversation, ${tokens} sent`)
    }
    if (toolResults === undefined) return
    const repaired = repairs === 0 ? 'no repair needed' : `${repairs} repairs`
    this.#write(`[History] History selection: ${messageCount} → ${shown} messages (${repaired})`)
  }

  /** Edits that a view applied together. */
  applied(journal: Journal, edits: readonly EditEntry[]): void {
    const [first] = edits
    if (first === undefined) return
    const { state } = journal
    for (const { type, ...fields } of happeningsOf(state, edits)) this.emit(journal, type, fields)
    const tokensSaved = edits.reduce((sum, edit) => sum + edit.tokensBefore - edit.tokensAfter, 0)
    const message = `${edits.length} edits were applied.`
    const { epoch: id, reason } = first
    this.emit(journal, 'epoch-applied', { id, message, reason, tokensSaved })
    const line = pruningLine(state, edits)
    if (line !== undefined) this.say(line)
  }
}
